/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HELP_H
#define SW_CLI_HELP_H

#include "common/options.h"

/* Help for one command. When command is NULL: the commands on one screen; with all, each option of each command. */
void sw_options_help(FILE *to, const struct sw_command *commands, const struct sw_command *command,
		     bool all);

/* Ten lines for a command line without any word. */
void sw_options_usage(FILE *to);

#endif
