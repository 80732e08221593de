/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_PROCESSES_H
#define SW_BEAM_PROCESSES_H

#include "memory.h"
#include "runtimes/beam/find.h"

#include <stdbool.h>

enum {
	SW_BEAM_TABLE_MAX = 1 << 20, /* places in the table of processes that are looked at */
	SW_BEAM_FULL_BYTES = 0x2a8,  /* of Process, for all that is shown of one */
	SW_BEAM_OWN_STACK_MAX = 256
				<< 10, /* bytes of one's stack; of a longer one it is not shown */
	SW_BEAM_REGISTERED_BYTES = 40, /* RegProc */
	SW_BEAM_IDS_BYTES = 32,        /* of ErtsPTab */
};

/* A process, whether a scheduler runs it or not. */
struct sw_beam_full {
	uint64_t id; /* a term */
	uint32_t state;
	uint64_t stop_avma, hend_avma; /* the stack, [stop, hend) */
	uint64_t next_avma;            /* where it goes on */
	uint64_t current_avma;         /* ErtsCodeMFA of what it waits in; 0: none */
	uint64_t registered_avma;      /* RegProc; 0: it has no name */
	uint64_t initial[3];           /* module, function, arity */
	uint64_t messages;             /* in its queues */
};

/*
 * The rule that turns the term of a process into its number: which bits of it are the index in the
 * table, and how these are reordered.
 */
struct sw_beam_ids {
	bool known;
	uint64_t mask, low_mask, high_mask;
	uint32_t low_shift, high_shift;
};

/* Not known where it cannot be read. */
void sw_beam_ids_read(struct sw_memory memory, const struct sw_beam_found *found,
		      struct sw_beam_ids *ret);
/* The number of a process, with its serial number above it. */
uint64_t sw_beam_id_number(const struct sw_beam_layout *layout, const struct sw_beam_ids *ids,
			   uint64_t id);

/* The table of processes: places that have an address or 0. False: it is not there. */
bool sw_beam_table_read(struct sw_memory memory, const struct sw_beam_found *found,
			uint64_t *ret_avma, uint64_t *ret_n);

/* A process is parsed from SW_BEAM_FULL_BYTES. Returns false if the bytes are no process, or one
 * that has ended. */
bool sw_beam_full_parse(const struct sw_beam_layout *layout, const uint8_t *bytes,
			struct sw_beam_full *ret);

/* As process_info(Pid, status) says it. Static. */
const char *sw_beam_state_name(uint32_t state);
/* Whether what the process says of its stack is so: nobody executes it, or changes it. */
bool sw_beam_is_parked(uint32_t state);

#endif
