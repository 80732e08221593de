/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bytes of a socket, cut into messages, as calls and as answers; and a dump, which may also be
 * a file of anybody's. */
#include "fuzz.h"
#include "json.h"
#include "varlink_reply.h"

#include <snapwalk/protocol.h>
#include <string.h>

enum { MESSAGE_MAX = 64 * 1024 };

/* Parameters that were taken can be sent, and are the same on the other side. */
static void fuzz_parameters(struct json_object *parameters)
{
	struct sw_varlink_answer answer = {0};
	char *message;
	size_t size;
	check(sw_varlink_reply(json_object_get(parameters), true, &message, &size) == 0);
	check(memchr(message, '\0', size) == message + size - 1);
	check(sw_varlink_answer_parse(message, size - 1, &answer, NULL) == 0);
	check(answer.error == NULL && answer.continues);
	check(json_object_equal(answer.parameters, parameters));
	sw_varlink_answer_deinit(&answer);
	free(message);
}

/* json-c takes all that is taken here, and makes the same of it. */
static void fuzz_json(const char *text, size_t size)
{
	struct json_object *ours = NULL;
	int r = sw_json_object_parse(text, size, SW_JSON_DEPTH_MAX, &ours, NULL);
	check(r == 0 || r == -SW_E_FORMAT);
	if (r < 0)
		return;
	if (sw_json_check(text, size, SW_JSON_DEPTH_MAX, NULL) < 0) {
		json_object_put(ours); /* a number of which json-c makes another */
		return;
	}
	struct json_tokener *tokener = json_tokener_new_ex(SW_JSON_DEPTH_MAX + 1);
	check(tokener != NULL);
	/* Not JSON_TOKENER_STRICT: by it json-c 0.18 takes characters above U+007F in strings for
	 * control characters, where char has a sign. */
	json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *theirs = json_tokener_parse_ex(tokener, text, (int) size);
	check(json_tokener_get_error(tokener) == json_tokener_success);
	check(json_object_equal(ours, theirs));
	json_tokener_free(tokener);
	json_object_put(ours);
	json_object_put(theirs);
}

static void fuzz_message(const char *message, size_t size)
{
	struct sw_varlink_call call = {0};
	struct sw_varlink_answer answer = {0};
	fuzz_json(message, size);
	int r = sw_varlink_call_parse(message, size, &call, NULL);
	check(r == 0 || r == -SW_E_FORMAT);
	if (r == 0) {
		check(sw_varlink_name_valid(call.method));
		check(call.more + call.oneway + call.upgrade <= 1);
		fuzz_parameters(call.parameters);
	}
	sw_varlink_call_deinit(&call);
	r = sw_varlink_answer_parse(message, size, &answer, NULL);
	check(r == 0 || r == -SW_E_FORMAT);
	if (r == 0)
		check(answer.error == NULL ||
		      (!answer.continues && sw_varlink_name_valid(answer.error)));
	sw_varlink_answer_deinit(&answer);
}

/* In chunks of this size; returns how many messages there were until one was too long. */
static size_t fuzz_stream(const char *data, size_t size, size_t chunk, bool parse)
{
	struct sw_varlink_input input = {.max = MESSAGE_MAX};
	const char *message;
	size_t n = 0, message_size;
	for (size_t at = 0; at < size; at += chunk) {
		size_t length = size - at < chunk ? size - at : chunk;
		if (sw_varlink_input_add(&input, data + at, length) < 0)
			break;
		while (sw_varlink_input_next(&input, &message, &message_size) == 1) {
			check(message_size <= MESSAGE_MAX && strlen(message) == message_size);
			if (parse)
				fuzz_message(message, message_size);
			n++;
		}
	}
	sw_varlink_input_deinit(&input);
	return n;
}

/* A dump that was taken is written by each writer, and as JSON it is the same the second time. */
static void fuzz_dump(const char *text, size_t size)
{
	struct sw_report *report, *again;
	char *json, *json_again, *other;
	size_t json_size, other_size;
	int r = sw_report_parse(text, size, &report, NULL);
	check(r == 0 || r == -SW_E_FORMAT);
	if (r < 0)
		return;
	check(sw_report_json(report, &json, &json_size, NULL) == 0);
	check(sw_report_parse(json, json_size, &again, NULL) == 0);
	check(sw_report_json(again, &json_again, &other_size, NULL) == 0);
	check(json_size == other_size && memcmp(json, json_again, json_size) == 0);
	static const struct sw_text_options options[] = {{0}, {.verbose = true, .no_group = true}};
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		check(sw_report_text(report, &options[i], &other, &other_size, NULL) == 0);
		/* nothing in it steers a terminal */
		for (const char *c = other; *c != '\0'; c++)
			check(*c == '\n' || (unsigned char) *c >= ' ');
		free(other);
	}
	check(sw_report_folded(report, &other, &other_size, NULL) == 0);
	free(other);
	free(json);
	free(json_again);
	sw_report_destroy(report);
	sw_report_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *) data;
	size_t n = fuzz_stream(text, size, size > 0 ? size : 1, true);
	size_t cut = fuzz_stream(text, size, 7, false);
	/* in one part a message that is too long also hides those before it */
	check(n == cut || n == 0);
	fuzz_json(text, size);
	fuzz_dump(text, size);
	return 0;
}
