/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_LIBUNWIND_LOAD_H
#define SW_WALK_LIBUNWIND_LOAD_H

#include <snapwalk/walk.h>

#include <libunwind-x86_64.h>

/*
 * libunwind, loaded only when a second opinion is asked for: linking it would make every start of
 * every program pay for three more libraries, and would put its _Unwind_* functions before those of
 * libgcc into the programs that embed us.
 */
#define SW_LIBUNWIND_FUNCTIONS(X)                                                             \
	X(create_addr_space, unw_addr_space_t, (unw_accessors_t *, int) )                     \
	X(destroy_addr_space, void, (unw_addr_space_t))                                       \
	X(set_caching_policy, int, (unw_addr_space_t, unw_caching_policy_t))                  \
	X(init_remote, int, (unw_cursor_t *, unw_addr_space_t, void *) )                      \
	X(step, int, (unw_cursor_t *) )                                                       \
	X(get_reg, int, (unw_cursor_t *, int, unw_word_t *) )                                 \
	X(is_signal_frame, int, (unw_cursor_t *) )                                            \
	/* Not in its header but exported for libunwind-ptrace: include/dwarf.h of v1.6.2. */ \
	X(dwarf_search_unwind_table, int,                                                     \
	  (unw_addr_space_t, unw_word_t, unw_dyn_info_t *, unw_proc_info_t *, int, void *) )

struct sw_libunwind {
#define SW_LIBUNWIND_MEMBER(name, type, parameters) type(*name) parameters;
	SW_LIBUNWIND_FUNCTIONS(SW_LIBUNWIND_MEMBER)
#undef SW_LIBUNWIND_MEMBER
};

/* 0; -SW_E_UNSUPPORTED when it is not installed or lacks a function. The library stays loaded. */
int sw_libunwind_load(struct sw_libunwind *ret, struct sw_error *err);

#endif
