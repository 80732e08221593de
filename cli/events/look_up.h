/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_LOOK_UP_H
#define SW_CLI_LOOK_UP_H

#include "events/function.h"

/* A look-up in the files of a process, by one without privileges. */
struct sw_look_up {
	const struct sw_options *options;
	const struct sw_subject *subject;
	const struct sw_target *target;
	const struct sw_function_wanted *wanted; /* NULL: the probes that are declared are listed */
	size_t n_wanted;
	int64_t deadline_ns; /* 0: none */
};

/*
 * For sw_apart_start(): gives its privileges up, parses the files, and writes what sw_function_take() reads, or the list.
 * arg is a struct sw_look_up. SW_STATUS_*; complains by itself.
 */
int sw_look_up(void *arg, int fd);

#endif
