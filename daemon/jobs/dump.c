/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/dump.h"
#include "jobs/summary.h"
#include "cleanup.h"
#include "errors.h"

#include <string.h>

enum { DUMP_HEAD_MAX = 256 << 10, DUMP_DEPTH_MAX = 16 };

static const struct sw_dump_kind dump_kind = {
	.name = "dump",
	.arrays = {"modules", "stacks", "threads", "warnings"},
	.threads = 2,
	.stacks = 1,
};

static const struct sw_dump_kind profile_kind = {
	.schema = "\"snapwalk.profile/1\"",
	.name = "profile",
	.arrays = {"processes", "threads", "modules", "frames", "nodes", "samples"},
	.threads = 1,
	.stacks = 5,
};

static bool is(struct sw_json_part part, const char *text)
{
	return strlen(text) == part.size && memcmp(text, part.data, part.size) == 0;
}

static int array_of(const struct sw_dump *dump, struct sw_json_part name)
{
	for (int i = 0; dump->kind->arrays[i] != NULL; i++)
		if (is(name, dump->kind->arrays[i]))
			return i;
	return -1;
}

/* Checks every byte, finds the arrays, and collects the rest as the head. */
static int scan(struct sw_dump *dump, struct sw_text *head, struct sw_error *err)
{
	struct sw_json_scan s = sw_json_scan_begin(dump->text, dump->size, DUMP_DEPTH_MAX);
	struct sw_json_part name, value;
	int r;
	sw_text_append(head, "{", 1);
	while ((r = sw_json_scan_next(&s, &name, &value, err)) > 0) {
		if (head->size == 1 && is(name, "schema") && is(value, profile_kind.schema))
			dump->kind = &profile_kind;
		int array = array_of(dump, name);
		if (s.close != '}' ||
		    (array >= 0 && (dump->arrays[array].data != NULL || value.data[0] != '[')))
			return sw_fail(err, SW_E_FORMAT, "the dump is no object of arrays");
		if (array >= 0) {
			dump->arrays[array] = value;
			continue;
		}
		if (head->size > 1)
			sw_text_append(head, ",", 1);
		sw_text_append(head, name.data - 1,
			       (size_t) (value.data + value.size - name.data) + 1);
		if (head->size > DUMP_HEAD_MAX)
			return sw_fail(err, SW_E_FORMAT, "the dump's head is too long");
	}
	sw_text_append(head, "}", 1);
	for (int i = 0; dump->kind->arrays[i] != NULL; i++)
		if (r < 0 || dump->arrays[i].data == NULL)
			return sw_fail(err, SW_E_FORMAT, "the dump is malformed or incomplete");
	dump->size = (size_t) (s.at - dump->text); /* a newline follows */
	return head->failed ? sw_fail_nomem(err) : 0;
}

static int build(struct sw_dump *dump, struct sw_error *err)
{
	struct sw_text head = {0};
	int r = scan(dump, &head, err);
	dump->head = head.data;
	dump->profile = dump->kind == &profile_kind;
	if (r == 0)
		r = sw_summary_build(dump, (int64_t) dump->arrays[dump->kind->threads].n,
				     (int64_t) dump->arrays[dump->kind->stacks].n, err);
	return r;
}

int sw_dump_create(char *text, size_t size, struct sw_dump **ret, struct sw_error *err)
{
	struct sw_dump *dump = calloc(1, sizeof(*dump));
	if (dump == NULL) {
		free(text);
		return sw_fail_nomem(err);
	}
	*dump = (struct sw_dump){.refs = 1, .kind = &dump_kind, .text = text, .size = size};
	int r = build(dump, err);
	if (r < 0) {
		sw_dump_unref(dump);
		return r;
	}
	*ret = dump;
	return 0;
}

struct sw_dump *sw_dump_ref(struct sw_dump *dump)
{
	dump->refs++;
	return dump;
}

void sw_dump_unref(struct sw_dump *dump)
{
	if (dump == NULL || --dump->refs > 0)
		return;
	(void) json_object_put(dump->summary); /* says whether it was the last reference */
	free(dump->head);
	free(dump->text);
	free(dump);
}

int sw_dump_set_stored(struct sw_dump *dump, bool stored)
{
	struct json_object *value = json_object_new_boolean(stored);
	if (value == NULL || json_object_object_add(dump->summary, "stored", value) < 0)
		return -SW_E_NOMEM;
	dump->stored = stored;
	return 0;
}

const char *sw_dump_summary_text(const struct sw_dump *dump)
{
	return json_object_to_json_string_ext(dump->summary, SW_SUMMARY_FLAGS);
}

/* {"stacks":[...]}: as many elements as make a reply, at least one if there is one. Empty arrays
 * give an empty one. 1: the array has more; 0. */
static int array_part(const struct sw_dump *dump, struct sw_dump_cursor *cursor, size_t array,
		      struct sw_text *text)
{
	const struct sw_json_part *whole = &dump->arrays[array];
	struct sw_json_part none, element;
	size_t begin = text->size;
	if (!cursor->in_array)
		cursor->scan = sw_json_scan_begin(whole->data, whole->size, DUMP_DEPTH_MAX);
	cursor->in_array = true;
	sw_text_printf(text, "{\"%s\":[", dump->kind->arrays[array]);
	size_t first = text->size;
	while (text->size - begin < SW_DUMP_PART_MAX) {
		if (sw_json_scan_next(&cursor->scan, &none, &element, NULL) <= 0) {
			*cursor = (struct sw_dump_cursor){.step = cursor->step + 1};
			break;
		}
		if (element.size > SW_DUMP_REPLY_MAX - SW_DUMP_PART_MAX)
			return -SW_E_LIMIT;
		if (text->size > first)
			sw_text_append(text, ",", 1);
		sw_text_append(text, element.data, element.size);
	}
	sw_text_append(text, "]}", 2);
	return 1;
}

static void append_end(const struct sw_dump *dump, enum sw_coalesced coalesced,
		       struct sw_text *text)
{
	const char *summary = sw_dump_summary_text(dump);
	sw_text_printf(text, "\"summary\":%s", summary != NULL ? summary : "");
	text->failed |= summary == NULL;
	if (coalesced != SW_COALESCED_UNSAID)
		sw_text_printf(text, ",\"coalesced\":%s",
			       coalesced == SW_COALESCED_YES ? "true" : "false");
	sw_text_append(text, "}", 1);
}

int sw_dump_next(const struct sw_dump *dump, struct sw_dump_cursor *cursor,
		 enum sw_coalesced coalesced, struct sw_text *text)
{
	if (cursor->step == 0) {
		sw_text_printf(text, "{\"head\":%s}", dump->head);
		cursor->step++;
		return 1;
	}
	if (dump->kind->arrays[cursor->step - 1] != NULL)
		return array_part(dump, cursor, (size_t) cursor->step - 1, text);
	sw_text_append(text, "{", 1);
	append_end(dump, coalesced, text);
	return 0;
}

int sw_dump_whole(const struct sw_dump *dump, enum sw_coalesced coalesced, struct sw_text *text)
{
	if (dump->size > SW_DUMP_REPLY_MAX)
		return -SW_E_LIMIT;
	sw_text_printf(text, "{\"%s\":", dump->kind->name);
	sw_text_append(text, dump->text, dump->size);
	sw_text_append(text, ",", 1);
	append_end(dump, coalesced, text);
	return 0;
}
