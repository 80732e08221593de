/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_OPTIONS_H
#define SW_DAEMON_JOBS_OPTIONS_H

#include "config/settings.h"

#include <json-c/json.h>

/* The options that make captures different. Zero-initialised with all its padding: compared as
 * bytes. */
struct sw_job_options {
	uint64_t stack_bytes;
	uint32_t max_stop_ms, names_timeout_ms, depth, symbols;
	uint32_t no_inlines;
	uint32_t stop; /* enum sw_stop_mode */
};

/* Options of a call (NULL: none). store is changed only when given. *ret_bad: what is wrong. */
bool sw_options_read(const struct sw_config *config, struct json_object *options,
		     struct sw_job_options *ret, bool *store, const char **ret_bad);

#endif
