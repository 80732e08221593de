/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OPTION_TABLE_H
#define SW_CLI_OPTION_TABLE_H

#include "common/options.h"

/* Takes the value of an option, NULL where it has none. False with usage->message and ->remedy
 * filled. */
typedef bool sw_option_set(struct sw_options *options, const char *value, struct sw_usage *usage);

/* A row of the option table: getopt_long(), the help and the parser all live on it. */
struct sw_option {
	const char *name;
	char letter;          /* 0: none */
	const char *argument; /* shown in the help; "[=URL]": may be left away; NULL: takes none */
	unsigned commands;    /* SW_FOR_* */
	const char *help;
	sw_option_set *set;
	bool is_target;
};

enum { SW_OPTIONS_MAX = 96 };

extern const struct sw_option sw_option_table[];
extern const size_t sw_n_options;

#endif
