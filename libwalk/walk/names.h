/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_NAMES_H
#define SW_WALK_NAMES_H

#include <snapwalk/walk.h>

/* sw_frame.kind of code that nobody owns, by the module it is in (NULL: in none). */
const char *sw_place_code_name(const struct sw_place *place);

#endif
