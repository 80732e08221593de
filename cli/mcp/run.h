/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MCP_RUN_H
#define SW_CLI_MCP_RUN_H

#include "mcp/tools.h"

#include <snapwalk/error.h>

/* The answer of a command. */
struct sw_mcp_answer {
	struct sw_text text; /* owned; its output, cut at max_lines, and what it complained about */
	int status;          /* its exit status; -1: it was killed, or took too long */
	bool cancelled;      /* nobody wants it */
};

enum sw_mcp_next { SW_MCP_GO_ON, SW_MCP_FULL, SW_MCP_CANCEL, SW_MCP_INPUT_ENDED };

/* The input of the server, which is looked at while a command runs. */
struct sw_mcp_watch {
	int fd;
	bool ended; /* there is nothing to look at */
	/* Called when fd can be read, and not again after SW_MCP_FULL and SW_MCP_INPUT_ENDED. */
	enum sw_mcp_next (*read)(void *arg);
	void *arg;
};

/*
 * Runs the command by a process of its own, with the rights of this one. SW_MCP_CANCEL ends it; after
 * SW_MCP_INPUT_ENDED it has a second. 0; -SW_E_IO; -SW_E_NOMEM.
 */
int sw_mcp_run(const struct sw_mcp_call *call, const struct sw_mcp_watch *watch,
	       struct sw_mcp_answer *ret, struct sw_error *err);
void sw_mcp_answer_deinit(struct sw_mcp_answer *answer);

#endif
