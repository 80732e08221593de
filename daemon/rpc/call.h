/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_CALL_H
#define SW_DAEMON_RPC_CALL_H

#include "rpc/connection.h"
#include "rpc/reply.h"
#include "text.h"

struct sw_call;

/*
 * A method. It answers at once, or sets up state, cancel and perhaps pump and answers later. Errors
 * are replies. A final reply frees the call: nothing of it may be used behind one.
 */
struct sw_method {
	const char *name; /* with its interface; NULL: behind the last one */
	void (*run)(struct sw_call *call);
	bool needs_more; /* otherwise ExpectedMore */
};

struct sw_call {
	struct sw_connection *connection; /* borrowed */
	void *context;                    /* borrowed; what methods act on: sw_server.context */
	struct sw_varlink_call message;
	void *state;       /* the method's */
	size_t held_bytes; /* of a dump in memory for it alone: sw_server_may_hold() */
	/* Frees state: the peer has hung up, or the final reply is sent. Optional. */
	void (*cancel)(struct sw_call *call);
	/* The output has space. Returns true if there is more to send when there is space again.
	 * Optional. */
	bool (*pump)(struct sw_call *call);
	/* The peer has shut its sending side down, and still reads. Called once; may answer. Optional. */
	void (*ended)(struct sw_call *call);
};

/* Dispatch a message of a peer. False: it is not a call; close the connection. */
bool sw_call_dispatch(struct sw_connection *connection, const char *message, size_t size);
void sw_call_destroy(struct sw_call *call);

/* Replies. continues: more follow; only for calls with "more". All consume their parameters. */
void sw_call_reply(struct sw_call *call, struct json_object *parameters, bool continues);
/* parameters as JSON text: an object. */
void sw_call_reply_text(struct sw_call *call, struct sw_text *parameters, bool continues);
void sw_call_error(struct sw_call *call, const char *name, struct json_object *parameters);
/* org.varlink.service.InvalidParameter */
void sw_call_invalid(struct sw_call *call, const char *parameter);
/* The refusal is still the caller's: several calls may be answered with it. */
void sw_call_refuse(struct sw_call *call, const struct sw_refusal *refusal);
/* io.snapwalk.Failed, for what has no error of its own */
void sw_call_failed(struct sw_call *call, const char *detail);
/* May a stream send another reply? */
bool sw_call_has_space(const struct sw_call *call);

#endif
