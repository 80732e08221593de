/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_H
#define SW_DAEMON_GATE_H

#include <snapwalk/alerts.h>
#include <snapwalk/varlink.h>

#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>

#include "text.h"

/*
 * snapwalk-gate(8): HTTP on loopback for what speaks nothing else, as a client of the daemon's
 * socket. Each connection has a thread; what they share is in struct sw_gate, under its lock.
 */
enum {
	SW_GATE_PORT = 9911,
	SW_GATE_CONNECTIONS = 64,
	SW_GATE_IDLE_S = 10,       /* a connection without a byte */
	SW_GATE_REQUEST_MS = 8000, /* Alertmanager gives a notification 10 s at least */
	SW_GATE_PROBE_MS = 2000,   /* Status, for /healthz and /metrics */
	SW_GATE_UPLOAD_MS = 30000, /* a body that comes byte by byte */
	SW_GATE_SEEN = 1024,       /* alerts remembered */
	SW_GATE_TOKEN_MIN = 16,    /* bytes: shorter ones can be tried out */
	SW_GATE_TOKEN_MAX = 4096,
	SW_GATE_AWAY_S = 5, /* Retry-After while the daemon is away */
};

/* ---- options (gate_options.c) ---------------------------------------------------------------- */

struct sw_gate_options {
	struct sockaddr_storage listen;
	socklen_t listen_size;
	const char *socket_path; /* borrowed from argv, the environment, or static */
	char *token_file;        /* owned */
	bool help, version;
};

/* 0; -SW_E_INVALID with a message that says what to do; -SW_E_NOMEM. */
int sw_gate_options_parse(int argc, char **argv, struct sw_gate_options *ret, struct sw_error *err);
void sw_gate_options_deinit(struct sw_gate_options *options);
void sw_gate_options_help(void);

/* "127.0.0.1:9911", "[::1]:9911" or a port; loopback only. Port 0: any. */
int sw_gate_listen_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_size,
			 struct sw_error *err);

/* ---- token (gate_token.c) -------------------------------------------------------------------- */

/* The first line of a file, malloc'ed. 0; -SW_E_IO; -SW_E_FORMAT; -SW_E_NOMEM. */
int sw_gate_token_load(const char *path, char **ret, struct sw_error *err);
/* Is header ("Bearer TOKEN", NULL: none) the token? Takes as long whatever is wrong with it. */
bool sw_gate_token_matches(const char *token, const char *header);

/* ---- alerts acted on (gate_seen.c) ----------------------------------------------------------- */

/* A ring: the oldest goes first. Zero-initialised is a valid empty one. */
struct sw_gate_seen {
	uint64_t keys[SW_GATE_SEEN];
	size_t n, next;
};

/* Fingerprint and start together: the same alert may fire anew. 0: it cannot be told apart. */
uint64_t sw_gate_seen_key(const struct sw_alert *alert);
bool sw_gate_seen_has(const struct sw_gate_seen *seen, uint64_t key);
void sw_gate_seen_add(struct sw_gate_seen *seen, uint64_t key);

/* ---- shared state (gate_call.c) -------------------------------------------------------------- */

enum sw_gate_result {
	SW_GATE_CAPTURED,
	SW_GATE_SKIPPED,   /* no rule, a rule's host, cooldown ... */
	SW_GATE_RESOLVED,  /* not firing */
	SW_GATE_DUPLICATE, /* acted on before */
	SW_GATE_BUSY,      /* or the daemon is away: to be sent again */
	SW_GATE_REFUSED,   /* the daemon does not let us */
	SW_GATE_FAILED,
	SW_GATE_N_RESULTS,
};
const char *sw_gate_result_name(enum sw_gate_result result); /* static */

static const unsigned sw_gate_codes[] = {200, 400, 401, 403, 404, 405, 413, 500, 503};
enum { SW_GATE_N_CODES = sizeof(sw_gate_codes) / sizeof(sw_gate_codes[0]) };

struct sw_gate {
	const char *socket_path; /* borrowed */
	const char *token;       /* borrowed */
	pthread_mutex_t lock;    /* for all below */
	struct sw_gate_seen seen;
	uint64_t results[SW_GATE_N_RESULTS];
	uint64_t requests[SW_GATE_N_CODES];
	int calls[SW_GATE_CONNECTIONS]; /* sockets of calls under way; 0: unused */
	bool stopping;
};

void sw_gate_init(struct sw_gate *gate, const char *socket_path, const char *token);
void sw_gate_deinit(struct sw_gate *gate);

/* One call to the daemon. Consumes parameters. 0 and an answer, which may be an error of the
 * daemon; -SW_E_NOT_FOUND, -SW_E_TIMEOUT, -SW_E_EXITED ...: there is none. */
int sw_gate_call(struct sw_gate *gate, const char *method, struct json_object *parameters,
		 int64_t deadline_ns, struct sw_varlink_answer *ret, struct sw_error *err);
/* Ends the calls under way; later ones fail at once. */
void sw_gate_stop(struct sw_gate *gate);

/* ---- requests -------------------------------------------------------------------------------- */

/* What HTTP answers. */
struct sw_gate_reply {
	unsigned code;
	unsigned retry_after_s; /* with 503 */
	const char *type;       /* static; Content-Type */
	const char *allow;      /* static; with 405 */
	char *body;             /* owned; NULL: out of memory */
	size_t size;
};

/* gate_alerts.c: POST /alertmanager. */
void sw_gate_alerts(struct sw_gate *gate, const char *body, size_t size, struct sw_gate_reply *ret);
/* What the answer to a Trigger, or the lack of one (answer NULL), means. */
enum sw_gate_result sw_gate_judge(const struct sw_varlink_answer *answer, unsigned *ret_retry_s);

/* gate_metrics.c: GET /metrics. status: parameters of Status, NULL: the daemon is away. */
void sw_gate_metrics_text(struct sw_gate *gate, struct json_object *status, struct sw_text *text);
void sw_gate_metrics(struct sw_gate *gate, struct sw_gate_reply *ret);
/* GET /healthz. */
void sw_gate_health(struct sw_gate *gate, struct sw_gate_reply *ret);

/* {"error":MESSAGE} */
void sw_gate_reply_error(struct sw_gate_reply *ret, unsigned code, const char *message);
/* Consumes the object; NULL: out of memory. */
void sw_gate_reply_json(struct sw_gate_reply *ret, unsigned code, struct json_object *object);

/* gate_http.c */
struct MHD_Daemon;
/* Takes connections of listen_fd, which it owns then. */
struct MHD_Daemon *sw_gate_http_start(struct sw_gate *gate, int listen_fd);
void sw_gate_http_stop(struct sw_gate *gate, struct MHD_Daemon *http);

#endif
