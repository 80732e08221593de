/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_FUNCTIONS_H
#define SW_BEAM_FUNCTIONS_H

#include "memory.h"
#include "runtimes/beam/find.h"

enum {
	SW_BEAM_MODULES_MAX = 8192,
	SW_BEAM_FUNCTIONS_MAX = 16384, /* of one module */
	SW_BEAM_LIST_WORDS = 4,        /* of one of the three lists: struct ranges */
	SW_BEAM_LISTS = 3,
	SW_BEAM_MFA_BYTES = 24, /* module, function, arity */
};

/* A list of modules: sorted pairs of a module's first byte and of the one behind its last. */
struct sw_beam_list {
	uint64_t avma;
	uint64_t n;
};

bool sw_beam_list_read(struct sw_memory memory, const struct sw_beam_found *found,
		       struct sw_beam_list *ret);

/* The beginning of the module's code that holds avma. */
bool sw_beam_module_find(struct sw_memory memory, const struct sw_beam_list *list, uint64_t avma,
			 uint64_t *ret_header_avma);

/* The function of a module that holds avma: its ErtsCodeInfo, and its number from 0. */
bool sw_beam_info_find(struct sw_memory memory, const struct sw_beam_layout *layout,
		       uint64_t header_avma, uint64_t avma, uint64_t *ret_info_avma,
		       uint64_t *ret_number);

/* process_main() as the JIT made it, in one of the first bytes of its memory; 0: it was not found. */
uint64_t sw_beam_main_find(struct sw_memory memory, const struct sw_beam_layout *layout,
			   const struct sw_snapshot *snap);

#endif
