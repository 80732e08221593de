/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes on a connection to the gate: there is an answer of HTTP, or none. */
#include "fuzz.h"
#include "gate/http.h"
#include "cleanup.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct sw_gate gate;
static struct MHD_Daemon *http;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void stop(void)
{
	sw_gate_http_stop(&gate, http);
	sw_gate_deinit(&gate);
}

/* An abstract name: nothing of it stays. */
static void start(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void) snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "snapwalk-fuzz-%d",
			(int) getpid());
	check(bind(fd, (struct sockaddr *) &address, sizeof(address)) == 0 && listen(fd, 8) == 0);
	sw_gate_init(&gate, "/nowhere", "0123456789abcdef");
	http = sw_gate_http_start(&gate, fd);
	check(http != NULL && atexit(stop) == 0);
}

static void answer_check(int fd)
{
	char text[4096];
	size_t n = 0;
	ssize_t got;
	while ((got = recv(fd, text + n, sizeof(text) - n, 0)) > 0)
		if (n < 9)
			n += (size_t) got;
	check(n == 0 || (n >= 9 && memcmp(text, "HTTP/1.", 7) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (http == NULL)
		start();
	sw_cleanup(sw_close_p) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0);
	for (size_t at = 0; at < size;) {
		ssize_t n = send(fd, data + at, size - at, MSG_NOSIGNAL);
		if (n <= 0)
			break; /* refused before its end */
		at += (size_t) n;
	}
	(void) shutdown(fd, SHUT_WR); /* or the other side has closed */
	answer_check(fd);
	return 0;
}
