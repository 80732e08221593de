/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mcp/tools.h"
#include "cleanup.h"
#include "common/json_text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SECONDS_MAX = 60, STRING_BYTES_MAX = 1024 };

/* A macro, as it is a part of several rows. */
#define TARGETS                                                                                   \
	{"pid", SW_MCP_INTEGER, "--pid", "process id", 1, INT_MAX, false},                        \
		{"comm", SW_MCP_STRING, "--comm", "processes of this name", 0, 0, false},         \
		{"unit", SW_MCP_STRING, "--unit", "processes of this systemd unit", 0, 0, false}, \
	{                                                                                         \
		"container", SW_MCP_STRING, "--container", "processes of this container", 0, 0,   \
			false                                                                     \
	}

#define MAX_LINES                                                                          \
	{                                                                                  \
		"max_lines", SW_MCP_INTEGER, NULL, "lines of the answer (default 200)", 1, \
			SW_MCP_LINES_MAX, false                                            \
	}

static const struct sw_mcp_tool tools[] = {
	{"dump",
	 "What all threads of a running process do now, the verdict first: deadlocks, who holds "
	 "the lock that others wait for, what is on a CPU, then the stacks. Give one of pid, comm, "
	 "unit, container.",
	 {"dump", "--color=never"},
	 {TARGETS,
	  {"all", SW_MCP_BOOLEAN, "--all", "also idle threads, and all frames", 0, 0, false},
	  {"function", SW_MCP_STRING, "--function",
	   "only threads with such a function, a regular expression", 0, 0, false},
	  {"thread", SW_MCP_STRING, "--thread", "only threads of this name; worker-* is allowed", 0,
	   0, false},
	  MAX_LINES}},
	{"tasks",
	 "Tasks of asyncio and .NET, fibers of Ruby and processes of Erlang in a running process, "
	 "with what they wait for. Give one of pid, comm, unit, container.",
	 {"dump", "--color=never", "--tasks"},
	 {TARGETS, MAX_LINES}},
	{"explain_lock",
	 "Who holds a lock of a running process and who waits for it. The address is one that a "
	 "dump shows.",
	 {"explain"},
	 {{"pid", SW_MCP_INTEGER, "--pid", "process id", 1, INT_MAX, true},
	  {"address", SW_MCP_STRING, "--lock", "of the lock: 0x55923d228100", 0, 0, true},
	  MAX_LINES}},
	{"sample",
	 "Where the time of a running process goes, over some seconds: by the clock (wall), on the "
	 "CPU (cpu), or blocked (off). Give one of pid, comm, unit, container.",
	 {"sample", "--format=text", "--color=never"},
	 {TARGETS,
	  {"seconds", SW_MCP_INTEGER, "--duration", "for how long (default 5)", 1, SECONDS_MAX,
	   false},
	  {"mode", SW_MCP_STRING, "--mode", "wall, cpu or off (default wall)", 0, 0, false},
	  MAX_LINES}},
	{"list",
	 "The dumps and profiles that the daemon keeps, with their ids.",
	 {"list"},
	 {{"pid", SW_MCP_INTEGER, "--pid", "only of this process", 1, INT_MAX, false},
	  {"since", SW_MCP_STRING, "--since", "only since then: 30m, 2h, 1d", 0, 0, false},
	  MAX_LINES}},
	{"show",
	 "A dump or profile that the daemon keeps, or a file of JSON.",
	 {"show", "--format=text", "--color=never"},
	 {{"dump", SW_MCP_STRING, NULL, "id, latest, or the path of a file", 0, 0, true},
	  {"all", SW_MCP_BOOLEAN, "--all", "also idle threads, and all frames", 0, 0, false},
	  MAX_LINES}},
	{"merge",
	 "Dumps of many processes or hosts as one tree. The first lines say which process differs "
	 "from the others, and where it is.",
	 {"merge", "--color=never"},
	 {{"dumps", SW_MCP_STRINGS, NULL, "ids, or paths of files", 0, 0, true},
	  {"label", SW_MCP_STRING, "--label",
	   "what processes are called: pid, name, host, unit, container, file, order, rank=file", 0,
	   0, false},
	  MAX_LINES}},
};

const struct sw_mcp_tool *sw_mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

static void put_parameter(struct sw_text *text, const struct sw_mcp_parameter *p)
{
	static const char *const types[] = {
		[SW_MCP_STRING] = "\"type\":\"string\",\"maxLength\":1024",
		[SW_MCP_INTEGER] = "\"type\":\"integer\"",
		[SW_MCP_BOOLEAN] = "\"type\":\"boolean\"",
		[SW_MCP_STRINGS] =
			"\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1",
	};
	sw_text_printf(text, "\"%s\":{%s", p->name, types[p->type]);
	if (p->type == SW_MCP_INTEGER)
		sw_text_printf(text, ",\"minimum\":%" PRId64 ",\"maximum\":%" PRId64, p->min,
			       p->max);
	sw_json_text_member(text, "description", p->description);
	sw_text_printf(text, "}");
}

static void put_tool(struct sw_text *text, const struct sw_mcp_tool *tool)
{
	const char *comma = "";
	sw_text_printf(text, "{\"name\":\"%s\"", tool->name);
	sw_json_text_member(text, "description", tool->description);
	sw_text_printf(text, ",\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false},"
			     "\"inputSchema\":{\"type\":\"object\",\"additionalProperties\":false,"
			     "\"properties\":{");
	for (size_t i = 0; i < SW_MCP_PARAMETERS && tool->parameters[i].name != NULL; i++) {
		sw_text_printf(text, "%s", i > 0 ? "," : "");
		put_parameter(text, &tool->parameters[i]);
	}
	sw_text_printf(text, "},\"required\":[");
	for (size_t i = 0; i < SW_MCP_PARAMETERS && tool->parameters[i].name != NULL; i++)
		if (tool->parameters[i].required) {
			sw_text_printf(text, "%s\"%s\"", comma, tool->parameters[i].name);
			comma = ",";
		}
	sw_text_printf(text, "]}}");
}

void sw_mcp_put_tools(struct sw_text *text)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(tools); i++) {
		sw_text_append(text, i > 0 ? "," : "[", 1);
		put_tool(text, &tools[i]);
	}
	sw_text_append(text, "]", 1);
}

/* ---- a call ------------------------------------------------------------------------------- */

static const char too_many[] = "there are too many arguments";

/* A name that begins as an option is refused: the command would take it for one. */
static const char *word_add(struct sw_mcp_call *call, const char *option, const char *value)
{
	if (call->n + 1 >= SW_MCP_WORDS)
		return too_many;
	if (option == NULL && (value[0] == '-' || value[0] == '\0'))
		return "a name begins with '-', or is empty";
	if (strlen(value) > STRING_BYTES_MAX)
		return "a string has more than 1024 bytes";
	char *word = option == NULL     ? sw_arena_strdup(&call->arena, value)
		     : value[0] == '\0' ? sw_arena_strdup(&call->arena, option)
					: sw_arena_printf(&call->arena, "%s=%s", option, value);
	if (word == NULL)
		return "not enough memory";
	call->words[call->n++] = word;
	return NULL;
}

static const char *number_add(struct sw_mcp_call *call, const struct sw_mcp_parameter *p,
			      const struct sw_json *value)
{
	char digits[24];
	if (value->type != SW_JSON_INTEGER || value->integer < p->min || value->integer > p->max)
		return "a number is none, or out of its range";
	if (strcmp(p->name, "max_lines") == 0) {
		call->max_lines = (size_t) value->integer;
		return NULL;
	}
	(void) snprintf(digits, sizeof(digits), "%" PRId64, value->integer); /* fits */
	return word_add(call, p->option, digits);
}

static const char *argument_add(struct sw_mcp_call *call, const struct sw_mcp_parameter *p,
				const struct sw_json *value)
{
	const char *wrong = NULL;
	switch (p->type) {
	case SW_MCP_INTEGER: return number_add(call, p, value);
	case SW_MCP_BOOLEAN:
		if (value->type != SW_JSON_BOOLEAN)
			return "a truth value is none";
		return value->boolean ? word_add(call, p->option, "") : NULL;
	case SW_MCP_STRING:
		if (value->type != SW_JSON_STRING || value->string[0] == '\0')
			return "a string is none, or empty";
		return word_add(call, p->option, value->string);
	case SW_MCP_STRINGS: break;
	}
	if (value->type != SW_JSON_ARRAY)
		return "an array is none";
	for (const struct sw_json *v = sw_json_first(value); v != NULL && wrong == NULL;
	     v = sw_json_next(value, v))
		wrong = v->type == SW_JSON_STRING ? word_add(call, p->option, v->string)
						  : "an array is not of strings";
	return wrong;
}

static bool has_parameter(const struct sw_mcp_tool *tool, const char *name)
{
	for (size_t i = 0; i < SW_MCP_PARAMETERS && tool->parameters[i].name != NULL; i++)
		if (strcmp(tool->parameters[i].name, name) == 0)
			return true;
	return false;
}

const char *sw_mcp_call_make(const struct sw_mcp_tool *tool, const struct sw_json *arguments,
			     struct sw_mcp_call *ret)
{
	const char *wrong = NULL;
	*ret = (struct sw_mcp_call){.max_lines = SW_MCP_LINES};
	if (arguments != NULL && arguments->type != SW_JSON_OBJECT)
		return "the arguments are no object";
	for (const struct sw_json *v = arguments != NULL ? sw_json_first(arguments) : NULL;
	     v != NULL; v = sw_json_next(arguments, v))
		if (!has_parameter(tool, v->name))
			return "there is no such argument";
	wrong = word_add(ret, NULL, "snapwalk");
	for (size_t i = 0; wrong == NULL && tool->words[i] != NULL; i++)
		ret->words[ret->n++] = sw_arena_strdup(&ret->arena, tool->words[i]);
	for (size_t i = 0; wrong == NULL && i < SW_MCP_PARAMETERS; i++) {
		const struct sw_mcp_parameter *p = &tool->parameters[i];
		const struct sw_json *value =
			p->name != NULL ? sw_json_member(arguments, p->name) : NULL;
		if (p->name == NULL)
			break;
		if (value != NULL && value->type != SW_JSON_NULL)
			wrong = argument_add(ret, p, value);
		else if (p->required)
			wrong = "an argument is missing";
	}
	return wrong;
}

void sw_mcp_call_deinit(struct sw_mcp_call *call)
{
	sw_arena_deinit(&call->arena);
	*call = (struct sw_mcp_call){0};
}
