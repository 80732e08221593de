/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: erts/emulator/beam/erl_process.h of OTP 25: ErtsSchedulerData, Process. */
#include "runtimes/beam/schedulers.h"
#include "runtimes/beam/beam.h"

#include <string.h>

enum {
	PID_TAG = 0x3, /* of a term's lowest four bits: erl_term.h */
	PID_TAG_MASK = 0xf,
	STACK_BYTES_UNKNOWN = 1 << 20, /* that are looked at when its end is not known */
};

static const uint64_t HEAP_BYTES_MAX = UINT64_C(1) << 36;

static uint64_t word_at(const uint8_t *bytes, size_t at)
{
	uint64_t word;
	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

bool sw_beam_scheduler_parse(const struct sw_beam_layout *layout, enum sw_beam_kind kind,
			     const uint8_t *bytes, uint64_t fs_base, struct sw_beam_scheduler *ret)
{
	bool normal = kind == SW_BEAM_NORMAL;
	*ret = (struct sw_beam_scheduler){.kind = kind};
	if (fs_base == 0 || word_at(bytes, layout->sched_tid) != fs_base)
		return false;
	ret->number = word_at(bytes, normal ? layout->sched_no : layout->sched_dirty_no);
	if (ret->number == 0 || ret->number > SW_BEAM_SCHEDULERS_MAX)
		return false;
	ret->registers_avma = word_at(bytes, 0);
	ret->process_avma = word_at(bytes, layout->sched_process);
	ret->runs_port = normal && word_at(bytes, layout->sched_port) != 0;
	ret->known = true;
	return true;
}

bool sw_beam_process_parse(const struct sw_beam_layout *layout, const uint8_t *bytes,
			   struct sw_beam_process *ret)
{
	*ret = (struct sw_beam_process){
		.id = word_at(bytes, 0),
		.htop_avma = word_at(bytes, layout->process_htop),
		.stop_avma = word_at(bytes, layout->process_stop),
		.hend_avma = word_at(bytes, layout->process_hend),
	};
	if ((ret->id & PID_TAG_MASK) != PID_TAG || ret->stop_avma == 0 ||
	    (ret->htop_avma | ret->stop_avma | ret->hend_avma) % 8 != 0 ||
	    ret->stop_avma > UINT64_MAX - STACK_BYTES_UNKNOWN)
		return false;
	/* While garbage is collected they are of two heaps. */
	if (ret->htop_avma > ret->stop_avma || ret->stop_avma - ret->htop_avma > HEAP_BYTES_MAX)
		ret->htop_avma = ret->stop_avma;
	if (ret->hend_avma <= ret->stop_avma || ret->hend_avma - ret->stop_avma > HEAP_BYTES_MAX)
		ret->hend_avma = ret->stop_avma + STACK_BYTES_UNKNOWN;
	return true;
}

static bool scheduler_find(struct sw_beam *beam, uint64_t fs_base, struct sw_beam_scheduler *ret)
{
	const struct sw_beam_found *f = &beam->found;
	uint8_t bytes[SW_BEAM_SCHED_BYTES];
	for (int kind = 0; kind < SW_BEAM_KINDS; kind++) {
		uint64_t array, n;
		if (!sw_memory_u64(beam->memory, f->schedulers_svma[kind] + f->place->bias,
				   &array) ||
		    !sw_memory_u64(beam->memory, f->counts_svma[kind] + f->place->bias, &n))
			continue;
		for (uint64_t i = 0; i < n && i < SW_BEAM_SCHEDULERS_MAX; i++)
			if (sw_memory_read(beam->memory, array + i * f->layout->sched_stride, bytes,
					   sizeof(bytes)) &&
			    sw_beam_scheduler_parse(f->layout, (enum sw_beam_kind) kind, bytes,
						    fs_base, ret))
				return true;
	}
	return false;
}

const struct sw_beam_scheduler *sw_beam_scheduler_of(struct sw_beam *beam,
						     const struct sw_thread *thread)
{
	struct sw_beam_scheduler *s = &beam->scheduler;
	uint8_t bytes[SW_BEAM_PROCESS_BYTES];
	if (beam->thread != thread) {
		beam->thread = thread;
		*s = (struct sw_beam_scheduler){0};
		if (beam->found.layout != NULL && scheduler_find(beam, thread->fs_base, s) &&
		    s->process_avma != 0)
			s->process_known =
				sw_memory_read(beam->memory, s->process_avma, bytes,
					       sizeof(bytes)) &&
				sw_beam_process_parse(beam->found.layout, bytes, &s->process);
	}
	return s->known ? s : NULL;
}
