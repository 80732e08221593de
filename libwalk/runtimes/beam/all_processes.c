/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All processes with their frames, of the instant of the window. A process that nobody executes goes on at
 * next_avma; on its stack, return addresses are the words without a tag (step.c), and the last word is the
 * address to which its first function returns.
 */
#include "runtimes/beam/all_processes.h"
#include "arena.h"
#include "runtimes/beam/functions.h"
#include "runtimes/beam/names.h"
#include "runtimes/beam/processes.h"
#include "runtimes/beam/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK_WORDS = 512,
	PID_BYTES = 40,
	REGISTERED_PROCESS = 16, /* RegProc */
	REGISTERED_NAME = 32,
	TAG_MASK = 3,
};

/* Which thread runs a process. */
struct run {
	uint64_t process_avma;
	pid_t tid;
};

struct sw_beam_all_processes {
	uint64_t *processes; /* owned */
	size_t n, capacity;
	struct run *runs; /* owned */
	size_t n_runs;
	bool torn; /* threads ran while they were copied */
	/* The texts and the stack of the process that is shown. */
	char pid[PID_BYTES], registered[SW_BEAM_TERM_BYTES], initial[SW_BEAM_MFA_TEXT_BYTES];
	uint64_t stack[SW_BEAM_OWN_STACK_MAX / 8];
};

void sw_beam_all_processes_destroy(struct sw_beam_all_processes *all)
{
	if (all == NULL)
		return;
	free(all->processes);
	free(all->runs);
	free(all);
}

static bool process_add(struct sw_beam_all_processes *all, uint64_t avma)
{
	uint64_t *grown = sw_grow(all->processes, all->n, &all->capacity, 256, sizeof(*grown));
	if (grown == NULL)
		return false;
	all->processes = grown;
	grown[all->n++] = avma;
	return true;
}

/* NULL: all are there. */
static const char *table_walk(struct sw_beam *beam, struct sw_beam_all_processes *all)
{
	uint64_t avma, n, words[CHUNK_WORDS];
	if (!sw_beam_table_read(beam->memory, &beam->found, &avma, &n))
		return "the table of processes could not be read";
	uint64_t max = n > SW_BEAM_TABLE_MAX ? SW_BEAM_TABLE_MAX : n;
	for (uint64_t i = 0; i < max; i += CHUNK_WORDS) {
		size_t k = (size_t) (max - i < CHUNK_WORDS ? max - i : CHUNK_WORDS);
		if (!sw_memory_read(beam->memory, avma + i * 8, words, k * 8))
			return "the table of processes could not be copied";
		for (size_t j = 0; j < k; j++)
			if (words[j] != 0 && words[j] % 8 == 0 && !process_add(all, words[j]))
				return "out of memory";
	}
	return max < n ? "the table of processes is too large" : NULL;
}

static void runs_find(struct sw_beam *beam, struct sw_beam_all_processes *all)
{
	const struct sw_snapshot *snap = beam->snap;
	all->runs = calloc(snap->n_threads + 1, sizeof(*all->runs));
	for (size_t i = 0; all->runs != NULL && i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		const struct sw_beam_scheduler *s =
			t->captured ? sw_beam_scheduler_of(beam, t) : NULL;
		if (s != NULL && s->process_avma != 0)
			all->runs[all->n_runs++] = (struct run){s->process_avma, t->tid};
	}
}

size_t sw_beam_all_processes(struct sw_beam *beam, const char **ret_why)
{
	struct sw_beam_all_processes *all = calloc(1, sizeof(*all));
	const struct sw_beam_window *w = beam->window;
	*ret_why = "out of memory";
	if (all == NULL)
		return 0;
	beam->processes = all;
	*ret_why = beam->found.interprets ? "Erlang's emulator without JIT is not read"
					  : "this release of Erlang/OTP is not read";
	if (beam->found.layout == NULL)
		return 0;
	all->torn = beam->snap->live && (w == NULL || !w->whole || beam->snap->priv->hooks_torn);
	*ret_why = table_walk(beam, all);
	if (*ret_why == NULL && w != NULL && w->processes_cut)
		*ret_why = "not all processes could be copied";
	runs_find(beam, all);
	return all->n;
}

/* The frames, when all of the stack can be read and it is one to its end; else none. */
static void frames_add(const struct sw_beam *beam, const struct sw_beam_full *p,
		       struct sw_frame_sink *sink)
{
	struct sw_beam_all_processes *all = beam->processes;
	struct sw_beam_list list;
	uint64_t header;
	if (p->stop_avma % 8 != 0 || p->hend_avma <= p->stop_avma ||
	    p->hend_avma - p->stop_avma > SW_BEAM_OWN_STACK_MAX)
		return;
	size_t n = (size_t) ((p->hend_avma - p->stop_avma) / 8), end = 0;
	if (!sw_memory_read(beam->memory, p->stop_avma, all->stack, n * 8))
		return;
	while (end < n && all->stack[end] != beam->exit_avma)
		end++;
	if (end + 1 != n || beam->exit_avma == 0)
		return;
	bool in_module = sw_beam_list_read(beam->memory, &beam->found, &list) &&
			 sw_beam_module_find(beam->memory, &list, p->next_avma, &header);
	bool more = !in_module && p->current_avma != 0
			    ? sink->add(sink, p->current_avma, SW_BEAM_MFA)
			    : sink->add(sink, p->next_avma, SW_BEAM_AT_NEXT);
	for (size_t i = 0; more && i < end; i++)
		if ((all->stack[i] & TAG_MASK) == 0 && sw_beam_is_code(beam->snap, all->stack[i]))
			more = sink->add(sink, all->stack[i], SW_BEAM_AT_CALL);
}

/* The registered name of a process; NULL: none. */
static const char *registered_read(const struct sw_beam *beam, uint64_t process_avma,
				   const struct sw_beam_full *p)
{
	struct sw_beam_all_processes *all = beam->processes;
	uint8_t bytes[SW_BEAM_REGISTERED_BYTES];
	uint64_t own, term;
	if (p->registered_avma == 0 || p->registered_avma % 8 != 0 ||
	    !sw_memory_read(beam->memory, p->registered_avma, bytes, sizeof(bytes)))
		return NULL;
	memcpy(&own, bytes + REGISTERED_PROCESS, sizeof(own));
	memcpy(&term, bytes + REGISTERED_NAME, sizeof(term));
	return own == process_avma && sw_beam_atom_read(beam, term, all->registered,
							sizeof(all->registered))
		       ? all->registered
		       : NULL;
}

bool sw_beam_process_show(struct sw_beam *beam, size_t n, struct sw_runtime_task *ret,
			  struct sw_frame_sink *sink)
{
	struct sw_beam_all_processes *all = beam->processes;
	uint64_t avma = all->processes[n];
	uint8_t bytes[SW_BEAM_FULL_BYTES];
	struct sw_beam_full p;
	if (!sw_memory_read(beam->memory, avma, bytes, sizeof(bytes)))
		return true; /* it is missed, and not gone */
	if (!sw_beam_full_parse(beam->found.layout, bytes, &p))
		return false;
	sw_beam_pid_put(beam, p.id, all->pid, sizeof(all->pid));
	ret->info = (struct sw_task){
		.address_avma = avma,
		.name = all->pid,
		.state = sw_beam_state_name(p.state),
		.registered = registered_read(beam, avma, &p),
		.has_messages = true,
		.messages = p.messages,
	};
	if (sw_beam_mfa_put(beam, p.initial, all->initial, sizeof(all->initial)))
		ret->info.initial_call = all->initial;
	for (size_t i = 0; i < all->n_runs; i++)
		if (all->runs[i].process_avma == avma)
			ret->info.tid = all->runs[i].tid;
	ret->live_read = all->torn;
	if (ret->info.tid == 0 && sw_beam_is_parked(p.state))
		frames_add(beam, &p, sink);
	return true;
}
