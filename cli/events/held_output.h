/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HELD_OUTPUT_H
#define SW_CLI_HELD_OUTPUT_H

#include "events/held.h"

/* The result of sw_held_finish(), for people or as JSON (snapwalk.leaks/1). -SW_E_NOMEM. */
int sw_held_text(const struct sw_held *held, struct sw_text *ret);
int sw_held_json(const struct sw_held *held, struct sw_text *ret);

#endif
