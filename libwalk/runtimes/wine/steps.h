/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_STEPS_H
#define SW_WINE_STEPS_H

#include "runtimes/wine/state.h"

/* The steps that cross from one of a thread's stacks to another; runtimes/wine/runtime.c asks for each
 * where it applies. First from Unix code, then from functions of ntdll.dll that Unix code enters. */

enum sw_step sw_wine_dispatcher_step(struct sw_wine *w, enum sw_wine_call kind, struct sw_cursor *c,
				     struct sw_stepped *ret);
bool sw_wine_is_unknown_dispatcher(const struct sw_wine *w, const struct sw_cursor *c);

/* Functions that make a syscall_frame, or leave one. NULL: the frame is not of such a function. */
const struct sw_cfi_rule *sw_wine_wrong_rule(const struct sw_wine *w, const struct sw_cursor *c);
enum sw_step sw_wine_caller_step(struct sw_wine *w, const struct sw_cfi_rule *rule,
				 struct sw_cursor *c, struct sw_stepped *ret);

/* The function in which a thread gets its first syscall_frame. */
bool sw_wine_is_unix_start(struct sw_wine *w, struct sw_cursor *c);
enum sw_step sw_wine_unix_start_step(struct sw_wine *w, struct sw_cursor *c,
				     struct sw_stepped *ret);

enum sw_step sw_wine_callback_step(struct sw_wine *w, struct sw_cursor *c, struct sw_stepped *ret);
enum sw_step sw_wine_context_step(struct sw_cursor *c, struct sw_stepped *ret);
bool sw_wine_is_thread_start(struct sw_wine *w, struct sw_cursor *c);

#endif
