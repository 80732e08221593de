/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes by the machine's table of them.
 *
 * Source: erts/emulator/beam/erl_process.h (Process, ERTS_PSFLG_*), erl_process.c
 * (erts_process_state2status()), erl_ptab.h (ErtsPTab), register.h (RegProc) of OTP 25; what 27 has otherwise by the
 * memory of Debian's 27.3.4.1.
 */
#include "runtimes/beam/processes.h"

#include <string.h>

enum {
	PID_TAG = 0x3,
	PID_TAG_MASK = 0xf,
	PID_TAG_BITS = 4,
	IDS_LOW_MASK = 8,
	IDS_HIGH_MASK = 16,
	IDS_LOW_SHIFT = 24,
	IDS_HIGH_SHIFT = 28,
	SHIFT_MAX = 63,
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

/* erts_ptab_pixdata2data(): pix_mask, pix_cl_mask, pix_cli_mask, pix_cl_shift, pix_cli_shift. */
void sw_beam_ids_read(struct sw_memory memory, const struct sw_beam_found *found,
		      struct sw_beam_ids *ret)
{
	uint8_t bytes[SW_BEAM_IDS_BYTES];
	*ret = (struct sw_beam_ids){.known = found->layout->table_ids == 0};
	if (ret->known || found->processes_svma == 0 ||
	    !sw_memory_read(memory,
			    found->processes_svma + found->place->bias + found->layout->table_ids,
			    bytes, sizeof(bytes)))
		return;
	ret->mask = word_at(bytes, 0);
	ret->low_mask = word_at(bytes, IDS_LOW_MASK);
	ret->high_mask = word_at(bytes, IDS_HIGH_MASK);
	memcpy(&ret->low_shift, bytes + IDS_LOW_SHIFT, sizeof(ret->low_shift));
	memcpy(&ret->high_shift, bytes + IDS_HIGH_SHIFT, sizeof(ret->high_shift));
	ret->known = ret->low_shift <= SHIFT_MAX && ret->high_shift <= SHIFT_MAX;
	if (!ret->known)
		*ret = (struct sw_beam_ids){0};
}

uint64_t sw_beam_id_number(const struct sw_beam_layout *layout, const struct sw_beam_ids *ids,
			   uint64_t id)
{
	uint64_t data = id >> PID_TAG_BITS & ((UINT64_C(1) << layout->pid_bits) - 1);
	if (layout->table_ids == 0)
		return data;
	return (data & ~ids->mask) | (data >> ids->low_shift & ids->low_mask) |
	       (data & ids->high_mask) << ids->high_shift;
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
