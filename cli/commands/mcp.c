/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server of the Model Context Protocol on standard input and output: a message of JSON-RPC 2.0 in each line
 * (modelcontextprotocol.io/specification/2025-06-18, "Transports", "stdio"). It has tools, which are commands that
 * read; each runs in a process of its own.
 */
#include "commands/commands.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "errors.h"
#include "mcp/input.h"
#include "mcp/run.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

enum {
	WAITING_BYTES_MAX = SW_MCP_LINE_BYTES_MAX, /* of lines that are read during a call */
	DEPTH_MAX = 16,
	ID_BYTES_MAX = 256,
	/* JSON-RPC 2.0, section 5.1. */
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	METHOD_NOT_FOUND = -32601,
	INVALID_PARAMS = -32602,
	INTERNAL_ERROR = -32603,
};

static const char cut_message[] = "{"; /* for one that is too long: no JSON */

static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] =
	"snapwalk shows what the threads of running Linux processes do, without stopping those "
	"that wait. Begin with dump; its first lines are the verdict. It only reads.";

struct server {
	struct sw_mcp_input input;
	struct sw_text waiting; /* owned; lines with their ends, which were read during a call */
	size_t waiting_at;      /* those before were answered */
	const char *called;     /* borrowed; the id of the call that runs, as JSON */
};

/* A request: what its answer needs. */
struct request {
	struct server *server; /* borrowed */
	char id[ID_BYTES_MAX]; /* JSON, as it is to be given back */
	const struct sw_json *params;
	struct sw_text answer; /* owned */
	bool cancelled;        /* nobody waits for an answer */
};

static void put_error(struct request *r, int code, const char *message)
{
	sw_text_printf(&r->answer, "\"error\":{\"code\":%d", code);
	sw_json_text_member(&r->answer, "message", message);
	sw_text_printf(&r->answer, "}");
}

static void initialize(struct request *r)
{
	const struct sw_json *asked =
		sw_json_member_of(r->params, "protocolVersion", SW_JSON_STRING);
	const char *version = versions[0];
	for (size_t i = 0; i < SW_ARRAY_SIZE(versions); i++)
		if (asked != NULL && strcmp(asked->string, versions[i]) == 0)
			version = versions[i];
	sw_text_printf(&r->answer,
		       "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},"
		       "\"serverInfo\":{\"name\":\"snapwalk\",\"version\":\"" SW_VERSION "\"}",
		       version);
	sw_json_text_member(&r->answer, "instructions", instructions);
	sw_text_printf(&r->answer, "}");
}

static void ping(struct request *r)
{
	sw_text_printf(&r->answer, "\"result\":{}");
}

static void tools_list(struct request *r)
{
	sw_text_printf(&r->answer, "\"result\":{\"tools\":");
	sw_mcp_put_tools(&r->answer);
	sw_text_printf(&r->answer, "}");
}

static void put_result(struct request *r, const char *text, bool is_error)
{
	sw_text_printf(&r->answer, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
	sw_utf8_append_json_string(&r->answer, text);
	sw_text_printf(&r->answer, "}],\"isError\":%s}", is_error ? "true" : "false");
}

static enum sw_mcp_next read_during_call(void *arg); /* it answers, too */

/* An error that a command reports is a result, which the agent can read; a fault of the call itself is an error. */
static void tools_call(struct request *r)
{
	const struct sw_json *name = sw_json_member_of(r->params, "name", SW_JSON_STRING);
	const struct sw_mcp_tool *tool = name != NULL ? sw_mcp_tool_find(name->string) : NULL;
	struct sw_mcp_call call = {.n = 0};
	struct sw_mcp_answer answer = {.status = -1};
	struct sw_error err = {0};
	if (tool == NULL) {
		put_error(r, INVALID_PARAMS, "there is no such tool");
		return;
	}
	struct server *server = r->server;
	const struct sw_mcp_watch watch = {.fd = server->input.fd,
					   .ended = server->input.ended,
					   .read = read_during_call,
					   .arg = server};
	server->called = r->id;
	const char *wrong = sw_mcp_call_make(tool, sw_json_member(r->params, "arguments"), &call);
	if (wrong != NULL)
		put_error(r, INVALID_PARAMS, wrong);
	else if (sw_mcp_run(&call, &watch, &answer, &err) < 0)
		put_error(r, INTERNAL_ERROR, err.message);
	else
		put_result(r, answer.text.size > 0 ? answer.text.data : "",
			   answer.status != SW_STATUS_COMPLETE &&
				   answer.status != SW_STATUS_MISSING);
	r->cancelled = answer.cancelled;
	server->called = NULL;
	sw_mcp_answer_deinit(&answer);
	sw_mcp_call_deinit(&call);
}

static void answer_method(struct request *r, const char *method)
{
	static const struct {
		const char *name;
		void (*answer)(struct request *r);
	} methods[] = {{"initialize", initialize},
		       {"ping", ping},
		       {"tools/list", tools_list},
		       {"tools/call", tools_call}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(methods); i++)
		if (strcmp(method, methods[i].name) == 0) {
			methods[i].answer(r);
			return;
		}
	put_error(r, METHOD_NOT_FOUND, "there is no such method");
}

/* False: it is neither a string nor a number. */
static bool id_take(char ret[static ID_BYTES_MAX], const struct sw_json *id)
{
	struct sw_text text = {0};
	if (id->type == SW_JSON_INTEGER)
		sw_text_printf(&text, "%" PRId64, id->integer);
	else if (id->type == SW_JSON_STRING)
		sw_utf8_append_json_string(&text, id->string);
	bool fits = !text.failed && text.size > 0 && text.size < ID_BYTES_MAX;
	if (fits)
		(void) snprintf(ret, ID_BYTES_MAX, "%s", text.data); /* fits */
	sw_text_deinit(&text);
	return fits;
}

/* True: it has an answer. */
static bool answer_message(struct request *r, const struct sw_json *message)
{
	const struct sw_json *version = sw_json_member_of(message, "jsonrpc", SW_JSON_STRING);
	const struct sw_json *method = sw_json_member_of(message, "method", SW_JSON_STRING);
	const struct sw_json *id = sw_json_member(message, "id");
	bool is_request = message->type == SW_JSON_OBJECT && version != NULL &&
			  strcmp(version->string, "2.0") == 0;
	r->params = sw_json_member_of(message, "params", SW_JSON_OBJECT);
	if (is_request && id == NULL && method != NULL)
		return false; /* a notification */
	if (is_request && method == NULL && id != NULL)
		return false; /* an answer, to what was not asked */
	if (!is_request || method == NULL || id == NULL || !id_take(r->id, id))
		put_error(r, INVALID_REQUEST, "this is no request of JSON-RPC 2.0");
	else
		answer_method(r, method->string);
	return !r->cancelled;
}

/* -SW_E_NOMEM; -SW_E_IO: nobody reads. */
static int answer_write(const struct request *r, struct sw_error *err)
{
	if (r->answer.failed)
		return sw_fail_nomem(err);
	printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", r->id, r->answer.data);
	return fflush(stdout) != 0 ? sw_fail_errno(err, SW_E_IO, "writing failed") : 0;
}

/* Answers one line of the client: 0, or below where writing or memory failed. */
static int answer_line(struct server *server, const char *line, size_t size, struct sw_error *err)
{
	struct request r = {.server = server, .id = "null"};
	struct sw_json_tree tree = {0};
	bool has_answer = true;
	int status = sw_json_parse(&tree, line, size, DEPTH_MAX, err);
	if (status == -SW_E_NOMEM)
		return status;
	if (status < 0)
		put_error(&r, PARSE_ERROR, "this is not JSON");
	else
		has_answer = answer_message(&r, tree.values);
	sw_json_tree_deinit(&tree);
	status = has_answer ? answer_write(&r, err) : 0;
	sw_text_deinit(&r.answer);
	return status;
}

static bool is_blank(const char *line, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (strchr(" \t\r", line[i]) == NULL || line[i] == '\0')
			return false;
	return true;
}

/* ---- during a call ------------------------------------------------------------------------ */

static bool has_id(const char *id, const struct sw_json *value)
{
	char other[ID_BYTES_MAX];
	return value != NULL && id_take(other, value) && strcmp(id, other) == 0;
}

/* Takes the request with that id out of those that wait. */
static void waiting_cancel(struct server *server, const struct sw_json *id)
{
	char *begin = server->waiting.data, *end = begin + server->waiting.size;
	char *line = begin + server->waiting_at;
	while (line != end) {
		char *next = (char *) memchr(line, '\n', (size_t) (end - line)) + 1;
		struct sw_json_tree tree = {0};
		struct sw_error ignored;
		char other[ID_BYTES_MAX];
		const struct sw_json *its =
			sw_json_parse(&tree, line, (size_t) (next - line), DEPTH_MAX, &ignored) == 0
				? sw_json_member(tree.values, "id")
				: NULL;
		if (its != NULL && id_take(other, its) && has_id(other, id))
			memset(line, ' ', (size_t) (next - 1 - line)); /* a blank line */
		sw_json_tree_deinit(&tree);
		line = next;
	}
}

/* True: the call that runs is cancelled. */
static bool cancel(struct server *server, const struct sw_json *message)
{
	const struct sw_json *params = sw_json_member_of(message, "params", SW_JSON_OBJECT);
	const struct sw_json *id = params != NULL ? sw_json_member(params, "requestId") : NULL;
	if (has_id(server->called, id))
		return true;
	if (id != NULL)
		waiting_cancel(server, id);
	return false;
}

/* A ping is answered and a cancellation heard at once; other messages wait until the call is over. */
static enum sw_mcp_next take_during_call(struct server *server, const char *line, size_t size)
{
	struct sw_json_tree tree = {0};
	struct sw_error err = {0};
	const struct sw_json *method =
		sw_json_parse(&tree, line, size, DEPTH_MAX, &err) == 0
			? sw_json_member_of(tree.values, "method", SW_JSON_STRING)
			: NULL;
	bool is_ping = method != NULL && strcmp(method->string, "ping") == 0;
	bool is_cancel = method != NULL && strcmp(method->string, "notifications/cancelled") == 0;
	enum sw_mcp_next next =
		is_cancel && cancel(server, tree.values) ? SW_MCP_CANCEL : SW_MCP_GO_ON;
	sw_json_tree_deinit(&tree);
	if (is_ping && answer_line(server, line, size, &err) < 0)
		return SW_MCP_CANCEL; /* its reader is gone */
	if (!is_ping && !is_cancel) {
		sw_text_append(&server->waiting, line, size);
		sw_text_append(&server->waiting, "\n", 1);
	}
	return next;
}

static enum sw_mcp_next read_during_call(void *arg)
{
	struct server *server = arg;
	enum sw_mcp_next next = SW_MCP_GO_ON;
	const char *line;
	size_t size;
	bool too_long;
	sw_mcp_input_read(&server->input);
	while (next == SW_MCP_GO_ON && sw_mcp_input_line(&server->input, &line, &size, &too_long))
		next = too_long ? take_during_call(server, cut_message, strlen(cut_message))
				: take_during_call(server, line, size);
	if (next != SW_MCP_GO_ON)
		return next;
	if (server->input.ended)
		return SW_MCP_INPUT_ENDED;
	return server->waiting.size < WAITING_BYTES_MAX ? SW_MCP_GO_ON : SW_MCP_FULL;
}

/* ---- between calls ------------------------------------------------------------------------ */

/* Copies the next line: an answer to it may read on. False: there is no more. */
static bool line_next(struct server *server, struct sw_text *ret)
{
	struct sw_text *waiting = &server->waiting;
	const char *line;
	size_t size;
	bool too_long = false;
	ret->size = 0;
	if (server->waiting_at < waiting->size) {
		line = waiting->data + server->waiting_at;
		size = (size_t) ((const char *) memchr(line, '\n',
						       waiting->size - server->waiting_at) -
				 line);
		server->waiting_at += size + 1;
	} else {
		waiting->size = server->waiting_at = 0;
		while (!sw_mcp_input_line(&server->input, &line, &size, &too_long)) {
			if (server->input.ended)
				return false;
			sw_mcp_input_read(&server->input);
		}
	}
	sw_text_append(ret, too_long ? cut_message : line, too_long ? strlen(cut_message) : size);
	return !ret->failed && !waiting->failed;
}

int sw_cmd_mcp(const struct sw_options *options)
{
	struct server server = {.input.fd = STDIN_FILENO};
	sw_cleanup(sw_text_deinit) struct sw_text line = {0};
	struct sw_error err = {0};
	int r = 0;
	(void) options;
	while (r == 0 && line_next(&server, &line))
		if (!is_blank(line.data, line.size))
			r = answer_line(&server, line.data, line.size, &err);
	sw_text_deinit(&server.waiting);
	sw_mcp_input_deinit(&server.input);
	return r == 0 || (r == -SW_E_IO && err.sys_errno == EPIPE)
		       ? SW_STATUS_COMPLETE
		       : sw_complain_error("snapwalk", &err);
}
