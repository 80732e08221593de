/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Jitdump files: names, lines and call frame information of every function. */
#include "fuzz.h"
#include "cfi/fde.h"
#include "jit/perf/jitdump.h"
#include "jit/perf/jitdump_parse.h"

enum { LOOKED_AT = 64 };

static void look(const struct sw_jitdump *dump, const struct sw_jit_range *range)
{
	const struct sw_jitdump_function *f = sw_jitdump_find(dump, range->start_avma);
	struct sw_cfi_section section;
	struct sw_cfi_entry entry;
	struct sw_bytes file;
	uint32_t line;
	uint64_t off;
	check(f != NULL && !f->gone);
	(void) strlen(sw_jitdump_name(dump, f));
	if (sw_jitdump_line(dump, f, range->end_avma - 1, &file, &line))
		check(file.size > 0 && memchr(file.data, '\0', file.size) == NULL);
	if (sw_jitdump_cfi(dump, f, &section) &&
	    sw_cfi_fde_find(&section, range->start_avma, &off, &entry) == 1)
		check(off < section.bytes.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_jitdump dump;
	if (sw_jitdump_parse((struct sw_bytes){data, size}, &dump) < 0)
		return 0;
	for (size_t i = 0; i < dump.ranges.n && i < LOOKED_AT; i++)
		look(&dump, &dump.ranges.all[i]);
	sw_jitdump_deinit(&dump);
	return 0;
}
