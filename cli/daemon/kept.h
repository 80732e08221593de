/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_KEPT_H
#define SW_CLI_DAEMON_KEPT_H

#include "daemon/call.h"

/* Which dump of those that the daemon keeps a word of the command line means. */

enum { SW_KEPT_ID_SIZE = 128 };

/*
 * A whole id, its beginning, any part of it that no other has, "latest" or a process id: the newest
 * of all, or of that process. Only of those that the caller may see.
 *
 * @return SW_STATUS_COMPLETE and the whole id; else what was wrong has been said, with the dumps
 * that may be meant.
 */
int sw_kept_find(const struct sw_options *options, const char *word,
		 char ret_id[static SW_KEPT_ID_SIZE]);

/* A call of io.snapwalk about one dump, without reply; adds the pair when name is not NULL.
 * SW_STATUS_*, and what was wrong has been said. */
int sw_kept_change(const struct sw_options *options, const char *method, const char *id,
		   const char *name, bool value);

/* Which dump it was, as the word may have been "latest": "deleted ID", or an object with --json. */
void sw_kept_say(const struct sw_options *options, const char *what, const char *id);

#endif
