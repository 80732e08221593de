/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EVENT_FUNCTION_H
#define SW_CLI_EVENT_FUNCTION_H

#include "common/options.h"
#include "run/select.h"
#include "text.h"

#include <snapwalk/probes.h>

/*
 * Looks the function of options->event_name up, by a process that has given its privileges up; the files of its code are
 * opened by this one, which parses nothing of them.
 *
 * @return SW_STATUS_*; complains by itself. *ret is valid either way.
 */
int sw_function_find(const struct sw_options *options, const struct sw_subject *subject,
		     struct sw_function *ret);
/* The same for several functions, at most SW_EVENT_PLACES_MAX, which are looked up by one process. */
int sw_functions_find(const struct sw_options *options, const struct sw_subject *subject,
		      const struct sw_function_wanted *wanted, size_t n, struct sw_function *ret);
/* Writes which probes the process declares (USDT). SW_STATUS_*; complains by itself. */
int sw_function_list(const struct sw_options *options);
/* The notice that comes first: which code is changed. */
void sw_function_notice(const struct sw_function *function, const struct sw_subject *subject,
			struct sw_text *ret);
/* ,"function":NAME,"module":NAME,"places":[...] */
void sw_function_json(const struct sw_function *function, struct sw_text *ret);

#endif
