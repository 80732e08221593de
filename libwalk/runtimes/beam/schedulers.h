/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_SCHEDULERS_H
#define SW_BEAM_SCHEDULERS_H

#include "runtimes/beam/find.h"

#include <stdbool.h>

struct sw_beam;

enum { SW_BEAM_SCHEDULERS_MAX = 1024 /* of one kind: the machine's own limit */ };

struct sw_beam_process {
	uint64_t id;                              /* a term */
	uint64_t htop_avma, stop_avma, hend_avma; /* the heap's end; the stack, [stop, hend) */
};

struct sw_beam_scheduler {
	bool known;
	enum sw_beam_kind kind;
	uint64_t number;         /* from 1 */
	uint64_t registers_avma; /* on the thread's stack, just above what C functions use */
	uint64_t process_avma;   /* 0: it runs none */
	bool runs_port;
	struct sw_beam_process process;
	bool process_known;
};

/* A scheduler is parsed from the first SW_BEAM_SCHED_BYTES of its structure. Returns false if the
 * structure is not that of the thread. */
bool sw_beam_scheduler_parse(const struct sw_beam_layout *layout, enum sw_beam_kind kind,
			     const uint8_t *bytes, uint64_t fs_base, struct sw_beam_scheduler *ret);

/* The same of a process, of SW_BEAM_PROCESS_BYTES. False: it is not one. */
bool sw_beam_process_parse(const struct sw_beam_layout *layout, const uint8_t *bytes,
			   struct sw_beam_process *ret);

/* The scheduler of a thread; NULL: the thread is not one. */
const struct sw_beam_scheduler *sw_beam_scheduler_of(struct sw_beam *beam,
						     const struct sw_thread *thread);

/* Whether the thread executes on the process's own stack. */
static inline bool sw_beam_is_on_process(const struct sw_beam_scheduler *s, uint64_t sp_avma)
{
	return s->process_known && sp_avma >= s->process.htop_avma &&
	       sp_avma < s->process.hend_avma;
}

#endif
