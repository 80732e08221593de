/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_FLOW_H
#define SW_BEAM_FLOW_H

#include "runtimes/beam/beam.h"

/* Where code of the machine is to be followed from. */
struct sw_beam_flow {
	struct sw_beam *beam;
	struct sw_memory memory; /* code and stack */
	uint64_t pc_avma;
	uint64_t header_avma; /* of its module; 0: it is shared code */
	bool in_c;            /* on the thread's stack, for a call of a C function */
	uint64_t sp_avma;     /* else: of the process's stack */
	/* Where that is kept meanwhile, in rbp or in the process. */
	bool saved_known;
	uint64_t saved_avma, stop_avma;
};

/*
 * Where the return address is. *ret_sp_avma: where the process's stack is now, 0 when that is not
 * known. False: it was not found.
 */
bool sw_beam_flow_return(const struct sw_beam_flow *flow, uint64_t *ret_slot_avma,
			 uint64_t *ret_sp_avma);

/* Whether a word may be a return address in the machine's code. */
bool sw_beam_is_return(struct sw_beam *beam, struct sw_memory memory, uint64_t word);

#endif
