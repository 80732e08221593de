/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_LAYOUT_H
#define SW_BEAM_LAYOUT_H

#include <stdint.h>

/* Where things are in one release of Erlang/OTP with its JIT, in bytes. */
struct sw_beam_layout {
	const char *release, *erts; /* "25"; the beginning of its runtime's version: "13." */
	/* ErtsSchedulerData; what lies before sched_registers' end is at its start */
	uint32_t sched_stride;
	uint16_t sched_tid, sched_process, sched_no, sched_dirty_no, sched_port;
	/* Process */
	uint16_t process_htop, process_stop, process_hend;
	uint16_t
		process_current; /* of one that a dirty scheduler runs, or that waits: its ErtsCodeMFA */
	uint16_t process_registered, process_next, process_initial, process_messages, process_state,
		process_messages_in;
	/* ErtsPTab */
	uint16_t table_places, table_n;
	/* A process's id: its number and, above it, its serial number. */
	uint8_t pid_number_bits, pid_bits;
	uint16_t
		table_ids; /* ErtsPTab: what turns the place in the table, which a term has, into it; 0: a term has it */
	/* From ErtsSchedulerRegisters, at which a C function's stack begins, to where Erlang code has a register. */
	uint8_t registers_off;
	/* From ErtsSchedulerRegisters to the lowest place of the return address of process_main(). */
	uint16_t return_off;
	/* BeamCodeHeader, ErtsCodeInfo */
	uint16_t header_functions, header_lines, info_mfa;
	/* IndexTable, Atom */
	uint16_t atoms_entries, atoms_segments, atom_length, atom_name;
};

enum {
	SW_BEAM_SCHED_BYTES = 256, /* of ErtsSchedulerData that are looked at */
	SW_BEAM_PROCESS_BYTES = 256,
	SW_BEAM_RETURN_SLOTS = 8, /* the registers are aligned to a cache line */
};

/* NULL: the release is not known. Static. */
const struct sw_beam_layout *sw_beam_layout_of(const char *release, const char *erts);

#endif
