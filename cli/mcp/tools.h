/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MCP_TOOLS_H
#define SW_CLI_MCP_TOOLS_H

#include "arena.h"
#include "json.h"
#include "text.h"

/* Tools that an agent may call: commands of snapwalk that read and change nothing. */

enum {
	SW_MCP_PARAMETERS = 10,                 /* of a tool; unused ones have no name */
	SW_MCP_STRINGS_MAX = 256,               /* in an array */
	SW_MCP_WORDS = SW_MCP_STRINGS_MAX + 16, /* of a command line, with its end */
	SW_MCP_LINES = 200,                     /* of an answer, where max_lines does not say it */
	SW_MCP_LINES_MAX = 2000,
};

enum sw_mcp_type { SW_MCP_STRING, SW_MCP_INTEGER, SW_MCP_BOOLEAN, SW_MCP_STRINGS };

struct sw_mcp_parameter {
	const char *name;
	enum sw_mcp_type type;
	const char *option; /* "--unit"; NULL: its value is a word by itself */
	const char *description;
	int64_t min, max; /* of an integer */
	bool required;
};

struct sw_mcp_tool {
	const char *name, *description;
	const char *words[5]; /* the command and fixed options, up to a NULL */
	struct sw_mcp_parameter parameters[SW_MCP_PARAMETERS];
};

/* A command line to be run. */
struct sw_mcp_call {
	struct sw_arena arena; /* owned; of the words */
	char *words[SW_MCP_WORDS];
	size_t n;
	size_t max_lines;
};

/* NULL: there is none of this name. */
const struct sw_mcp_tool *sw_mcp_tool_find(const char *name);

/* All of them, as the answer to tools/list has them: an array. */
void sw_mcp_put_tools(struct sw_text *text);

/*
 * The command line for arguments of a call, which is an object, or NULL: there are none.
 * @param ret  Deinit by sw_mcp_call_deinit() in both cases.
 * @return NULL; else which argument is wrong, as a sentence. Valid until then.
 */
const char *sw_mcp_call_make(const struct sw_mcp_tool *tool, const struct sw_json *arguments,
			     struct sw_mcp_call *ret);
void sw_mcp_call_deinit(struct sw_mcp_call *call);

#endif
