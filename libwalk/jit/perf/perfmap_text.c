/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/perf/perfmap_text.h"
#include "errors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BYTES_MAX = 256 << 20,
	TAIL_BYTES = 256, /* that are read again: whether the file is still the one that was read */
	NEW_LINES =
		4096, /* that are parsed again as lines come, and so many more as there are in all */
};

/* Lines from an offset on. */
struct part {
	size_t begin;
	struct sw_jit_ranges ranges; /* owned; values: offsets from begin on */
	size_t n_lines;
};

struct sw_perfmap_text {
	size_t n_users;
	int fd;         /* borrowed */
	bool failed;    /* it is of no use any more */
	uint64_t place; /* of the first byte */
	uint8_t *data;  /* owned */
	size_t bytes, capacity;
	size_t whole;         /* bytes up to the end of the last whole line */
	struct part parts[2]; /* the old lines, then the new ones: these go first */
};

struct sw_perfmap_text *sw_perfmap_text_create(int fd)
{
	struct sw_perfmap_text *text = calloc(1, sizeof(*text));
	if (text == NULL)
		return NULL;
	text->n_users = 1;
	text->fd = fd;
	return text;
}

struct sw_perfmap_text *sw_perfmap_text_share(struct sw_perfmap_text *text)
{
	text->n_users++;
	return text;
}

/* Forgets all lines; those that come now have greater places. */
static void forget(struct sw_perfmap_text *text)
{
	text->place += text->bytes;
	text->bytes = text->whole = 0;
	for (int i = 0; i < 2; i++) {
		sw_jit_ranges_deinit(&text->parts[i].ranges);
		text->parts[i] = (struct part){0};
	}
}

void sw_perfmap_text_drop(struct sw_perfmap_text *text)
{
	if (text == NULL || --text->n_users > 0)
		return;
	forget(text);
	free(text->data);
	free(text);
}

/* So many bytes of the file, from an offset on; fewer where it ends. */
static size_t file_read(const struct sw_perfmap_text *text, uint8_t *to, size_t bytes, size_t off)
{
	size_t got = 0;
	while (got < bytes) {
		ssize_t n = pread(text->fd, to + got, bytes - got, (off_t) (off + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t) n;
	}
	return got;
}

/* Whether what was read is still there. Who writes the file anew does not write the same again. */
static bool is_same(const struct sw_perfmap_text *text)
{
	uint8_t tail[TAIL_BYTES];
	size_t bytes = text->bytes < sizeof(tail) ? text->bytes : sizeof(tail);
	size_t off = text->bytes - bytes;
	return file_read(text, tail, bytes, off) == bytes &&
	       (bytes == 0 || memcmp(tail, text->data + off, bytes) == 0);
}

static int append(struct sw_perfmap_text *text, size_t size)
{
	if (size > text->capacity) {
		size_t capacity = size + size / 4;
		uint8_t *grown = realloc(text->data, capacity);
		if (grown == NULL)
			return -SW_E_NOMEM;
		text->data = grown;
		text->capacity = capacity;
	}
	text->bytes += file_read(text, text->data + text->bytes, size - text->bytes, text->bytes);
	return 0;
}

/* Parses the lines from an offset on. */
static int part_parse(struct sw_perfmap_text *text, struct part *part, size_t begin)
{
	const struct sw_bytes lines = {text->data + begin, text->whole - begin};
	bool limited; /* the last lines are what is kept */
	sw_jit_ranges_deinit(&part->ranges);
	*part = (struct part){.begin = begin};
	int r = sw_perfmap_parse(lines, &part->ranges, &part->n_lines, &limited);
	return r < 0 ? r : sw_jit_ranges_finish(&part->ranges);
}

static int lines_add(struct sw_perfmap_text *text)
{
	struct part *all = &text->parts[0], *new = &text->parts[1];
	const uint8_t *end = memrchr(text->data + text->whole, '\n', text->bytes - text->whole);
	if (end == NULL)
		return 0;
	text->whole = (size_t) (end + 1 - text->data);
	int r = part_parse(text, new, new->begin);
	if (r < 0 || new->n_lines <= NEW_LINES + all->n_lines)
		return r;
	r = part_parse(text, all, 0);
	sw_jit_ranges_deinit(&new->ranges);
	*new = (struct part){.begin = text->whole};
	return r;
}

int sw_perfmap_text_look(struct sw_perfmap_text *text, uint64_t *ret_end)
{
	struct stat st;
	int r = 0;
	if (!text->failed && text->fd >= 0 && fstat(text->fd, &st) == 0) {
		if ((uint64_t) st.st_size < text->bytes || !is_same(text))
			forget(text);
		text->failed = st.st_size > BYTES_MAX;
		if (!text->failed && (size_t) st.st_size > text->bytes)
			r = append(text, (size_t) st.st_size);
		if (!text->failed && r == 0 && text->bytes > text->whole)
			r = lines_add(text);
		text->failed |= r < 0;
		if (text->failed)
			forget(text);
	}
	*ret_end = text->place + text->whole;
	return r;
}

bool sw_perfmap_text_find(const struct sw_perfmap_text *text, uint64_t avma,
			  struct sw_perfmap_line *ret, uint64_t *ret_place)
{
	for (int i = 1; i >= 0; i--) {
		const struct part *part = &text->parts[i];
		const struct sw_jit_range *range = sw_jit_ranges_find(&part->ranges, avma);
		if (range == NULL)
			continue;
		const size_t off = part->begin + range->value;
		*ret_place = text->place + off;
		return sw_perfmap_line_read((struct sw_bytes){text->data, text->whole}, off, ret);
	}
	return false;
}
