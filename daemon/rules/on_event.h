/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RULES_ON_EVENT_H
#define SW_DAEMON_RULES_ON_EVENT_H

#include "rules/rule.h"

#include <stdbool.h>

/*
 * The value of OnEvent=: an event, and conditions behind it.
 *	death | thread | process
 *	blocked slower=SECONDS
 *	syscall:NAME [errno=NAME] [failed] [fd=N] [arg0=N ... arg5=N]
 *	func:SYMBOL | func:LIB:SYMBOL [return] [slower=SECONDS]
 *	usdt:PROBE | usdt:LIB:PROBE
 * False, and *ret_why (static): it is not understood.
 */
bool sw_rule_event_parse(const char *value, struct sw_rule_event *ret, const char **ret_why);

#endif
