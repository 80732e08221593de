/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/alerts.h"
#include "cleanup.h"
#include "test.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>

static enum sw_gate_result judge(const char *error, const char *parameters, unsigned *retry_s)
{
	struct sw_varlink_answer answer = {.error = error == NULL ? NULL : strdup(error),
					   .parameters = json_tokener_parse(parameters)};
	assert_non_null(answer.parameters);
	enum sw_gate_result result = sw_gate_judge(&answer, retry_s);
	sw_varlink_answer_deinit(&answer);
	return result;
}

TEST(test_judge)
{
	unsigned retry_s;
	assert_int_equal(judge(NULL, "{\"ids\":[\"a\"],\"skipped\":[]}", &retry_s),
			 SW_GATE_CAPTURED);
	assert_int_equal(judge(NULL, "{\"ids\":[],\"skipped\":[]}", &retry_s), SW_GATE_SKIPPED);
	assert_int_equal(judge(NULL, "{\"ids\":3}", &retry_s), SW_GATE_SKIPPED);
	assert_int_equal(retry_s, 0);
	static const char busy[] = "io.snapwalk.Busy";
	assert_int_equal(judge(busy, "{\"retry_after_ms\":1001}", &retry_s), SW_GATE_BUSY);
	assert_int_equal(retry_s, 2);
	assert_int_equal(judge(busy, "{}", &retry_s), SW_GATE_BUSY);
	assert_int_equal(retry_s, 1);
	assert_int_equal(judge(busy, "{\"retry_after_ms\":9223372036854775807}", &retry_s),
			 SW_GATE_BUSY);
	assert_int_equal(retry_s, 300);
	assert_int_equal(judge("io.snapwalk.NotPermitted", "{}", &retry_s), SW_GATE_REFUSED);
	assert_int_equal(judge("org.varlink.service.PermissionDenied", "{}", &retry_s),
			 SW_GATE_REFUSED);
	assert_int_equal(judge("io.snapwalk.Failed", "{\"detail\":\"x\"}", &retry_s),
			 SW_GATE_FAILED);
	assert_int_equal(sw_gate_judge(NULL, &retry_s), SW_GATE_BUSY);
	assert_int_equal(retry_s, SW_GATE_AWAY_S);
}

/* A daemon that takes one call for each answer it has. */
struct fake {
	char directory[32], path[64];
	int fd;
	const char *const *answers; /* NULL-terminated */
	size_t calls;
	char last_call[1024];
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct fake *f = arg;
	for (; f->answers[f->calls] != NULL; f->calls++) {
		int fd = accept(f->fd, NULL, NULL);
		size_t size = 0;
		if (fd < 0)
			break;
		while (size < sizeof(f->last_call) &&
		       (size == 0 || f->last_call[size - 1] != '\0')) {
			ssize_t n = read(fd, f->last_call + size, sizeof(f->last_call) - size);
			if (n <= 0)
				break;
			size += (size_t) n;
		}
		const char *answer = f->answers[f->calls];
		if (send(fd, answer, strlen(answer) + 1, MSG_NOSIGNAL) < 0)
			f->last_call[0] = '\0'; /* the test sees it there */
		(void) close(fd);
	}
	return NULL;
}

static void fake_begin(struct fake *f, const char *const *answers)
{
	*f = (struct fake){.directory = "/tmp/gate-XXXXXX", .answers = answers};
	assert_non_null(mkdtemp(f->directory));
	(void) snprintf(f->path, sizeof(f->path), "%s/socket", f->directory);
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	memcpy(at.sun_path, f->path, strlen(f->path));
	f->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(f->fd >= 0);
	assert_int_equal(bind(f->fd, (struct sockaddr *) &at, sizeof(at)), 0);
	assert_int_equal(listen(f->fd, 8), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

/* How many calls came. */
static size_t fake_end(struct fake *f)
{
	(void) shutdown(f->fd, SHUT_RDWR); /* ends the accept() that still waits */
	assert_int_equal(pthread_join(f->thread, NULL), 0);
	assert_int_equal(close(f->fd), 0);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(rmdir(f->directory), 0);
	return f->calls;
}

static void expect(struct sw_gate *gate, const char *body, unsigned code, unsigned retry_s,
		   const char *wanted)
{
	struct sw_gate_reply reply;
	sw_gate_alerts(gate, body, strlen(body), &reply);
	assert_non_null(reply.body);
	assert_string_equal(reply.body, wanted);
	assert_int_equal(reply.code, code);
	assert_string_equal(reply.type, "application/json");
	if (code == 503)
		assert_int_equal(reply.retry_after_s, retry_s);
	free(reply.body);
}

#define ALERT(status, fingerprint)                                                  \
	"{\"status\":\"" status "\",\"labels\":{\"pid\":\"7\"},\"startsAt\":\"t\"," \
	"\"fingerprint\":\"" fingerprint "\"}"

TEST(test_each_alert_by_itself)
{
	static const char *const answers[] = {
		"{\"parameters\":{\"ids\":[\"x1\"],\"skipped\":[]}}",
		"{\"parameters\":{\"ids\":[],\"skipped\":[{\"rule\":\"r\",\"reason\":\"host\"}]}}",
		"{\"parameters\":{\"ids\":[],\"skipped\":[]}}",
		NULL,
	};
	struct fake f;
	struct sw_gate gate;
	fake_begin(&f, answers);
	sw_gate_init(&gate, f.path, "");
	static const char body[] =
		"{\"alerts\":[" ALERT("resolved",
				      "a") "," ALERT("firing", "b") "," ALERT("firing", "c") "]}\n";
	expect(&gate, body, 200, 0,
	       "{\"captured\":1,\"skipped\":1,\"resolved\":1,\"duplicate\":0,\"busy\":0,"
	       "\"refused\":0,\"failed\":0,\"alerts\":["
	       "{\"fingerprint\":\"a\",\"result\":\"resolved\"},"
	       "{\"fingerprint\":\"b\",\"ids\":[\"x1\"],\"skipped\":[],\"result\":\"captured\"},"
	       "{\"fingerprint\":\"c\",\"ids\":[],\"skipped\":[{\"rule\":\"r\",\"reason\":\"host\"}"
	       "],\"result\":\"skipped\"}]}\n");
	assert_string_equal(
		f.last_call,
		"{\"method\":\"io.snapwalk.Trigger\",\"parameters\":{"
		"\"source\":\"alertmanager\",\"status\":\"firing\","
		"\"fingerprint\":\"c\",\"starts_at\":\"t\",\"labels\":{\"pid\":\"7\"}}}");
	/* Sent again: what was captured is not asked for a second time, the rest is. */
	expect(&gate, body, 200, 0,
	       "{\"captured\":0,\"skipped\":1,\"resolved\":1,\"duplicate\":1,\"busy\":0,"
	       "\"refused\":0,\"failed\":0,\"alerts\":["
	       "{\"fingerprint\":\"a\",\"result\":\"resolved\"},"
	       "{\"fingerprint\":\"b\",\"result\":\"duplicate\"},"
	       "{\"fingerprint\":\"c\",\"ids\":[],\"skipped\":[],\"result\":\"skipped\"}]}\n");
	assert_int_equal(fake_end(&f), 3);
	assert_int_equal(gate.results[SW_GATE_CAPTURED], 1);
	assert_int_equal(gate.results[SW_GATE_SKIPPED], 2);
	assert_int_equal(gate.results[SW_GATE_RESOLVED], 2);
	assert_int_equal(gate.results[SW_GATE_DUPLICATE], 1);
	sw_gate_deinit(&gate);
}

TEST(test_busy_is_to_be_sent_again)
{
	static const char *const answers[] = {
		"{\"parameters\":{\"ids\":[\"x1\"],\"skipped\":[]}}",
		"{\"error\":\"io.snapwalk.Busy\",\"parameters\":{\"retry_after_ms\":2500,"
		"\"why\":\"queue\"}}",
		"{\"parameters\":{\"ids\":[\"x2\"],\"skipped\":[]}}",
		NULL,
	};
	struct fake f;
	struct sw_gate gate;
	fake_begin(&f, answers);
	sw_gate_init(&gate, f.path, "");
	static const char body[] =
		"{\"alerts\":[" ALERT("firing", "a") "," ALERT("firing", "b") "]}";
	expect(&gate, body, 503, 3,
	       "{\"captured\":1,\"skipped\":0,\"resolved\":0,\"duplicate\":0,\"busy\":1,"
	       "\"refused\":0,\"failed\":0,\"alerts\":["
	       "{\"fingerprint\":\"a\",\"ids\":[\"x1\"],\"skipped\":[],\"result\":\"captured\"},"
	       "{\"fingerprint\":\"b\",\"error\":\"io.snapwalk.Busy\",\"result\":\"busy\"}]}\n");
	expect(&gate, body, 200, 0,
	       "{\"captured\":1,\"skipped\":0,\"resolved\":0,\"duplicate\":1,\"busy\":0,"
	       "\"refused\":0,\"failed\":0,\"alerts\":["
	       "{\"fingerprint\":\"a\",\"result\":\"duplicate\"},"
	       "{\"fingerprint\":\"b\",\"ids\":[\"x2\"],\"skipped\":[],"
	       "\"result\":\"captured\"}]}\n");
	assert_int_equal(fake_end(&f), 3);
	sw_gate_deinit(&gate);
}

TEST(test_daemon_away)
{
	struct sw_gate gate;
	sw_gate_init(&gate, "/nonexistent/socket", "");
	expect(&gate, "{\"alerts\":[" ALERT("firing", "a") "]}", 503, SW_GATE_AWAY_S,
	       "{\"captured\":0,\"skipped\":0,\"resolved\":0,\"duplicate\":0,\"busy\":1,"
	       "\"refused\":0,\"failed\":0,\"alerts\":[{\"fingerprint\":\"a\",\"error\":"
	       "\"nobody listens on /nonexistent/socket: No such file or directory\","
	       "\"result\":\"busy\"}]}\n");
	/* Nothing firing: nothing that the daemon is needed for. */
	expect(&gate, "{\"alerts\":[" ALERT("resolved", "a") "]}", 200, 0,
	       "{\"captured\":0,\"skipped\":0,\"resolved\":1,\"duplicate\":0,\"busy\":0,"
	       "\"refused\":0,\"failed\":0,\"alerts\":[{\"fingerprint\":\"a\","
	       "\"result\":\"resolved\"}]}\n");
	expect(&gate, "{\"alerts\":", 400, 0,
	       "{\"error\":\"the payload: this JSON is cut short\"}\n");
	sw_gate_deinit(&gate);
}

TEST(test_refused_and_failed)
{
	static const char *const answers[] = {
		"{\"error\":\"io.snapwalk.Failed\",\"parameters\":{\"detail\":\"x\"}}",
		"{\"error\":\"org.varlink.service.PermissionDenied\"}",
		NULL,
	};
	struct fake f;
	struct sw_gate gate;
	fake_begin(&f, answers);
	sw_gate_init(&gate, f.path, "");
	expect(&gate, "{\"alerts\":[" ALERT("firing", "a") "]}", 200, 0,
	       "{\"captured\":0,\"skipped\":0,\"resolved\":0,\"duplicate\":0,\"busy\":0,"
	       "\"refused\":0,\"failed\":1,\"alerts\":[{\"fingerprint\":\"a\",\"error\":"
	       "\"io.snapwalk.Failed\",\"result\":\"failed\"}]}\n");
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user != NULL ? user->pw_name : "?";
	char refused[1024];
	(void) snprintf(
		refused, sizeof(refused),
		"{\"captured\":0,\"skipped\":0,\"resolved\":0,\"duplicate\":0,\"busy\":0,"
		"\"refused\":1,\"failed\":0,\"alerts\":[{\"fingerprint\":\"a\",\"error\":"
		"\"org.varlink.service.PermissionDenied\",\"reason\":\"snapwalkd takes alerts from "
		"root, its Group= and its TriggerUser= only, and snapwalk-gate runs as %s (uid "
		"%u): "
		"run it as one of them, or set TriggerUser=%s in snapwalk.conf and restart "
		"snapwalkd\","
		"\"result\":\"refused\"}]}\n",
		name, (unsigned) geteuid(), name);
	expect(&gate, "{\"alerts\":[" ALERT("firing", "a") "]}", 403, 0, refused);
	assert_int_equal(fake_end(&f), 2);
	sw_gate_deinit(&gate);
}

TEST(test_stopping)
{
	static const char *const answers[] = {"{}", NULL};
	struct fake f;
	struct sw_gate gate;
	struct sw_gate_reply reply;
	static const char body[] = "{\"alerts\":[" ALERT("firing", "a") "]}";
	fake_begin(&f, answers);
	sw_gate_init(&gate, f.path, "");
	sw_gate_stop(&gate);
	sw_gate_alerts(&gate, body, strlen(body), &reply);
	assert_int_equal(reply.code, 503);
	assert_non_null(strstr(reply.body, "the gate is stopping"));
	free(reply.body);
	(void) fake_end(&f);
	sw_gate_deinit(&gate);
}
