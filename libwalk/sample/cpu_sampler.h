/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_CPU_SAMPLER_H
#define SW_SAMPLE_CPU_SAMPLER_H

#include "arch/user_regs.h"
#include "capture/maps.h"
#include "copies/copies.h"
#include "copies/recipe.h"
#include "events/events.h"
#include "events/uprobes.h"
#include "sample/code.h"
#include "sample/cpu_fed.h"
#include "sample/cpu_names.h"
#include "sample/rests.h"
#include "slots.h"

#include <snapwalk/event.h>
#include <snapwalk/sampler.h>

/*
 * Samples of CPU time, and events: each is a thread with registers and stack, as the kernel copied them.
 *
 *	base	the maps and modules, by a look at the process that touches no thread; they are taken anew when code was
 *		mapped, and when a sample is in code that they do not have; the recipe for copies
 *	names	of threads
 *	batch	records and copies of the kernel's become threads of a snapshot
 *	fed	copies that somebody else has taken: of samples of all processes
 *	event	what is special where a system call, a function or the like is the event
 *	cpu	creates a sampler, and returns its samples
 */

enum {
	SW_CPU_BATCH = 64, /* threads of one snapshot */
	SW_CPU_CODE_NS =
		20000000, /* the least time between two looks at the maps when code was mapped */
};

struct sw_cpu_sampler {
	struct sw_context *ctx;         /* borrowed */
	const struct sw_target *target; /* borrowed */
	struct sw_events *events;       /* owned */
	/* Owned: the kernel copies threads at events, what their interpreters have of frames, too; NULL: events have
	 * registers and stacks themselves, which is enough for native code. */
	struct sw_copies *copies;
	struct sw_recipe recipe; /* that the kernel has, if it has one */
	bool has_recipe;
	struct sw_copy copy;        /* the last one */
	struct sw_copy said;        /* the same with the parts that say what it is of */
	struct sw_uprobes probes;   /* owned: where functions are the events */
	bool linked;                /* likewise: as sw_uprobes_linked() said */
	struct sw_cpu_feed feed;    /* drain: NULL: it has events of its own */
	bool has_fed;               /* copy is one that was handed over, and not looked at yet */
	uint32_t recipe_generation; /* fed: of copies that were made by the recipe */
	uint64_t n_native;          /* copies without what the recipe is for */
	bool native_frames; /* not fed: they are enough where there is no recipe for the runtime */
	bool lacks_runtime; /* that is so */
	struct sw_rests rests;         /* fed: of looks at memory that does not answer */
	uint64_t n_unanswered;         /* fed: copies that were left out for that */
	struct sw_capture_waits waits; /* of the last look at the maps */
	bool has_runtime;              /* fed: frames of which may be missing */
	struct sw_slots kept_native;   /* fed: as kept, of walks without runtimes */
	struct sw_event_place *places; /* owned: of them, without files */
	bool by_calls;                 /* the events are system calls: */
	struct sw_event_options wanted;
	struct sw_event happened; /* what the last copy is of */
	bool alone;               /* that has no stack */
	int elf_class;            /* of programs whose calls are events */
	struct sw_error
		no_stacks; /* why no event has a stack while snap is NULL, or had one; code 0: snap is there */
	bool lacks_stacks;       /* because of that some events had none, or will have none */
	int exec_link_fd;        /* owned: the iterator, of the first thread; -EBADF: none */
	uint64_t base_exec_id;   /* of the program that base is of; 0: not known */
	bool program_came;       /* it is another one by now: base is for the copies before that */
	struct sw_range *ranges; /* owned: SW_COPY_PARTS_MAX, of it */
	struct sw_slots kept;    /* of runtimes, by their ops: sw_snapshot_priv.kept */
	uint64_t first_exec_id;  /* of the first program; 0: not known */
	uint64_t exec_id;        /* of the program that the last copy is of */
	uint64_t exec_id_before,
		exec_id_old;      /* likewise before it; of those that have no maps any more */
	struct sw_snapshot *base; /* owned: maps and modules */
	struct sw_snapshot *snap; /* owned; borrows from it */
	struct sw_thread threads[SW_CPU_BATCH];
	struct sw_sample_change changes[SW_CPU_BATCH];
	size_t n;
	uint8_t *stacks; /* owned: of them */
	size_t stack_bytes;
	struct sw_events_sample event; /* is the first of the next batch */
	bool has_kept;
	bool has_copy;     /* it waits, as records of the kernel go before it */
	bool fixed;        /* maps and names are not read again */
	bool beside_looks; /* at threads that wait */
	bool base_old;
	bool code_came;  /* since it was made */
	bool child_came; /* it has made processes since then */
	int64_t base_ns;
	struct sw_sample_code code;
	uint64_t generation, number;
	struct sw_error no_copies; /* why the kernel does not copy */
	uint64_t n_left;           /* samples that came after what is known was old */
	struct sw_cpu_names names;
};

/* A sampler without events; the rest of it is zeros. */
int sw_cpu_sampler_new(struct sw_context *ctx, const struct sw_target *target,
		       struct sw_cpu_sampler **ret, struct sw_error *err);

/* Whether its copies are handed over by another one. */
static inline bool sw_cpu_is_fed(const struct sw_cpu_sampler *s)
{
	return s->feed.drain != NULL;
}

/* Taken before it was known that there is an interpreter: what that has of frames is missing. */
static inline bool sw_cpu_lacks_frames(const struct sw_cpu_sampler *s)
{
	return s->copies != NULL && s->recipe.steps.n_steps > 0 &&
	       (s->copy.head.flags & SW_SAMPLED_RECIPE) == 0;
}

/* Whether functions are the events. */
static inline bool sw_cpu_has_probes(const struct sw_cpu_sampler *s)
{
	return s->wanted.what == SW_EVENT_FUNCTION || s->wanted.what == SW_EVENT_PAIRS ||
	       s->wanted.what == SW_EVENT_PAIR_CALLS;
}

#endif
