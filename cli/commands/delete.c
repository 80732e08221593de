/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dumps that the daemon keeps no longer. */
#include "commands/commands.h"
#include "daemon/kept.h"

/* Says which one it was: the word may have been "latest". */
static int delete_one(const struct sw_options *options, const char *word)
{
	char id[SW_KEPT_ID_SIZE];
	int status = sw_kept_find(options, word, id);
	if (status == SW_STATUS_COMPLETE)
		status = sw_kept_change(options, "io.snapwalk.Delete", id, NULL, false);
	if (status == SW_STATUS_COMPLETE)
		status = sw_kept_say(options, "deleted", id);
	return status;
}

int sw_cmd_delete(const struct sw_options *options)
{
	int status = SW_STATUS_COMPLETE;
	for (size_t i = 0; i < options->n_words; i++)
		status = sw_status_worse(status, delete_one(options, options->words[i]));
	return status;
}
