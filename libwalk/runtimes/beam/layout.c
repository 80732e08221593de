/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: erts/emulator/beam/erl_process.h, code_ix.h, beam_code.h, atom.h and jit/x86/process_main.cpp
 * of OTP 25, with whose order those of OTP 27 agree. Compared with the code and the memory of Debian's erlang-base
 * 25.2.3 and 27.3.4.1.
 */
#include "runtimes/beam/layout.h"
#include "cleanup.h"

#include <string.h>

static const struct sw_beam_layout layouts[] = {
	{
		.release = "25",
		.erts = "13.1.",
		.sched_stride = 0xa300,
		.sched_tid = 0x20,
		.sched_process = 0xa8,
		.sched_no = 0xb8,
		.sched_dirty_no = 0xc0,
		.sched_port = 0xd8,
		.process_htop = 0x50,
		.process_stop = 0x58,
		.process_hend = 0x88,
		.process_current = 0x1d8,
		.process_registered = 0x30,
		.process_next = 0x100,
		.process_initial = 0x1c0,
		.process_messages = 0x188,
		.process_state = 0x280,
		.process_messages_in = 0x2a0,
		.table_places = 0xc0,
		.table_n = 0xd0,
		.pid_number_bits = 15,
		.pid_bits = 28,
		.registers_off = 0x80,
		.return_off = 0x4110,
		.header_functions = 0x60,
		.header_lines = 0x48,
		.info_mfa = 0x10,
		.atoms_entries = 0x74,
		.atoms_segments = 0x78,
		.atom_length = 24,
		.atom_name = 32,
	},
	{
		.release = "27",
		.erts = "15.2.",
		.sched_stride = 0xa340,
		.sched_tid = 0x20,
		.sched_process = 0xa8,
		.sched_no = 0xb8,
		.sched_dirty_no = 0xc0,
		.sched_port = 0xe0,
		.process_htop = 0x50,
		.process_stop = 0x58,
		.process_hend = 0xc8,
		.process_current = 0x1d0,
		.process_registered = 0x20,
		.process_next = 0xf8,
		.process_initial = 0x1b8,
		.process_messages = 0x150,
		.process_state = 0x270,
		.process_messages_in = 0x290,
		.table_places = 0xc0,
		.table_n = 0xd0,
		.table_ids = 0xd8,
		.pid_number_bits = 28,
		.pid_bits = 60,
		.registers_off = 0x40,
		.return_off = 0x40d0,
		.header_functions = 0x88,
		.header_lines = 0x48,
		.info_mfa = 0x10,
		.atoms_entries = 0x74,
		.atoms_segments = 0x78,
		.atom_length = 24,
		.atom_name = 32,
	},
};

const struct sw_beam_layout *sw_beam_layout_of(const char *release, const char *erts)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(layouts); i++)
		if (strcmp(layouts[i].release, release) == 0 &&
		    strncmp(layouts[i].erts, erts, strlen(layouts[i].erts)) == 0)
			return &layouts[i];
	return NULL;
}
