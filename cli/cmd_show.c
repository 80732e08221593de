/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dumps that the daemon keeps, printed like new ones. */
#include "commands.h"
#include "daemon/call.h"
#include "daemon/dump.h"
#include "daemon/kept.h"
#include "daemon/complaint.h"
#include "deliver.h"

static int show_one(const struct sw_options *options, struct sw_delivery *delivery,
		    const char *word)
{
	char id[SW_KEPT_ID_SIZE];
	struct sw_daemon_dump dump;
	struct sw_complaint why;
	int status = sw_kept_find(options, word, true, id);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (!sw_daemon_read(options, id, &dump, &why))
		return sw_complain_about(id, &why);
	status = sw_delivery_put(delivery, id, dump.report, dump.text, dump.size);
	sw_daemon_dump_deinit(&dump);
	return status;
}

int sw_cmd_show(const struct sw_options *options)
{
	struct sw_delivery delivery;
	struct sw_error err = {0};
	if (sw_delivery_begin(&delivery, options, options->format, options->output, &err) < 0)
		return sw_complain_error(sw_delivery_name(&delivery), &err);
	int status = SW_STATUS_COMPLETE;
	for (size_t i = 0; i < options->n_words && !delivery.broken; i++)
		status = sw_status_worse(status, show_one(options, &delivery, options->words[i]));
	return sw_delivery_end(&delivery, status);
}
