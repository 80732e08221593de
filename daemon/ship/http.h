/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_HTTP_H
#define SW_DAEMON_SHIP_HTTP_H

#include "ship/config.h"
#include "ship/spool.h"

enum {
	SW_SHIP_ANSWER_MAX = 64 << 10, /* bytes of an answer that are looked at; no more are read */
	SW_SHIP_HEADERS_BYTES = 64 << 10, /* of its headers: more is no answer */
};

/* The end of a request. */
struct sw_ship_answer {
	long status;            /* of HTTP; 0: there was none */
	int64_t retry_after_ms; /* 0: not said */
	uint64_t rejected;      /* of what was in the request, by its receiver's words */
	char why[256];          /* without a status: what went wrong */
};

enum sw_ship_verdict {
	SW_SHIP_TAKEN,
	SW_SHIP_AGAIN,   /* to be sent again later */
	SW_SHIP_REFUSAL, /* it is of no use to send that again */
};
enum sw_ship_verdict sw_ship_judge(long status);
/* Whether a status says that the sender may not send: its token has expired, say. */
bool sw_ship_denied(long status);

struct sw_ship_http; /* a connection that is used again, and its headers */

/* Before the filter is entered: libraries read their configuration, and the name is looked up once, so that what that
 * needs is loaded. -SW_E_NOMEM; -SW_E_INVALID. */
int sw_ship_http_create(const struct sw_ship_target *target, int64_t timeout_ms,
			struct sw_ship_http **ret, struct sw_error *err);
void sw_ship_http_destroy(struct sw_ship_http *http);
/* Requests have the target's token as it is now. -SW_E_NOMEM: the token may be the one before. */
int sw_ship_http_renew(struct sw_ship_http *http, const struct sw_ship_target *target,
		       struct sw_error *err);
/* Sends a batch; takes timeout_ms at most, and reads no more than SW_SHIP_*. */
void sw_ship_http_post(struct sw_ship_http *http, const struct sw_ship_batch *batch,
		       struct sw_ship_answer *ret);

/* The port of the target, and of its proxy when it has one. */
uint16_t sw_ship_http_port(const struct sw_ship_target *target);

/* A header line of an answer, as it came: notes Retry-After. */
void sw_ship_http_header(struct sw_ship_answer *answer, const char *line, size_t size,
			 int64_t now_s);

#endif
