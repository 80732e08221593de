/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/keep.h"
#include "common/complain.h"

#include <sys/stat.h>

void sw_keep_prepare(const struct sw_options *options)
{
	if (options->modules_store != NULL)
		(void) mkdir(options->modules_store, 0700); /* sw_keep() opens it */
}

int sw_keep(const struct sw_options *options, const struct sw_snapshot *snap, struct sw_error *err)
{
	return options->keep == NULL
		       ? 0
		       : sw_snapshot_save_shared(snap, options->keep, options->modules_store, err);
}

int sw_keep_beside(const struct sw_options *options, const struct sw_snapshot *snap)
{
	struct sw_error err = {0};
	if (sw_keep(options, snap, &err) == 0)
		return SW_STATUS_COMPLETE;
	(void) sw_complain_error(options->keep, &err); /* its status says that there is no dump */
	return SW_STATUS_MISSING;
}
