/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/string.h"

#include <string.h>

enum {
	BLOCK_BYTES = 64
}; /* aligned blocks of it do not cross pages: the next one may not be there */

/* Code points, one after the other. */
struct writer {
	struct sw_text *text;
	uint16_t high; /* a surrogate that waits for its other half; 0: none */
};

static void code_point_append(struct sw_text *text, uint32_t c)
{
	char b[4];
	size_t n;
	if (c < 0x20 || c == 0x7f)
		c = '?';
	if (c < 0x80) {
		b[0] = (char) c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (char) (0xc0 | c >> 6);
		b[1] = (char) (0x80 | (c & 0x3f));
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (char) (0xe0 | c >> 12);
		b[1] = (char) (0x80 | (c >> 6 & 0x3f));
		b[2] = (char) (0x80 | (c & 0x3f));
		n = 3;
	} else {
		b[0] = (char) (0xf0 | c >> 18);
		b[1] = (char) (0x80 | (c >> 12 & 0x3f));
		b[2] = (char) (0x80 | (c >> 6 & 0x3f));
		b[3] = (char) (0x80 | (c & 0x3f));
		n = 4;
	}
	sw_text_append(text, b, n);
}

static void unit_append(struct writer *w, uint16_t unit)
{
	bool low = unit >= 0xdc00 && unit <= 0xdfff;
	if (w->high != 0 && low) {
		code_point_append(w->text, 0x10000 + ((uint32_t) (w->high - 0xd800) << 10) +
						   (unit - 0xdc00u));
		w->high = 0;
		return;
	}
	if (w->high != 0)
		code_point_append(w->text, 0xfffd);
	w->high = unit >= 0xd800 && unit <= 0xdbff ? unit : 0;
	if (w->high == 0)
		code_point_append(w->text, low ? 0xfffd : unit);
}

static void writer_finish(struct writer *w)
{
	if (w->high != 0)
		code_point_append(w->text, 0xfffd);
}

/* The bytes of [avma, avma + bytes) that lie in avma's block. */
static size_t block_left(uint64_t avma, uint64_t bytes)
{
	size_t left = BLOCK_BYTES - avma % BLOCK_BYTES;
	return bytes < left ? (size_t) bytes : left;
}

bool sw_clr_utf8_read(struct sw_memory memory, uint64_t avma, size_t max, struct sw_text *text)
{
	char block[BLOCK_BYTES];
	while (avma != 0 && max > 0) {
		size_t n = block_left(avma, max);
		if (!sw_memory_read(memory, avma, block, n))
			return false;
		size_t length = strnlen(block, n);
		for (size_t i = 0; i < length; i++)
			if ((unsigned char) block[i] < 0x20 || block[i] == 0x7f)
				block[i] = '?';
		sw_text_append(text, block, length);
		if (length < n)
			return true;
		avma += n;
		max -= n;
	}
	return false;
}

bool sw_clr_utf16_read(struct sw_memory memory, uint64_t avma, size_t max, struct sw_text *text)
{
	uint16_t block[BLOCK_BYTES / 2];
	struct writer w = {.text = text};
	if (avma % 2 != 0)
		return false;
	while (avma != 0 && max > 0) {
		size_t bytes = block_left(avma, (uint64_t) max * 2), n = bytes / 2;
		if (!sw_memory_read(memory, avma, block, bytes))
			break;
		for (size_t i = 0; i < n; i++) {
			if (block[i] == 0) {
				writer_finish(&w);
				return true;
			}
			unit_append(&w, block[i]);
		}
		avma += bytes;
		max -= n;
	}
	writer_finish(&w);
	return false;
}

bool sw_clr_utf16_read_n(struct sw_memory memory, uint64_t avma, size_t n, struct sw_text *text)
{
	uint16_t block[BLOCK_BYTES / 2];
	struct writer w = {.text = text};
	while (n > 0) {
		size_t units = n < BLOCK_BYTES / 2 ? n : BLOCK_BYTES / 2;
		if (!sw_memory_read(memory, avma, block, units * 2))
			return false;
		for (size_t i = 0; i < units; i++)
			unit_append(&w, block[i]);
		avma += units * 2;
		n -= units;
	}
	writer_finish(&w);
	return true;
}
