/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Perf maps: each name that is found is one whole line's. */
#include "fuzz.h"
#include "jit/perf/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_bytes map = {data, size};
	struct sw_jit_ranges ranges = {0};
	size_t n;
	bool limited;
	if (sw_perfmap_parse(map, &ranges, &n, &limited) == 0 &&
	    sw_jit_ranges_finish(&ranges) == 0) {
		for (size_t i = 0; i < ranges.n; i++) {
			const struct sw_jit_range *r = &ranges.all[i];
			struct sw_perfmap_line line;
			check(i == 0 || ranges.all[i - 1].end_avma <= r->start_avma);
			check(sw_jit_ranges_find(&ranges, r->start_avma) == r);
			check(sw_perfmap_line_read(map, r->value, &line));
			check(line.start_avma <= r->start_avma &&
			      r->end_avma - line.start_avma <= line.bytes);
			check(line.name.data + line.name.size < data + size);
		}
	}
	sw_jit_ranges_deinit(&ranges);
	return 0;
}
