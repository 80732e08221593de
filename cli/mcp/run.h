/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MCP_RUN_H
#define SW_CLI_MCP_RUN_H

#include "mcp/tools.h"

#include <snapwalk/error.h>

/* The answer of a command. */
struct sw_mcp_answer {
	struct sw_text text; /* owned; its output, cut at max_lines, and what it complained about */
	int status;          /* its exit status; -1: it was killed, or took too long */
};

/* Runs the command by a process of its own, with the rights of this one. 0; -SW_E_IO; -SW_E_NOMEM. */
int sw_mcp_run(const struct sw_mcp_call *call, struct sw_mcp_answer *ret, struct sw_error *err);
void sw_mcp_answer_deinit(struct sw_mcp_answer *answer);

#endif
