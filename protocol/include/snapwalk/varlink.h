/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_VARLINK_H
#define SNAPWALK_VARLINK_H

/*
 * Varlink (UAPI.20, version 0.1; varlink.org): JSON messages on a stream socket, each ended by a
 * NUL byte. This is the codec and a blocking client; the event loop of a server is its own.
 */

#include <snapwalk/error.h>

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SW_VARLINK_MESSAGE_MAX = 16 << 20, /* what sd-varlink and libvarlink take as a reply */
	SW_VARLINK_CALL_MAX = 1 << 20,     /* what we take as a call */
	SW_VARLINK_DEPTH_MAX = 16,         /* of a call's JSON */
	SW_VARLINK_METHOD_MAX = 255,
};

/** The text of io.snapwalk.varlink and of org.varlink.service; static. */
SW_PUBLIC extern const char *const sw_varlink_interface_snapwalk;
SW_PUBLIC extern const char *const sw_varlink_interface_service;

/* ---- JSON --------------------------------------------------------------------------------- */

/**
 * A text that is one object, strictly RFC 8259: what json-c's own parser is not. Also refused: \u0000,
 * two members of one name in an object, integers above 64 bits with sign, other numbers that are no
 * finite double.
 * @param depth_max  Objects and arrays within one another; at most 64.
 * @param ret        The caller's; json_object_put().
 * @return 0; -SW_E_FORMAT, also above 2^31 - 1 bytes; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_json_object_parse(const char *text, size_t size, unsigned depth_max,
				   struct json_object **ret, struct sw_error *err);

/* ---- codec -------------------------------------------------------------------------------- */

/** Bytes of a peer, cut into messages. Zero-initialised is a valid empty one. */
struct sw_varlink_input {
	char *data; /* owned */
	size_t begin, size, capacity;
	size_t tail; /* where the message begins that is not whole yet */
	size_t max;  /* longest message; 0 means SW_VARLINK_CALL_MAX */
};

SW_PUBLIC void sw_varlink_input_deinit(struct sw_varlink_input *input);
/** @return 0; -SW_E_LIMIT: a message is too long; -SW_E_NOMEM. The connection is then of no use. */
SW_PUBLIC int sw_varlink_input_add(struct sw_varlink_input *input, const void *data, size_t size);
/** The next whole message without its NUL, borrowed until the next add. @return 1, or 0: none. */
SW_PUBLIC int sw_varlink_input_next(struct sw_varlink_input *input, const char **ret_message,
				    size_t *ret_size);

struct sw_varlink_call {
	char *method;                   /* owned */
	struct json_object *parameters; /* owned; an object, never NULL */
	bool more, oneway, upgrade;
};

SW_PUBLIC void sw_varlink_call_deinit(struct sw_varlink_call *call);
/**
 * Strict: valid UTF-8, depth limit, one object, no unknown unprefixed members, at most one of
 * oneway, more, upgrade, a method "interface.Name".
 * @return 0; -SW_E_FORMAT: close the connection (UAPI.20); -SW_E_NOMEM.
 */
SW_PUBLIC int sw_varlink_call_parse(const char *message, size_t size, struct sw_varlink_call *ret,
				    struct sw_error *err);

/** "interface.Name", as in UAPI.20, of at most SW_VARLINK_METHOD_MAX bytes. */
SW_PUBLIC bool sw_varlink_name_valid(const char *name);

/** A message with its NUL, malloc'ed; what is not valid UTF-8 in it becomes U+FFFD. Consumes parameters (NULL: {}), also on failure.
 * @return 0; -SW_E_LIMIT: above SW_VARLINK_MESSAGE_MAX; -SW_E_NOMEM. */
SW_PUBLIC int sw_varlink_reply(struct json_object *parameters, bool continues, char **ret_message,
			       size_t *ret_size);
/** The same with a parameter that is valid JSON text already: {"parameters":{KEY:TEXT}}; the key
 * needs no escapes. */
SW_PUBLIC int sw_varlink_reply_text(const char *key, const char *text, size_t text_size,
				    bool continues, char **ret_message, size_t *ret_size);
SW_PUBLIC int sw_varlink_error(const char *name, struct json_object *parameters, char **ret_message,
			       size_t *ret_size);

/* ---- client ------------------------------------------------------------------------------- */

/** A blocking connection with a time limit on every wait. */
struct sw_varlink_client;

/** @return 0; -SW_E_NOT_FOUND: nobody listens there; -SW_E_NOT_PERMITTED; -SW_E_IO. */
SW_PUBLIC int sw_varlink_client_open(const char *socket_path, int timeout_ms,
				     struct sw_varlink_client **ret, struct sw_error *err);
SW_PUBLIC void sw_varlink_client_close(struct sw_varlink_client *client);
/** The descriptor of the client, for poll(). */
SW_PUBLIC int sw_varlink_client_fd(const struct sw_varlink_client *client);

/** Sends a call; consumes parameters. pass_fd < 0: none. */
SW_PUBLIC int sw_varlink_client_send(struct sw_varlink_client *client, const char *method,
				     struct json_object *parameters, bool more, int pass_fd,
				     struct sw_error *err);

struct sw_varlink_answer {
	char *error; /* owned; NULL: a reply */
	struct json_object
		*parameters; /* owned; an object. NULL: sw_varlink_client_receive_text() */
	bool continues;
};

SW_PUBLIC void sw_varlink_answer_deinit(struct sw_varlink_answer *answer);
/** Waits for the next answer, timeout_ms < 0: for ever. @return 0; -SW_E_TIMEOUT; -SW_E_EXITED:
 * the peer hung up; -SW_E_FORMAT; -SW_E_IO; -SW_E_NOMEM. */
SW_PUBLIC int sw_varlink_client_receive(struct sw_varlink_client *client, int timeout_ms,
					struct sw_varlink_answer *ret, struct sw_error *err);
/** The same for answers that may be large, of which no tree is made: a reply has no parameters in
 * *ret, but their text, an object, in *ret_text, borrowed until the next call with this client. For
 * an error, which is short, *ret_text is NULL. */
SW_PUBLIC int sw_varlink_client_receive_text(struct sw_varlink_client *client, int timeout_ms,
					     struct sw_varlink_answer *ret, const char **ret_text,
					     size_t *ret_size, struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
