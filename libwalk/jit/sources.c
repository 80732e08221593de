/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/sources.h"
#include "cleanup.h"
#include "jit/ftable/source.h"
#include "jit/gdb/source.h"
#include "jit/libgcc/source.h"
#include "jit/perf/jitdump.h"
#include "jit/perf/perfmap.h"
#include "jit/trampoline.h"

const struct sw_jit_source_ops *const sw_jit_sources[] = {
	&sw_jit_ftable,     &sw_jit_gdb,     &sw_jit_libgcc, &sw_jit_jitdump,
	&sw_jit_trampoline, &sw_jit_perfmap, NULL,
};

const char *const sw_jit_source_names[] = {
	"ftable", "jit-gdb", "jit-libgcc", "jitdump", "trampoline", "perf-map", NULL,
};

const size_t sw_n_jit_sources = SW_ARRAY_SIZE(sw_jit_sources) - 1;

_Static_assert(SW_ARRAY_SIZE(sw_jit_sources) == SW_ARRAY_SIZE(sw_jit_source_names),
	       "one name for each");
_Static_assert(SW_ARRAY_SIZE(sw_jit_sources) <= SW_JIT_SOURCES_MAX, "each has its state");
