/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a profile's JSON back into tables. The file may be anybody's: all indices are checked, names
 * go through the same cleaning as those of a process, and the limits are those of sampling.
 *
 * The text is read element by element, so that no more than one is held as a tree.
 */
#include "cleanup.h"
#include "errors.h"
#include "json.h"
#include "profile/frame_name.h"
#include "profile/tables.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, NO_SPACE = UINT32_MAX, HEX_BYTES_MAX = 16 };

/* The members that are arrays, in the order in which they are read: each refers to those before. */
enum array { PROCESSES, THREADS, MODULES, FRAMES, NODES, SAMPLES, N_ARRAYS };

static const char *const array_names[N_ARRAYS] = {"processes", "threads", "modules",
						  "frames",    "nodes",   "samples"};

struct parser {
	struct sw_profile *profile;
	const struct sw_json *from; /* borrowed; the element that is read */
	const char *what;           /* static */
	struct sw_json_part arrays[N_ARRAYS];
	uint32_t *made[N_ARRAYS]; /* owned; what each element became, or NO_SPACE */
	uint32_t *depths;         /* owned; of each node */
	struct sw_error *err;
	int status;
};

static void fail(struct parser *p, const char *name)
{
	if (p->status == 0)
		p->status = sw_fail(p->err, SW_E_FORMAT,
				    "this is not a profile: '%s' of a %s is missing or wrong", name,
				    p->what);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int64_t get_int(struct parser *p, const char *name, int64_t max)
{
	const struct sw_json *value = sw_json_member_of(p->from, name, SW_JSON_INTEGER);
	if (value != NULL && value->integer >= 0 && value->integer <= max)
		return value->integer;
	fail(p, name);
	return 0;
}

static uint32_t get_u32(struct parser *p, const char *name)
{
	return (uint32_t) get_int(p, name, INT32_MAX);
}

/* The string's index, 0 for null or what is absent. NO_SPACE: the limits are reached. */
static uint32_t get_string(struct parser *p, const char *name)
{
	const struct sw_json *value = sw_json_member(p->from, name);
	uint32_t string = 0;
	if (value == NULL || value->type == SW_JSON_NULL)
		return 0;
	if (value->type != SW_JSON_STRING) {
		fail(p, name);
		return 0;
	}
	int r = sw_profile_string_find(p->profile, value->string, sw_profile_has_space(p->profile),
				       &string);
	if (r < 0 && p->status == 0)
		p->status = sw_fail_nomem(p->err);
	return r > 0 ? string : NO_SPACE;
}

static bool get_flag(struct parser *p, const char *name)
{
	const struct sw_json *value = sw_json_member(p->from, name);
	if (value != NULL && value->type != SW_JSON_BOOLEAN)
		fail(p, name);
	return value != NULL && value->type == SW_JSON_BOOLEAN && value->boolean;
}

/* "0x1f", or "0" */
static uint64_t get_address(struct parser *p, const char *name)
{
	const struct sw_json *value = sw_json_member_of(p->from, name, SW_JSON_STRING);
	const char *s = value != NULL ? value->string : "";
	s += strncmp(s, "0x", 2) == 0 ? 2 : 0;
	size_t size = strspn(s, "0123456789abcdef");
	if (size > 0 && size <= HEX_BYTES_MAX && s[size] == '\0')
		return strtoull(s, NULL, 16);
	fail(p, name);
	return 0;
}

/* The index that an element of another array became; 0 for null. */
static uint32_t made_of(struct parser *p, const struct sw_json *value, enum array array,
			const char *name)
{
	if (value != NULL && value->type == SW_JSON_NULL)
		return 0;
	if (value != NULL && value->type == SW_JSON_INTEGER && value->integer >= 0 &&
	    (uint64_t) value->integer < p->arrays[array].n)
		return p->made[array][value->integer];
	fail(p, name);
	return 0;
}

static uint32_t get_made(struct parser *p, const char *name, enum array array)
{
	return made_of(p, sw_json_member(p->from, name), array, name);
}

/* ---- elements: each gives its index in its table, or NO_SPACE -------------------------------- */

static uint32_t made(struct parser *p, int r, uint32_t index)
{
	if (r < 0 && p->status == 0)
		p->status = sw_fail_nomem(p->err);
	return r > 0 ? index : NO_SPACE;
}

/* As sw_profile_process_add(): processes of one number are different ones here. */
static uint32_t generation_next(const struct parser *p, const struct sw_profile_process *process)
{
	enum { GENERATIONS_MAX = 64 };
	struct sw_profile_thread thread = {.pid = process->pid};
	uint32_t known;
	if (process->pid == 0)
		return process->comm;
	while (thread.generation < GENERATIONS_MAX &&
	       sw_profile_process_index(p->profile, &thread, &known))
		thread.generation++;
	return thread.generation;
}

/* Attributes that find no space are left out. */
static void read_resource(struct parser *p, const struct sw_profile_process *process)
{
	const struct sw_json *object = sw_json_member(p->from, "resource"), *from = p->from;
	if (object == NULL || object->type == SW_JSON_NULL)
		return;
	if (object->type != SW_JSON_OBJECT) {
		fail(p, "resource");
		return;
	}
	const struct sw_json *member = object + 1;
	p->from = object;
	for (uint32_t i = 0; p->status == 0 && i < object->n; i++, member += member->span) {
		struct sw_profile_attribute attribute = {.pid = process->pid,
							 .generation = process->generation,
							 .value = get_string(p, member->name)};
		uint32_t index = 0;
		int r = sw_profile_string_find(p->profile, member->name,
					       sw_profile_has_space(p->profile), &attribute.key);
		if (r > 0 && attribute.value != NO_SPACE)
			r = sw_profile_attribute_find(p->profile, &attribute, &index);
		if (r < 0 && p->status == 0)
			p->status = sw_fail_nomem(p->err);
	}
	p->from = from;
}

static uint32_t read_process(struct parser *p)
{
	struct sw_profile_process process = {.pid = get_u32(p, "pid"),
					     .comm = get_string(p, "comm"),
					     .exe = get_string(p, "exe"),
					     .unit = get_string(p, "unit"),
					     .container = get_string(p, "container")};
	uint32_t index = 0;
	if (p->status < 0 || process.comm == NO_SPACE || process.exe == NO_SPACE ||
	    process.unit == NO_SPACE || process.container == NO_SPACE)
		return NO_SPACE;
	process.generation = generation_next(p, &process);
	read_resource(p, &process);
	int r = sw_profile_process_find(p->profile, &process, &index);
	return made(p, r, index);
}

/* Older profiles have one process of all that had ended. */
static uint32_t generation_of_ended(const struct parser *p)
{
	for (size_t i = 0; i < p->profile->processes.n; i++)
		if (sw_profile_process_at(p->profile, i)->pid == 0)
			return sw_profile_process_at(p->profile, i)->generation;
	return 0;
}

/* A thread says which process it is of, where the pid does not tell. */
static uint32_t generation_of(struct parser *p, uint32_t pid)
{
	if (sw_json_member(p->from, "process") == NULL)
		return pid == 0 ? generation_of_ended(p) : 0;
	uint32_t process = get_made(p, "process", PROCESSES);
	if (p->status < 0 || process == NO_SPACE)
		return 0;
	if (process >= p->profile->processes.n ||
	    sw_profile_process_at(p->profile, process)->pid != pid)
		fail(p, "process");
	return p->status < 0 ? 0 : sw_profile_process_at(p->profile, process)->generation;
}

static uint32_t read_thread(struct parser *p)
{
	struct sw_profile_thread thread = {.pid = get_u32(p, "pid"),
					   .tid = get_u32(p, "tid"),
					   .name = get_string(p, "name")};
	uint32_t index = 0;
	bool grow = p->profile->threads.n < p->profile->limits.max_threads;
	bool alike = sw_json_member(p->from, "comm") == NULL;
	thread.generation = generation_of(p, thread.pid);
	thread.key = alike ? thread.name : get_string(p, "comm");
	if (p->status < 0 || thread.name == NO_SPACE || thread.key == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_thread_find(p->profile, &thread, grow, &index);
	return made(p, r, index);
}

static uint32_t read_module(struct parser *p)
{
	struct sw_profile_module module = {.path = get_string(p, "path"),
					   .build_id = get_string(p, "build_id"),
					   .start_avma = get_address(p, "start"),
					   .end_avma = get_address(p, "end"),
					   .bias = get_address(p, "bias"),
					   .by_mapping = get_flag(p, "by_mapping")};
	uint32_t index = 0;
	if (sw_json_member(p->from, "file_offset") != NULL)
		module.mapping_off = get_address(p, "file_offset");
	if (p->status < 0 || module.path == NO_SPACE || module.build_id == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_module_find(p->profile, &module, true, &index);
	return made(p, r, index);
}

static uint32_t read_flags(struct parser *p)
{
	return (get_flag(p, "inlined") ? SW_PROFILE_INLINED : 0) |
	       (get_flag(p, "internal") ? SW_PROFILE_INTERNAL : 0) |
	       (get_flag(p, "guess") ? SW_PROFILE_GUESS : 0) |
	       (get_flag(p, "signal") ? SW_PROFILE_SIGNAL : 0) |
	       (get_flag(p, "may_miss") ? SW_PROFILE_MAY_MISS : 0) |
	       (get_flag(p, "mark") ? SW_PROFILE_MARK : 0) |
	       (get_flag(p, "avma") ? SW_PROFILE_AVMA : 0);
}

static uint32_t read_frame(struct parser *p)
{
	struct sw_profile_frame frame = {.address = get_address(p, "address"),
					 .function = get_string(p, "function"),
					 .file = get_string(p, "file"),
					 .module = get_made(p, "module", MODULES),
					 .line = get_u32(p, "line"),
					 .kind = get_string(p, "kind"),
					 .flags = read_flags(p)};
	uint32_t index = 0;
	if (p->status < 0 || frame.function == NO_SPACE || frame.file == NO_SPACE ||
	    frame.module == NO_SPACE || frame.kind == NO_SPACE)
		return NO_SPACE;
	bool grow = sw_profile_has_space(p->profile);
	int r = sw_profile_frame_find(p->profile, &frame, grow, &index);
	return made(p, r, index);
}

/* [parent or null, frame] */
static uint32_t read_node(struct parser *p, size_t number)
{
	const struct sw_json *parent = sw_json_first(p->from), *frame = NULL;
	if (parent != NULL)
		frame = sw_json_next(p->from, parent);
	if (frame == NULL || frame->type == SW_JSON_NULL || p->from->n != 2 ||
	    (parent->type == SW_JSON_INTEGER && parent->integer >= (int64_t) number)) {
		fail(p, "parent");
		return NO_SPACE;
	}
	uint32_t above = made_of(p, parent, NODES, "parent"), index = 0;
	uint32_t own = made_of(p, frame, FRAMES, "frame");
	if (p->status == 0 && parent->type == SW_JSON_INTEGER)
		p->depths[number] = p->depths[parent->integer] + 1;
	if (p->depths[number] > SW_PROFILE_DEPTH_MAX)
		fail(p, "depth");
	if (p->status < 0 || above == NO_SPACE || own == NO_SPACE)
		return NO_SPACE;
	bool grow = sw_profile_has_space(p->profile);
	int r = sw_profile_node_find(p->profile, above, own, grow, &index);
	return made(p, r, index);
}

static uint32_t get_state(struct parser *p)
{
	const struct sw_json *value = sw_json_member_of(p->from, "state", SW_JSON_STRING);
	for (uint32_t i = 0; value != NULL && i < SW_PROFILE_STATES; i++)
		if (strcmp(sw_profile_state_word(i), value->string) == 0)
			return i;
	fail(p, "state");
	return 0;
}

static uint32_t read_sample(struct parser *p)
{
	struct sw_profile_row row = {.thread = get_made(p, "thread", THREADS),
				     .node = get_made(p, "node", NODES),
				     .wait = get_string(p, "wait"),
				     .state = get_state(p)};
	const struct sw_json *thread = sw_json_member(p->from, "thread");
	uint64_t count = (uint64_t) get_int(p, "count", INT64_MAX);
	uint64_t ns = (uint64_t) get_int(p, "ns", INT64_MAX);
	uint32_t index = SW_PROFILE_NO_ROW;
	if (thread != NULL && thread->type == SW_JSON_NULL)
		fail(p, "thread");
	if (p->status < 0)
		return NO_SPACE;
	if (row.thread != NO_SPACE && row.node != NO_SPACE && row.wait != NO_SPACE &&
	    (p->profile->is_stack[row.node] || sw_profile_has_space(p->profile)) &&
	    sw_profile_row_find(p->profile, &row, &index) < 0)
		p->status = sw_fail_nomem(p->err);
	sw_profile_again(p->profile, index, count, ns);
	return index;
}

static uint32_t read_element(struct parser *p, enum array array, size_t number)
{
	switch (array) {
	case PROCESSES: return read_process(p);
	case THREADS: return read_thread(p);
	case MODULES: return read_module(p);
	case FRAMES: return read_frame(p);
	case NODES: return read_node(p, number);
	default: return read_sample(p);
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void read_array(struct parser *p, enum array array)
{
	struct sw_json_part part = p->arrays[array], none, element;
	struct sw_json_scan scan = sw_json_scan_begin(part.data, part.size, DEPTH_MAX);
	struct sw_json_tree tree = {0};
	enum sw_json_type type = array == NODES ? SW_JSON_ARRAY : SW_JSON_OBJECT;
	p->what = array_names[array];
	p->made[array] = calloc(part.n + 1, sizeof(uint32_t));
	if (array == NODES)
		p->depths = calloc(part.n + 1, sizeof(*p->depths));
	if (p->made[array] == NULL || (array == NODES && p->depths == NULL))
		p->status = sw_fail_nomem(p->err);
	for (size_t i = 0; i < part.n && p->status == 0; i++) {
		p->status = sw_json_scan_next(&scan, &none, &element, p->err);
		if (p->status > 0)
			p->status =
				sw_json_parse(&tree, element.data, element.size, DEPTH_MAX, p->err);
		p->from = tree.values;
		if (p->status == 0 && tree.values->type != type)
			fail(p, array_names[array]);
		if (p->status == 0)
			p->made[array][i] = read_element(p, array, i);
	}
	sw_json_tree_deinit(&tree);
}

static const char *get_mode(struct parser *p)
{
	static const char *const modes[] = {"wall", "cpu", "off"};
	const struct sw_json *value = sw_json_member_of(p->from, "mode", SW_JSON_STRING);
	for (size_t i = 0; value != NULL && i < SW_ARRAY_SIZE(modes); i++)
		if (strcmp(modes[i], value->string) == 0)
			return modes[i];
	fail(p, "mode");
	return NULL;
}

static void read_head(struct parser *p)
{
	const struct sw_json *schema = sw_json_member_of(p->from, "schema", SW_JSON_STRING);
	if (schema == NULL || strcmp(schema->string, SW_PROFILE_SCHEMA) != 0) {
		fail(p, "schema");
		return;
	}
	p->profile->info = (struct sw_profile_info){
		.mode = get_mode(p),
		.begin_ns = get_int(p, "begin_ns", INT64_MAX),
		.duration_ns = get_int(p, "duration_ns", INT64_MAX),
		.rate_hz = get_u32(p, "rate_hz"),
		.n_samples = (uint64_t) get_int(p, "n_samples", INT64_MAX),
		.n_wanted = (uint64_t) get_int(p, "n_wanted", INT64_MAX),
		.n_late = (uint64_t) get_int(p, "n_late", INT64_MAX),
		.n_lost = (uint64_t) get_int(p, "n_lost", INT64_MAX),
		.stopped_ns = get_int(p, "stopped_ns", INT64_MAX),
		.longest_stop_ns = get_int(p, "longest_stop_ns", INT64_MAX),
	};
	p->profile->left_count = (uint64_t) get_int(p, "left_count", INT64_MAX);
	p->profile->left_ns = (uint64_t) get_int(p, "left_ns", INT64_MAX);
	uint32_t host = get_string(p, "host"), kernel = get_string(p, "kernel");
	p->profile->host = host != NO_SPACE ? host : 0;
	p->profile->kernel = kernel != NO_SPACE ? kernel : 0;
	if (sw_json_member_of(p->from, "ended_early", SW_JSON_STRING) != NULL) {
		uint32_t why = get_string(p, "ended_early");
		p->profile->ended_early = why != NO_SPACE ? why : 0;
	}
}

/* The array of this name; N_ARRAYS: none. */
static enum array array_of(struct sw_json_part name)
{
	for (enum array i = 0; i < N_ARRAYS; i++)
		if (name.size == strlen(array_names[i]) &&
		    memcmp(name.data, array_names[i], name.size) == 0)
			return i;
	return N_ARRAYS;
}

/* Parts the text into its arrays and an object of all else. */
static void cut(struct parser *p, const char *json, size_t size, struct sw_text *head)
{
	struct sw_json_scan scan = sw_json_scan_begin(json, size, DEPTH_MAX);
	struct sw_json_part name, value;
	int r = -SW_E_FORMAT;
	p->what = "profile";
	if (scan.close != '}')
		fail(p, "schema");
	sw_text_append(head, "{", 1);
	while (p->status == 0 && (r = sw_json_scan_next(&scan, &name, &value, p->err)) > 0) {
		enum array array = array_of(name);
		if (array == N_ARRAYS) {
			sw_text_append(head, ",", head->size > 1);
			/* with the quotes, which are around the name */
			sw_text_append(head, name.data - 1, name.size + 2);
			sw_text_append(head, ":", 1);
			sw_text_append(head, value.data, value.size);
		} else if (p->arrays[array].data != NULL || value.data[0] != '[') {
			fail(p, array_names[array]);
		} else {
			p->arrays[array] = value;
		}
	}
	if (p->status == 0 && r < 0)
		p->status = r;
	sw_text_append(head, "}", 1);
	for (enum array i = 0; i < N_ARRAYS; i++)
		if (p->arrays[i].data == NULL)
			fail(p, array_names[i]);
	if (head->failed)
		p->status = sw_fail_nomem(p->err);
}

static void read_profile(struct parser *p, const char *json, size_t size)
{
	struct sw_text head = {0};
	struct sw_json_tree tree = {0};
	cut(p, json, size, &head);
	if (p->status == 0)
		p->status = sw_json_parse(&tree, head.data, head.size, DEPTH_MAX, p->err);
	p->from = tree.values;
	if (p->status == 0)
		read_head(p);
	sw_json_tree_deinit(&tree);
	sw_text_deinit(&head);
	for (enum array i = 0; i < N_ARRAYS && p->status == 0; i++)
		read_array(p, i);
}

int sw_profile_parse(const char *json, size_t size, struct sw_profile **ret, struct sw_error *err)
{
	struct parser p = {.err = err};
	p.status = sw_profile_create(NULL, &p.profile, err);
	if (p.status == 0)
		read_profile(&p, json, size);
	for (enum array i = 0; i < N_ARRAYS; i++)
		free(p.made[i]);
	free(p.depths);
	if (p.status < 0)
		sw_profile_destroy(p.profile);
	else
		*ret = p.profile;
	return p.status;
}
