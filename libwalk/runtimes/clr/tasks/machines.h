/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_MACHINES_H
#define SW_CLR_MACHINES_H

#include "runtimes/clr/code/names.h"
#include "runtimes/clr/objects/chain.h"

/* State machines of async methods: the classes that compilers make of them. */
struct sw_clr_machine {
	uint64_t table_avma; /* MethodTable */
	const struct sw_clr_module *module;
	uint64_t module_avma;
	uint32_t type_rid;
	uint32_t move_next_rid; /* 0: not found */
	uint32_t state_rid;     /* of the field <>1__state; 0: it has none */
	uint32_t state_off;     /* from the fields' beginning */
	uint32_t
		promise_off; /* of an iterator's promise to its caller; SW_CLR_ABSENT: it has none */
	uint32_t builder_off; /* of the field <>t__builder; the same */
	const char *name;     /* "T.dll!Ns.Type.Method": the arena's */
};

enum { SW_CLR_STATE_RUNNING = -1, SW_CLR_STATE_DONE = -2, SW_CLR_STATE_UNKNOWN = INT32_MIN };

/* Loaded once; NULL: it is none, or there is no memory. */
const struct sw_clr_machine *sw_clr_machine_get(struct sw_clr *clr, size_t runtime,
						const struct sw_clr_classes *at,
						struct sw_map64 *machines, uint64_t table_avma);

/* Name, file and line of the await at which it is; SW_CLR_STATE_UNKNOWN, or one that runs: no line. */
void sw_clr_machine_describe(struct sw_clr *clr, const struct sw_clr_machine *machine,
			     int32_t state, struct sw_description *ret);

#endif
