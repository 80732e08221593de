/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the daemon's socket is looked for, and daemons whose answers do not end. */
#include "daemon/call.h"
#include "cleanup.h"
#include "daemon/complaint.h"
#include "test.h"

#include <snapwalk/clock.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static const char system_path[] = "/run/snapwalk/io.snapwalk";

/* The session's socket counts where there is one, and the system's is not there. */
static void check_session(const char *runtime, const char *socket)
{
	const struct sw_options options = {0};
	char buffer[SW_SOCKET_PATH_SIZE];
	bool here = access(system_path, F_OK) == 0;
	assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), system_path);
	assert_int_equal(mknod(socket, S_IFREG | 0600, 0), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), here ? system_path : socket);
}

TEST(test_path)
{
	char given[] = "/given", directory[] = "/tmp/snapwalk-test-XXXXXX", sub[64], socket[96];
	struct sw_options options = {0};
	char buffer[SW_SOCKET_PATH_SIZE];
	assert_int_equal(unsetenv("SNAPWALK_SOCKET"), 0);
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), system_path);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), system_path);
	assert_non_null(mkdtemp(directory));
	(void) snprintf(sub, sizeof(sub), "%s/snapwalk", directory);
	(void) snprintf(socket, sizeof(socket), "%s/io.snapwalk", sub);
	assert_int_equal(mkdir(sub, 0700), 0);
	check_session(directory, socket);
	assert_int_equal(unlink(socket), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(setenv("SNAPWALK_SOCKET", "/other", 1), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), "/other");
	options.socket_path = given;
	assert_string_equal(sw_daemon_path(&options, buffer), "/given");
	assert_int_equal(unsetenv("SNAPWALK_SOCKET"), 0);
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
}

/* ---- answers without end ------------------------------------------------------------------------ */

enum { WAIT_MS = 300, NS_PER_MS = 1000000, LARGE = 8 << 20 };

/* Says the same to each caller for as long as that listens, in turns of so many microseconds. */
static void serve(int listener, const char *answer, size_t size, useconds_t turn_us)
{
	char call[4096];
	for (;;) {
		sw_cleanup(sw_close_p) int fd = accept(listener, NULL, NULL);
		if (fd < 0 || read(fd, call, sizeof(call)) <= 0)
			continue;
		while (send(fd, answer, size, MSG_NOSIGNAL) > 0)
			(void) usleep(turn_us);
	}
}

struct server {
	struct sockaddr_un address;
	pid_t pid;
};

static void server_start(struct server *s, const char *answer, size_t size, useconds_t turn_us)
{
	*s = (struct server){.address.sun_family = AF_UNIX};
	(void) snprintf(s->address.sun_path, sizeof(s->address.sun_path),
			"/tmp/snapwalk-test-call-%d", (int) getpid()); /* fits */
	(void) unlink(s->address.sun_path);
	sw_cleanup(sw_close_p) int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (const struct sockaddr *) &s->address, sizeof(s->address)),
			 0);
	assert_int_equal(listen(listener, 4), 0);
	s->pid = fork();
	if (s->pid != 0)
		return;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
	serve(listener, answer, size, turn_us);
}

static void server_end(struct server *s)
{
	(void) kill(s->pid, SIGKILL);
	(void) waitpid(s->pid, NULL, 0);
	(void) unlink(s->address.sun_path);
}

static bool take(void *arg, struct json_object *parameters, struct sw_complaint *complaint)
{
	++*(int *) arg;
	return true;
}

static bool take_text(void *arg, const char *text, size_t size, struct sw_complaint *complaint)
{
	++*(int *) arg;
	return true;
}

static const char more[] = "{\"continues\":true,\"parameters\":{}}";

TEST(test_more_than_asked_for)
{
	struct server s;
	int n = 0;
	struct sw_complaint why;
	server_start(&s, more, sizeof(more), 1000);
	const struct sw_options options = {.socket_path = s.address.sun_path};
	assert_false(sw_daemon_call(&options, "io.snapwalk.Pin", json_object_new_object(), false,
				    60000, take, &n, &why));
	server_end(&s);
	assert_int_equal(n, 0);
	assert_string_equal(why.code, "bad_format");
}

/* Each answer comes in time, and none of them is the last one. */
TEST(test_without_end)
{
	struct server s;
	int n = 0;
	struct sw_complaint why;
	server_start(&s, more, sizeof(more), 20000);
	const struct sw_options options = {.socket_path = s.address.sun_path};
	int64_t begin_ns = sw_clock_ns();
	assert_false(sw_daemon_call(&options, "io.snapwalk.List", json_object_new_object(), true,
				    WAIT_MS, take, &n, &why));
	assert_string_equal(why.code, "timeout");
	assert_true(n > 0);
	assert_true(sw_clock_ns() - begin_ns >= (int64_t) (WAIT_MS - 1) * NS_PER_MS);
	begin_ns = sw_clock_ns();
	assert_false(sw_daemon_call_text(&options, "io.snapwalk.Read", json_object_new_object(),
					 WAIT_MS, NULL, take_text, &n, &why));
	assert_string_equal(why.code, "timeout");
	assert_true(sw_clock_ns() - begin_ns >= (int64_t) (4 * WAIT_MS - 1) * NS_PER_MS);
	server_end(&s);
}

/* Parts that nobody keeps count, too. */
TEST(test_too_much)
{
	struct server s;
	int n = 0;
	struct sw_complaint why;
	sw_cleanup(sw_free_p) char *answer = malloc(LARGE);
	assert_non_null(answer);
	memset(answer, ' ', LARGE);
	memcpy(answer, more, sizeof(more) - 3); /* without the brackets that close it */
	memcpy(answer + LARGE - 3, "}}", 3);
	server_start(&s, answer, LARGE, 0);
	const struct sw_options options = {.socket_path = s.address.sun_path};
	assert_false(sw_daemon_call_text(&options, "io.snapwalk.Read", json_object_new_object(),
					 600000, NULL, take_text, &n, &why));
	server_end(&s);
	assert_string_equal(why.code, "limit");
	assert_int_equal(n, 256 / (LARGE >> 20));
}
