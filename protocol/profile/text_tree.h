/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_TEXT_TREE_H
#define SW_PROFILE_TEXT_TREE_H

#include "profile/view.h"
#include "text.h"

/* The stacks in one state, by group of threads, from the outermost frame on, with shares of all in
 * that state. Frames that one leads to alone stand in its line; what is small is left out. 0;
 * -SW_E_NOMEM. */
int sw_profile_text_tree(struct sw_text *text, const struct sw_profile_view *view,
			 enum sw_profile_state state,
			 const struct sw_profile_write_options *options);

#endif
