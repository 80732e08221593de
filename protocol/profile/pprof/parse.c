/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads google/pprof's profile.proto into tables. The file may be anybody's: ids are looked up, strings go through the same
 * cleaning as those of a process, and the limits are those of sampling.
 *
 * Tables may stand behind the samples that refer to them: one pass finds all messages, and each is read when it is used.
 * Numbers of samples and a time are what a profile of ours has; samples keep the labels that sample --format pprof writes.
 */
#include "cleanup.h"
#include "profile/frame_name.h"
#include "profile/pprof_fields.h"
#include "profile/pprof/stacks.h"
#include "report/frame_kind.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum {
	UNPACKED_BYTES_MAX = 256 << 20,
	GZIP_BYTES_LEAST = 18,
	FIELDS_BYTES_MAX =
		256, /* of a mapping or a function: ten numbers at most, read again with each line */
	ATTRIBUTES_MAX = 16, /* of a sample's process */
	NO_TYPE = -1,
};

/* ---- samples --------------------------------------------------------------------------------- */

/* The rest of a sample, besides its stack. Strings of the profile. */
struct labels {
	uint32_t pid, tid, thread, wait, unit, container;
	uint32_t state;
	struct sw_profile_attribute attributes[ATTRIBUTES_MAX];
	size_t n_attributes;
};

static uint32_t state_of(struct sw_pprof *p, uint64_t string)
{
	for (uint32_t i = SW_PROFILE_ON_CPU; i < SW_PROFILE_STATES; i++)
		if (sw_pprof_string_is(p, string, sw_profile_state_word(i)))
			return i;
	return SW_PROFILE_AS_REPORTED;
}

static uint32_t number_of(uint64_t value)
{
	return value <= INT32_MAX ? (uint32_t) value : 0;
}

/* An attribute of the process by which people look for a service. */
static bool is_service(struct sw_pprof *p, uint64_t key)
{
	static const char *const begins[] = {"service.", "k8s.", "deployment."};
	const struct sw_bytes s = sw_pprof_string_bytes(p, key);
	for (size_t i = 0; i < SW_ARRAY_SIZE(begins); i++)
		if (s.size >= strlen(begins[i]) &&
		    memcmp(s.data, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static void label_read(struct sw_pprof *p, struct sw_bytes message, struct labels *ret)
{
	struct sw_proto_field f;
	uint64_t key = 0, text = 0, number = 0;
	for (uint64_t at = 0; sw_pprof_next(p, message, &at, &f);)
		switch (f.number) {
		case LABEL_KEY: key = f.value; break;
		case LABEL_STR: text = f.value; break;
		case LABEL_NUM: number = f.value; break;
		default: break;
		}
	if (text == 0 && sw_pprof_string_is(p, key, "pid"))
		ret->pid = number_of(number);
	else if (text == 0 && sw_pprof_string_is(p, key, "tid"))
		ret->tid = number_of(number);
	else if (text != 0 && sw_pprof_string_is(p, key, "thread"))
		ret->thread = sw_pprof_string_put(p, text);
	else if (text != 0 && sw_pprof_string_is(p, key, "state")) {
		ret->state = state_of(p, text);
		p->left.n_labels += ret->state == SW_PROFILE_AS_REPORTED;
	} else if (text != 0 && sw_pprof_string_is(p, key, "wait"))
		ret->wait = sw_pprof_string_put(p, text);
	else if (text != 0 && sw_pprof_string_is(p, key, "unit"))
		ret->unit = sw_pprof_string_put(p, text);
	else if (text != 0 && sw_pprof_string_is(p, key, "container"))
		ret->container = sw_pprof_string_put(p, text);
	else if (text != 0 && ret->n_attributes < ATTRIBUTES_MAX && is_service(p, key))
		ret->attributes[ret->n_attributes++] =
			(struct sw_profile_attribute){.key = sw_pprof_string_put(p, key),
						      .value = sw_pprof_string_put(p, text)};
	else
		p->left.n_labels++;
}

static void attributes_put(struct sw_pprof *p, const struct labels *labels,
			   const struct sw_profile_process *process)
{
	for (size_t i = 0; i < labels->n_attributes && p->status == 0; i++) {
		struct sw_profile_attribute a = labels->attributes[i];
		uint32_t index = 0;
		a.pid = process->pid;
		a.generation = process->generation;
		if (a.key != SW_PPROF_NO_SPACE && a.value != SW_PPROF_NO_SPACE &&
		    sw_profile_attribute_find(p->profile, &a, &index) < 0)
			sw_pprof_fail_memory(p);
	}
}

/* The file of the first mapping is the program, of the first process: nothing tells that of another one, which is called as
 * its thread. False: there is no space. */
static bool process_put(struct sw_pprof *p, const struct labels *labels,
			struct sw_profile_process *ret)
{
	uint32_t index = 0;
	const bool is_first = p->profile->processes.n == 0 ||
			      sw_profile_process_at(p->profile, 0)->pid == labels->pid;
	*ret = (struct sw_profile_process){.pid = labels->pid,
					   .unit = labels->unit,
					   .container = labels->container};
	if (is_first && p->mappings.n > 0)
		ret->exe = sw_pprof_mapping_read(p, p->mappings.all[0]).path;
	if (ret->exe == SW_PPROF_NO_SPACE || ret->unit == SW_PPROF_NO_SPACE ||
	    ret->container == SW_PPROF_NO_SPACE)
		return false;
	ret->comm =
		is_first ? sw_pprof_text_put(p,
					     sw_base_name(sw_profile_text_of(p->profile, ret->exe)))
			 : labels->thread;
	if (ret->comm == SW_PPROF_NO_SPACE || p->status < 0)
		return false;
	ret->generation = ret->pid == 0 ? ret->comm : 0;
	int r = sw_profile_process_find(p->profile, ret, &index);
	if (sw_pprof_made(p, r, index) == SW_PPROF_NO_SPACE)
		return false;
	attributes_put(p, labels, ret);
	return true;
}

/* A sample without the name of its thread is of one that is called as the program. */
static uint32_t thread_put(struct sw_pprof *p, const struct labels *labels)
{
	struct sw_profile_process process;
	uint32_t index = 0;
	if (!process_put(p, labels, &process) || labels->thread == SW_PPROF_NO_SPACE)
		return SW_PPROF_NO_SPACE;
	const uint32_t name = labels->thread != 0 ? labels->thread : process.comm;
	const struct sw_profile_thread thread = {.pid = process.pid,
						 .generation = process.generation,
						 .tid = labels->tid,
						 .key = name,
						 .name = name};
	int r = sw_profile_thread_find(p->profile, &thread,
				       p->profile->threads.n < p->profile->limits.max_threads,
				       &index);
	return sw_pprof_made(p, r, index);
}

static void row_put(struct sw_pprof *p, const struct labels *labels, uint32_t node, uint64_t count,
		    uint64_t ns)
{
	struct sw_profile_row row = {.thread = thread_put(p, labels),
				     .node = node,
				     .wait = labels->wait,
				     .state = labels->state};
	uint32_t index = SW_PROFILE_NO_ROW;
	if (p->status < 0)
		return;
	if (row.thread != SW_PPROF_NO_SPACE && node != SW_PPROF_NO_SPACE &&
	    row.wait != SW_PPROF_NO_SPACE &&
	    (p->profile->is_stack[node] || sw_profile_has_space(p->profile)) &&
	    sw_profile_row_find(p->profile, &row, &index) < 0)
		sw_pprof_fail_memory(p);
	sw_profile_again(p->profile, index, count, ns);
}

/* The value of that index, in a unit of which each is so many. */
static uint64_t value_of(struct sw_pprof *p, uint64_t value, uint64_t each)
{
	uint64_t all;
	if (value > INT64_MAX)
		sw_pprof_fail(p, "a value is negative: it is the difference of two profiles");
	return __builtin_mul_overflow(value, each, &all) || all > INT64_MAX ? INT64_MAX : all;
}

/* The state of a sample that does not say its own. */
static uint32_t state_by_mode(struct sw_pprof *p)
{
	if (sw_profile_by_time(p->profile))
		return SW_PROFILE_BLOCKED;
	p->left.n_states += p->time_type == NO_TYPE || strcmp(p->profile->info.mode, "cpu") != 0;
	return SW_PROFILE_ON_CPU;
}

static void sample_read(struct sw_pprof *p, struct sw_bytes message)
{
	struct labels labels = {.state = SW_PROFILE_AS_REPORTED};
	struct sw_proto_field f;
	uint64_t element, count = 0, ns = 0;
	size_t n = 0;
	int n_values = 0;
	bool is_cut = false;
	for (uint64_t at = 0; sw_pprof_next(p, message, &at, &f);) {
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
			n_values += n_values < SW_PPROF_TYPES_MAX;
		}
		if (r < 0)
			sw_pprof_fail(p, "a message is malformed");
	}
	if (labels.state == SW_PROFILE_AS_REPORTED)
		labels.state = state_by_mode(p);
	if (p->status == 0)
		row_put(p, &labels, sw_pprof_stack_put(p, n, is_cut), count, ns);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Nanoseconds of a unit; 0: the unit is not one of time. */
static uint64_t unit_ns(struct sw_pprof *p, uint64_t string)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"nanoseconds", 1},
		     {"microseconds", 1000},
		     {"milliseconds", 1000000},
		     {"seconds", 1000000000}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(units); i++)
		if (sw_pprof_string_is(p, string, units[i].unit))
			return units[i].ns;
	return 0;
}

static void type_read(struct sw_pprof *p, struct sw_bytes message, uint64_t *ret_type,
		      uint64_t *ret_unit)
{
	struct sw_proto_field f;
	*ret_type = *ret_unit = 0;
	for (uint64_t at = 0; sw_pprof_next(p, message, &at, &f);)
		if (f.number == VALUE_TYPE_TYPE)
			*ret_type = f.value;
		else if (f.number == VALUE_TYPE_UNIT)
			*ret_unit = f.value;
}

/* "delay" is the time that Go's profiles of blocked goroutines have. */
static const char *mode_of(struct sw_pprof *p, uint64_t type)
{
	if (sw_pprof_string_is(p, type, "wall"))
		return "wall";
	return sw_pprof_string_is(p, type, "off") || sw_pprof_string_is(p, type, "delay") ? "off"
											  : "cpu";
}

/* Which values are a number of samples and a time. */
static void types_read(struct sw_pprof *p)
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
		} else if (p->count_type == NO_TYPE && sw_pprof_string_is(p, unit, "count")) {
			p->count_type = (int) i;
		} else {
			p->left.n_values++;
		}
	}
	if (p->status == 0 && p->count_type == NO_TYPE)
		sw_pprof_fail(p, "none of its values is a number of samples");
}

static void times_read(struct sw_pprof *p)
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

static void comments_count(struct sw_pprof *p, const struct sw_proto_field *f)
{
	uint64_t string;
	for (uint64_t at = 0; sw_proto_element(f, &at, &string) > 0;)
		p->left.n_comments++;
}

/* All messages of the file. */
static void file_read(struct sw_pprof *p, struct sw_bytes file)
{
	struct sw_proto_field f;
	for (uint64_t at = 0; sw_pprof_next(p, file, &at, &f);)
		switch (f.number) {
		case PROFILE_SAMPLE_TYPE:
			if (p->n_types == SW_PPROF_TYPES_MAX)
				sw_pprof_fail(p, "it has too many kinds of values");
			else
				p->types[p->n_types++] = f;
			break;
		case PROFILE_SAMPLE: sw_pprof_messages_add(p, &p->samples, f.bytes); break;
		case PROFILE_MAPPING: sw_pprof_messages_add(p, &p->mappings, f.bytes); break;
		case PROFILE_LOCATION: sw_pprof_messages_add(p, &p->locations, f.bytes); break;
		case PROFILE_FUNCTION: sw_pprof_messages_add(p, &p->functions, f.bytes); break;
		case PROFILE_STRING_TABLE: sw_pprof_messages_add(p, &p->strings, f.bytes); break;
		case PROFILE_COMMENT: comments_count(p, &f); break;
		case PROFILE_TIME_NANOS: p->begin_ns = f.value; break;
		case PROFILE_DURATION_NANOS: p->duration_ns = f.value; break;
		case PROFILE_PERIOD_TYPE: p->period_type = f; break;
		case PROFILE_PERIOD: p->period_ns = f.value; break;
		default: break;
		}
	sw_pprof_messages_index(p, &p->mappings, FIELDS_BYTES_MAX);
	sw_pprof_messages_index(p, &p->locations, SIZE_MAX);
	sw_pprof_messages_index(p, &p->functions, FIELDS_BYTES_MAX);
}

static uint32_t *unseen(struct sw_pprof *p, size_t n)
{
	uint32_t *all = malloc((n + 1) * sizeof(*all));
	if (all == NULL)
		sw_pprof_fail_memory(p);
	for (size_t i = 0; all != NULL && i < n; i++)
		all[i] = SW_PPROF_UNSEEN;
	return all;
}

static void profile_read(struct sw_pprof *p, struct sw_bytes file)
{
	file_read(p, file);
	p->string_made = unseen(p, p->strings.n);
	p->module_made = unseen(p, p->mappings.n);
	p->known = calloc(p->locations.n + 1, sizeof(*p->known));
	if (p->known == NULL)
		sw_pprof_fail_memory(p);
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

static void parser_deinit(struct sw_pprof *p)
{
	sw_pprof_messages_deinit(&p->strings);
	sw_pprof_messages_deinit(&p->mappings);
	sw_pprof_messages_deinit(&p->locations);
	sw_pprof_messages_deinit(&p->functions);
	sw_pprof_messages_deinit(&p->samples);
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
	sw_cleanup(sw_free_p) struct sw_pprof *p = calloc(1, sizeof(*p));
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
