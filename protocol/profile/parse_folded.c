/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads folded stacks, "group;outermost;...;innermost COUNT" in each line, into tables. A frame "libc.so.6+0x29d90" has no
 * name, but a file and an address in it. States are not there: all counts as on a CPU.
 */
#include "text.h"
#include "cleanup.h"
#include "errors.h"
#include "profile/frame_name.h"
#include "profile/tables.h"

#include <stdlib.h>
#include <string.h>

enum { NO_SPACE = UINT32_MAX, HEX_DIGITS_MAX = 16, COUNT_DIGITS_MAX = 18 };

struct parser {
	struct sw_profile *profile; /* owned until the end */
	struct sw_text text;        /* reused */
	bool failed;                /* out of memory */
};

static uint32_t made(struct parser *p, int r, uint32_t index)
{
	p->failed |= r < 0;
	return r > 0 ? index : NO_SPACE;
}

static uint32_t text_put(struct parser *p, const char *data, size_t size)
{
	uint32_t index = 0;
	p->text.size = 0;
	sw_text_append(&p->text, data, size);
	sw_text_append(&p->text, "", 1); /* a NUL in the name ends it */
	if (p->text.failed) {
		p->failed = true;
		return NO_SPACE;
	}
	int r = sw_profile_string_find(p->profile, p->text.data, sw_profile_has_space(p->profile),
				       &index);
	return made(p, r, index);
}

static uint32_t module_put(struct parser *p, const char *name, size_t size)
{
	struct sw_profile_module module = {.path = text_put(p, name, size)};
	uint32_t index = 0;
	if (module.path == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_module_find(p->profile, &module, true, &index);
	return made(p, r, index);
}

/* "libc.so.6+0x29d90": the size of the file's name, and the address; 0: the text has another form. */
static size_t place_read(const char *data, size_t size, uint64_t *ret)
{
	size_t digits = 0;
	uint64_t address = 0;
	for (; digits < size; digits++) {
		const char c = data[size - 1 - digits];
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			break;
		const uint64_t nibble = (uint64_t) (c <= '9' ? c - '0' : c - 'a' + 10);
		if (digits == HEX_DIGITS_MAX)
			return 0;
		address |= nibble << 4 * digits;
	}
	static const char before[] = "+0x";
	const size_t n_before = sizeof(before) - 1;
	if (digits == 0 || size <= digits + n_before ||
	    memcmp(data + size - digits - n_before, before, n_before) != 0)
		return 0;
	*ret = address;
	return size - digits - n_before;
}

static uint32_t frame_put(struct parser *p, const char *data, size_t size)
{
	struct sw_profile_frame f = {0};
	uint32_t index = 0;
	if (sw_profile_guess_cut(data, &size))
		f.flags = SW_PROFILE_GUESS;
	const size_t n = place_read(data, size, &f.address);
	if (n > 0) {
		f.module = module_put(p, data, n);
		f.kind = text_put(p, "native", strlen("native"));
	} else {
		f.function = text_put(p, data, size);
		if (size > 1 && data[0] == '[' && data[size - 1] == ']')
			f.flags |= SW_PROFILE_MARK;
	}
	if (f.module == NO_SPACE || f.kind == NO_SPACE || f.function == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_frame_find(p->profile, &f, sw_profile_has_space(p->profile), &index);
	return made(p, r, index);
}

static uint32_t node_put(struct parser *p, uint32_t parent, const char *data, size_t size)
{
	const uint32_t frame = frame_put(p, data, size);
	uint32_t index = 0;
	if (frame == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_node_find(p->profile, parent, frame, sw_profile_has_space(p->profile),
				     &index);
	return made(p, r, index);
}

static uint32_t thread_put(struct parser *p, const char *data, size_t size)
{
	const uint32_t name = text_put(p, data, size);
	const struct sw_profile_process process = {.generation = name, .comm = name};
	const struct sw_profile_thread thread = {.generation = name, .key = name, .name = name};
	uint32_t index = 0;
	if (name == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_process_find(p->profile, &process, &index);
	if (r > 0)
		r = sw_profile_thread_find(p->profile, &thread,
					   p->profile->threads.n < p->profile->limits.max_threads,
					   &index);
	return made(p, r, index);
}

/* Where the next part of a stack ends. */
static size_t part_end(const char *line, size_t at, size_t size)
{
	const char *end = memchr(line + at, ';', size - at);
	return end != NULL ? (size_t) (end - line) : size;
}

/* A stack that is too deep loses its outermost frames, and says so. */
static uint32_t stack_put(struct parser *p, const char *line, size_t at, size_t size)
{
	static const char cut[] = "[cut: frame_limit]";
	size_t depth = 0;
	uint32_t node = 0;
	for (size_t i = at; i < size; i = part_end(line, i, size) + 1)
		depth++;
	if (depth > SW_PROFILE_DEPTH_MAX)
		node = node_put(p, 0, cut, strlen(cut));
	for (size_t end; at < size && node != NO_SPACE; at = end + 1, depth--) {
		end = part_end(line, at, size);
		if (depth <= SW_PROFILE_DEPTH_MAX)
			node = node_put(p, node, line + at, end - at);
	}
	return node;
}

/* The size of a line without " COUNT"; 0: the line has no count. */
static size_t count_read(const char *line, size_t size, uint64_t *ret)
{
	size_t at = size;
	*ret = 0;
	while (at > 0 && line[at - 1] >= '0' && line[at - 1] <= '9')
		at--;
	if (at < 2 || at == size || size - at > COUNT_DIGITS_MAX || line[at - 1] != ' ')
		return 0;
	for (size_t i = at; i < size; i++)
		*ret = *ret * 10 + (uint64_t) (line[i] - '0');
	return at - 1;
}

static void line_put(struct parser *p, const char *line, size_t size, uint64_t count)
{
	const size_t group = part_end(line, 0, size);
	struct sw_profile_row row = {.state = SW_PROFILE_ON_CPU,
				     .thread = thread_put(p, line, group)};
	uint32_t index = SW_PROFILE_NO_ROW;
	row.node = stack_put(p, line, group + 1, size);
	if (!p->failed && row.thread != NO_SPACE && row.node != NO_SPACE &&
	    (p->profile->is_stack[row.node] || sw_profile_has_space(p->profile)))
		p->failed |= sw_profile_row_find(p->profile, &row, &index) < 0;
	sw_profile_again(p->profile, index, count, 0);
}

static size_t line_end(const char *data, size_t at, size_t size)
{
	const char *end = memchr(data + at, '\n', size - at);
	return end != NULL ? (size_t) (end - data) : size;
}

bool sw_profile_is_folded(const void *data, size_t size)
{
	const char *text = data;
	uint64_t count;
	return size > 0 && text[0] != '{' && count_read(text, line_end(text, 0, size), &count) > 0;
}

int sw_profile_parse_folded(const void *data, size_t size, struct sw_profile **ret,
			    struct sw_error *err)
{
	struct parser p = {0};
	const char *text = data;
	int r = sw_profile_create(NULL, &p.profile, err);
	if (r < 0)
		return r;
	size_t number = 1;
	for (size_t at = 0, end; at < size && r == 0; at = end + 1, number++) {
		uint64_t count;
		end = line_end(text, at, size);
		const size_t n = count_read(text + at, end - at, &count);
		if (n > 0)
			line_put(&p, text + at, n, count);
		else if (end > at)
			r = sw_fail(err, SW_E_FORMAT, "line %zu is no folded stack", number);
		if (p.failed)
			r = sw_fail_nomem(err);
	}
	sw_text_deinit(&p.text);
	if (r < 0) {
		sw_profile_destroy(p.profile);
		return r;
	}
	p.profile->info.mode = "cpu";
	p.profile->info.n_samples = p.profile->info.n_wanted = p.profile->count;
	*ret = p.profile;
	return 0;
}
