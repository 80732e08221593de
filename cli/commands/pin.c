/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dumps that the limits of the daemon's store do not remove, or remove again. */
#include "commands/commands.h"
#include "daemon/kept.h"

static int pin_one(const struct sw_options *options, const char *word)
{
	char id[SW_KEPT_ID_SIZE];
	int status = sw_kept_find(options, word, id);
	if (status == SW_STATUS_COMPLETE)
		status = sw_kept_change(options, "io.snapwalk.Pin", id, "pinned", !options->unpin);
	if (status == SW_STATUS_COMPLETE)
		status = sw_kept_say(options, options->unpin ? "unpinned" : "pinned", id);
	return status;
}

int sw_cmd_pin(const struct sw_options *options)
{
	int status = SW_STATUS_COMPLETE;
	for (size_t i = 0; i < options->n_words; i++)
		status = sw_status_worse(status, pin_one(options, options->words[i]));
	return status;
}
