/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MCP_INPUT_H
#define SW_CLI_MCP_INPUT_H

#include "text.h"

enum { SW_MCP_LINE_BYTES_MAX = 1 << 20 };

/* Lines from a descriptor that others poll. */
struct sw_mcp_input {
	int fd;               /* borrowed */
	struct sw_text bytes; /* owned; read, but not yet taken from at on */
	size_t at;
	size_t looked_at; /* bytes before have no end of a line */
	bool skips;       /* the bytes to the end of the line are thrown away */
	bool ended;       /* there is no more to read, or it failed */
};

/* Reads what is there, once; waits where nothing is. */
void sw_mcp_input_read(struct sw_mcp_input *input);

/*
 * Takes a line of what was read.
 *
 * @param ret_line      Borrowed, without its end and without a NUL, until the next call with this input.
 * @param ret_too_long  It has more than SW_MCP_LINE_BYTES_MAX, and is cut.
 * @return False: there is no whole line.
 */
bool sw_mcp_input_line(struct sw_mcp_input *input, const char **ret_line, size_t *ret_size,
		       bool *ret_too_long);

void sw_mcp_input_deinit(struct sw_mcp_input *input);

#endif
