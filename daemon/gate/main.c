/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* snapwalk-gate(8). */
#include "gate/call.h"
#include "gate/filter.h"
#include "gate/http.h"
#include "gate/options.h"
#include "gate/token.h"
#include "cleanup.h"
#include "errors.h"

#include <confine/landlock.h>
#include <confine/service.h>

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include <microhttpd.h>

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

static int complain(const struct sw_error *err)
{
	fprintf(stderr, "snapwalk-gate: %s (%s)\n", err->message, sw_error_wire(err->code));
	return err->code == SW_E_INVALID ? STATUS_USAGE : STATUS_FAILED;
}

static int open_listener(const struct sw_gate_options *o, int *ret, struct sw_error *err)
{
	enum { BACKLOG = 64 };
	int on = 1;
	sw_cleanup(sw_close_p) int fd =
		socket(o->listen.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "no socket");
	/* A gate that is started again must not wait for old connections to be forgotten. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *) &o->listen, o->listen_size) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot listen there");
	*ret = sw_take_fd(fd);
	return 0;
}

/* Neither port nor socket needs a privilege; the token was read, and is in our memory. */
static int drop_privileges(struct sw_error *err)
{
	int r = sw_confine_service("snapwalk-gate", err);
	if (r < 0)
		return r;
	/* The filter lets it connect to the daemon's socket, and so would let it turn the socket of a client, or the one that
	 * it listens at, to another address. Files can be read as their modes say. */
	static const struct sw_landlock_path all = {.path = "/", .access = SW_LANDLOCK_LIST};
	r = sw_landlock_enter(&all, 1, err);
	return r < 0 ? r : sw_gate_filter_enter(err);
}

/* Port 0 is any: whoever asked for it needs to know which. */
static void say_where(int listen_fd)
{
	struct sockaddr_storage at = {0};
	socklen_t size = sizeof(at);
	char address[INET6_ADDRSTRLEN] = "?";
	if (getsockname(listen_fd, (struct sockaddr *) &at, &size) < 0)
		return;
	bool is_v6 = at.ss_family == AF_INET6;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	memcpy(&v4, &at, sizeof(v4));
	memcpy(&v6, &at, sizeof(v6));
	(void) inet_ntop(at.ss_family,
			 is_v6 ? (const void *) &v6.sin6_addr : (const void *) &v4.sin_addr,
			 address, sizeof(address)); /* both families are known */
	printf("snapwalk-gate: listening on http://%s%s%s:%u\n", is_v6 ? "[" : "", address,
	       is_v6 ? "]" : "", ntohs(is_v6 ? v6.sin6_port : v4.sin_port));
	(void) fflush(stdout); /* nobody may read it */
}

static int serve(struct sw_gate *gate, int listen_fd, struct sw_error *err)
{
	sigset_t signals;
	int signal_number;
	(void) sigemptyset(&signals); /* fail only for bad numbers */
	(void) sigaddset(&signals, SIGTERM);
	(void) sigaddset(&signals, SIGINT);
	/* Before there are threads: they inherit the mask. */
	(void) pthread_sigmask(SIG_BLOCK, &signals, NULL);
	struct MHD_Daemon *http = sw_gate_http_start(gate, listen_fd);
	if (http == NULL) {
		(void) close(listen_fd); /* it has no data */
		return sw_fail(err, SW_E_IO, "the HTTP server does not start");
	}
	say_where(listen_fd);
	while (sigwait(&signals, &signal_number) != 0)
		;
	sw_gate_http_stop(gate, http);
	return 0;
}

static int run(const struct sw_gate_options *o, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *token = NULL;
	sw_cleanup(sw_close_p) int listen_fd = -EBADF;
	int r = sw_gate_token_load(o->token_file, &token, err);
	if (r == 0)
		r = open_listener(o, &listen_fd, err);
	if (r == 0)
		r = drop_privileges(err);
	if (r < 0)
		return r;
	struct sw_gate gate;
	sw_gate_init(&gate, o->socket_path, token);
	gate.hosts = o->hosts;
	r = serve(&gate, sw_take_fd(listen_fd), err);
	sw_gate_deinit(&gate);
	explicit_bzero(token, strlen(token));
	return r;
}

int main(int argc, char **argv)
{
	struct sw_gate_options options;
	struct sw_error err = {0};
	int status = EXIT_SUCCESS;
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	(void) sigaction(SIGPIPE, &ignore, NULL); /* fails only for bad numbers */
	if (sw_gate_options_parse(argc, argv, &options, &err) < 0)
		status = complain(&err);
	else if (options.help)
		sw_gate_options_help();
	else if (options.version)
		puts("snapwalk-gate " SW_VERSION);
	else if (run(&options, &err) < 0)
		status = complain(&err);
	sw_gate_options_deinit(&options);
	return status;
}
