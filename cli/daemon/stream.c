/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A dump that came in parts, because no message may be above 16 MiB. The parts are kept as text:
 * as trees they would take ten times as much.
 */
#include "daemon/stream.h"
#include "cleanup.h"
#include "daemon/call.h"
#include "errors.h"
#include "utf8.h"

#include <string.h>

enum { STREAM_BYTES_MAX = 1 << 30 };

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
	free(stream->dump);
	(void) json_object_put(stream->summary); /* NULL is legal */
	*stream = (struct sw_stream){0};
}

static void append(struct sw_text *to, struct json_object *value)
{
	size_t size = 0;
	const char *text = json_object_to_json_string_length(
		value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &size);
	if (text == NULL)
		to->failed = true;
	else
		sw_utf8_append_json(to, text, size);
}

static int take_elements(struct sw_text *to, struct json_object *parameters, const char *name,
			 struct sw_error *err)
{
	struct json_object *array = json_object_object_get(parameters, name);
	if (array == NULL)
		return 0;
	if (!json_object_is_type(array, json_type_array))
		return sw_fail(err, SW_E_FORMAT, "the daemon's %s are no list", name);
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		if (to->size > 0)
			sw_text_append(to, ",", 1);
		append(to, json_object_array_get_idx(array, i));
	}
	return 0;
}

static int take_whole(struct sw_stream *s, struct json_object *dump, struct sw_error *err)
{
	struct sw_text text = {0};
	if (!json_object_is_type(dump, json_type_object))
		return sw_fail(err, SW_E_FORMAT, "the daemon's dump is no object");
	append(&text, dump);
	if (text.failed) {
		sw_text_deinit(&text);
		return sw_fail_nomem(err);
	}
	free(s->dump);
	s->dump = text.data;
	return 0;
}

static int take_head(struct sw_stream *s, struct json_object *head, struct sw_error *err)
{
	if (!json_object_is_type(head, json_type_object) || json_object_object_length(head) == 0)
		return sw_fail(err, SW_E_FORMAT, "the daemon's head of a dump is no object");
	s->head.size = 0;
	append(&s->head, head);
	return 0;
}

static int check_size(const struct sw_stream *s, struct sw_error *err)
{
	size_t all = s->head.size;
	bool failed = s->head.failed;
	for (size_t i = 0; i < SW_STREAM_ARRAYS; i++) {
		all += s->arrays[i].size;
		failed |= s->arrays[i].failed;
	}
	if (failed)
		return sw_fail_nomem(err);
	if (all > STREAM_BYTES_MAX)
		return sw_fail(err, SW_E_LIMIT, "the dump is above %d MiB", STREAM_BYTES_MAX >> 20);
	return 0;
}

int sw_stream_take(struct sw_stream *stream, struct json_object *parameters, struct sw_error *err)
{
	struct json_object *dump = json_object_object_get(parameters, "dump");
	struct json_object *head = json_object_object_get(parameters, "head");
	struct json_object *summary = json_object_object_get(parameters, "summary");
	int r = dump != NULL ? take_whole(stream, dump, err) : 0;
	if (r == 0 && head != NULL)
		r = take_head(stream, head, err);
	for (size_t i = 0; i < SW_STREAM_ARRAYS && r == 0; i++)
		r = take_elements(&stream->arrays[i], parameters, arrays[i].name, err);
	if (summary != NULL) {
		(void) json_object_put(stream->summary); /* NULL is legal */
		stream->summary = json_object_get(summary);
	}
	if (json_object_get_boolean(json_object_object_get(parameters, "coalesced")))
		stream->coalesced = true;
	return r < 0 ? r : check_size(stream, err);
}

bool sw_stream_is_profile(const struct sw_stream *stream)
{
	return strcmp(sw_json_string(stream->summary, "kind"), "profile") == 0;
}

static void put_array(struct sw_text *to, const char *name, const struct sw_text *elements)
{
	sw_text_printf(to, ",\"%s\":[", name);
	sw_text_append(to, elements->size > 0 ? elements->data : "", elements->size);
	sw_text_append(to, "]", 1);
}

int sw_stream_finish(struct sw_stream *stream, char **ret_text, size_t *ret_size,
		     struct sw_error *err)
{
	if (stream->dump != NULL) {
		*ret_size = strlen(stream->dump);
		*ret_text = sw_take_ptr(stream->dump);
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
