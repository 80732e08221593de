/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kinds of things that `leaks` follows: a row each. */
#ifndef SW_CLI_HELD_KINDS_H
#define SW_CLI_HELD_KINDS_H

#include "common/options.h"
#include "events/held.h"

/* By the value of --of. */
const struct sw_held_kind *sw_held_kind(enum sw_leaks_of of);

#endif
