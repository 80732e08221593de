/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RULES_LOAD_H
#define SW_DAEMON_RULES_LOAD_H

#include "config/settings.h"
#include "rules/rule.h"

/* A directory that is not there has no rules. -SW_E_IO, -SW_E_NOMEM. */
int sw_rules_load(const char *directory, sw_config_say_fn *say, void *arg, struct sw_rules *ret,
		  struct sw_error *err);

#endif
