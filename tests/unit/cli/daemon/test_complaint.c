/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/call.h"
#include "daemon/row.h"
#include "daemon/complaint.h"
#include "cleanup.h"
#include "test.h"

static const struct {
	const char *error, *parameters;
	int status;
	const char *line; /* MESSAGE (CODE): REMEDY */
} cases[] = {
	{"io.snapwalk.NoSuchProcess", "{\"pid\":7}", 1,
	 "no such process (no_such_process): check the process id: it may have ended"},
	{"io.snapwalk.NoMatch", "{\"detail\":\"no process is called x\"}", 1,
	 "no process is called x (not_found): see what there is with 'ps -e -o pid,comm,cgroup'"},
	{"io.snapwalk.Ambiguous", "{\"pids\":[4,5]}", 2,
	 "2 processes match: 4, 5 (usage): choose one by its process id"},
	{"io.snapwalk.Ambiguous", "{\"pids\":[1,2,3,4,5,6,7,8,9,10,11]}", 2,
	 "11 processes match: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ... (usage): choose one by its "
	 "process id"},
	{"io.snapwalk.NotPermitted", "{\"pid\":7,\"rule\":\"owner\"}", 77,
	 "it is another user's process (not_permitted): ask as that user, as root or as a member "
	 "of group snapwalk"},
	{"io.snapwalk.NotPermitted", "{\"pid\":7,\"rule\":\"deny\"}", 77,
	 "the daemon's configuration forbids it (not_permitted): see Deny= in snapwalk.conf(5)"},
	{"io.snapwalk.NotPermitted", "{\"rule\":\"new\"}", 77,
	 "the daemon does not permit it (rule new) (not_permitted): run as root, or see why with "
	 "'snapwalk doctor PID'"},
	{"io.snapwalk.NotPermitted", "{\"rule\":5}", 77,
	 "the daemon does not permit it (rule ) (not_permitted): run as root, or see why with "
	 "'snapwalk doctor PID'"},
	{"io.snapwalk.AlreadyTraced", "{\"pid\":7,\"tracer\":99}", 1,
	 "process 99 is tracing it (already_traced): end process 99 first"},
	{"io.snapwalk.AlreadyTraced", "{\"pid\":7}", 1,
	 "another process is tracing it (already_traced): end the debugger or tracer, 'snapwalk "
	 "doctor PID' says which"},
	{"io.snapwalk.NotTraceable", "{\"why\":\"zombie\"}", 1,
	 "it has exited and waits to be reaped (zombie): its parent has to collect it, no stack "
	 "is left"},
	{"io.snapwalk.NotTraceable", "{\"why\":\"strange\"}", 1,
	 "it cannot be traced (strange) (not_traceable): "},
	{"io.snapwalk.Timeout", "{\"what\":\"queue\"}", 1,
	 "the daemon's time limit was reached: queue (timeout): ask for less, or see TimeoutMs= "
	 "in snapwalk.conf(5)"},
	{"io.snapwalk.NoSuchDump", "{\"id\":\"x\"}", 1,
	 "there is no such dump, or it is not for you (not_found): see 'snapwalk list'"},
	{"io.snapwalk.PinLimit", "{\"detail\":\"more than half of the store\"}", 1,
	 "more than half of the store (limit): unpin others, or see MaxUse= and MaxFiles= in "
	 "snapwalk.conf(5)"},
	{"io.snapwalk.TooLarge", "{\"bytes\":99999999}", 1,
	 "the dump has 99999999 bytes, which is too much (limit): ask for less with --depth"},
	{"io.snapwalk.Unsupported", "{\"detail\":\"perf events are refused\"}", 1,
	 "perf events are refused (unsupported): use --mode wall"},
	{"io.snapwalk.Busy", "{\"retry_after_ms\":3250,\"why\":\"queue\"}", 1,
	 "the daemon has much to do (busy): try again in 3.2 s"},
	{"io.snapwalk.Busy", "{\"retry_after_ms\":999,\"why\":\"rate\"}", 1,
	 "you asked for many captures in a short time (busy): try again in 0.9 s"},
	{"io.snapwalk.Busy", "{\"retry_after_ms\":-5,\"why\":\"target\"}", 1,
	 "the process was stopped a lot lately (busy): try again in 0.0 s"},
	{"io.snapwalk.Failed", "{\"detail\":\"no space\"}", 1,
	 "no space (failed): see the daemon's journal"},
	{"org.varlink.service.InvalidParameter", "{\"parameter\":\"depth\"}", 1,
	 "the daemon does not take the parameter depth (invalid_argument): see that command and "
	 "daemon are of the same version"},
	{"org.varlink.service.PermissionDenied", "{}", 77,
	 "the daemon does not permit it (not_permitted): ask as root or as a member of group "
	 "snapwalk"},
	{"com.example.Odd", "{}", 1, "the daemon says com.example.Odd (daemon): "},
	{"io.snapwalk.", "{}", 1, "the daemon says io.snapwalk. (daemon): "},
};

TEST(test_answers)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_varlink_answer answer = {.error = strdup(cases[i].error),
						   .parameters =
							   json_tokener_parse(cases[i].parameters)};
		struct sw_complaint c;
		char line[600];
		assert_non_null(answer.parameters);
		sw_complaint_of_answer(&c, &answer);
		(void) snprintf(line, sizeof(line), "%s (%s): %s", c.message, c.code, c.remedy);
		assert_string_equal(line, cases[i].line);
		assert_int_equal(c.status, cases[i].status);
		sw_varlink_answer_deinit(&answer);
	}
}

/* Every error of the interface has a line of its own. */
TEST(test_none_is_forgotten)
{
	size_t n = 0;
	const char *at = sw_varlink_interface_snapwalk;
	while ((at = strstr(at, "\nerror ")) != NULL) {
		at += strlen("\nerror ");
		char name[128];
		(void) snprintf(name, sizeof(name), "io.snapwalk.%.*s", (int) strcspn(at, " ("),
				at);
		struct sw_varlink_answer answer = {.error = name,
						   .parameters = json_object_new_object()};
		struct sw_complaint c;
		sw_complaint_of_answer(&c, &answer);
		if (strcmp(c.code, "daemon") == 0)
			fail_msg("%s has no words", name);
		assert_int_equal(json_object_put(answer.parameters), 1);
		n++;
	}
	assert_int_equal(n, 17);
}

TEST(test_connection)
{
	struct sw_complaint c;
	struct sw_error err = {.code = SW_E_NOT_FOUND, .message = "nobody listens on /s"};
	sw_complaint_of_error(&c, &err, 0);
	assert_string_equal(c.message, "nobody listens on /s");
	assert_string_equal(c.code, "not_found");
	assert_string_equal(c.remedy, "start snapwalkd, or say where it listens with --socket");
	assert_int_equal(c.status, 1);
	err.code = SW_E_NOT_PERMITTED;
	sw_complaint_of_error(&c, &err, 0);
	assert_int_equal(c.status, 77);
	/* The command ended it: the daemon's journal knows nothing of that. */
	err.code = SW_E_EXITED;
	sw_complaint_of_error(&c, &err, SW_SAID_OF_SIGNAL);
	assert_string_equal(c.remedy, "one signal ends it with the result so far");
	sw_complaint_of_error(&c, &err, 0);
	assert_string_equal(c.remedy, "see the daemon's journal, and try again");
	err.code = SW_E_NOMEM;
	sw_complaint_of_error(&c, &err, 0);
	assert_string_equal(c.remedy, "free some memory, or copy less with --stack-bytes");
}

TEST(test_row)
{
	struct sw_text text = {0};
	struct json_object *summary = json_tokener_parse(
		"{\"id\":\"20261120T103550_084579-4242-0123abcd\","
		"\"time\":\"2026-11-20T10:35:50.084579Z\",\"reason\":\"monit: x\","
		"\"complete\":false,\"process\":{\"pid\":4242,\"comm\":\"server\"},"
		"\"timings\":{\"stopped_us\":1250},\"n_threads\":10,\"n_stacks\":3}");
	sw_row_header(&text);
	sw_row(&text, summary);
	assert_string_equal(text.data,
			    "ID                                    TIME                     PID "
			    "COMM            THREADS  STACKS  STOP-MS REASON\n"
			    "20261120T103550_084579-4242-0123abcd  2026-11-20T10:35:50Z    4242 "
			    "server               10       3      1.2 (incomplete) monit: x\n");
	sw_text_deinit(&text);
	sw_row_json(&text, json_object_object_get(summary, "process"));
	assert_string_equal(text.data, "{\"pid\":4242,\"comm\":\"server\"}\n");
	sw_text_deinit(&text);
	assert_int_equal(json_object_put(summary), 1);
	/* Anything may be missing. */
	summary = json_object_new_object();
	sw_row(&text, summary);
	assert_string_equal(strchr(text.data, '0'), "0                       0       0      0.0\n");
	sw_text_deinit(&text);
	assert_int_equal(json_object_put(summary), 1);
}
