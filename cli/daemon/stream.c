/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A dump that came in parts, because no message may be above 16 MiB. Parts are kept as the text that they are:
 * as trees they would take ten times as much, or a hundred times, if somebody wrote them for that.
 */
#include "daemon/stream.h"
#include "cleanup.h"
#include "daemon/call.h"
#include "errors.h"
#include "json.h"
#include "utf8.h"

#include <string.h>

/* Summaries are short; depth: of the whole answer that one is in. */
enum { SUMMARY_BYTES_MAX = 256 << 10, DEPTH_MAX = 32 };

static const struct {
	const char *name;
	bool of_dump, of_profile;
} arrays[SW_STREAM_ARRAYS] = {
	{"processes", false, true}, {"threads", true, true},   {"stacks", true, false},
	{"modules", true, true},    {"frames", false, true},   {"nodes", false, true},
	{"samples", false, true},   {"warnings", true, false},
};

void sw_stream_deinit(struct sw_stream *stream)
{
	sw_text_deinit(&stream->head);
	for (size_t i = 0; i < SW_STREAM_ARRAYS; i++)
		sw_text_deinit(&stream->arrays[i]);
	sw_text_deinit(&stream->dump);
	(void) json_object_put(stream->summary); /* NULL is legal */
	*stream = (struct sw_stream){0};
}

static bool is(struct sw_json_part part, const char *text)
{
	return part.size == strlen(text) && memcmp(part.data, text, part.size) == 0;
}

/* A dump is one line: what breaks lines in JSON is white space between values, and the daemon sends none. */
static void append(struct sw_text *to, const char *text, size_t size)
{
	size_t begin = to->size;
	sw_utf8_append_json(to, text, size);
	for (size_t i = begin; i < to->size && !to->failed; i++)
		if (to->data[i] == '\n' || to->data[i] == '\r' || to->data[i] == '\t')
			to->data[i] = ' ';
}

static int take_elements(struct sw_text *to, struct sw_json_part array, const char *name,
			 struct sw_error *err)
{
	if (array.data[0] != '[')
		return sw_fail(err, SW_E_FORMAT, "the daemon's %s are no list", name);
	if (array.n > 0 && to->size > 0)
		sw_text_append(to, ",", 1);
	if (array.n > 0)
		append(to, array.data + 1, array.size - 2); /* without its brackets */
	return 0;
}

static int take_whole(struct sw_stream *s, struct sw_json_part dump, struct sw_error *err)
{
	if (dump.data[0] != '{')
		return sw_fail(err, SW_E_FORMAT, "the daemon's dump is no object");
	s->dump.size = 0;
	append(&s->dump, dump.data, dump.size);
	return 0;
}

static int take_head(struct sw_stream *s, struct sw_json_part head, struct sw_error *err)
{
	if (head.data[0] != '{' || head.n == 0)
		return sw_fail(err, SW_E_FORMAT, "the daemon's head of a dump is no object");
	s->head.size = 0;
	append(&s->head, head.data, head.size);
	return 0;
}

static int take_summary(struct sw_stream *s, struct sw_json_part summary, struct sw_error *err)
{
	struct json_object *object;
	if (summary.size > SUMMARY_BYTES_MAX)
		return sw_fail(err, SW_E_FORMAT, "the daemon's summary is above %d KiB",
			       SUMMARY_BYTES_MAX >> 10);
	int r = sw_json_object_parse(summary.data, summary.size, DEPTH_MAX, &object, err);
	if (r < 0)
		return r;
	(void) json_object_put(s->summary); /* NULL is legal */
	s->summary = object;
	return 0;
}

static int take_member(struct sw_stream *s, struct sw_json_part name, struct sw_json_part value,
		       struct sw_error *err)
{
	if (is(value, "null")) /* the same as absent */
		return 0;
	if (is(name, "dump"))
		return take_whole(s, value, err);
	if (is(name, "head"))
		return take_head(s, value, err);
	if (is(name, "summary"))
		return take_summary(s, value, err);
	if (is(name, "coalesced"))
		s->coalesced |= is(value, "true");
	for (size_t i = 0; i < SW_STREAM_ARRAYS; i++)
		if (is(name, arrays[i].name))
			return take_elements(&s->arrays[i], value, arrays[i].name, err);
	return 0; /* states, and what later daemons say */
}

static int check_size(const struct sw_stream *s, struct sw_error *err)
{
	size_t all = s->head.size + s->dump.size;
	bool failed = s->head.failed || s->dump.failed;
	for (size_t i = 0; i < SW_STREAM_ARRAYS; i++) {
		all += s->arrays[i].size;
		failed |= s->arrays[i].failed;
	}
	if (failed)
		return sw_fail_nomem(err);
	if (all > SW_STREAM_BYTES_MAX)
		return sw_fail(err, SW_E_LIMIT, "the dump is above %d MiB",
			       SW_STREAM_BYTES_MAX >> 20);
	return 0;
}

int sw_stream_take(struct sw_stream *stream, const char *text, size_t size, struct sw_error *err)
{
	struct sw_json_scan scan = sw_json_scan_begin(text, size, DEPTH_MAX);
	struct sw_json_part name, value;
	int r;
	while ((r = sw_json_scan_next(&scan, &name, &value, err)) > 0) {
		r = take_member(stream, name, value, err);
		if (r == 0)
			r = check_size(stream, err);
		if (r < 0)
			return r;
	}
	return r;
}

bool sw_stream_is_profile(const struct sw_stream *stream)
{
	return strcmp(sw_json_string(stream->summary, "kind"), "profile") == 0;
}

/* The elements go from one text to the other: both together would be twice the dump. */
static void put_array(struct sw_text *to, const char *name, struct sw_text *elements)
{
	sw_text_printf(to, ",\"%s\":[", name);
	sw_text_append(to, elements->size > 0 ? elements->data : "", elements->size);
	sw_text_append(to, "]", 1);
	sw_text_deinit(elements);
}

int sw_stream_finish(struct sw_stream *stream, char **ret_text, size_t *ret_size,
		     struct sw_error *err)
{
	if (stream->dump.size > 0) {
		*ret_size = stream->dump.size;
		*ret_text = sw_take_ptr(stream->dump.data);
		stream->dump = (struct sw_text){0};
		return 0;
	}
	if (stream->head.size == 0 || stream->summary == NULL)
		return sw_fail(err, SW_E_FORMAT, "the daemon sent only a part of the dump");
	struct sw_text *all = &stream->head;
	all->size--; /* the bracket that closes the head */
	bool profile = sw_stream_is_profile(stream);
	for (size_t i = 0; i < SW_STREAM_ARRAYS; i++)
		if (profile ? arrays[i].of_profile : arrays[i].of_dump)
			put_array(all, arrays[i].name, &stream->arrays[i]);
	sw_text_append(all, "}\n", 2);
	if (all->failed)
		return sw_fail_nomem(err);
	*ret_size = all->size;
	*ret_text = sw_take_ptr(all->data);
	*all = (struct sw_text){0};
	return 0;
}
