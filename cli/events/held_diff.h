/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_HELD_DIFF_H
#define SW_CLI_HELD_DIFF_H

#include "text.h"

#include <snapwalk/error.h>

/* Outstanding things of two results of leaks (snapwalk.leaks/1), compared by stack, whoever wrote them. */
enum { SW_HELD_DIFF_SIDES = 2 };

/* Whether a text says that it is one. Nothing else of it is looked at. */
bool sw_held_diff_is(const struct sw_text *json);

struct sw_held_diff_options {
	bool json;
	bool all; /* in text also stacks that have not changed, and whole ones */
};

/* sides: the older one first. 0; -SW_E_FORMAT: one is no such result, or they are of two kinds; -SW_E_NOMEM. */
int sw_held_diff(const struct sw_text sides[SW_HELD_DIFF_SIDES],
		 const struct sw_held_diff_options *options, struct sw_text *ret,
		 struct sw_error *err);

#endif
