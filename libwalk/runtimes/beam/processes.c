/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes by the machine's table of them.
 *
 * Source: erts/emulator/beam/erl_process.h (Process, ERTS_PSFLG_*), erl_process.c
 * (erts_process_state2status()), erl_ptab.h (ErtsPTab), register.h (RegProc) of OTP 25.
 */
#include "runtimes/beam/processes.h"

#include <string.h>

enum {
	PID_TAG = 0x3,
	PID_TAG_MASK = 0xf,
};

/* ERTS_PSFLG_*: three priorities of two bits come first. */
enum state {
	STATE_FREE = 1 << 10,
	STATE_EXITING = 1 << 11,
	STATE_ACTIVE = 1 << 13,
	STATE_RUNNING = 1 << 15,
	STATE_SUSPENDED = 1 << 16,
	STATE_GC = 1 << 17,
	STATE_ACTIVE_SYS = 1 << 20,
	STATE_RUNNING_SYS = 1 << 21,
	STATE_DIRTY_ACTIVE_SYS = 1 << 28,
	STATE_DIRTY_RUNNING = 1 << 29,
	STATE_DIRTY_RUNNING_SYS = 1 << 30,
	STATE_RUNS =
		STATE_RUNNING | STATE_RUNNING_SYS | STATE_DIRTY_RUNNING | STATE_DIRTY_RUNNING_SYS,
};

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t word;
	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

bool sw_beam_table_read(struct sw_memory memory, const struct sw_beam_found *found,
			uint64_t *ret_avma, uint64_t *ret_n)
{
	uint64_t table = found->processes_svma + found->place->bias, avma;
	uint32_t n;
	if (found->processes_svma == 0 ||
	    !sw_memory_u64(memory, table + found->layout->table_places, &avma) ||
	    !sw_memory_read(memory, table + found->layout->table_n, &n, sizeof(n)) || avma == 0 ||
	    avma % 8 != 0)
		return false;
	*ret_avma = avma;
	*ret_n = n;
	return true;
}

bool sw_beam_full_parse(const struct sw_beam_layout *layout, const uint8_t *bytes,
			struct sw_beam_full *ret)
{
	*ret = (struct sw_beam_full){
		.id = word_at(bytes, 0),
		.stop_avma = word_at(bytes, layout->process_stop),
		.hend_avma = word_at(bytes, layout->process_hend),
		.next_avma = word_at(bytes, layout->process_next),
		.current_avma = word_at(bytes, layout->process_current),
		.registered_avma = word_at(bytes, layout->process_registered),
		.messages = word_at(bytes, layout->process_messages) +
			    word_at(bytes, layout->process_messages_in),
	};
	memcpy(&ret->state, bytes + layout->process_state, sizeof(ret->state));
	memcpy(ret->initial, bytes + layout->process_initial, sizeof(ret->initial));
	return (ret->id & PID_TAG_MASK) == PID_TAG && !(ret->state & STATE_FREE);
}

const char *sw_beam_state_name(uint32_t state)
{
	if (state & STATE_EXITING)
		return "exiting";
	if (state & STATE_GC)
		return "garbage_collecting";
	if (state & STATE_SUSPENDED)
		return "suspended";
	if (state & (uint32_t) STATE_RUNS)
		return "running";
	if (state & (STATE_ACTIVE | STATE_ACTIVE_SYS | STATE_DIRTY_ACTIVE_SYS))
		return "runnable";
	return "waiting";
}

bool sw_beam_is_parked(uint32_t state)
{
	return !(state & ((uint32_t) STATE_RUNS | STATE_GC | STATE_EXITING));
}
