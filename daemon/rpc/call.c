/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Method name to function, and replies. */
#include "rpc/call.h"
#include "rpc/server.h"
#include "cleanup.h"
#include "errors.h"

#include <string.h>

static const struct sw_method *method_find(const struct sw_server *server, const char *name)
{
	for (const struct sw_method *method = server->methods; method->name != NULL; method++)
		if (strcmp(method->name, name) == 0)
			return method;
	return NULL;
}

bool sw_call_has_space(const struct sw_call *call)
{
	return call->connection->output_bytes < SW_CONNECTION_OUTPUT_MAX;
}

/* The final reply is on its way: the next call of this peer may come. */
static void finish(struct sw_call *call)
{
	struct sw_connection *connection = call->connection;
	connection->call = NULL;
	sw_call_destroy(call);
	sw_connection_kick(connection);
}

/* Consumes data. r is what the codec returned. */
static void send_message(struct sw_call *call, int r, char *data, size_t size, bool final)
{
	if (r < 0)
		/* Without memory for a reply there is none for an error either. */
		call->connection->dead = true;
	else if (call->message.oneway)
		free(data);
	else
		sw_connection_send(call->connection, data, size);
	if (final)
		finish(call);
	else if (r < 0)
		sw_connection_kick(call->connection);
}

void sw_call_reply(struct sw_call *call, struct json_object *parameters, bool continues)
{
	char *data = NULL;
	size_t size = 0;
	int r = sw_varlink_reply(parameters, continues, &data, &size);
	send_message(call, r, data, size, !continues);
}

void sw_call_reply_text(struct sw_call *call, struct sw_text *parameters, bool continues)
{
	static const char begin[] = "{\"parameters\":";
	const char *end = continues ? ",\"continues\":true}" : "}";
	size_t end_size = strlen(end) + 1, size = sizeof(begin) - 1 + parameters->size + end_size;
	char *data = parameters->failed ? NULL : malloc(size);
	if (data != NULL) {
		memcpy(data, begin, sizeof(begin) - 1);
		memcpy(data + sizeof(begin) - 1, parameters->data, parameters->size);
		memcpy(data + size - end_size, end, end_size);
	}
	sw_text_deinit(parameters);
	send_message(call, data != NULL ? 0 : -SW_E_NOMEM, data, size, !continues);
}

void sw_call_error(struct sw_call *call, const char *name, struct json_object *parameters)
{
	char *data = NULL;
	size_t size = 0;
	int r = sw_varlink_error(name, parameters, &data, &size);
	send_message(call, r, data, size, true);
}

void sw_call_refuse(struct sw_call *call, const struct sw_refusal *refusal)
{
	sw_call_error(call, refusal->name, json_object_get(refusal->parameters));
}

void sw_call_invalid(struct sw_call *call, const char *parameter)
{
	sw_call_error(call, SW_SERVICE ".InvalidParameter",
		      sw_object_string("parameter", parameter));
}

void sw_call_failed(struct sw_call *call, const char *detail)
{
	sw_call_error(call, SW_INTERFACE ".Failed",
		      sw_object_add(json_object_new_object(), "detail",
				    json_object_new_string(detail)));
}

static void unknown_method(struct sw_call *call)
{
	const char *name = call->message.method;
	const char *dot = strrchr(name, '.');
	size_t length = dot != NULL ? (size_t) (dot - name) : 0;
	bool ours = (length == strlen(SW_INTERFACE) && strncmp(name, SW_INTERFACE, length) == 0) ||
		    (length == strlen(SW_SERVICE) && strncmp(name, SW_SERVICE, length) == 0);
	struct json_object *interface = json_object_new_string_len(name, (int) length);
	if (ours) {
		(void) json_object_put(interface); /* the only reference */
		sw_call_error(call, SW_SERVICE ".MethodNotFound", sw_object_string("method", name));
	} else
		sw_call_error(call, SW_SERVICE ".InterfaceNotFound",
			      sw_object_add(json_object_new_object(), "interface", interface));
}

static void run(struct sw_call *call)
{
	const struct sw_method *method =
		method_find(call->connection->server, call->message.method);
	if (method == NULL)
		unknown_method(call);
	else if (call->message.upgrade)
		sw_call_invalid(call, "upgrade"); /* nothing here is upgraded */
	else if (method->needs_more && !call->message.more)
		sw_call_error(call, SW_SERVICE ".ExpectedMore", NULL);
	else
		method->run(call);
}

bool sw_call_dispatch(struct sw_connection *connection, const char *message, size_t size)
{
	struct sw_call *call = calloc(1, sizeof(*call));
	if (call == NULL)
		return false;
	call->connection = connection;
	call->context = connection->server->context;
	if (sw_varlink_call_parse(message, size, &call->message, NULL) < 0) {
		free(call);
		return false;
	}
	connection->call = call;
	connection->server->counters->calls_total++;
	run(call);
	return true;
}

void sw_call_destroy(struct sw_call *call)
{
	if (call == NULL)
		return;
	if (call->cancel != NULL)
		call->cancel(call);
	sw_varlink_call_deinit(&call->message);
	free(call);
}
