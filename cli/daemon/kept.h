/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_KEPT_H
#define SW_CLI_DAEMON_KEPT_H

#include "daemon/call.h"

/* Dumps that the daemon keeps, by a word of the command line. */

enum { SW_KEPT_ID_SIZE = 128 };

/*
 * Finds a dump that the caller may see by a word: its whole id, the beginning of it, any part of it that no other id has,
 * "latest" or a process id, which mean the newest dump of all or of that process.
 *
 * @return SW_STATUS_COMPLETE and the whole id; else what was wrong has been said, with the dumps
 * that may be meant.
 */
int sw_kept_find(const struct sw_options *options, const char *word,
		 char ret_id[static SW_KEPT_ID_SIZE]);

/* Calls a method of io.snapwalk about one dump that has no reply; adds the pair when name is not NULL.
 * SW_STATUS_*, and what was wrong has been said. */
int sw_kept_change(const struct sw_options *options, const char *method, const char *id,
		   const char *name, bool value);

/* Says which dump it was, as the word may have been "latest": "deleted ID", or an object with --json. SW_STATUS_*, and
 * what was wrong has been said. */
int sw_kept_say(const struct sw_options *options, const char *what, const char *id);

#endif
