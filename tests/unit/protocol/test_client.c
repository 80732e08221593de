/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The client against a service that is this thread: the kernel's buffers hold what one end wrote
 * before the other one reads. */
#include "cleanup.h"
#include "test.h"

#include <snapwalk/varlink.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { LIMIT_MS = 20000 };

struct service {
	char directory[64];
	struct sockaddr_un address;
	int listener, peer;
	struct sw_varlink_client *client;
};

static int setup(void **state)
{
	static struct service service;
	struct service *s = &service;
	*s = (struct service){.directory = "/tmp/snapwalk-client-XXXXXX", .peer = -1};
	assert_non_null(mkdtemp(s->directory));
	s->address.sun_family = AF_UNIX;
	(void) stpcpy(stpcpy(s->address.sun_path, s->directory), "/socket"); /* fits */
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->listener >= 0);
	assert_int_equal(bind(s->listener, (const struct sockaddr *) &s->address,
			      sizeof(s->address)),
			 0);
	assert_int_equal(listen(s->listener, 0), 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct service *s = *state;
	sw_varlink_client_close(s->client);
	sw_close_p(&s->peer);
	sw_close_p(&s->listener);
	(void) unlink(s->address.sun_path); /* some tests did */
	return rmdir(s->directory);
}

static void open_client(struct service *s, int timeout_ms)
{
	struct sw_error err;
	if (sw_varlink_client_open(s->address.sun_path, timeout_ms, &s->client, &err) != 0)
		fail_msg("%s", err.message);
	s->peer = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(s->peer >= 0);
}

static void answer(struct service *s, const char *message, size_t size)
{
	assert_int_equal(send(s->peer, message, size, MSG_NOSIGNAL), size);
}

/* With the NUL that ends it. */
#define ANSWER(s, literal) answer((s), (literal), sizeof(literal))

TEST_OF(test_call, struct service *s)
{
	open_client(s, LIMIT_MS);
	assert_true(fcntl(sw_varlink_client_fd(s->client), F_GETFD) & FD_CLOEXEC);
	assert_int_equal(sw_varlink_client_send(s->client, "a.b.C", json_tokener_parse("{\"x\":1}"),
						true, -1, NULL),
			 0);
	char got[128] = "";
	static const char wanted[] =
		"{\"method\":\"a.b.C\",\"parameters\":{\"x\":1},\"more\":true}";
	assert_int_equal(recv(s->peer, got, sizeof(got), 0), sizeof(wanted));
	assert_string_equal(got, wanted);
	/* in three parts, and the third has the next answer, too */
	struct sw_varlink_answer a = {0};
	ANSWER(s, "{\"parameters\":{\"n\":1},\"continues\":true}");
	assert_int_equal(sw_varlink_client_receive(s->client, LIMIT_MS, &a, NULL), 0);
	assert_true(a.continues);
	assert_null(a.error);
	sw_varlink_answer_deinit(&a);
	answer(s, "{\"parameters\"", strlen("{\"parameters\""));
	assert_int_equal(sw_varlink_client_receive(s->client, 0, &a, NULL), -SW_E_TIMEOUT);
	static const char rest[] = ":{\"n\":2}}\0{\"error\":\"a.b.D\"}";
	answer(s, rest, sizeof(rest) - 1);
	assert_int_equal(sw_varlink_client_receive(s->client, LIMIT_MS, &a, NULL), 0);
	assert_false(a.continues);
	assert_int_equal(json_object_get_int(json_object_object_get(a.parameters, "n")), 2);
	sw_varlink_answer_deinit(&a);
	answer(s, "", 1);
	assert_int_equal(sw_varlink_client_receive(s->client, -1, &a, NULL), 0);
	assert_string_equal(a.error, "a.b.D");
	sw_varlink_answer_deinit(&a);
}

TEST_OF(test_pass_fd, struct service *s)
{
	open_client(s, LIMIT_MS);
	struct stat mine, theirs;
	sw_cleanup(sw_close_p) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(null, &mine), 0);
	assert_int_equal(sw_varlink_client_send(s->client, "a.b.C", NULL, false, null, NULL), 0);
	char byte;
	struct iovec part = {&byte, 1};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	/* with the first byte of the call */
	assert_int_equal(recvmsg(s->peer, &message, MSG_CMSG_CLOEXEC), 1);
	assert_int_equal(byte, '{');
	const struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	assert_non_null(rights);
	assert_int_equal(rights->cmsg_type, SCM_RIGHTS);
	assert_int_equal(rights->cmsg_len, CMSG_LEN(sizeof(int)));
	int got;
	memcpy(&got, CMSG_DATA(rights), sizeof(got));
	assert_int_equal(fstat(got, &theirs), 0);
	assert_int_equal(theirs.st_rdev, mine.st_rdev);
	(void) close(got); /* was only looked at */
}

static void check_open(const char *path, int timeout_ms, int code, const char *message)
{
	struct sw_varlink_client *client = NULL;
	struct sw_error err = {0};
	assert_int_equal(sw_varlink_client_open(path, timeout_ms, &client, &err), -code);
	assert_string_equal(err.message, message);
	assert_null(client);
}

TEST_OF(test_nobody, struct service *s)
{
	char message[256], path[256];
	(void) snprintf(message, sizeof(message), "nobody listens on %s: Connection refused",
			s->address.sun_path); /* fits */
	sw_close_p(&s->listener);
	s->listener = -1;
	check_open(s->address.sun_path, LIMIT_MS, SW_E_NOT_FOUND, message);
	assert_int_equal(unlink(s->address.sun_path), 0);
	(void) snprintf(message, sizeof(message), "nobody listens on %s: No such file or directory",
			s->address.sun_path); /* fits */
	check_open(s->address.sun_path, LIMIT_MS, SW_E_NOT_FOUND, message);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	struct sw_varlink_client *client = NULL;
	assert_int_equal(sw_varlink_client_open(path, LIMIT_MS, &client, NULL), -SW_E_INVALID);
}

/* Root may connect to everything, and so is somebody else meanwhile. */
TEST_OF(test_forbidden, struct service *s)
{
	enum { NOBODY = 65534 };
	char message[256];
	(void) snprintf(message, sizeof(message), "%s: Permission denied",
			s->address.sun_path); /* fits */
	uid_t uid = geteuid();
	assert_int_equal(chmod(s->directory, 0755), 0);
	assert_int_equal(chmod(s->address.sun_path, 0600), 0);
	if (uid == 0)
		assert_int_equal(seteuid(NOBODY), 0);
	else
		assert_int_equal(chmod(s->address.sun_path, 0), 0);
	struct sw_varlink_client *client = NULL;
	struct sw_error err = {0};
	int r = sw_varlink_client_open(s->address.sun_path, LIMIT_MS, &client, &err);
	assert_int_equal(seteuid(uid), 0);
	assert_int_equal(r, -SW_E_NOT_PERMITTED);
	assert_string_equal(err.message, message);
	assert_null(client);
}

/* listen(0) has space for one connection that nobody accepted. */
TEST_OF(test_full, struct service *s)
{
	char message[256];
	(void) snprintf(message, sizeof(message), "%s: the daemon does not take connections",
			s->address.sun_path); /* fits */
	assert_int_equal(sw_varlink_client_open(s->address.sun_path, 1, &s->client, NULL), 0);
	check_open(s->address.sun_path, 10, SW_E_TIMEOUT, message);
	check_open(s->address.sun_path, 0, SW_E_TIMEOUT, message);
}

static void check_receive(struct service *s, int code, const char *message)
{
	struct sw_varlink_answer a = {0};
	struct sw_error err = {0};
	assert_int_equal(sw_varlink_client_receive(s->client, LIMIT_MS, &a, &err), -code);
	assert_string_equal(err.message, message);
	assert_null(a.parameters);
}

TEST_OF(test_hang_up, struct service *s)
{
	open_client(s, LIMIT_MS);
	ANSWER(s, "{}");
	answer(s, "{\"par", 5);
	sw_close_p(&s->peer);
	s->peer = -1;
	/* what came before is still there */
	struct sw_varlink_answer a = {0};
	assert_int_equal(sw_varlink_client_receive(s->client, LIMIT_MS, &a, NULL), 0);
	sw_varlink_answer_deinit(&a);
	check_receive(s, SW_E_EXITED, "the daemon hung up in the middle of an answer");
	struct sw_error err;
	assert_int_equal(sw_varlink_client_send(s->client, "a.b.C", NULL, false, -1, &err),
			 -SW_E_EXITED);
	assert_string_equal(err.message, "the daemon hung up");
}

TEST_OF(test_hang_up_between, struct service *s)
{
	open_client(s, LIMIT_MS);
	sw_close_p(&s->peer);
	s->peer = -1;
	check_receive(s, SW_E_EXITED, "the daemon hung up");
}

TEST_OF(test_malformed, struct service *s)
{
	open_client(s, LIMIT_MS);
	ANSWER(s, "{\"result\":1}");
	check_receive(s, SW_E_FORMAT, "a member that is not known: 'result'");
	ANSWER(s, "HTTP/1.1 400 Bad Request");
	check_receive(s, SW_E_FORMAT, "this cannot be read as JSON, at byte 0");
}

TEST_OF(test_timeouts, struct service *s)
{
	open_client(s, 10);
	struct sw_varlink_answer a = {0};
	struct sw_error err;
	assert_int_equal(sw_varlink_client_receive(s->client, 10, &a, &err), -SW_E_TIMEOUT);
	assert_string_equal(err.message, "the daemon took too long");
	/* more than the kernel keeps for a reader that does not read */
	enum { SIZE = 4 << 20 };
	sw_cleanup(sw_free_p) char *text = malloc(SIZE);
	assert_non_null(text);
	memset(text, 'x', SIZE);
	struct json_object *parameters = json_object_new_object();
	json_object_object_add(parameters, "a", json_object_new_string_len(text, SIZE));
	assert_int_equal(sw_varlink_client_send(s->client, "a.b.C", parameters, false, -1, &err),
			 -SW_E_TIMEOUT);
	assert_string_equal(err.message, "the daemon took too long");
}

/* A peer that sends a text of this size in all, and its NUL, while the other end reads. */
struct sender {
	int fd;
	size_t size;
};

static void *send_large(void *arg)
{
	static const char begin[] = "{\"parameters\":{\"a\":\"", end[] = "\"}}";
	const struct sender *sender = arg;
	size_t rest = sender->size - strlen(begin) - strlen(end);
	char chunk[65536];
	memset(chunk, 'x', sizeof(chunk));
	bool good = send(sender->fd, begin, strlen(begin), MSG_NOSIGNAL) > 0;
	while (good && rest > 0) {
		size_t wanted = rest < sizeof(chunk) ? rest : sizeof(chunk);
		ssize_t n = send(sender->fd, chunk, wanted, MSG_NOSIGNAL);
		good = n > 0;
		rest -= good ? (size_t) n : 0;
	}
	(void) send(sender->fd, end, sizeof(end), MSG_NOSIGNAL); /* the reader may have gone */
	return NULL;
}

static void receive_large(struct service *s, size_t size, int wanted)
{
	pthread_t thread;
	struct sw_varlink_answer a = {0};
	struct sw_error err = {0};
	struct sender sender = {s->peer, size};
	assert_int_equal(pthread_create(&thread, NULL, send_large, &sender), 0);
	int r = sw_varlink_client_receive(s->client, LIMIT_MS, &a, &err);
	if (r < 0)
		(void) shutdown(sw_varlink_client_fd(s->client), SHUT_RDWR); /* ends the thread */
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(r, wanted);
	if (r == 0)
		assert_int_equal(json_object_get_string_len(
					 json_object_object_get(a.parameters, "a")),
				 size - strlen("{\"parameters\":{\"a\":\"\"}}"));
	else
		assert_string_equal(err.message, "an answer of the daemon is above 16 MiB");
	sw_varlink_answer_deinit(&a);
}

TEST_OF(test_largest, struct service *s)
{
	open_client(s, LIMIT_MS);
	receive_large(s, SW_VARLINK_MESSAGE_MAX, 0);
	receive_large(s, SW_VARLINK_MESSAGE_MAX + 1, -SW_E_FORMAT);
}
