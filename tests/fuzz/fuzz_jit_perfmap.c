/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Perf maps: each name that is found is one whole line's, and a map that is read as it grows has the names of the whole one. */
#include "fuzz.h"
#include "jit/perf/perfmap.h"
#include "jit/perf/perfmap_text.h"

#include <sys/mman.h>
#include <unistd.h>

/* In two looks at a file, of which the first ends anywhere. */
static struct sw_perfmap_text *grown(int fd, const uint8_t *data, size_t size, size_t first)
{
	struct sw_perfmap_text *text = sw_perfmap_text_create(fd);
	uint64_t end, was;
	check(text != NULL);
	check(write(fd, data, first) == (ssize_t) first);
	check(sw_perfmap_text_look(text, &was) == 0 && was <= first);
	check(write(fd, data + first, size - first) == (ssize_t) (size - first));
	check(sw_perfmap_text_look(text, &end) == 0 && was <= end && end <= size);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_bytes map = {data, size};
	struct sw_jit_ranges ranges = {0};
	size_t n;
	bool limited;
	if (sw_perfmap_parse(map, &ranges, &n, &limited) == 0 &&
	    sw_jit_ranges_finish(&ranges) == 0) {
		int fd = memfd_create("fuzz", MFD_CLOEXEC);
		struct sw_perfmap_text *text = grown(fd, data, size, size > 0 ? data[0] % size : 0);
		for (size_t i = 0; i < ranges.n; i++) {
			const struct sw_jit_range *r = &ranges.all[i];
			struct sw_perfmap_line line, also;
			uint64_t place;
			check(i == 0 || ranges.all[i - 1].end_avma <= r->start_avma);
			check(sw_jit_ranges_find(&ranges, r->start_avma) == r);
			check(sw_perfmap_line_read(map, r->value, &line));
			check(line.start_avma <= r->start_avma &&
			      r->end_avma - line.start_avma <= line.bytes);
			check(line.name.data + line.name.size < data + size);
			check(sw_perfmap_text_find(text, r->start_avma, &also, &place));
			check(place == r->value && also.name.size == line.name.size);
			check(memcmp(also.name.data, line.name.data, line.name.size) == 0);
		}
		sw_perfmap_text_drop(text);
		(void) close(fd); /* a memfd */
	}
	sw_jit_ranges_deinit(&ranges);
	return 0;
}
