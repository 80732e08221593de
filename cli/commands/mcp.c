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
#include "mcp/run.h"

#include <inttypes.h>
#include <string.h>

enum {
	LINE_BYTES_MAX = 1 << 20,
	DEPTH_MAX = 16,
	ID_BYTES_MAX = 256,
	/* JSON-RPC 2.0, section 5.1. */
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	METHOD_NOT_FOUND = -32601,
	INVALID_PARAMS = -32602,
	INTERNAL_ERROR = -32603,
};

static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] =
	"snapwalk shows what the threads of running Linux processes do, without stopping those "
	"that wait. Begin with dump; its first lines are the verdict. It only reads.";

/* A request: what its answer needs. */
struct request {
	char id[ID_BYTES_MAX]; /* JSON, as it is to be given back */
	const struct sw_json *params;
	struct sw_text answer; /* owned */
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
	sw_json_text_string(&r->answer, text);
	sw_text_printf(&r->answer, "}],\"isError\":%s}", is_error ? "true" : "false");
}

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
	const char *wrong = sw_mcp_call_make(tool, sw_json_member(r->params, "arguments"), &call);
	if (wrong != NULL)
		put_error(r, INVALID_PARAMS, wrong);
	else if (sw_mcp_run(&call, &answer, &err) < 0)
		put_error(r, INTERNAL_ERROR, err.message);
	else
		put_result(r, answer.text.size > 0 ? answer.text.data : "",
			   answer.status != SW_STATUS_COMPLETE &&
				   answer.status != SW_STATUS_MISSING);
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
static bool id_take(struct request *r, const struct sw_json *id)
{
	struct sw_text text = {0};
	if (id->type == SW_JSON_INTEGER)
		sw_text_printf(&text, "%" PRId64, id->integer);
	else if (id->type == SW_JSON_STRING)
		sw_json_text_string(&text, id->string);
	bool fits = !text.failed && text.size > 0 && text.size < sizeof(r->id);
	if (fits)
		(void) snprintf(r->id, sizeof(r->id), "%s", text.data); /* fits */
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
	if (!is_request || method == NULL || id == NULL || !id_take(r, id))
		put_error(r, INVALID_REQUEST, "this is no request of JSON-RPC 2.0");
	else
		answer_method(r, method->string);
	return true;
}

/* -SW_E_NOMEM; -SW_E_IO: nobody reads. */
static int answer_line(const char *line, size_t size, struct sw_error *err)
{
	struct request r = {.id = "null"};
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
	status = r.answer.failed ? sw_fail_nomem(err) : 0;
	if (status == 0 && has_answer) {
		printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", r.id, r.answer.data);
		if (fflush(stdout) != 0)
			status = sw_fail_errno(err, SW_E_IO, "writing failed");
	}
	sw_text_deinit(&r.answer);
	return status;
}

/* A line without its end; longer ones are read to their end and are none. False: there is no more. */
static bool read_line(struct sw_text *line, bool *ret_too_long)
{
	int c;
	line->size = 0;
	*ret_too_long = false;
	while ((c = getchar_unlocked()) != EOF && c != '\n') {
		char byte = (char) c;
		if (line->size < LINE_BYTES_MAX)
			sw_text_append(line, &byte, 1);
		else
			*ret_too_long = true;
	}
	return c != EOF && !line->failed;
}

int sw_cmd_mcp(const struct sw_options *options)
{
	sw_cleanup(sw_text_deinit) struct sw_text line = {0};
	struct sw_error err = {0};
	bool too_long;
	int r = 0;
	(void) options;
	while (r == 0 && read_line(&line, &too_long)) {
		if (too_long)
			line.size = 1; /* of a message that is cut: no JSON */
		if (line.size > 0)
			r = answer_line(line.data, line.size, &err);
	}
	return r == 0 || (r == -SW_E_IO && err.sys_errno == EPIPE)
		       ? SW_STATUS_COMPLETE
		       : sw_complain_error("snapwalk", &err);
}
