/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk/tables.h"

#include "cleanup.h"
#include "jit/unwinder.h"
#include "native/elf.h"
#include "native/frame_pointer.h"
#include "native/instructions.h"
#include "native/pe.h"
#include "native/pe32.h"
#include "native/scan.h"
#include "runtimes/beam/runtime.h"
#include "runtimes/clr/runtime.h"
#include "runtimes/cpython/runtime.h"
#include "runtimes/go/runtime.h"
#include "runtimes/hotspot/runtime.h"
#include "runtimes/known/runtime.h"
#include "runtimes/v8/runtime.h"
#include "runtimes/otel/runtime.h"
#include "runtimes/php/runtime.h"
#include "runtimes/ruby/runtime.h"
#include "runtimes/wine/runtime.h"
#include "runtimes/wine/tables_unwinder.h"

/* The first that knows something of a thread tells it: .NET before Wine, which runs it. The last one:
 * what nobody before it identifies. */
static const struct sw_runtime_ops *const runtimes[] = {
	&sw_runtime_clr,  &sw_runtime_wine, &sw_runtime_hotspot, &sw_runtime_cpython,
	&sw_runtime_go,   &sw_runtime_v8,   &sw_runtime_php,     &sw_runtime_ruby,
	&sw_runtime_beam, &sw_runtime_otel, &sw_runtime_known, /* what nobody before it identifies */
};

static const struct sw_unwinder_ops *const unwinders[] = {
	&sw_unwind_elf,  &sw_unwind_pe,           &sw_unwind_wine_tables,
	&sw_unwind_jit,  &sw_unwind_instructions, &sw_unwind_frame_pointer,
	&sw_unwind_scan,
};

/* Runtimes that read structures of the process know those of 64 bits only, but for Wine's. */
static const struct sw_runtime_ops *const runtimes_32bit[] = {
	&sw_runtime_wine,
};
static const struct sw_unwinder_ops *const unwinders_32bit[] = {
	&sw_unwind_elf,           &sw_unwind_pe32, &sw_unwind_instructions,
	&sw_unwind_frame_pointer, &sw_unwind_scan,
};

static const struct sw_tables tables_32bit = {
	.runtimes = runtimes_32bit,
	.n_runtimes = SW_ARRAY_SIZE(runtimes_32bit),
	.unwinders = unwinders_32bit,
	.n_unwinders = SW_ARRAY_SIZE(unwinders_32bit),
};

_Static_assert(SW_ARRAY_SIZE(runtimes) + SW_ARRAY_SIZE(unwinders) <= SW_TABLES_MAX,
	       "all may take part in one walk");

const struct sw_tables sw_tables = {
	.runtimes = runtimes,
	.n_runtimes = SW_ARRAY_SIZE(runtimes),
	.unwinders = unwinders,
	.n_unwinders = SW_ARRAY_SIZE(unwinders),
	.of_32bit = &tables_32bit,
};
