/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_READ_DUMP_H
#define SW_CLI_DAEMON_READ_DUMP_H

#include "common/options.h"
#include "text.h"

/*
 * A dump that a word of the command line names: a file of JSON, with a slash or ".json" at its end, or
 * one that the daemon keeps.
 *
 *	open, of each -> sw_sandbox_enter_parsing() -> parse
 */
struct sw_read_dump {
	const char *word;         /* borrowed */
	struct sw_text text;      /* of a file */
	struct sw_report *report; /* owned; what the daemon keeps is there at once */
};

/* Reads it. SW_STATUS_COMPLETE; else what was wrong has been said. */
int sw_read_dump_open(struct sw_read_dump *ret, const struct sw_options *options, const char *word);
/* dump->report is there afterwards. Likewise. */
int sw_read_dump_parse(struct sw_read_dump *dump);
void sw_read_dump_deinit(struct sw_read_dump *dump);

#endif
