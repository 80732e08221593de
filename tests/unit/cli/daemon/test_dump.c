/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A daemon that is silent: how often it is waited for. Its calls are played, as each would take a minute. */
#include "daemon/call.h"
#include "daemon/dump.h"
#include "daemon/first.h"
#include "test.h"

static struct {
	const char *answer_code; /* of any call but a capture; NULL: it answers */
	const char *capture_code;
	unsigned n_asked, n_captures;
} played;

bool sw_json_add(struct json_object *object, const char *name, struct json_object *value)
{
	return json_object_object_add(object, name, value) == 0;
}

const char *sw_json_string(struct json_object *object, const char *name)
{
	return "";
}

int64_t sw_json_int(struct json_object *object, const char *name)
{
	return 0;
}

const char *sw_daemon_path(const struct sw_options *options, char buffer[SW_SOCKET_PATH_SIZE])
{
	return "";
}

bool sw_daemon_listens(const struct sw_options *options)
{
	return true;
}

bool sw_daemon_of_others_listens(const struct sw_options *options)
{
	return true;
}

bool sw_daemon_call(const struct sw_options *options, const char *method,
		    struct json_object *parameters, bool more, int wait_ms, sw_daemon_take_fn *take,
		    void *arg, struct sw_complaint *ret_why)
{
	played.n_asked++;
	assert_string_equal(method, "org.varlink.service.GetInfo");
	assert_int_equal(wait_ms, 5000);
	(void) json_object_put(parameters);
	*ret_why = (struct sw_complaint){.code = played.answer_code};
	return played.answer_code == NULL;
}

bool sw_daemon_call_text(const struct sw_options *options, const char *method,
			 struct json_object *parameters, int wait_ms, struct sw_stop_signals *stop,
			 sw_daemon_take_text_fn *take, void *arg, struct sw_complaint *ret_why)
{
	played.n_captures++;
	(void) json_object_put(parameters);
	*ret_why = (struct sw_complaint){.code = played.capture_code};
	return false;
}

static void capture(const char *code)
{
	const struct sw_options options = {.via = SW_VIA_DAEMON};
	struct sw_daemon_dump dump;
	struct sw_complaint why;
	assert_false(sw_daemon_capture(&options, 7, NULL, &dump, &why));
	assert_string_equal(why.code, code);
}

/* The order counts: what the command has seen of its daemon it remembers. */
TEST(test_silent_daemon_is_waited_for_once)
{
	played.capture_code = "not_permitted";
	capture("not_permitted");
	capture("not_permitted");
	assert_int_equal(played.n_asked, 0); /* it answered, and is not asked whether it does */
	played.capture_code = "timeout";
	capture("timeout");
	capture("timeout"); /* that one took long, and the daemon answers */
	assert_int_equal(played.n_asked, 1);
	assert_int_equal(played.n_captures, 4);
	played.answer_code = "timeout";
	for (int i = 0; i < 3; i++)
		capture("timeout");
	assert_int_equal(played.n_asked, 2);
	assert_int_equal(played.n_captures, 4);
}

TEST(test_state)
{
	const struct sw_options options = {.via = SW_VIA_AUTO};
	assert_int_equal(sw_daemon_state(&options), SW_DAEMON_SILENT);
}
