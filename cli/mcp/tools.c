/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mcp/tools.h"
#include "cleanup.h"
#include "common/json_text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SECONDS_MAX = 60, STRING_BYTES_MAX = 1024 };

static const char no_memory[] = "not enough memory";

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
		[SW_MCP_STRING] = "\"type\":\"string\",\"minLength\":1,\"maxLength\":1024",
		[SW_MCP_INTEGER] = "\"type\":\"integer\"",
		[SW_MCP_BOOLEAN] = "\"type\":\"boolean\"",
		[SW_MCP_STRINGS] = ("\"type\":\"array\",\"items\":{\"type\":\"string\","
				    "\"minLength\":1,\"maxLength\":1024},\"minItems\":1"),
	};
	sw_text_printf(text, "\"%s\":{%s", p->name, types[p->type]);
	if (p->type == SW_MCP_INTEGER)
		sw_text_printf(text, ",\"minimum\":%" PRId64 ",\"maximum\":%" PRId64, p->min,
			       p->max);
	if (p->type == SW_MCP_STRINGS)
		sw_text_printf(text, ",\"maxItems\":%d", SW_MCP_STRINGS_MAX);
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

/* "dumps: an array of strings is expected" */
__attribute__((format(printf, 3, 4))) static const char *
wrong_argument(struct sw_mcp_call *call, const char *name, const char *fmt, ...)
{
	char what[128];
	va_list args;
	va_start(args, fmt);
	(void) vsnprintf(what, sizeof(what), fmt, args); /* cut if longer */
	va_end(args);
	const char *sentence = sw_arena_printf(&call->arena, "%.64s: %s", name, what);
	return sentence != NULL ? sentence : no_memory;
}

static const char *word_put(struct sw_mcp_call *call, char *word)
{
	if (word == NULL)
		return no_memory;
	if (call->n + 1 >= SW_MCP_WORDS)
		return "there are too many arguments";
	call->words[call->n++] = word;
	return NULL;
}

/* A name that begins as an option is refused: the command would take it for one. */
static const char *string_add(struct sw_mcp_call *call, const struct sw_mcp_parameter *p,
			      const struct sw_json *value)
{
	if (value->type != SW_JSON_STRING || value->string[0] == '\0')
		return wrong_argument(call, p->name, "a string is expected that is not empty");
	if (strlen(value->string) > STRING_BYTES_MAX)
		return wrong_argument(call, p->name, "a string has more than %d bytes",
				      STRING_BYTES_MAX);
	if (p->option != NULL)
		return word_put(call,
				sw_arena_printf(&call->arena, "%s=%s", p->option, value->string));
	if (value->string[0] == '-')
		return wrong_argument(call, p->name, "a name begins with '-'");
	return word_put(call, sw_arena_strdup(&call->arena, value->string));
}

static const char *number_add(struct sw_mcp_call *call, const struct sw_mcp_parameter *p,
			      const struct sw_json *value)
{
	if (value->type != SW_JSON_INTEGER || value->integer < p->min || value->integer > p->max)
		return wrong_argument(call, p->name,
				      "a whole number from %" PRId64 " to %" PRId64 " is expected",
				      p->min, p->max);
	if (strcmp(p->name, "max_lines") == 0) {
		call->max_lines = (size_t) value->integer;
		return NULL;
	}
	return word_put(call,
			sw_arena_printf(&call->arena, "%s=%" PRId64, p->option, value->integer));
}

static const char *boolean_add(struct sw_mcp_call *call, const struct sw_mcp_parameter *p,
			       const struct sw_json *value)
{
	if (value->type != SW_JSON_BOOLEAN)
		return wrong_argument(call, p->name, "true or false is expected");
	return value->boolean ? word_put(call, sw_arena_strdup(&call->arena, p->option)) : NULL;
}

static const char *strings_add(struct sw_mcp_call *call, const struct sw_mcp_parameter *p,
			       const struct sw_json *value)
{
	const char *wrong = NULL;
	size_t n = 0;
	if (value->type != SW_JSON_ARRAY || sw_json_first(value) == NULL)
		return wrong_argument(call, p->name, "an array of strings is expected");
	for (const struct sw_json *v = sw_json_first(value); v != NULL && wrong == NULL;
	     v = sw_json_next(value, v))
		wrong = n++ < SW_MCP_STRINGS_MAX
				? string_add(call, p, v)
				: wrong_argument(call, p->name, "more than %d strings are given",
						 SW_MCP_STRINGS_MAX);
	return wrong;
}

static const char *argument_add(struct sw_mcp_call *call, const struct sw_mcp_parameter *p,
				const struct sw_json *value)
{
	switch (p->type) {
	case SW_MCP_INTEGER: return number_add(call, p, value);
	case SW_MCP_BOOLEAN: return boolean_add(call, p, value);
	case SW_MCP_STRING: return string_add(call, p, value);
	case SW_MCP_STRINGS: break;
	}
	return strings_add(call, p, value);
}

static bool has_parameter(const struct sw_mcp_tool *tool, const char *name)
{
	for (size_t i = 0; i < SW_MCP_PARAMETERS && tool->parameters[i].name != NULL; i++)
		if (strcmp(tool->parameters[i].name, name) == 0)
			return true;
	return false;
}

static const char *words_add(struct sw_mcp_call *call, const struct sw_mcp_tool *tool)
{
	const char *wrong = word_put(call, sw_arena_strdup(&call->arena, "snapwalk"));
	for (size_t i = 0; wrong == NULL && tool->words[i] != NULL; i++)
		wrong = word_put(call, sw_arena_strdup(&call->arena, tool->words[i]));
	return wrong;
}

const char *sw_mcp_call_make(const struct sw_mcp_tool *tool, const struct sw_json *arguments,
			     struct sw_mcp_call *ret)
{
	*ret = (struct sw_mcp_call){.max_lines = SW_MCP_LINES};
	if (arguments != NULL && arguments->type != SW_JSON_OBJECT)
		return "the arguments are no object";
	for (const struct sw_json *v = arguments != NULL ? sw_json_first(arguments) : NULL;
	     v != NULL; v = sw_json_next(arguments, v))
		if (!has_parameter(tool, v->name))
			return wrong_argument(ret, v->name, "the tool has no such argument");
	const char *wrong = words_add(ret, tool);
	for (size_t i = 0; wrong == NULL && i < SW_MCP_PARAMETERS; i++) {
		const struct sw_mcp_parameter *p = &tool->parameters[i];
		const struct sw_json *value =
			p->name != NULL ? sw_json_member(arguments, p->name) : NULL;
		if (p->name == NULL)
			break;
		if (value != NULL && value->type != SW_JSON_NULL)
			wrong = argument_add(ret, p, value);
		else if (p->required)
			wrong = wrong_argument(ret, p->name, "the argument is missing");
	}
	return wrong;
}

void sw_mcp_call_deinit(struct sw_mcp_call *call)
{
	sw_arena_deinit(&call->arena);
	*call = (struct sw_mcp_call){0};
}
