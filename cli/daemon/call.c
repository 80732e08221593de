/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/call.h"
#include "cleanup.h"
#include "daemon/complaint.h"
#include "daemon/stream.h"
#include "errors.h"

#include <snapwalk/clock.h>

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum {
	OPEN_TIMEOUT_MS = 5000,
	/* A dump comes in parts, and the daemon says meanwhile what it does: so many times as long as for one answer. */
	PARTS = 4,
	/* Also of parts that nobody keeps. */
	ANSWERS_BYTES_MAX = 2 * SW_STREAM_BYTES_MAX,
	NS_PER_MS = 1000000,
};

SW_DEFINE_CLEANUP(struct sw_varlink_client *, sw_varlink_client_close);

bool sw_json_add(struct json_object *object, const char *name, struct json_object *value)
{
	if (object != NULL && value != NULL && json_object_object_add(object, name, value) == 0)
		return true;
	(void) json_object_put(value); /* NULL is legal */
	return false;
}

const char *sw_json_string(struct json_object *object, const char *name)
{
	struct json_object *value = json_object_object_get(object, name);
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

int64_t sw_json_int(struct json_object *object, const char *name)
{
	struct json_object *value = json_object_object_get(object, name);
	return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
}

const char *sw_daemon_path(const struct sw_options *options, char buffer[SW_SOCKET_PATH_SIZE])
{
	static const char system_path[] = "/run/snapwalk/io.snapwalk";
	const char *path = getenv("SNAPWALK_SOCKET");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (options->socket_path != NULL)
		return options->socket_path;
	if (path != NULL && path[0] != '\0')
		return path;
	if (runtime == NULL || runtime[0] != '/' || access(system_path, F_OK) == 0)
		return system_path;
	int n = snprintf(buffer, SW_SOCKET_PATH_SIZE, "%s/snapwalk/io.snapwalk", runtime);
	bool there = n > 0 && n < SW_SOCKET_PATH_SIZE && access(buffer, F_OK) == 0;
	return there ? buffer : system_path;
}

static int open_client(const struct sw_options *options, struct sw_varlink_client **ret,
		       struct sw_error *err)
{
	char buffer[SW_SOCKET_PATH_SIZE];
	return sw_varlink_client_open(sw_daemon_path(options, buffer), OPEN_TIMEOUT_MS, ret, err);
}

bool sw_daemon_listens(const struct sw_options *options)
{
	sw_cleanup(sw_varlink_client_close_p) struct sw_varlink_client *client = NULL;
	return open_client(options, &client, NULL) == 0;
}

bool sw_daemon_of_others_listens(const struct sw_options *options)
{
	sw_cleanup(sw_varlink_client_close_p) struct sw_varlink_client *client = NULL;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	return open_client(options, &client, NULL) == 0 &&
	       getsockopt(sw_varlink_client_fd(client), SOL_SOCKET, SO_PEERCRED, &peer, &size) ==
		       0 &&
	       peer.uid != geteuid();
}

/* The receiver of answers: one of the two. */
struct taker {
	sw_daemon_take_fn *object;
	sw_daemon_take_text_fn *text;
	void *arg;
	size_t n_bytes; /* of text, so far */
	bool more;      /* several answers were asked for */
	int64_t end_ns; /* of all answers; 0: they may come for ever */
};

/* A daemon that never falls silent would be waited for as long as it likes. At most wait_ms; -1: for ever. */
static int left_ms(const struct taker *taker, int wait_ms)
{
	int64_t left = (taker->end_ns - sw_clock_ns()) / NS_PER_MS;
	if (taker->end_ns == 0 || left > wait_ms)
		return wait_ms;
	return left > 0 ? (int) left : 0;
}

/* True: there may be more answers. */
static bool take_answer(struct sw_varlink_client *client, int wait_ms, struct taker *taker,
			struct sw_complaint *why)
{
	struct sw_error err = {0};
	struct sw_varlink_answer answer = {0};
	const char *text = NULL;
	size_t size = 0;
	bool more = false;
	const int ms = left_ms(taker, wait_ms);
	int r;
	if (ms == 0)
		r = sw_fail(&err, SW_E_TIMEOUT, "the answers of the daemon do not end");
	else if (taker->text != NULL)
		r = sw_varlink_client_receive_text(client, ms, &answer, &text, &size, &err);
	else
		r = sw_varlink_client_receive(client, ms, &answer, &err);
	taker->n_bytes += size;
	if (r == 0 && taker->n_bytes > ANSWERS_BYTES_MAX)
		r = sw_fail(&err, SW_E_LIMIT, "the answers of the daemon are above %d MiB",
			    ANSWERS_BYTES_MAX >> 20);
	if (r == 0 && answer.continues && !taker->more)
		r = sw_fail(&err, SW_E_FORMAT, "the daemon says that it has more answers than one");
	if (r < 0)
		sw_complaint_of_error(why, &err, 0);
	else if (answer.error != NULL)
		sw_complaint_of_answer(why, &answer);
	else
		more = (taker->text != NULL ? taker->text(taker->arg, text, size, why)
					    : taker->object(taker->arg, answer.parameters, why)) &&
		       answer.continues;
	sw_varlink_answer_deinit(&answer);
	return more;
}

/* Waits until the first answer comes. */
static int wait_or_stop(const struct sw_varlink_client *client, int wait_ms,
			struct sw_stop_signals *stop, struct sw_error *err)
{
	const int fd = sw_varlink_client_fd(client);
	for (;;) {
		struct pollfd events[] = {{.fd = fd, .events = POLLIN},
					  {.fd = stop->fd, .events = POLLIN}};
		int n = poll(events, SW_ARRAY_SIZE(events), wait_ms);
		if (n == 0)
			return sw_fail(err, SW_E_TIMEOUT, "the daemon took too long");
		if (n < 0) /* EINTR */
			continue;
		if (events[0].revents != 0)
			return 0;
		if (stop->came) /* this one stays for sw_stop_signals_deinit() */
			return sw_fail(err, SW_E_EXITED, "the command was told twice to stop");
		sw_stop_signals_take(stop);
		if (stop->came)
			(void) shutdown(
				fd,
				SHUT_WR); /* fails when the daemon is gone, which is seen next */
	}
}

static bool call(const struct sw_options *options, const char *method,
		 struct json_object *parameters, int wait_ms, struct sw_stop_signals *stop,
		 struct taker *taker, struct sw_complaint *ret_why)
{
	struct sw_error err = {0};
	sw_cleanup(sw_varlink_client_close_p) struct sw_varlink_client *client = NULL;
	*ret_why = (struct sw_complaint){0};
	int r = parameters == NULL ? sw_fail_nomem(&err) : open_client(options, &client, &err);
	if (r == 0)
		r = sw_varlink_client_send(client, method, parameters, taker->more, -1, &err);
	else
		(void) json_object_put(parameters); /* NULL is legal */
	if (r == 0 && stop != NULL && stop->fd >= 0)
		r = wait_or_stop(client, wait_ms, stop, &err);
	if (r < 0)
		sw_complaint_of_error(ret_why, &err,
				      stop != NULL && stop->came ? SW_SAID_OF_SIGNAL : 0);
	else
		while (take_answer(client, wait_ms, taker, ret_why))
			;
	return ret_why->code == NULL;
}

/* times: how many times wait_ms, which is -1 for ever. */
static int64_t end_after(int wait_ms, int times)
{
	return wait_ms < 0 ? 0 : sw_clock_ns() + (int64_t) wait_ms * times * NS_PER_MS;
}

bool sw_daemon_call(const struct sw_options *options, const char *method,
		    struct json_object *parameters, bool more, int wait_ms, sw_daemon_take_fn *take,
		    void *arg, struct sw_complaint *ret_why)
{
	struct taker taker = {.object = take,
			      .arg = arg,
			      .more = more,
			      .end_ns = end_after(wait_ms, 1)};
	return call(options, method, parameters, wait_ms, NULL, &taker, ret_why);
}

bool sw_daemon_call_text(const struct sw_options *options, const char *method,
			 struct json_object *parameters, int wait_ms, struct sw_stop_signals *stop,
			 sw_daemon_take_text_fn *take, void *arg, struct sw_complaint *ret_why)
{
	struct taker taker = {.text = take,
			      .arg = arg,
			      .more = true,
			      .end_ns = end_after(wait_ms, PARTS)};
	return call(options, method, parameters, wait_ms, stop, &taker, ret_why);
}
