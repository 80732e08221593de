/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads what the walk will read: the states of threads, the frames that they lead to, and the heads of the code objects of
 * these frames, which may be freed as soon as the process goes on; the interpreter's lock; for threads that wait for a lock
 * of threading, who has it; tasks, with tasks_touch.c.
 *
 * The objects that name a function are read where a thread runs, or seems to. A thread that waits in the kernel keeps
 * its code until names have been read.
 */
#include "runtimes/cpython/touch.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "runtimes/cpython/asyncio.h"
#include "runtimes/cpython/cpython.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/gil.h"
#include "runtimes/cpython/names.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/import.h"
#include "runtimes/cpython/structures/self.h"
#include "runtimes/cpython/structures/withs.h"
#include "runtimes/cpython/tasks_touch.h"
#include "runtimes/cpython/waited.h"

#include <stdlib.h>

enum {
	SEARCH_WORDS = 512, /* of the stack, at once */
	SEARCHES_MAX = 16,
	TRIES_MAX = 256,
	SAVED_WORDS = 8,
	ROUNDS_MAX = 16,   /* of a rehearsal: a thread takes some 8 */
	NAMED_MAX = 64,    /* innermost frames of a thread whose names are read */
	ROOT_BYTES = 4096, /* of a thread state, which has the outermost cframe */
};

/* A word of a thread that may be the address of what it waits for. */
struct word {
	const struct sw_thread *thread; /* borrowed from the snapshot */
	uint64_t avma;
};

/* A frame of which something is read. */
struct wanted {
	struct sw_cpython_frame frame;
	bool names, innermost;
};

/* Kept from run to run: its memory is there when the window begins. */
struct sw_cpython_touching {
	struct sw_cpython c; /* as the walk has it */
	bool rehearses;      /* nothing is known of the threads */
	bool gathers;        /* between parts_begin() and parts_end() */
	bool withs; /* with statements are wanted: a thread waits for a lock of threading, or may */
	struct sw_map64 threads;      /* thread pointer -> index of a captured thread */
	struct sw_map64 codes, named; /* code objects that were read, and whose names were */
	struct word *words;           /* owned */
	size_t n_words, words_capacity;
	struct wanted *frames; /* owned */
	size_t n_frames, frames_capacity;
};

static bool chain_create(struct sw_cpython_chain *chain)
{
	chain->partial = true;
	chain->frames_max = SW_CPYTHON_FRAMES_MAX;
	chain->frames = malloc(SW_CPYTHON_FRAMES_MAX * sizeof(*chain->frames));
	chain->groups = malloc(SW_CPYTHON_GROUPS_MAX * sizeof(*chain->groups));
	return chain->frames != NULL && chain->groups != NULL;
}

void sw_cpython_touching_destroy(struct sw_cpython_touching *t)
{
	if (t == NULL)
		return;
	free(t->c.chain.frames);
	free(t->c.chain.groups);
	free(t->c.threads);
	free(t->words);
	free(t->frames);
	free(t);
}

/* The reader's, from its first run on; NULL: no memory. */
static struct sw_cpython_touching *touching_get(struct sw_cpython_before *before)
{
	struct sw_cpython_touching *t = before->touching;
	if (t != NULL)
		return t;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	t->c.at = before->at;
	t->c.usable = true;
	if (!chain_create(&t->c.chain)) {
		sw_cpython_touching_destroy(t);
		return NULL;
	}
	before->touching = t;
	return t;
}

static void run_end(struct sw_cpython_touching *t)
{
	sw_map64_deinit(&t->threads);
	sw_map64_deinit(&t->codes);
	sw_map64_deinit(&t->named);
	sw_arena_deinit(&t->c.arena);
}

/* No memory: a thread that is not there has no frames. */
static void run_begin(struct sw_cpython_touching *t, const struct sw_snapshot *snap,
		      struct sw_memory memory)
{
	t->c.snap = snap;
	t->c.memory = t->c.copied = memory;
	t->rehearses = true;
	t->withs = false;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *thread = &snap->threads[i];
		t->rehearses &= !thread->captured;
		if (thread->captured && thread->fs_base != 0)
			(void) sw_map64_put(&t->threads, thread->fs_base, i);
	}
	sw_cpython_threads_list(&t->c);
	/* Threads of a pool wait for locks as a rule. */
	t->withs = t->rehearses && t->c.n_threads > 1;
}

static const struct sw_thread *thread_of(const struct sw_cpython_touching *t, uint64_t id)
{
	uint64_t index;
	return id != 0 && sw_map64_get(&t->threads, id, &index) ? &t->c.snap->threads[index] : NULL;
}

/* Whether the address was not in the map before. */
static bool is_new(struct sw_map64 *map, uint64_t avma)
{
	uint64_t value;
	if (sw_map64_get(map, avma, &value))
		return false;
	(void) sw_map64_put(map, avma, 0); /* else it is read again */
	return true;
}

/* ---- locks that threads wait for ---------------------------------------------------------------- */

static void word_add(struct sw_cpython_touching *t, const struct sw_thread *thread, uint64_t avma)
{
	struct word *grown =
		sw_grow(t->words, t->n_words, &t->words_capacity, 1024, sizeof(*grown));
	if (grown == NULL)
		return; /* the lock is not known */
	t->words = grown;
	t->words[t->n_words++] = (struct word){thread, avma};
}

/* False: the part before has missed something, which parts_end() reads. */
static bool part_begin(const struct sw_cpython_touching *t)
{
	return !t->gathers || t->c.memory.ops->part(t->c.memory.arg);
}

static void parts_begin(struct sw_cpython_touching *t)
{
	t->gathers = t->c.memory.ops->part != NULL;
}

/* Reads all that the parts have missed in one turn. False: they have missed nothing. */
static bool parts_end(struct sw_cpython_touching *t)
{
	bool gathered = t->gathers;
	t->gathers = false;
	return gathered && t->c.memory.ops->fetch(t->c.memory.arg);
}

/* Calls each for every thread that waits for something else than the interpreter's lock. parts: each of these is a part. */
static void waiting_each(struct sw_cpython_touching *t, bool parts,
			 void (*each)(struct sw_cpython_touching *t,
				      const struct sw_thread *thread))
{
	struct sw_runtime_wait wait;
	if (parts)
		parts_begin(t);
	for (size_t i = 0; i < t->c.n_threads; i++) {
		const struct sw_thread *thread = thread_of(t, t->c.threads[i].id);
		if (thread == NULL || !sw_cpython_is_in_futex(thread))
			continue;
		(void) part_begin(t);
		if (!sw_cpython_wait_read(&t->c, thread, &wait))
			each(t, thread);
	}
	(void) parts_end(t); /* what could not be read is not known */
}

static void stack_peek(struct sw_cpython_touching *t, const struct sw_thread *thread)
{
	uint64_t word;
	for (int last = 0; last < 2; last++) { /* it may be in two pages */
		(void) part_begin(t);
		(void) sw_memory_peek(t->c.memory, sw_cpython_waited_stack(&t->c, thread, last),
				      &word, sizeof(word)); /* wanted for its reads */
	}
}

static void words_find(struct sw_cpython_touching *t, const struct sw_thread *thread)
{
	struct sw_cpython_waited waited;
	uint64_t words[SW_CPYTHON_WAITED_WORDS], ident;
	size_t n = sw_cpython_waited_words(&t->c, thread, words);
	(void) sw_cpython_joined_find(&t->c, thread, &ident); /* wanted for its reads, as below */
	for (size_t i = 0; i < n; i++) {
		(void) part_begin(t);
		(void) sw_cpython_waited_at(&t->c, thread, words[i], &waited);
		word_add(t, thread, words[i]);
	}
}

static void joined_touch(struct sw_cpython_touching *t, const struct sw_thread *thread)
{
	uint64_t ident;
	(void) sw_cpython_joined_find(&t->c, thread, &ident); /* wanted for its reads */
}

/* Stacks, then what they lead to, of all threads together: a turn costs more than reading once more what is there. */
static void waits_touch(struct sw_cpython_touching *t)
{
	struct sw_cpython_waited waited;
	t->n_words = 0;
	waiting_each(t, true, stack_peek);
	waiting_each(t, true, words_find);
	for (size_t i = 0; i < t->n_words; i++)
		t->withs |=
			sw_cpython_waited_at(&t->c, t->words[i].thread, t->words[i].avma, &waited);
	waiting_each(t, false, joined_touch);
}

/* ---- frames ------------------------------------------------------------------------------------- */

static bool has_group(const struct sw_cpython_chain *chain, uint64_t loop_avma)
{
	for (size_t i = 0; i < chain->n_groups; i++)
		if (chain->groups[i].loop_avma == loop_avma)
			return true;
	return false;
}

/*
 * The innermost activation does not lead to the next one yet, whose cframe is somewhere above on the
 * stack. All that may be it is read until it is one that was found already; the walk tells which one
 * is it.
 */
static void outer_touch(struct sw_cpython *c, uint64_t thread_avma, uint64_t end)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	uint64_t words[SEARCH_WORDS], from = c->chain.innermost_avma + l->cframe_previous + 8;
	size_t tried = 0;
	for (size_t n = 0; n < SEARCHES_MAX && from < end; n++, from += sizeof(words)) {
		size_t count = end - from < sizeof(words) ? (end - from) / 8 : SEARCH_WORDS;
		if (!sw_memory_peek(c->memory, from, words, count * 8))
			return; /* the frames further out are read later, and marked */
		for (size_t i = 0; i < count; i++) {
			uint64_t cframe = from + i * 8 - l->cframe_previous;
			bool up = words[i] > cframe && words[i] < end;
			bool root = words[i] - thread_avma < ROOT_BYTES;
			if (words[i] % 8 != 0 || !(up || root))
				continue;
			if (has_group(&c->chain, cframe) || ++tried == TRIES_MAX)
				return;
			(void) sw_cpython_cframes_add(&c->at, c->memory, cframe, NULL, &c->chain);
		}
	}
}

/*
 * 3.8 to 3.10: the frame that the innermost activation is about to link, or has left, is in a register,
 * or was one in the caller of the function that runs.
 */
static void left_touch(const struct sw_cpython *c, const struct sw_regs *regs,
		       const struct sw_map *stack)
{
	uint64_t values[SW_REGS_MAX + SAVED_WORDS], innermost = c->chain.frames[0].avma;
	size_t n = 0;
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		n += sw_regs_get(regs, i, &values[n]);
	if (sw_memory_peek(c->memory, regs->sp_avma, values + n, SAVED_WORDS * sizeof(*values)))
		n += SAVED_WORDS;
	for (size_t i = 0; i < n; i++)
		if (values[i] < stack->start_avma || values[i] >= stack->end_avma)
			(void) sw_cpython_frame_left(&c->at, c->memory, values[i], innermost);
}

/* The thread was interrupted between two states of its chain. */
static void unlinked_touch(struct sw_cpython *c, const struct sw_cpython_thread *state,
			   const struct sw_thread *thread)
{
	const struct sw_cpython_chain *chain = &c->chain;
	const struct sw_map *stack = sw_snapshot_map(c->snap, thread->regs.sp_avma);
	uint64_t pc = thread->regs.pc_avma;
	if (chain->innermost_avma != 0 &&
	    (chain->n_groups == 0 || chain->groups[0].loop_avma != chain->innermost_avma))
		outer_touch(c, state->avma, stack != NULL ? stack->end_avma : 0);
	if (c->at.layout.pairing == SW_CPYTHON_BY_CONTENT && chain->n_frames > 0 && stack != NULL &&
	    pc >= c->at.place->start_avma && pc < c->at.place->end_avma)
		left_touch(c, &thread->regs, stack);
}

/* The exit of a with statement, by which lock.c knows who is in its body. */
static void with_touch(void *arg, uint64_t object_avma, uint64_t exit_avma)
{
	const struct sw_cpython *c = arg;
	(void) object_avma;
	if (exit_avma != 0) /* else: not known */
		(void) sw_cpython_is_exit(&c->at, c->memory, c->memory, exit_avma);
}

static void withs_touch(struct sw_cpython *c, const struct sw_cpython_frame *frame)
{
	uint64_t self;
	(void) sw_cpython_withs_each(&c->at, c->memory, frame, with_touch, c); /* else: not known */
	(void) sw_cpython_self_read(&c->at, c->memory, frame, &self); /* of a method of threading */
}

/* The code object of a frame, with its names if they are wanted, and the with statements in which the frame is. */
static void frame_touch(struct sw_cpython_touching *t, const struct wanted *wanted)
{
	struct sw_cpython *c = &t->c;
	const struct sw_cpython_frame *frame = &wanted->frame;
	struct sw_cpython_import import;
	struct sw_description said;
	struct sw_cpython_code code;
	uint64_t start;
	if (sw_cpython_code_read(&c->at, c->memory, frame->code_avma, &code)) {
		(void) sw_cpython_code_start(&c->at, c->memory, &code, frame, &start);
		if (wanted->names)
			(void) sw_cpython_code_describe(c, &code, 0, &said);
	} /* else: it gets no name */
	if (t->withs)
		withs_touch(c, frame);
	if (t->withs && wanted->innermost)
		(void) sw_cpython_import_read(&c->at, c->memory, frame,
					      &import); /* wanted for its reads */
}

/* Frames of the chain of which something was not read yet. */
static void frames_add(struct sw_cpython_touching *t, bool names, bool innermost)
{
	const struct sw_cpython_chain *chain = &t->c.chain;
	bool copies = t->c.at.layout.code_copies != SW_CPYTHON_NONE; /* each frame has its own */
	for (size_t i = 0; i < chain->n_frames; i++) {
		const struct sw_cpython_frame *frame = &chain->frames[i];
		bool named = names && i < NAMED_MAX && is_new(&t->named, frame->code_avma);
		if (!is_new(&t->codes, frame->code_avma) && !named && !copies && !t->withs)
			continue;
		struct wanted *grown =
			sw_grow(t->frames, t->n_frames, &t->frames_capacity, 1024, sizeof(*grown));
		if (grown == NULL)
			return; /* they get no names */
		t->frames = grown;
		t->frames[t->n_frames++] = (struct wanted){.frame = *frame,
							   .names = named,
							   .innermost = innermost && i == 0};
	}
}

static void number_touch(const struct sw_cpython *c, const struct sw_cpython_thread *state)
{
	uint64_t word;
	if (c->at.layout.thread_number != SW_CPYTHON_NONE) /* for the note; else not there */
		(void) sw_memory_u64(c->memory, state->avma + c->at.layout.thread_number, &word);
}

static void state_touch(struct sw_cpython_touching *t, const struct sw_cpython_thread *state)
{
	struct sw_cpython *c = &t->c;
	const struct sw_thread *thread = thread_of(t, state->id);
	if (thread == NULL)
		return;
	number_touch(c, state);
	sw_cpython_chain_reset(&c->chain);
	sw_cpython_chain_add(&c->at, c->memory, state->avma, &thread->regs, &c->chain);
	unlinked_touch(c, state, thread);
	t->n_frames = 0;
	frames_add(t, thread->syscall < 0, true);
	for (size_t i = 0; i < t->n_frames; i++)
		frame_touch(t, &t->frames[i]);
}

/* ---- the rehearsal ------------------------------------------------------------------------------ */

/* A thread state whose frames are not all known. */
struct begun {
	const struct sw_cpython_thread *state; /* borrowed */
	uint64_t from_avma;                    /* where its chain goes on; 0: at the beginning */
};

/* The chain of a thread state, as far as it is there. False: it is not whole yet. */
static bool chain_rehearse(struct sw_cpython_touching *t, struct begun *b)
{
	struct sw_cpython *c = &t->c;
	(void) part_begin(t);
	sw_cpython_chain_reset(&c->chain);
	if (b->from_avma == 0) {
		number_touch(c, b->state);
		sw_cpython_chain_add(&c->at, c->memory, b->state->avma, NULL, &c->chain);
	} else {
		sw_cpython_chain_go_on(&c->at, c->memory, b->from_avma, &c->chain);
	}
	bool whole = part_begin(t);
	frames_add(t, sw_cpython_gil_holder(c, b->state->interp_avma) == b->state->avma,
		   b->from_avma == 0);
	if (!whole && c->chain.n_frames > 0 && c->chain.missed_avma != 0)
		b->from_avma = c->chain.missed_avma;
	return whole;
}

/* Threads and frames do not depend on each other: what all of them miss is read in one turn. Returns how many threads are
 * left. */
static size_t round_rehearse(struct sw_cpython_touching *t, struct begun *begun, size_t n)
{
	size_t left = 0, left_frames = 0;
	for (size_t i = 0; i < n; i++)
		if (!chain_rehearse(t, &begun[i]))
			begun[left++] = begun[i];
	for (size_t i = 0; i < t->n_frames; i++) {
		(void) part_begin(t);
		frame_touch(t, &t->frames[i]);
		if (!part_begin(t))
			t->frames[left_frames++] = t->frames[i];
	}
	t->n_frames = left_frames;
	return left;
}

/* Before the window nothing is known of the threads but their states. Who has the interpreter's lock runs. */
static void states_rehearse(struct sw_cpython_touching *t)
{
	size_t n = t->c.n_threads;
	struct begun *begun = malloc((n + 1) * sizeof(*begun));
	if (begun == NULL)
		return; /* nothing is foreseen */
	for (size_t i = 0; i < n; i++)
		begun[i] = (struct begun){.state = &t->c.threads[i]};
	t->c.chain.partial = false; /* the rest of an activation follows */
	t->n_frames = 0;
	for (size_t round = 0; round < ROUNDS_MAX; round++) {
		parts_begin(t);
		n = round_rehearse(t, begun, n);
		if (!parts_end(t))
			break;
	}
	/* The rest is read as it is missed. */
	for (size_t i = 0; i < n; i++)
		(void) chain_rehearse(t, &begun[i]);
	for (size_t i = 0; i < t->n_frames; i++)
		frame_touch(t, &t->frames[i]);
	t->c.chain.partial = true;
	free(begun);
}

/* ---- tasks -------------------------------------------------------------------------------------- */

static bool peek(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_memory *memory = arg;
	return sw_memory_peek(*memory, avma, buffer, length);
}

/* The sets are found once: modules have them as long as the process lives. What leads to them the walk reads again. */
static void sets_find(struct sw_cpython_before *before, struct sw_memory memory)
{
	static const struct sw_memory_ops ops = {.read = peek};
	if (before->asyncio.why == NULL && before->asyncio.n_sets == 0)
		sw_cpython_asyncio_find(&before->asyncio, (struct sw_memory){&ops, &memory});
}

static void tasks_touch(struct sw_cpython_before *before, const struct sw_cpython_touching *t)
{
	const struct sw_snapshot_priv *priv = t->c.snap->priv;
	/* Waits count only where they are of one instant. */
	if (!before->tasks || (!priv->tasks && !t->rehearses && !priv->hooks_whole))
		return;
	sets_find(before, t->c.memory);
	if (before->asyncio.why == NULL)
		sw_cpython_tasks_touch(&before->asyncio, t->c.memory, !priv->tasks);
}

void sw_cpython_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory)
{
	struct sw_cpython_before *before = found;
	struct sw_cpython_touching *t = touching_get(before);
	if (t == NULL)
		return; /* the walk reads the running process */
	run_begin(t, snap, memory);
	for (size_t i = 0; i < t->c.n_threads; i++)
		if (i == 0 || t->c.threads[i].interp_avma != t->c.threads[i - 1].interp_avma)
			sw_cpython_gil_touch(&t->c, t->c.threads[i].interp_avma);
	if (snap->priv->hooks_whole) /* else waits count for nothing */
		waits_touch(t);
	if (t->rehearses)
		states_rehearse(t);
	for (size_t i = 0; i < t->c.n_threads && !t->rehearses; i++)
		state_touch(t, &t->c.threads[i]);
	tasks_touch(before, t); /* last: what threads need comes first */
	run_end(t);
}
