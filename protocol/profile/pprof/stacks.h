/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROTOCOL_PROFILE_PPROF_STACKS_H
#define SW_PROTOCOL_PROFILE_PPROF_STACKS_H

#include "profile/pprof/messages.h"

/* A mapping without a place in memory has addresses of its file. */
struct sw_profile_module sw_pprof_mapping_read(struct sw_pprof *p, struct sw_bytes message);

/* The node of a sample's stack of n locations, in p->stack. Limits leave out the outermost frames, and whole stacks. */
uint32_t sw_pprof_stack_put(struct sw_pprof *p, size_t n, bool is_cut);

#endif
