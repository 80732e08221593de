/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTTP, by libmicrohttpd 0.9.75: a thread for each connection, so that one that waits for a capture
 * keeps nobody else waiting.
 */
#include "gate/http.h"
#include "gate/alerts.h"
#include "gate/metrics.h"
#include "gate/pull.h"
#include "gate/token.h"
#include "cleanup.h"

#include <snapwalk/clock.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>

/* A request under way. */
struct request {
	struct sw_text body;
	int64_t begin_ns;
	bool too_long;
};

static void count_request(struct sw_gate *gate, unsigned code)
{
	(void) pthread_mutex_lock(&gate->lock);
	for (size_t i = 0; i < SW_GATE_N_CODES; i++)
		gate->requests[i] += sw_gate_codes[i] == code;
	(void) pthread_mutex_unlock(&gate->lock);
}

static void add_headers(struct MHD_Response *response, const struct sw_gate_reply *reply)
{
	char seconds[16];
	(void) snprintf(seconds, sizeof(seconds), "%u", reply->retry_after_s);
	/* Without memory for a header the answer goes without it: MHD_NO changes nothing here. */
	if (reply->type != NULL)
		(void) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
	if (reply->code == 503 && reply->retry_after_s > 0)
		(void) MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
	if (reply->allow != NULL)
		(void) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, reply->allow);
	if (reply->code == 401)
		(void) MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					       "Bearer realm=\"snapwalk\"");
}

/* Consumes the reply's body. */
static enum MHD_Result answer(struct sw_gate *gate, struct MHD_Connection *connection,
			      struct sw_gate_reply *reply)
{
	if (reply->body == NULL) {
		reply->code = 500;
		reply->type = NULL;
		reply->size = 0;
	}
	struct MHD_Response *response =
		MHD_create_response_from_buffer(reply->size, reply->body,
						reply->body != NULL ? MHD_RESPMEM_MUST_FREE
								    : MHD_RESPMEM_PERSISTENT);
	if (response == NULL) {
		free(sw_take_ptr(reply->body));
		return MHD_NO;
	}
	add_headers(response, reply);
	enum MHD_Result result = MHD_queue_response(connection, reply->code, response);
	MHD_destroy_response(response);
	count_request(gate, reply->code);
	return result;
}

static const struct route {
	const char *path;
	const char *methods; /* separated by ", " */
	bool secret;
} routes[] = {
	{"/alertmanager", "POST", true},         {"/metrics", "GET, HEAD", false},
	{"/healthz", "GET, HEAD", false},        {"/debug/pprof/profile", "GET", true},
	{"/debug/pprof/goroutine", "GET", true},
};

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(routes); i++)
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

static bool method_fits(const struct route *route, const char *method)
{
	const size_t size = strlen(method);
	for (const char *at = route->methods; at != NULL; at = strstr(at, ", ")) {
		at += strspn(at, ", ");
		if (strncmp(at, method, size) == 0 && (at[size] == ',' || at[size] == '\0'))
			return true;
	}
	return false;
}

struct hosts_seen {
	const struct sw_gate_hosts *ours; /* borrowed */
	size_t n;
	bool other;
};

static enum MHD_Result host_check(void *arg, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	struct hosts_seen *seen = arg;
	(void) kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_HOST) != 0)
		return MHD_YES;
	seen->n++;
	seen->other |= !sw_gate_host_is_ours(seen->ours, value);
	return MHD_YES;
}

/* Each header Host, if there are several: a proxy may have gone by any of them. Only requests of HTTP/1.0 may have none
 * (RFC 9112, 3.2): libmicrohttpd 0.9.75 gives a header that goes on in the next line another name. */
static bool hosts_are_ours(const struct sw_gate *gate, struct MHD_Connection *connection,
			   const char *version)
{
	struct hosts_seen seen = {.ours = &gate->hosts};
	(void) MHD_get_connection_values(connection, MHD_HEADER_KIND, host_check,
					 &seen); /* how many there are */
	return !seen.other && (seen.n > 0 || strcmp(version, MHD_HTTP_VERSION_1_0) == 0);
}

/* Decide what can be decided before the body is there. Returns false with the reply filled. */
static bool admit(struct sw_gate *gate, struct MHD_Connection *connection, const char *path,
		  const char *method, const char *version, struct sw_gate_reply *reply)
{
	const struct route *route = find_route(path);
	const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_AUTHORIZATION);
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);
	if (!hosts_are_ours(gate, connection, version))
		sw_gate_reply_error(reply, 421,
				    "Host names another server: use localhost, or see --host");
	else if (route == NULL)
		sw_gate_reply_error(reply, 404,
				    "there are /alertmanager, /metrics, /healthz, "
				    "/debug/pprof/profile and /debug/pprof/goroutine");
	else if (!method_fits(route, method)) {
		sw_gate_reply_error(reply, 405, route->methods[0] == 'P' ? "use POST" : "use GET");
		reply->allow = route->methods;
	} else if (route->secret && !sw_gate_token_matches(gate->token, header))
		sw_gate_reply_error(reply, 401, "the token is missing or wrong");
	else if (length != NULL && strtoull(length, NULL, 10) > SW_ALERTS_BYTES_MAX)
		sw_gate_reply_error(reply, 413, "the body is longer than 1 MiB");
	else
		return true;
	return false;
}

static int fd_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info != NULL ? info->connect_fd : -1;
}

static void slot_request(struct sw_gate *gate, struct MHD_Connection *connection, bool with_token)
{
	uid_t uid = with_token ? sw_gate_peer_uid(fd_of(connection)) : SW_GATE_NO_UID;
	(void) pthread_mutex_lock(&gate->lock);
	sw_gate_slots_request(&gate->slots, connection);
	if (with_token)
		sw_gate_slots_know(&gate->slots, connection, uid);
	(void) pthread_mutex_unlock(&gate->lock);
}

static void slot_answered(struct sw_gate *gate, const struct MHD_Connection *connection)
{
	(void) pthread_mutex_lock(&gate->lock);
	sw_gate_slots_answered(&gate->slots, connection, sw_clock_ns());
	(void) pthread_mutex_unlock(&gate->lock);
}

static void respond_stacks(struct sw_gate *gate, struct MHD_Connection *connection,
			   const char *path, struct sw_gate_reply *reply)
{
	struct sw_gate_query query = {0};
	const struct {
		const char *name, **value;
	} arguments[] = {
		{"target", &query.target}, {"pid", &query.pid},   {"seconds", &query.seconds},
		{"rate", &query.rate},     {"mode", &query.mode}, {"debug", &query.debug},
		{"format", &query.format},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(arguments); i++)
		*arguments[i].value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND,
								  arguments[i].name);
	sw_gate_pull(gate,
		     strcmp(path, "/debug/pprof/profile") == 0 ? SW_GATE_PULL_PROFILE
							       : SW_GATE_PULL_STACKS,
		     &query, fd_of(connection), reply);
}

static void respond(struct sw_gate *gate, struct MHD_Connection *connection, const char *path,
		    const struct request *request, struct sw_gate_reply *reply)
{
	if (request->too_long)
		sw_gate_reply_error(reply, 413, "the body is longer than 1 MiB");
	else if (strcmp(path, "/metrics") == 0)
		sw_gate_metrics(gate, reply);
	else if (strcmp(path, "/healthz") == 0)
		sw_gate_health(gate, reply);
	else if (strncmp(path, "/debug/", strlen("/debug/")) == 0)
		respond_stacks(gate, connection, path, reply);
	else
		sw_gate_alerts(gate, request->body.data != NULL ? request->body.data : "",
			       request->body.size, reply);
}

/* A body that comes byte by byte must not keep its thread for ever. */
static enum MHD_Result take_body(struct request *request, const char *data, size_t *size)
{
	if (sw_clock_ns() - request->begin_ns > SW_GATE_UPLOAD_MS * INT64_C(1000000))
		return MHD_NO;
	if (*size > SW_ALERTS_BYTES_MAX - request->body.size)
		request->too_long = true;
	if (!request->too_long)
		sw_text_append(&request->body, data, *size);
	*size = 0;
	return request->body.failed ? MHD_NO : MHD_YES;
}

/* Called first with the headers, then for parts of the body, then at its end (size 0). */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	struct sw_gate *gate = arg;
	struct request *request = *state;
	struct sw_gate_reply reply = {0};
	if (request == NULL) {
		if (!admit(gate, connection, path, method, version, &reply))
			return answer(gate, connection, &reply);
		const struct route *route = find_route(path);
		slot_request(gate, connection, route != NULL && route->secret);
		request = calloc(1, sizeof(*request));
		if (request == NULL)
			return MHD_NO;
		request->begin_ns = sw_clock_ns();
		*state = request;
		return MHD_YES;
	}
	if (*size > 0)
		return take_body(request, data, size);
	respond(gate, connection, path, request, &reply);
	return answer(gate, connection, &reply);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct request *request = *state;
	(void) code;
	slot_answered(arg, connection);
	if (request != NULL)
		sw_text_deinit(&request->body);
	free(request);
	*state = NULL;
}

/* A connection begins or ends. A connection that is refused, or has to go, is told by its socket:
 * its thread closes it. */
static void on_connection(void *arg, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	struct sw_gate *gate = arg;
	int drop_fd = -1;
	(void) state;
	int fd = fd_of(connection);
	(void) pthread_mutex_lock(&gate->lock);
	if (code == MHD_CONNECTION_NOTIFY_CLOSED)
		sw_gate_slots_leave(&gate->slots, connection);
	else {
		bool ask = sw_gate_slots_ask(&gate->slots);
		uid_t uid = ask ? sw_gate_peer_uid(fd) : SW_GATE_NO_UID;
		if (!sw_gate_slots_take(&gate->slots, connection, fd, uid, sw_clock_ns(), &drop_fd))
			(void) shutdown(fd, SHUT_RDWR); /* or it has gone */
		if (drop_fd >= 0)
			(void) shutdown(drop_fd, SHUT_RDWR); /* likewise */
	}
	(void) pthread_mutex_unlock(&gate->lock);
}

/* Messages of MHD are about what clients send: nothing of that is worth a log. */
static void __attribute__((format(printf, 2, 0)))
ignore_message(void *arg, const char *format, va_list values)
{
	(void) arg;
	(void) format;
	(void) values;
}

struct MHD_Daemon *sw_gate_http_start(struct sw_gate *gate, int listen_fd)
{
	/* A refused connection has a thread for a moment, too: libmicrohttpd's own limit would shut
	 * out all. */
	enum { HEADERS_MAX = 32 << 10, STACK_BYTES = 512 << 10, LIMIT = 2 * SW_GATE_CONNECTIONS };
	return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
					MHD_USE_POLL | MHD_USE_ITC | MHD_USE_ERROR_LOG,
				0, NULL, NULL, on_request, gate, MHD_OPTION_EXTERNAL_LOGGER,
				ignore_message, NULL, MHD_OPTION_LISTEN_SOCKET, listen_fd,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned) LIMIT,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, gate,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) SW_GATE_IDLE_S,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) HEADERS_MAX,
				MHD_OPTION_THREAD_STACK_SIZE, (size_t) STACK_BYTES,
				MHD_OPTION_NOTIFY_COMPLETED, on_completed, gate, MHD_OPTION_END);
}

void sw_gate_http_stop(struct sw_gate *gate, struct MHD_Daemon *http)
{
	sw_gate_stop(gate); /* else the threads would be waited for */
	MHD_stop_daemon(http);
}
