/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/width.h"

#include <stdlib.h>
#include <string.h>

enum { INDENT = 4, COLUMNS_MIN = 40 /* in less nothing can be read anyway */ };

/* Bytes of what is at s: a character, or a sequence of ours that sets a style, which has no column.
 */
static size_t step(const char *s, size_t size, size_t *columns)
{
	size_t n = 1;
	if (s[0] == '\033') {
		while (n < size && s[n - 1] != 'm')
			n++;
		return n;
	}
	while (n < size && ((unsigned char) s[n] & 0xc0) == 0x80)
		n++;
	++*columns;
	return n;
}

static size_t width_of(const struct sw_text_writer *w)
{
	return w->options->columns == 0 || w->options->verbose ? 0
	       : w->options->columns < COLUMNS_MIN             ? COLUMNS_MIN
							       : w->options->columns;
}

/* How much of a line fits, and in *ret_space where its last space is, which is not in its
 * indentation; 0: none. */
static size_t fitting(const char *line, size_t size, size_t width, size_t indent, size_t *ret_space)
{
	size_t columns = 0, at = 0, margin = 0;
	*ret_space = 0;
	while (margin < size && line[margin] == ' ')
		margin++;
	while (at < size) {
		size_t before = columns, n = step(line + at, size - at, &columns);
		if (columns + indent > width)
			return at;
		if (line[at] == ' ' && at > margin && before > 0)
			*ret_space = at;
		at += n;
	}
	return size;
}

static void wrap_line(struct sw_text *to, const char *line, size_t size, size_t width)
{
	size_t margin = 0, indent = 0, space;
	while (margin < size && line[margin] == ' ')
		margin++;
	margin = margin + INDENT < width / 2 ? margin + INDENT : INDENT;
	while (fitting(line, size, width, indent, &space) < size && space > 0) {
		while (space > 1 && line[space - 1] == ' ')
			space--;
		sw_text_append(to, line, space);
		sw_text_printf(to, "\n%*s", (int) margin, "");
		while (space < size && line[space] == ' ')
			space++;
		line += space;
		size -= space;
		indent = margin;
	}
	sw_text_append(to, line, size);
}

/* Replace the text from that byte on. */
static void replace(struct sw_text_writer *w, size_t from, struct sw_text *by)
{
	w->text.size = from;
	w->text.failed |= by->failed;
	if (!by->failed && by->size > 0)
		sw_text_append(&w->text, by->data, by->size);
	sw_text_deinit(by);
}

void sw_wrap(struct sw_text_writer *w, size_t from)
{
	struct sw_text fitted = {0};
	size_t width = width_of(w);
	if (width == 0 || w->text.failed || from >= w->text.size)
		return;
	for (size_t at = from; at < w->text.size;) {
		const char *line = w->text.data + at;
		const char *end = memchr(line, '\n', w->text.size - at);
		size_t size = end != NULL ? (size_t) (end - line) : w->text.size - at;
		wrap_line(&fitted, line, size, width);
		if (end != NULL)
			sw_text_append(&fitted, "\n", 1);
		at += size + (end != NULL);
	}
	replace(w, from, &fitted);
}

void sw_cut(struct sw_text_writer *w, size_t from)
{
	size_t width = width_of(w), space;
	if (width == 0 || w->text.failed || from >= w->text.size)
		return;
	const char *line = w->text.data + from;
	size_t size = w->text.size - from;
	if (fitting(line, size, width, 0, &space) == size)
		return;
	struct sw_text fitted = {0};
	sw_text_append(&fitted, line, fitting(line, size, width - 1, 0, &space));
	sw_text_append(&fitted, "…", strlen("…"));
	if (w->options->color)
		sw_text_append(&fitted, "\033[0m", 4);
	replace(w, from, &fitted);
}
