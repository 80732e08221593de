/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RULES_PARSE_H
#define SW_DAEMON_RULES_PARSE_H

#include "config/settings.h"
#include "rules/rule.h"

void sw_rules_deinit(struct sw_rules *rules);
/* Adds those of one file's text; file_name is for messages. -SW_E_NOMEM. */
int sw_rules_parse(const char *file_name, const char *text, size_t size, sw_config_say_fn *say,
		   void *arg, struct sw_rules *rules, struct sw_error *err);

#endif
