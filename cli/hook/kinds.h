/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HOOK_KINDS_H
#define SW_CLI_HOOK_KINDS_H

#include "hook/request.h"

/* 0; -SW_E_INVALID: called in a wrong way; -SW_E_NOT_FOUND: there is no process; -SW_E_FORMAT,
 * -SW_E_LIMIT: of the text; -SW_E_NOMEM. *ret is valid either way. */
typedef int sw_hook_fn(const struct sw_hook_input *input, struct sw_hook_request *ret,
		       struct sw_error *err);

sw_hook_fn sw_hook_monit, sw_hook_alertmanager, sw_hook_nagios, sw_hook_collectd, sw_hook_systemd;

struct sw_hook_kind {
	const char *name;
	bool reads_stdin;
	sw_hook_fn *read;
};

/* NULL: there is none of that name. */
const struct sw_hook_kind *sw_hook_find(const char *name);

#endif
