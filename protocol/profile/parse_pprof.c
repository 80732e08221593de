/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads google/pprof's profile.proto into tables. The file may be anybody's: ids are looked up, strings go through the same
 * cleaning as those of a process, and the limits are those of sampling.
 *
 * Tables may stand behind the samples that refer to them: one pass finds all messages, and each is read when it is used.
 * Numbers of samples and a time are what a profile of ours has; samples keep the labels that sample --format pprof writes.
 */
#include "cleanup.h"
#include "errors.h"
#include "profile/frame_name.h"
#include "profile/locations.h"
#include "profile/pprof_fields.h"
#include "profile/protobuf.h"
#include "profile/tables.h"
#include "report/frame_kind.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum {
	UNSEEN = UINT32_MAX,
	NO_SPACE = UINT32_MAX - 1,
	UNPACKED_BYTES_MAX = 256 << 20,
	GZIP_BYTES_LEAST = 18,
	MESSAGES_MAX = 1 << 22, /* of one kind */
	FIELDS_BYTES_MAX =
		256, /* of a mapping or a function: ten numbers at most, read again with each line */
	STRING_BYTES_MAX = SW_PROFILE_NAME_BYTES_MAX + 64, /* more would be cut */
	TYPES_MAX = 64,
	LINES_MAX = 1 << 26, /* of the stacks of all samples: some seconds */
	ATTRIBUTES_MAX = 16, /* of a sample's process */
	NO_TYPE = -1,
};

/* Messages with ids, in the order in which they came. */
struct messages {
	struct sw_bytes *all; /* owned */
	size_t n, capacity;
	struct sw_map64 by_id;
};

struct line {
	uint32_t function, file, line; /* strings of the profile */
	bool is_guess;
};

struct location {
	uint64_t address;
	uint32_t module, first, n; /* lines, innermost first */
	bool is_read, is_avma;
	bool is_named; /* with a file: there is no better name */
};

struct parser {
	struct sw_profile *profile;      /* owned until the end */
	struct sw_profile_left_out left; /* what is not taken */
	struct messages strings, mappings, locations, functions, samples;
	uint32_t *string_made;  /* owned; of each string, or UNSEEN */
	uint32_t *module_made;  /* owned; of each mapping, or UNSEEN */
	struct location *known; /* owned; of each location */
	struct line *lines;     /* owned */
	size_t n_lines, lines_capacity;
	struct sw_text text;                    /* reused */
	struct sw_proto_field types[TYPES_MAX]; /* of values */
	size_t n_types;
	int count_type, time_type; /* their indices, or NO_TYPE */
	uint64_t time_ns;          /* of one of the time's units */
	uint64_t begin_ns, duration_ns, period_ns, n_stack_lines;
	struct sw_proto_field period_type;
	uint64_t stack[SW_PROFILE_DEPTH_MAX]; /* locations of the sample that is read */
	struct sw_error *err;
	int status;
};

static void fail(struct parser *p, const char *what)
{
	if (p->status == 0)
		p->status =
			sw_fail(p->err, SW_E_FORMAT, "this is not a profile of pprof: %s", what);
}

static void fail_memory(struct parser *p)
{
	if (p->status == 0)
		p->status = sw_fail_nomem(p->err);
}

static void fail_limit(struct parser *p)
{
	if (p->status == 0)
		p->status = sw_fail(p->err, SW_E_LIMIT, "it has more than %d messages of one kind",
				    MESSAGES_MAX);
}

/* The index of what a table has, or NO_SPACE. */
static uint32_t made(struct parser *p, int r, uint32_t index)
{
	if (r < 0)
		fail_memory(p);
	return r > 0 ? index : NO_SPACE;
}

/* The next field of a message; false at its end. */
static bool next(struct parser *p, struct sw_bytes message, uint64_t *at,
		 struct sw_proto_field *ret)
{
	int r = p->status == 0 ? sw_proto_next(message, at, ret) : 0;
	if (r < 0)
		fail(p, "a message is malformed");
	return r > 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void messages_deinit(struct messages *m)
{
	free(m->all);
	sw_map64_deinit(&m->by_id);
}

static void messages_add(struct parser *p, struct messages *m, struct sw_bytes message)
{
	if (m->n == MESSAGES_MAX) {
		fail_limit(p);
		return;
	}
	struct sw_bytes *grown = sw_grow(m->all, m->n, &m->capacity, 256, sizeof(*grown));
	if (grown == NULL) {
		fail_memory(p);
		return;
	}
	m->all = grown;
	m->all[m->n++] = message;
}

/* Ids are anybody's: how the map mixes its keys is known, the seed is not. Different ids have different keys. */
static uint64_t key_of(const struct parser *p, uint64_t id)
{
	return sw_mix64(id ^ p->profile->seed);
}

/* Each of these messages has its id in the field of the same number. */
static void messages_index(struct parser *p, struct messages *m, size_t bytes_max)
{
	struct sw_proto_field f;
	for (size_t i = 0; i < m->n && p->status == 0; i++) {
		if (m->all[i].size > bytes_max)
			fail(p, "a mapping or a function is too long");
		for (uint64_t at = 0; next(p, m->all[i], &at, &f);)
			if (f.number == LOCATION_ID && !f.is_bytes &&
			    sw_map64_put(&m->by_id, key_of(p, f.value), i) < 0)
				fail_memory(p);
	}
}

/* False: there is none of that id. */
static bool messages_find(struct parser *p, const struct messages *m, uint64_t id, const char *what,
			  uint64_t *ret)
{
	if (sw_map64_get(&m->by_id, key_of(p, id), ret))
		return true;
	fail(p, what);
	return false;
}

static_assert((int) LOCATION_ID == (int) MAPPING_ID && (int) LOCATION_ID == (int) FUNCTION_ID,
	      "one index for all");

/* ---- strings --------------------------------------------------------------------------------- */

/* A string by its number; it may be long. */
static struct sw_bytes string_bytes(struct parser *p, uint64_t number)
{
	if (number < p->strings.n)
		return p->strings.all[number];
	fail(p, "it refers to a string that it does not have");
	return (struct sw_bytes){0};
}

/* The first bytes of a string, cut at a NUL, in p->text. */
static const char *string_raw(struct parser *p, uint64_t number)
{
	const struct sw_bytes s = string_bytes(p, number);
	p->text.size = 0;
	sw_text_append(&p->text, (const char *) s.data,
		       s.size < STRING_BYTES_MAX ? s.size : STRING_BYTES_MAX);
	sw_text_append(&p->text, "", 1);
	if (p->text.failed)
		fail_memory(p);
	return p->status == 0 ? p->text.data : "";
}

static bool string_is(struct parser *p, uint64_t number, const char *wanted)
{
	const struct sw_bytes s = string_bytes(p, number);
	return s.size == strlen(wanted) && memcmp(s.data, wanted, s.size) == 0;
}

static uint32_t text_put(struct parser *p, const char *s)
{
	uint32_t index = 0;
	int r = sw_profile_string_find(p->profile, s, sw_profile_has_space(p->profile), &index);
	return made(p, r, index);
}

static uint32_t string_put(struct parser *p, uint64_t number)
{
	if (number < p->strings.n && p->string_made[number] != UNSEEN)
		return p->string_made[number];
	const char *s = string_raw(p, number);
	if (p->status < 0)
		return NO_SPACE;
	p->string_made[number] = text_put(p, s);
	return p->string_made[number];
}

/* ---- mappings, functions, locations ---------------------------------------------------------- */

/* Without a place in memory, addresses are those of the file. */
static struct sw_profile_module mapping_read(struct parser *p, struct sw_bytes message)
{
	struct sw_profile_module m = {0};
	struct sw_proto_field f;
	for (uint64_t at = 0; next(p, message, &at, &f);)
		switch (f.number) {
		case MAPPING_MEMORY_START: m.start_avma = f.value; break;
		case MAPPING_MEMORY_LIMIT: m.end_avma = f.value; break;
		case MAPPING_FILE_OFFSET: m.mapping_off = f.value; break;
		case MAPPING_FILENAME: m.path = string_put(p, f.value); break;
		case MAPPING_BUILD_ID: m.build_id = string_put(p, f.value); break;
		default: break;
		}
	m.by_mapping = m.start_avma != 0;
	m.bias = m.by_mapping ? m.start_avma - m.mapping_off : 0;
	return m;
}

/* The module of a mapping, 0 for the id 0, or NO_SPACE. */
static uint32_t mapping_put(struct parser *p, uint64_t id, struct sw_profile_module *ret)
{
	uint64_t number;
	uint32_t index = 0;
	*ret = (struct sw_profile_module){0};
	if (id == 0 || !messages_find(p, &p->mappings, id,
				      "it refers to a mapping that it does not have", &number))
		return 0;
	*ret = mapping_read(p, p->mappings.all[number]);
	if (ret->path == NO_SPACE || ret->build_id == NO_SPACE || p->status < 0)
		return NO_SPACE;
	if (p->module_made[number] != UNSEEN)
		return p->module_made[number];
	int r = sw_profile_module_find(p->profile, ret,
				       p->profile->modules.n < SW_PROFILE_MODULES_MAX, &index);
	p->module_made[number] = made(p, r, index);
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
static void name_read(struct parser *p, uint64_t number, const char *path, struct line *ret)
{
	char *name = (char *) string_raw(p, number);
	size_t n = strlen(name);
	if (p->status < 0)
		return;
	ret->is_guess = sw_profile_guess_cut(name, &n);
	name[n] = '\0';
	if (is_placeholder(name, path))
		ret->function = 0;
	else
		ret->function = ret->is_guess ? text_put(p, name) : string_put(p, number);
}

static struct line line_read(struct parser *p, struct sw_bytes message, const char *path)
{
	struct line line = {0};
	struct sw_proto_field f;
	uint64_t id = 0, number, name = 0, file = 0;
	for (uint64_t at = 0; next(p, message, &at, &f);)
		if (f.number == LINE_LINE)
			line.line = f.value <= INT32_MAX ? (uint32_t) f.value : 0;
		else if (f.number == LINE_FUNCTION_ID)
			id = f.value;
	if (id == 0 || !messages_find(p, &p->functions, id,
				      "it refers to a function that it does not have", &number))
		return line;
	for (uint64_t at = 0; next(p, p->functions.all[number], &at, &f);)
		if (f.number == FUNCTION_NAME)
			name = f.value;
		else if (f.number == FUNCTION_FILENAME)
			file = f.value;
	if (name != 0)
		name_read(p, name, path, &line);
	if (file != 0)
		line.file = string_put(p, file);
	return line;
}

static void lines_read(struct parser *p, struct location *l, struct sw_bytes message,
		       const char *path)
{
	struct sw_proto_field f;
	l->first = (uint32_t) p->n_lines;
	for (uint64_t at = 0; next(p, message, &at, &f);) {
		if (f.number != LOCATION_LINE || l->n == SW_PROFILE_LOCATION_LINES_MAX)
			continue;
		if (p->n_lines == MESSAGES_MAX) {
			fail_limit(p);
			return;
		}
		struct line *grown =
			sw_grow(p->lines, p->n_lines, &p->lines_capacity, 256, sizeof(*grown));
		if (grown == NULL) {
			fail_memory(p);
			return;
		}
		p->lines = grown;
		const struct line line = line_read(p, f.bytes, path);
		p->lines[p->n_lines++] = line;
		l->n++;
		l->is_named |= line.function != 0 && line.file != 0;
	}
}

/* NULL: there is none of that id. */
static const struct location *location_read(struct parser *p, uint64_t id)
{
	uint64_t number, mapping = 0;
	struct sw_proto_field f;
	struct sw_profile_module m;
	if (!messages_find(p, &p->locations, id, "it refers to a location that it does not have",
			   &number))
		return NULL;
	struct location *l = &p->known[number];
	if (l->is_read)
		return l;
	l->is_read = true;
	for (uint64_t at = 0; next(p, p->locations.all[number], &at, &f);)
		if (f.number == LOCATION_MAPPING_ID)
			mapping = f.value;
		else if (f.number == LOCATION_ADDRESS)
			l->address = f.value;
	l->module = mapping_put(p, mapping, &m);
	l->is_avma = l->module == 0 || (m.end_avma > m.start_avma &&
					(l->address < m.start_avma || l->address >= m.end_avma));
	if (!l->is_avma)
		l->address -= m.bias;
	const char *path = l->module == 0 || l->module == NO_SPACE
				   ? ""
				   : sw_profile_text_of(p->profile, m.path);
	lines_read(p, l, p->locations.all[number], path);
	return p->status == 0 ? l : NULL;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* "[cut: frame_limit]" and what else stands in place of a frame has no address. */
static bool is_mark(struct parser *p, const struct location *l, const struct line *line)
{
	const char *name = line != NULL && line->function != NO_SPACE
				   ? sw_profile_text_of(p->profile, line->function)
				   : "";
	size_t n = strlen(name);
	return l->module == 0 && l->address == 0 && n > 1 && name[0] == '[' && name[n - 1] == ']';
}

/* The node below parent; NO_SPACE. line NULL: a location without any. */
static uint32_t node_put(struct parser *p, uint32_t parent, const struct location *l,
			 const struct line *line, bool is_inlined, bool is_innermost)
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
	f.kind = l->is_avma || l->is_named ? 0 : text_put(p, "native");
	if (l->is_avma && f.function != 0)
		f.address = 0; /* as sw_profile_add() has it */
	if (f.kind == NO_SPACE || f.module == NO_SPACE || f.function == NO_SPACE ||
	    f.file == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_node_of_frame(p->profile, parent, &f, grow, &node);
	return made(p, r, node);
}

static uint32_t location_put(struct parser *p, uint32_t parent, uint64_t id, bool is_innermost)
{
	const struct location *l = location_read(p, id);
	if (l == NULL)
		return NO_SPACE;
	p->n_stack_lines += l->n + 1;
	if (l->n == 0)
		return node_put(p, parent, l, NULL, false, is_innermost);
	for (size_t i = l->n; i > 0 && parent != NO_SPACE; i--)
		parent =
			node_put(p, parent, l, &p->lines[l->first + i - 1], i < l->n, is_innermost);
	return parent;
}

static uint32_t cut_put(struct parser *p)
{
	struct sw_profile_frame f = {.flags = SW_PROFILE_MARK,
				     .function = text_put(p, "[cut: frame_limit]")};
	uint32_t node = 0;
	bool grow = sw_profile_has_space(p->profile);
	if (f.function == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_node_of_frame(p->profile, 0, &f, grow, &node);
	return made(p, r, node);
}

/* The node of a sample's stack of n locations, in p->stack. Limits leave out the outermost frames, and whole stacks. */
static uint32_t stack_put(struct parser *p, size_t n, bool is_cut)
{
	size_t lines = 0, kept = 0;
	while (kept < n && lines < SW_PROFILE_DEPTH_MAX) {
		const struct location *l = location_read(p, p->stack[kept]);
		if (l == NULL)
			return NO_SPACE;
		lines += l->n > 0 ? l->n : 1;
		kept += lines <= SW_PROFILE_DEPTH_MAX;
	}
	if (p->n_stack_lines > LINES_MAX)
		return NO_SPACE;
	uint32_t node = is_cut || kept < n ? cut_put(p) : 0;
	for (size_t i = kept; i > 0 && node != NO_SPACE; i--)
		node = location_put(p, node, p->stack[i - 1], i == 1);
	return node;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The rest of a sample, besides its stack. Strings of the profile. */
struct labels {
	uint32_t pid, tid, thread, wait, unit, container;
	uint32_t state;
	struct sw_profile_attribute attributes[ATTRIBUTES_MAX];
	size_t n_attributes;
};

static uint32_t state_of(struct parser *p, uint64_t string)
{
	for (uint32_t i = SW_PROFILE_ON_CPU; i < SW_PROFILE_STATES; i++)
		if (string_is(p, string, sw_profile_state_word(i)))
			return i;
	return SW_PROFILE_AS_REPORTED;
}

static uint32_t number_of(uint64_t value)
{
	return value <= INT32_MAX ? (uint32_t) value : 0;
}

/* An attribute of the process by which people look for a service. */
static bool is_service(struct parser *p, uint64_t key)
{
	static const char *const begins[] = {"service.", "k8s.", "deployment."};
	const struct sw_bytes s = string_bytes(p, key);
	for (size_t i = 0; i < SW_ARRAY_SIZE(begins); i++)
		if (s.size >= strlen(begins[i]) &&
		    memcmp(s.data, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static void label_read(struct parser *p, struct sw_bytes message, struct labels *ret)
{
	struct sw_proto_field f;
	uint64_t key = 0, text = 0, number = 0;
	for (uint64_t at = 0; next(p, message, &at, &f);)
		switch (f.number) {
		case LABEL_KEY: key = f.value; break;
		case LABEL_STR: text = f.value; break;
		case LABEL_NUM: number = f.value; break;
		default: break;
		}
	if (text == 0 && string_is(p, key, "pid"))
		ret->pid = number_of(number);
	else if (text == 0 && string_is(p, key, "tid"))
		ret->tid = number_of(number);
	else if (text != 0 && string_is(p, key, "thread"))
		ret->thread = string_put(p, text);
	else if (text != 0 && string_is(p, key, "state")) {
		ret->state = state_of(p, text);
		p->left.n_labels += ret->state == SW_PROFILE_AS_REPORTED;
	} else if (text != 0 && string_is(p, key, "wait"))
		ret->wait = string_put(p, text);
	else if (text != 0 && string_is(p, key, "unit"))
		ret->unit = string_put(p, text);
	else if (text != 0 && string_is(p, key, "container"))
		ret->container = string_put(p, text);
	else if (text != 0 && ret->n_attributes < ATTRIBUTES_MAX && is_service(p, key))
		ret->attributes[ret->n_attributes++] =
			(struct sw_profile_attribute){.key = string_put(p, key),
						      .value = string_put(p, text)};
	else
		p->left.n_labels++;
}

static void attributes_put(struct parser *p, const struct labels *labels,
			   const struct sw_profile_process *process)
{
	for (size_t i = 0; i < labels->n_attributes && p->status == 0; i++) {
		struct sw_profile_attribute a = labels->attributes[i];
		uint32_t index = 0;
		a.pid = process->pid;
		a.generation = process->generation;
		if (a.key != NO_SPACE && a.value != NO_SPACE &&
		    sw_profile_attribute_find(p->profile, &a, &index) < 0)
			fail_memory(p);
	}
}

/* The file of the first mapping is the program, of the first process: nothing tells that of another one, which is called as
 * its thread. False: there is no space. */
static bool process_put(struct parser *p, const struct labels *labels,
			struct sw_profile_process *ret)
{
	uint32_t index = 0;
	const bool is_first = p->profile->processes.n == 0 ||
			      sw_profile_process_at(p->profile, 0)->pid == labels->pid;
	*ret = (struct sw_profile_process){.pid = labels->pid,
					   .unit = labels->unit,
					   .container = labels->container};
	if (is_first && p->mappings.n > 0)
		ret->exe = mapping_read(p, p->mappings.all[0]).path;
	if (ret->exe == NO_SPACE || ret->unit == NO_SPACE || ret->container == NO_SPACE)
		return false;
	ret->comm = is_first ? text_put(p, sw_base_name(sw_profile_text_of(p->profile, ret->exe)))
			     : labels->thread;
	if (ret->comm == NO_SPACE || p->status < 0)
		return false;
	ret->generation = ret->pid == 0 ? ret->comm : 0;
	int r = sw_profile_process_find(p->profile, ret, &index);
	if (made(p, r, index) == NO_SPACE)
		return false;
	attributes_put(p, labels, ret);
	return true;
}

/* A sample without the name of its thread is of one that is called as the program. */
static uint32_t thread_put(struct parser *p, const struct labels *labels)
{
	struct sw_profile_process process;
	uint32_t index = 0;
	if (!process_put(p, labels, &process) || labels->thread == NO_SPACE)
		return NO_SPACE;
	const uint32_t name = labels->thread != 0 ? labels->thread : process.comm;
	const struct sw_profile_thread thread = {.pid = process.pid,
						 .generation = process.generation,
						 .tid = labels->tid,
						 .key = name,
						 .name = name};
	int r = sw_profile_thread_find(p->profile, &thread,
				       p->profile->threads.n < p->profile->limits.max_threads,
				       &index);
	return made(p, r, index);
}

static void row_put(struct parser *p, const struct labels *labels, uint32_t node, uint64_t count,
		    uint64_t ns)
{
	struct sw_profile_row row = {.thread = thread_put(p, labels),
				     .node = node,
				     .wait = labels->wait,
				     .state = labels->state};
	uint32_t index = SW_PROFILE_NO_ROW;
	if (p->status < 0)
		return;
	if (row.thread != NO_SPACE && node != NO_SPACE && row.wait != NO_SPACE &&
	    (p->profile->is_stack[node] || sw_profile_has_space(p->profile)) &&
	    sw_profile_row_find(p->profile, &row, &index) < 0)
		fail_memory(p);
	sw_profile_again(p->profile, index, count, ns);
}

/* The value of that index, in a unit of which each is so many. */
static uint64_t value_of(struct parser *p, uint64_t value, uint64_t each)
{
	uint64_t all;
	if (value > INT64_MAX)
		fail(p, "a value is negative: it is the difference of two profiles");
	return __builtin_mul_overflow(value, each, &all) || all > INT64_MAX ? INT64_MAX : all;
}

/* The state of a sample that does not say its own. */
static uint32_t state_by_mode(struct parser *p)
{
	if (sw_profile_by_time(p->profile))
		return SW_PROFILE_BLOCKED;
	p->left.n_states += p->time_type == NO_TYPE || strcmp(p->profile->info.mode, "cpu") != 0;
	return SW_PROFILE_ON_CPU;
}

static void sample_read(struct parser *p, struct sw_bytes message)
{
	struct labels labels = {.state = SW_PROFILE_AS_REPORTED};
	struct sw_proto_field f;
	uint64_t element, count = 0, ns = 0;
	size_t n = 0;
	int n_values = 0;
	bool is_cut = false;
	for (uint64_t at = 0; next(p, message, &at, &f);) {
		uint64_t in = 0;
		int r = 0;
		if (f.number == SAMPLE_LABEL)
			label_read(p, f.bytes, &labels);
		while (f.number == SAMPLE_LOCATION_ID &&
		       (r = sw_proto_element(&f, &in, &element)) > 0) {
			if (n < SW_PROFILE_DEPTH_MAX)
				p->stack[n++] = element;
			else
				is_cut = true;
		}
		while (f.number == SAMPLE_VALUE && (r = sw_proto_element(&f, &in, &element)) > 0) {
			if (n_values == p->count_type)
				count = value_of(p, element, 1);
			else if (n_values == p->time_type)
				ns = value_of(p, element, p->time_ns);
			n_values += n_values < TYPES_MAX;
		}
		if (r < 0)
			fail(p, "a message is malformed");
	}
	if (labels.state == SW_PROFILE_AS_REPORTED)
		labels.state = state_by_mode(p);
	if (p->status == 0)
		row_put(p, &labels, stack_put(p, n, is_cut), count, ns);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Nanoseconds of a unit; 0: the unit is not one of time. */
static uint64_t unit_ns(struct parser *p, uint64_t string)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"nanoseconds", 1},
		     {"microseconds", 1000},
		     {"milliseconds", 1000000},
		     {"seconds", 1000000000}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(units); i++)
		if (string_is(p, string, units[i].unit))
			return units[i].ns;
	return 0;
}

static void type_read(struct parser *p, struct sw_bytes message, uint64_t *ret_type,
		      uint64_t *ret_unit)
{
	struct sw_proto_field f;
	*ret_type = *ret_unit = 0;
	for (uint64_t at = 0; next(p, message, &at, &f);)
		if (f.number == VALUE_TYPE_TYPE)
			*ret_type = f.value;
		else if (f.number == VALUE_TYPE_UNIT)
			*ret_unit = f.value;
}

/* "delay" is the time that Go's profiles of blocked goroutines have. */
static const char *mode_of(struct parser *p, uint64_t type)
{
	if (string_is(p, type, "wall"))
		return "wall";
	return string_is(p, type, "off") || string_is(p, type, "delay") ? "off" : "cpu";
}

/* Which values are a number of samples and a time. */
static void types_read(struct parser *p)
{
	p->count_type = p->time_type = NO_TYPE;
	p->profile->info.mode = "cpu";
	for (size_t i = 0; i < p->n_types && p->status == 0; i++) {
		uint64_t type, unit, ns;
		type_read(p, p->types[i].bytes, &type, &unit);
		ns = unit_ns(p, unit);
		if (p->time_type == NO_TYPE && ns > 0) {
			p->time_type = (int) i;
			p->time_ns = ns;
			p->profile->info.mode = mode_of(p, type);
		} else if (p->count_type == NO_TYPE && string_is(p, unit, "count")) {
			p->count_type = (int) i;
		} else {
			p->left.n_values++;
		}
	}
	if (p->status == 0 && p->count_type == NO_TYPE)
		fail(p, "none of its values is a number of samples");
}

static void times_read(struct parser *p)
{
	struct sw_profile_info *info = &p->profile->info;
	uint64_t type, unit;
	type_read(p, p->period_type.bytes, &type, &unit);
	uint64_t period = p->n_types > 0 ? p->period_ns * unit_ns(p, unit) : 0;
	info->begin_ns = p->begin_ns <= INT64_MAX ? (int64_t) p->begin_ns : 0;
	info->duration_ns = p->duration_ns <= INT64_MAX ? (int64_t) p->duration_ns : 0;
	if (period > 0 && period <= INT64_MAX) {
		/* A clock of CPU time has as many turns as the program has used of it. */
		if (strcmp(info->mode, "cpu") != 0)
			info->n_samples = (uint64_t) info->duration_ns / period;
		uint64_t rate = (UINT64_C(1000000000) + period / 2) / period;
		info->rate_hz = rate <= INT32_MAX ? (uint32_t) rate : 0;
	}
}

static void comments_count(struct parser *p, const struct sw_proto_field *f)
{
	uint64_t string;
	for (uint64_t at = 0; sw_proto_element(f, &at, &string) > 0;)
		p->left.n_comments++;
}

/* All messages of the file. */
static void file_read(struct parser *p, struct sw_bytes file)
{
	struct sw_proto_field f;
	for (uint64_t at = 0; next(p, file, &at, &f);)
		switch (f.number) {
		case PROFILE_SAMPLE_TYPE:
			if (p->n_types == TYPES_MAX)
				fail(p, "it has too many kinds of values");
			else
				p->types[p->n_types++] = f;
			break;
		case PROFILE_SAMPLE: messages_add(p, &p->samples, f.bytes); break;
		case PROFILE_MAPPING: messages_add(p, &p->mappings, f.bytes); break;
		case PROFILE_LOCATION: messages_add(p, &p->locations, f.bytes); break;
		case PROFILE_FUNCTION: messages_add(p, &p->functions, f.bytes); break;
		case PROFILE_STRING_TABLE: messages_add(p, &p->strings, f.bytes); break;
		case PROFILE_COMMENT: comments_count(p, &f); break;
		case PROFILE_TIME_NANOS: p->begin_ns = f.value; break;
		case PROFILE_DURATION_NANOS: p->duration_ns = f.value; break;
		case PROFILE_PERIOD_TYPE: p->period_type = f; break;
		case PROFILE_PERIOD: p->period_ns = f.value; break;
		default: break;
		}
	messages_index(p, &p->mappings, FIELDS_BYTES_MAX);
	messages_index(p, &p->locations, SIZE_MAX);
	messages_index(p, &p->functions, FIELDS_BYTES_MAX);
}

static uint32_t *unseen(struct parser *p, size_t n)
{
	uint32_t *all = malloc((n + 1) * sizeof(*all));
	if (all == NULL)
		fail_memory(p);
	for (size_t i = 0; all != NULL && i < n; i++)
		all[i] = UNSEEN;
	return all;
}

static void profile_read(struct parser *p, struct sw_bytes file)
{
	file_read(p, file);
	p->string_made = unseen(p, p->strings.n);
	p->module_made = unseen(p, p->mappings.n);
	p->known = calloc(p->locations.n + 1, sizeof(*p->known));
	if (p->known == NULL)
		fail_memory(p);
	if (p->status == 0)
		types_read(p);
	if (p->status == 0)
		times_read(p);
	for (size_t i = 0; i < p->samples.n && p->status == 0; i++)
		sample_read(p, p->samples.all[i]);
	if (p->profile->info.n_samples == 0)
		p->profile->info.n_samples = p->profile->count;
	p->profile->info.n_wanted = p->profile->info.n_samples;
}

static void parser_deinit(struct parser *p)
{
	messages_deinit(&p->strings);
	messages_deinit(&p->mappings);
	messages_deinit(&p->locations);
	messages_deinit(&p->functions);
	messages_deinit(&p->samples);
	free(p->string_made);
	free(p->module_made);
	free(p->known);
	free(p->lines);
	sw_text_deinit(&p->text);
}

static bool is_gzip(struct sw_bytes file)
{
	static const uint8_t magic[] = {0x1f, 0x8b};
	return file.size >= GZIP_BYTES_LEAST && memcmp(file.data, magic, sizeof(magic)) == 0;
}

/* *ret is of use while *buffer is. The last bytes of the file say its size unpacked: RFC 1952, 2.3.1. */
static int unpack(struct sw_bytes file, struct sw_bytes *ret, char **buffer, struct sw_error *err)
{
	uint32_t size = 0;
	(void) sw_bytes_u32(file, file.size - sizeof(size), &size); /* lies inside */
	if (size > UNPACKED_BYTES_MAX)
		return sw_fail(err, SW_E_LIMIT, "it has more than %d MiB",
			       UNPACKED_BYTES_MAX >> 20);
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	*buffer = malloc((size_t) size + 1);
	enum libdeflate_result r = LIBDEFLATE_BAD_DATA;
	if (d != NULL && *buffer != NULL)
		r = libdeflate_gzip_decompress(d, file.data, file.size, *buffer, size, NULL);
	bool failed = d == NULL || *buffer == NULL;
	libdeflate_free_decompressor(d);
	if (failed)
		return sw_fail_nomem(err);
	if (r != LIBDEFLATE_SUCCESS)
		return sw_fail(err, SW_E_FORMAT, "it cannot be unpacked");
	*ret = (struct sw_bytes){(const uint8_t *) *buffer, size};
	return 0;
}

bool sw_profile_is_pprof(const void *data, size_t size)
{
	/* Writers begin with the kinds of values. JSON may begin with such a byte, an empty line, but not go on so. */
	const uint8_t first = PROFILE_SAMPLE_TYPE << 3 | 2;
	const struct sw_bytes file = {data, size};
	return is_gzip(file) ||
	       (size > 2 && file.data[0] == first &&
		(file.data[2] == VALUE_TYPE_TYPE << 3 || file.data[2] == VALUE_TYPE_UNIT << 3));
}

int sw_profile_parse_pprof(const void *data, size_t size, struct sw_profile **ret,
			   struct sw_profile_left_out *ret_left_out, struct sw_error *err)
{
	struct sw_bytes file = {data, size};
	sw_cleanup(sw_free_p) char *unpacked = NULL;
	sw_cleanup(sw_free_p) struct parser *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return sw_fail_nomem(err);
	int r = is_gzip(file) ? unpack(file, &file, &unpacked, err) : 0;
	if (r == 0)
		r = sw_profile_create(NULL, &p->profile, err);
	if (r < 0)
		return r;
	p->err = err;
	profile_read(p, file);
	parser_deinit(p);
	if (p->status < 0) {
		sw_profile_destroy(p->profile);
		return p->status;
	}
	*ret = p->profile;
	*ret_left_out = p->left;
	return 0;
}
