/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RPC_CALL_H
#define SW_DAEMON_RPC_CALL_H

#include "rpc/connection.h"
#include "text.h"

#define SW_INTERFACE "io.snapwalk"
#define SW_SERVICE   "org.varlink.service"

struct sw_call;

/*
 * A method. It answers at once, or sets up state, cancel and perhaps pump and answers later. Errors
 * are replies. A final reply frees the call: nothing of it may be used behind one.
 */
struct sw_method {
	const char *name;
	void (*run)(struct sw_call *call);
	bool needs_more; /* otherwise ExpectedMore */
};

struct sw_call {
	struct sw_connection *connection; /* borrowed */
	struct sw_broker *broker;         /* borrowed */
	struct sw_varlink_call message;
	void *state; /* the method's */
	/* Frees state: the peer has hung up, or the final reply is sent. Optional. */
	void (*cancel)(struct sw_call *call);
	/* There is room for output. True: there is more to say when there is room again. Optional. */
	bool (*pump)(struct sw_call *call);
};

/* One message of a peer. False: it is none, close the connection. */
bool sw_call_dispatch(struct sw_connection *connection, const char *message, size_t size);
void sw_call_destroy(struct sw_call *call);

/* Replies. continues: more follow; only for calls with "more". All consume their parameters. */
void sw_call_reply(struct sw_call *call, struct json_object *parameters, bool continues);
/* parameters as JSON text: an object. */
void sw_call_reply_text(struct sw_call *call, struct sw_text *parameters, bool continues);
void sw_call_error(struct sw_call *call, const char *name, struct json_object *parameters);
/* org.varlink.service.InvalidParameter */
void sw_call_invalid(struct sw_call *call, const char *parameter);
/* io.snapwalk.Failed, for what has no error of its own */
void sw_call_failed(struct sw_call *call, const char *detail);
/* May a stream send another reply? */
bool sw_call_has_room(const struct sw_call *call);

/* Objects with one or two members; NULL: no memory, which makes an error without parameters. */
struct json_object *sw_object_int(const char *name, int64_t value);
struct json_object *sw_object_string(const char *name, const char *value);
/* Consumes value. Adds nothing when either is NULL. Returns object. */
struct json_object *sw_object_add(struct json_object *object, const char *name,
				  struct json_object *value);

/* method_*.c */
void sw_method_capture(struct sw_call *call);
void sw_method_sample(struct sw_call *call);
void sw_method_trigger(struct sw_call *call);
void sw_method_list(struct sw_call *call);
void sw_method_read(struct sw_call *call);
void sw_method_subscribe(struct sw_call *call);
void sw_method_status(struct sw_call *call);
void sw_method_get_info(struct sw_call *call);
void sw_method_get_interface(struct sw_call *call);

#endif
