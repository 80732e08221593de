/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MERGING_H
#define SW_CLI_MERGING_H

#include "run/apart.h"
#include "run/deliver.h"

/*
 * Dumps on their way into one tree. A child without privileges parses them one after the other, and writes the result,
 * which the command puts into its place: the command itself parses nothing, and may open files, ask the daemon and
 * capture all the time.
 *
 *	begin -> (send | refuse)... -> end
 */
struct sw_merging {
	const struct sw_options *options; /* borrowed */
	struct sw_delivery delivery;      /* of the result */
	struct sw_apart child;
	int fd;    /* owned; the child reads it */
	bool gone; /* the child has ended, or is late: no use to go on */
	bool late; /* it has not read a dump in the time that there is for one */
};

/* SW_STATUS_COMPLETE; else what was wrong has been said. */
int sw_merging_begin(struct sw_merging *ret, const struct sw_options *options);
/* JSON of one or several dumps. name "": they are called by their ids. -SW_E_IO. */
int sw_merging_send(struct sw_merging *merging, const char *name, const char *json, size_t size,
		    struct sw_error *err);
/* A dump that cannot be had, which was said. */
void sw_merging_refuse(struct sw_merging *merging, const char *name, const char *why);
/* The function for sw_output.take: arg is a struct sw_merging. */
int sw_merging_take(void *arg, const char *data, size_t size, struct sw_error *err);
/* Writes the result. The worse of status and its own. */
int sw_merging_end(struct sw_merging *merging, int status);

#endif
