/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many processes as one tree: of dumps that the daemon keeps, or of files of JSON. */
#include "commands/commands.h"
#include "common/complain.h"
#include "daemon/read_dump.h"
#include "errors.h"
#include "run/merging.h"

/* The dump's JSON is added as it came. A dump that cannot be read does not stop the rest. */
static int send_word(struct sw_merging *merging, const struct sw_options *options, const char *word)
{
	struct sw_read_dump dump = {0};
	struct sw_error err = {0};
	int status = sw_read_dump_open(&dump, options, word);
	if (status != SW_STATUS_COMPLETE)
		sw_merging_refuse(merging, word, "it cannot be read");
	else if (sw_merging_send(merging, sw_read_dump_name(&dump),
				 dump.text.size > 0 ? dump.text.data : "", dump.text.size,
				 &err) < 0)
		status = sw_complain_error("snapwalk", &err);
	else
		status = SW_STATUS_COMPLETE;
	sw_read_dump_deinit(&dump);
	return status == SW_STATUS_COMPLETE ? status : SW_STATUS_MISSING;
}

int sw_cmd_merge(const struct sw_options *options)
{
	struct sw_merging merging;
	struct sw_options as_json = *options;
	int status = sw_merging_begin(&merging, options);
	if (status != SW_STATUS_COMPLETE)
		return status;
	as_json.format = SW_FORMAT_JSON; /* so that those that are complete are not parsed here */
	for (size_t i = 0; i < options->n_words && !merging.gone; i++)
		status = sw_status_worse(status, send_word(&merging, &as_json, options->words[i]));
	return sw_merging_end(&merging, status);
}
