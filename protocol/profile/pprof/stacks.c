/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/pprof/stacks.h"
#include "profile/frame_name.h"
#include "profile/locations.h"
#include "profile/pprof_fields.h"
#include "report/frame_kind.h"

#include <stdlib.h>
#include <string.h>

enum {
	LINES_MAX = 1 << 26, /* of the stacks of all samples: some seconds */
};

/* ---- mappings, functions, locations ---------------------------------------------------------- */

struct sw_profile_module sw_pprof_mapping_read(struct sw_pprof *p, struct sw_bytes message)
{
	struct sw_profile_module m = {0};
	struct sw_proto_field f;
	for (uint64_t at = 0; sw_pprof_next(p, message, &at, &f);)
		switch (f.number) {
		case MAPPING_MEMORY_START: m.start_avma = f.value; break;
		case MAPPING_MEMORY_LIMIT: m.end_avma = f.value; break;
		case MAPPING_FILE_OFFSET: m.mapping_off = f.value; break;
		case MAPPING_FILENAME: m.path = sw_pprof_string_put(p, f.value); break;
		case MAPPING_BUILD_ID: m.build_id = sw_pprof_string_put(p, f.value); break;
		default: break;
		}
	m.by_mapping = m.start_avma != 0;
	m.bias = m.by_mapping ? m.start_avma - m.mapping_off : 0;
	return m;
}

/* The module of a mapping, 0 for the id 0, or SW_PPROF_NO_SPACE. */
static uint32_t mapping_put(struct sw_pprof *p, uint64_t id, struct sw_profile_module *ret)
{
	uint64_t number;
	uint32_t index = 0;
	*ret = (struct sw_profile_module){0};
	if (id == 0 ||
	    !sw_pprof_messages_find(p, &p->mappings, id,
				    "it refers to a mapping that it does not have", &number))
		return 0;
	*ret = sw_pprof_mapping_read(p, p->mappings.all[number]);
	if (ret->path == SW_PPROF_NO_SPACE || ret->build_id == SW_PPROF_NO_SPACE || p->status < 0)
		return SW_PPROF_NO_SPACE;
	if (p->module_made[number] != SW_PPROF_UNSEEN)
		return p->module_made[number];
	int r = sw_profile_module_find(p->profile, ret,
				       p->profile->modules.n < SW_PROFILE_MODULES_MAX, &index);
	p->module_made[number] = sw_pprof_made(p, r, index);
	return p->module_made[number];
}

/* Written by sample --format pprof where there is no name: "[unknown]", "libc.so.6+0x29d90". */
static bool is_placeholder(const char *name, const char *path)
{
	const char *file = sw_base_name(path);
	size_t n = strlen(file);
	if (strcmp(name, "[unknown]") == 0)
		return true;
	if (n == 0 || strncmp(name, file, n) != 0 || strncmp(name + n, "+0x", 3) != 0)
		return false;
	const char *digits = name + n + 3;
	return digits[0] != '\0' && digits[strspn(digits, "0123456789abcdef")] == '\0';
}

/* A function's name, without the mark that it is a guess; nothing where it says that there is none. */
static void name_read(struct sw_pprof *p, uint64_t number, const char *path,
		      struct sw_pprof_line *ret)
{
	char *name = (char *) sw_pprof_string_raw(p, number);
	size_t n = strlen(name);
	if (p->status < 0)
		return;
	ret->is_guess = sw_profile_guess_cut(name, &n);
	name[n] = '\0';
	if (is_placeholder(name, path))
		ret->function = 0;
	else
		ret->function =
			ret->is_guess ? sw_pprof_text_put(p, name) : sw_pprof_string_put(p, number);
}

static struct sw_pprof_line line_read(struct sw_pprof *p, struct sw_bytes message, const char *path)
{
	struct sw_pprof_line line = {0};
	struct sw_proto_field f;
	uint64_t id = 0, number, name = 0, file = 0;
	for (uint64_t at = 0; sw_pprof_next(p, message, &at, &f);)
		if (f.number == LINE_LINE)
			line.line = f.value <= INT32_MAX ? (uint32_t) f.value : 0;
		else if (f.number == LINE_FUNCTION_ID)
			id = f.value;
	if (id == 0 ||
	    !sw_pprof_messages_find(p, &p->functions, id,
				    "it refers to a function that it does not have", &number))
		return line;
	for (uint64_t at = 0; sw_pprof_next(p, p->functions.all[number], &at, &f);)
		if (f.number == FUNCTION_NAME)
			name = f.value;
		else if (f.number == FUNCTION_FILENAME)
			file = f.value;
	if (name != 0)
		name_read(p, name, path, &line);
	if (file != 0)
		line.file = sw_pprof_string_put(p, file);
	return line;
}

static void lines_read(struct sw_pprof *p, struct sw_pprof_location *l, struct sw_bytes message,
		       const char *path)
{
	struct sw_proto_field f;
	l->first = (uint32_t) p->n_lines;
	for (uint64_t at = 0; sw_pprof_next(p, message, &at, &f);) {
		if (f.number != LOCATION_LINE || l->n == SW_PROFILE_LOCATION_LINES_MAX)
			continue;
		if (p->n_lines == SW_PPROF_MESSAGES_MAX) {
			sw_pprof_fail_limit(p);
			return;
		}
		struct sw_pprof_line *grown =
			sw_grow(p->lines, p->n_lines, &p->lines_capacity, 256, sizeof(*grown));
		if (grown == NULL) {
			sw_pprof_fail_memory(p);
			return;
		}
		p->lines = grown;
		const struct sw_pprof_line line = line_read(p, f.bytes, path);
		p->lines[p->n_lines++] = line;
		l->n++;
		l->is_named |= line.function != 0 && line.file != 0;
	}
}

/* NULL: there is none of that id. */
static const struct sw_pprof_location *location_read(struct sw_pprof *p, uint64_t id)
{
	uint64_t number, mapping = 0;
	struct sw_proto_field f;
	struct sw_profile_module m;
	if (!sw_pprof_messages_find(p, &p->locations, id,
				    "it refers to a location that it does not have", &number))
		return NULL;
	struct sw_pprof_location *l = &p->known[number];
	if (l->is_read)
		return l;
	l->is_read = true;
	for (uint64_t at = 0; sw_pprof_next(p, p->locations.all[number], &at, &f);)
		if (f.number == LOCATION_MAPPING_ID)
			mapping = f.value;
		else if (f.number == LOCATION_ADDRESS)
			l->address = f.value;
	l->module = mapping_put(p, mapping, &m);
	l->is_avma = l->module == 0 || (m.end_avma > m.start_avma &&
					(l->address < m.start_avma || l->address >= m.end_avma));
	if (!l->is_avma)
		l->address -= m.bias;
	const char *path = l->module == 0 || l->module == SW_PPROF_NO_SPACE
				   ? ""
				   : sw_profile_text_of(p->profile, m.path);
	lines_read(p, l, p->locations.all[number], path);
	return p->status == 0 ? l : NULL;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* "[cut: frame_limit]" and what else stands in place of a frame has no address. */
static bool is_mark(struct sw_pprof *p, const struct sw_pprof_location *l,
		    const struct sw_pprof_line *line)
{
	const char *name = line != NULL && line->function != SW_PPROF_NO_SPACE
				   ? sw_profile_text_of(p->profile, line->function)
				   : "";
	size_t n = strlen(name);
	return l->module == 0 && l->address == 0 && n > 1 && name[0] == '[' && name[n - 1] == ']';
}

/* The node below parent; SW_PPROF_NO_SPACE. line NULL: a location without any. */
static uint32_t node_put(struct sw_pprof *p, uint32_t parent, const struct sw_pprof_location *l,
			 const struct sw_pprof_line *line, bool is_inlined, bool is_innermost)
{
	const bool is_marked = is_mark(p, l, line);
	struct sw_profile_frame f = {
		.function = line != NULL ? line->function : 0,
		.file = line != NULL ? line->file : 0,
		.line = line != NULL ? line->line : 0,
		.module = l->module,
		/* The address is in the call; tables have that to which it returns. */
		.address = l->address + (!is_innermost && l->address != 0),
		.flags = (is_inlined ? SW_PROFILE_INLINED : 0) | (is_marked ? SW_PROFILE_MARK : 0) |
			 (l->is_avma && !is_marked ? SW_PROFILE_AVMA : 0) |
			 (line != NULL && line->is_guess ? SW_PROFILE_GUESS : 0),
	};
	uint32_t node = 0;
	bool grow = sw_profile_has_space(p->profile);
	f.kind = l->is_avma || l->is_named ? 0 : sw_pprof_text_put(p, "native");
	if (l->is_avma && f.function != 0)
		f.address = 0; /* as sw_profile_add() has it */
	if (f.kind == SW_PPROF_NO_SPACE || f.module == SW_PPROF_NO_SPACE ||
	    f.function == SW_PPROF_NO_SPACE || f.file == SW_PPROF_NO_SPACE)
		return SW_PPROF_NO_SPACE;
	int r = sw_profile_node_of_frame(p->profile, parent, &f, grow, &node);
	return sw_pprof_made(p, r, node);
}

static uint32_t location_put(struct sw_pprof *p, uint32_t parent, uint64_t id, bool is_innermost)
{
	const struct sw_pprof_location *l = location_read(p, id);
	if (l == NULL)
		return SW_PPROF_NO_SPACE;
	p->n_stack_lines += l->n + 1;
	if (l->n == 0)
		return node_put(p, parent, l, NULL, false, is_innermost);
	for (size_t i = l->n; i > 0 && parent != SW_PPROF_NO_SPACE; i--)
		parent =
			node_put(p, parent, l, &p->lines[l->first + i - 1], i < l->n, is_innermost);
	return parent;
}

static uint32_t cut_put(struct sw_pprof *p)
{
	struct sw_profile_frame f = {.flags = SW_PROFILE_MARK,
				     .function = sw_pprof_text_put(p, "[cut: frame_limit]")};
	uint32_t node = 0;
	bool grow = sw_profile_has_space(p->profile);
	if (f.function == SW_PPROF_NO_SPACE)
		return SW_PPROF_NO_SPACE;
	int r = sw_profile_node_of_frame(p->profile, 0, &f, grow, &node);
	return sw_pprof_made(p, r, node);
}

uint32_t sw_pprof_stack_put(struct sw_pprof *p, size_t n, bool is_cut)
{
	size_t lines = 0, kept = 0;
	while (kept < n && lines < SW_PROFILE_DEPTH_MAX) {
		const struct sw_pprof_location *l = location_read(p, p->stack[kept]);
		if (l == NULL)
			return SW_PPROF_NO_SPACE;
		lines += l->n > 0 ? l->n : 1;
		kept += lines <= SW_PROFILE_DEPTH_MAX;
	}
	if (p->n_stack_lines > LINES_MAX)
		return SW_PPROF_NO_SPACE;
	uint32_t node = is_cut || kept < n ? cut_put(p) : 0;
	for (size_t i = kept; i > 0 && node != SW_PPROF_NO_SPACE; i--)
		node = location_put(p, node, p->stack[i - 1], i == 1);
	return node;
}
