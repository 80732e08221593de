/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HTTP as it comes over a socket, without a daemon behind it. */
#include "gate/http.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/alerts.h>

#include <sys/socket.h>
#include <sys/un.h>

enum { CHUNK = 64 << 10 };

struct fixture {
	struct sw_gate gate;
	struct MHD_Daemon *http;
	char directory[32];
	struct sockaddr_un address;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	strcpy(f->directory, "/tmp/snapwalk-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	f->address.sun_family = AF_UNIX;
	(void) snprintf(f->address.sun_path, sizeof(f->address.sun_path), "%s/http", f->directory);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *) &f->address, sizeof(f->address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	sw_gate_init(&f->gate, "/nowhere", "0123456789abcdef");
	f->http = sw_gate_http_start(&f->gate, fd);
	assert_non_null(f->http);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_gate_http_stop(&f->gate, f->http);
	sw_gate_deinit(&f->gate);
	assert_int_equal(unlink(f->address.sun_path), 0);
	assert_int_equal(rmdir(f->directory), 0);
	free(f);
	return 0;
}

static int connect_to(const struct fixture *f)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (const struct sockaddr *) &f->address, sizeof(f->address)), 0);
	return fd;
}

/* A message that cannot be sent any more was refused before its end. */
static bool say(int fd, const void *data, size_t size)
{
	for (const char *at = data; size > 0;) {
		ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t) n;
	}
	return true;
}

/* The status of the answer; 0: there is none. */
static int status_of(int fd)
{
	char text[4096];
	size_t n = 0;
	int status = 0;
	for (;;) {
		ssize_t got = recv(fd, text + n, sizeof(text) - 1 - n, 0);
		if (got <= 0)
			break;
		n += (size_t) got;
	}
	text[n] = '\0';
	(void) close(fd);
	return sscanf(text, "HTTP/1.%*d %d ", &status) == 1 ? status : 0;
}

static const char head[] = "POST /alertmanager HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
			   "Authorization: Bearer 0123456789abcdef\r\n";

/* A body in chunks says nothing of its length before. */
static int post_chunks(const struct fixture *f, size_t n, char byte)
{
	static char chunk[CHUNK];
	char size[16];
	int fd = connect_to(f);
	bool ok = say(fd, head, strlen(head)) && say(fd, "Transfer-Encoding: chunked\r\n\r\n", 30);
	memset(chunk, byte, sizeof(chunk));
	for (size_t i = 0; ok && i < n; i++) {
		(void) snprintf(size, sizeof(size), "%x\r\n", CHUNK);
		ok = say(fd, size, strlen(size)) && say(fd, chunk, sizeof(chunk)) &&
		     say(fd, "\r\n", 2);
	}
	if (ok)
		(void) say(fd, "0\r\n\r\n", 5); /* it may have been refused by then */
	return status_of(fd);
}

TEST_OF(test_chunks, struct fixture *f)
{
	/* As much as is taken, which is no JSON; more than that. */
	assert_int_equal(post_chunks(f, SW_ALERTS_BYTES_MAX / CHUNK, 'x'), 400);
	assert_int_equal(post_chunks(f, SW_ALERTS_BYTES_MAX / CHUNK + 1, ' '), 413);
	assert_int_equal(post_chunks(f, 3 * (SW_ALERTS_BYTES_MAX / CHUNK), ' '), 413);
}

static int ask(const struct fixture *f, const char *text)
{
	int fd = connect_to(f);
	assert_true(say(fd, text, strlen(text)));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	return status_of(fd);
}

#define REST  " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
#define TOKEN "Authorization: Bearer 0123456789abcdef\r\n"

TEST_OF(test_refused, struct fixture *f)
{
	assert_int_equal(ask(f, "GET /" REST "\r\n"), 404);
	assert_int_equal(ask(f, "POST /metrics" REST "Content-Length: 0\r\n\r\n"), 405);
	assert_int_equal(ask(f, "GET /alertmanager" REST TOKEN "\r\n"), 405);
	assert_int_equal(ask(f, "POST /alertmanager" REST "Content-Length: 2\r\n\r\n{}"), 401);
	assert_int_equal(ask(f,
			     "POST /alertmanager" REST "Authorization: Bearer 0123456789abcdeF\r\n"
			     "Content-Length: 2\r\n\r\n{}"),
			 401);
	assert_int_equal(ask(f, "POST /alertmanager" REST TOKEN "Content-Length: 1048577\r\n\r\n"),
			 413);
	assert_int_equal(ask(f, "POST /alertmanager" REST TOKEN "Content-Length: 2\r\n\r\nno"),
			 400);
	/* The daemon is away. */
	assert_int_equal(ask(f, "GET /healthz" REST "\r\n"), 503);
}

/* A name that was made to lead to loopback is refused, whatever is asked for. */
TEST_OF(test_host, struct fixture *f)
{
	f->gate.hosts = (struct sw_gate_hosts){.names = {"gate.example.org"}, .n = 1};
#define GET(path, host) "GET " path " HTTP/1.1\r\n" host "Connection: close\r\n\r\n"
	assert_int_equal(ask(f, GET("/metrics", "Host: evil.example:9911\r\n")), 421);
	assert_int_equal(ask(f, GET("/healthz", "Host: evil.example\r\n")), 421);
	assert_int_equal(ask(f, GET("/", "Host: evil.example\r\n")), 421);
	assert_int_equal(ask(f, "POST /alertmanager HTTP/1.1\r\nHost: evil.example\r\n"
				"Connection: close\r\n" TOKEN "Content-Length: 2\r\n\r\n{}"),
			 421);
	assert_int_equal(ask(f, GET("/metrics", "Host: localhost\r\nHost: evil.example\r\n")), 421);
	assert_int_equal(ask(f, GET("/metrics", "")), 421);
	assert_int_equal(ask(f, GET("/metrics", "Host: evil.example\r\n localhost\r\n")), 421);
	assert_int_equal(ask(f, "GET /metrics HTTP/1.0\r\n\r\n"), 200);
	assert_int_equal(ask(f, "GET /metrics HTTP/1.0\r\nHost: evil.example\r\n\r\n"), 421);
	assert_int_equal(ask(f, GET("/metrics", "Host: localhost:9911\r\n")), 200);
	assert_int_equal(ask(f, GET("/metrics", "Host: gate.example.org\r\n")), 200);
	assert_int_equal(ask(f, "GET /metrics HTTP/1.0\r\n\r\n"), 200);
#undef GET
}
