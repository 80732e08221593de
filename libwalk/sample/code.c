/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/code.h"
#include "cleanup.h"
#include "process/proc.h"
#include "text.h"

#include <snapwalk/clock.h>
#include <string.h>

enum { MAPS_TEXT_MAX = 64 << 20, NS_PER_S = 1000000000 };

/* Mappings of code: those with 'x', by their lines. */
static uint64_t code_hash(const char *text, size_t size)
{
	uint64_t hash = 1;
	for (const char *line = text, *end = text + size; line < end;) {
		const char *stop = memchr(line, '\n', (size_t) (end - line));
		size_t length = stop != NULL ? (size_t) (stop - line) : (size_t) (end - line);
		const char *space = memchr(line, ' ', length);
		bool code =
			space != NULL && length - (size_t) (space - line) > 4 && space[3] == 'x';
		for (size_t i = 0; code && i < length; i++)
			hash = (hash ^ (unsigned char) line[i]) * UINT64_C(0x100000001b3);
		line += length + 1;
	}
	return hash;
}

static uint64_t size_now(const struct sw_target *target)
{
	char text[64];
	return sw_proc_read_small(target->proc_fd, "statm", text, sizeof(text)) > 0
		       ? sw_proc_statm_pages(text)
		       : 0;
}

bool sw_sample_code_is_other(struct sw_sample_code *code, const struct sw_target *target)
{
	int64_t now_ns = sw_clock_ns();
	if (code->hash != 0 && now_ns - code->looked_ns < NS_PER_S)
		return false;
	uint64_t pages = size_now(target);
	code->looked_ns = now_ns;
	if (code->hash != 0 && pages == code->size_pages)
		return false;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	sw_cleanup(sw_close_p) int fd = sw_target_live_fd(target);
	if (fd < 0 || sw_text_read_at(&text, fd, "maps", MAPS_TEXT_MAX) < 0)
		return true;
	uint64_t hash = code_hash(text.data, text.size);
	bool other = code->hash != 0 && code->hash != hash;
	code->hash = hash;
	code->size_pages = pages;
	return other;
}
