/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_COPYING_BPF_H
#define SW_ITERATE_COPYING_BPF_H

/*
 * Copies the current thread: registers, stack up to its end, and what the recipe of its process says
 * (iterate/sampled.h). It knows no runtime. All is of one instant for the thread itself, which does nothing else
 * meanwhile. For programs that run at events; each of them has maps of its own.
 *
 *	taking_begin, sample_make, taking_end
 *
 * Functions that are not static are verified once each, and not for each way into them: a hundredth of the
 * instructions that the verifier looks at otherwise.
 */
#include "iterate/bpf/kernel.bpf.h"
#include "iterate/bpf/uprobes.bpf.h"
#include "iterate/called.h"
#include "iterate/sampled.h"

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

enum {
	OUT_MASK = 0xffff,
	PART_MASK = 0x7fff,
	PAGE = 4096,
	STACK_PAGES = 9, /* of SW_SAMPLED_PART_MAX, wherever it begins */
	RED_ZONE = 128,  /* below sp: SW_ARCH_RED_ZONE */
};

static const uint64_t POINTER_MASK = ~UINT64_C(7);
static const uint64_t STACK_FAR = UINT64_C(1) << 32; /* no stack is larger */

/* The buffers that one sample is made in. Too large for a value of a per-CPU map: an array, by the number of the CPU. */
struct scratch {
	uint64_t busy;
	uint64_t r[SW_SAMPLED_REGISTERS];
	uint64_t thread_pointer;
	uint64_t node;                    /* of the list that the step is at; 0: it has not begun */
	uint64_t span_begin, span_end;    /* what the last SPAN has copied */
	uint64_t met[SW_SAMPLED_MET_MAX]; /* what was copied behind nodes, or that a step has met */
	uint32_t step, left;              /* the step, and nodes that it may still look at */
	uint32_t n_faults;
	uint32_t at, n_parts, flags;
	uint32_t n_looked; /* by a program that counts what it looks at, of any event */
	/* A part may begin at any offset that OUT_MASK leaves, as far as the verifier of Linux 6.1 knows. */
	uint8_t out[OUT_MASK + 1 + sizeof(struct sw_sampled_part) + PART_MASK + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as CPUs: iterate/programs.c */
	__type(key, uint32_t);
	__type(value, struct scratch);
} sw_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sw_sampled_setup);
} sw_setup SEC(".maps");

/* By process, in the reader's pid namespace: the number of its recipe. Who is not there is not sampled. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* iterate/programs.c */
	__type(key, uint32_t);
	__type(value, uint32_t);
} sw_processes SEC(".maps");

/* The reader writes here while samples are taken: a recipe may be one thing in the beginning and another one later. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* iterate/programs.c */
	__type(key, uint32_t);
	__type(value, struct sw_sampled_recipe);
} sw_recipes SEC(".maps");

/* By CPU, and not of type PERCPU_ARRAY, so that the reader maps it and makes no system call. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* as many as CPUs: iterate/programs.c */
	__type(key, uint32_t);
	__type(value, struct sw_sampled_counts);
} sw_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* iterate/programs.c */
} sw_ring SEC(".maps");

/* ---- parts ----------------------------------------------------------------------------------- */

enum { COPIED = 0, ABSENT = 1, FULL = 2 };

/* Appends bytes of the process, all of them or none. */
int piece(struct scratch *s, uint64_t avma, uint32_t bytes, uint32_t kind)
{
	if (s == NULL)
		return ABSENT;
	uint32_t at = s->at, padded = (bytes + 7) & ~UINT32_C(7);
	if (bytes == 0 || bytes > SW_SAMPLED_PART_MAX)
		return ABSENT;
	if (at > SW_SAMPLED_BYTES_MAX - sizeof(struct sw_sampled_part) - padded) {
		s->flags |= SW_SAMPLED_CUT;
		return FULL;
	}
	uint8_t *to = s->out + (at & OUT_MASK);
	struct sw_sampled_part *part = (struct sw_sampled_part *) to;
	/* The padding is zero: the buffer has bytes of earlier samples. */
	*(uint64_t *) (s->out + ((at + sizeof(*part) + padded - 8) & OUT_MASK)) = 0;
	if (bpf_probe_read_user(to + sizeof(*part), bytes & PART_MASK, (const void *) avma) != 0)
		return ABSENT;
	part->avma = avma;
	part->bytes = bytes;
	part->kind = kind;
	s->at = at + sizeof(*part) + padded;
	s->n_parts++;
	return COPIED;
}

/* The part of [begin, end) that is on page number page, counted from that of begin. */
static __always_inline int page_copy(struct scratch *s, uint64_t begin, uint64_t end, uint32_t page)
{
	uint64_t from = page == 0 ? begin : (begin & -(uint64_t) PAGE) + (uint64_t) page * PAGE;
	uint64_t to = (from & -(uint64_t) PAGE) + PAGE;
	if (from >= end)
		return FULL;
	if (to > end)
		to = end;
	return piece(s, from, (uint32_t) (to - from), SW_SAMPLED_KIND_STACK);
}

/* A page that is not there is left out: it was never written to. Where the end of the stack is not known,
 * it ends there. */
int stack_pages(struct scratch *s, uint64_t begin, uint64_t end)
{
	if (s == NULL)
		return ABSENT;
	for (uint32_t i = 0; i < STACK_PAGES; i++) {
		int how = page_copy(s, begin, end, i);
		if (how == FULL)
			break;
		if (how == ABSENT && (s->flags & SW_SAMPLED_STACK_OPEN))
			break;
		if (how == ABSENT)
			s->flags |= SW_SAMPLED_STACK_HOLES;
	}
	return COPIED;
}

/*
 * A stack ends at the thread's own data, which the C library has above it; that of the first thread where the
 * kernel began it. Other ones, of coroutines and signal handlers, are read as far as they go.
 */
static __always_inline uint64_t stack_end(const struct task_struct *task, uint64_t sp,
					  uint64_t thread_pointer)
{
	const struct mm_struct *mm = pointer_at(&task->mm);
	uint64_t first = word_at(&mm->start_stack), end = 0;
	if (sp < first && first - sp < STACK_FAR)
		end = first;
	/* The nearer one: the stacks of other threads may be less than STACK_FAR below the first one. */
	if (sp < thread_pointer && thread_pointer - sp < STACK_FAR &&
	    (end == 0 || thread_pointer < end))
		end = thread_pointer;
	return end;
}

/*
 * From the red zone on, where a function that is about to return has left its caller's registers. Where the end of the
 * stack is not known, only as far as it is on the page of sp: an absent one below would be taken for the end.
 */
static __always_inline uint64_t stack_begin(uint64_t sp, uint64_t end)
{
	uint64_t page = sp & -(uint64_t) PAGE;
	return end == 0 && sp - page < RED_ZONE ? page : (sp - RED_ZONE) & ~UINT64_C(7);
}

static __always_inline void stack_copy(struct scratch *s, uint64_t sp, uint64_t end, uint32_t max)
{
	uint64_t from = stack_begin(sp, end), to = end;
	if (max > SW_SAMPLED_PART_MAX)
		max = SW_SAMPLED_PART_MAX;
	if (end == 0)
		s->flags |= SW_SAMPLED_STACK_OPEN;
	if (end == 0 || end - from > max) {
		to = from + max;
		if (end != 0)
			s->flags |= SW_SAMPLED_STACK_CUT;
	}
	if (end == 0 || piece(s, from, (uint32_t) (to - from), SW_SAMPLED_KIND_STACK) == ABSENT)
		(void) stack_pages(s, from, to);
}

/*
 * The part of a stack that stack_copy() has not copied, after the recipe, whose parts go before it: as much as is wanted,
 * and as there is space for.
 */
int stack_rest(struct scratch *s, uint64_t from, uint64_t end, uint32_t max)
{
	if (s == NULL || (s->flags & SW_SAMPLED_STACK_CUT) == 0 || max <= SW_SAMPLED_PART_MAX)
		return ABSENT;
	uint64_t most = max - SW_SAMPLED_PART_MAX;
	uint32_t at = s->at, space = SW_SAMPLED_BYTES_MAX - sizeof(struct sw_sampled_part);
	from += SW_SAMPLED_PART_MAX;
	if (at >= space || from >= end)
		return FULL;
	if (most > space - at)
		most = space - at;
	if (most > SW_SAMPLED_PART_MAX)
		most = SW_SAMPLED_PART_MAX;
	most &= ~UINT64_C(7);
	if (end - from <= most) {
		most = end - from;
		s->flags &= ~SW_SAMPLED_STACK_CUT;
	}
	if (piece(s, from, (uint32_t) most, SW_SAMPLED_KIND_STACK) == ABSENT)
		(void) stack_pages(s, from, from + most);
	return COPIED;
}

/* ---- recipes --------------------------------------------------------------------------------- */

static __always_inline uint64_t user_word(struct scratch *s, uint64_t avma)
{
	uint64_t word = 0;
	if (bpf_probe_read_user(&word, sizeof(word), (const void *) avma) != 0) {
		s->flags |= SW_SAMPLED_FAULT;
		s->n_faults++;
		return 0;
	}
	return word;
}

/* A piece that a recipe asks for: that it is absent is said of the sample. */
static __always_inline int asked_piece(struct scratch *s, uint64_t avma, uint32_t bytes,
				       uint32_t kind)
{
	int how = piece(s, avma, bytes, kind);
	if (how == ABSENT) {
		s->flags |= SW_SAMPLED_FAULT;
		s->n_faults++;
	}
	return how;
}

/* Copies a piece of unknown length: less than is asked for may be there. */
static __always_inline void copy_part(struct scratch *s, uint64_t avma, uint32_t bytes,
				      uint32_t kind)
{
	uint32_t here = PAGE - (uint32_t) (avma & (PAGE - 1));
	int how = piece(s, avma, bytes, kind);
	if (how == ABSENT && here < bytes)
		how = piece(s, avma, here, kind);
	if (how == ABSENT) {
		s->flags |= SW_SAMPLED_FAULT;
		s->n_faults++;
	}
}

/* Whether an address was met before. It has been from now on. */
static __always_inline bool is_met(struct scratch *s, uint64_t avma)
{
	uint32_t slot = (uint32_t) (avma >> 4 ^ avma >> 10) % SW_SAMPLED_MET_MAX;
	if (avma == 0 || s->met[slot] == avma)
		return true;
	s->met[slot] = avma;
	return false;
}

/* Copies what a node leads to, once for nodes that follow one another. */
static __always_inline void second_copy(struct scratch *s, uint64_t avma, uint32_t bytes,
					uint32_t kind)
{
	if (!is_met(s, avma))
		(void) asked_piece(s, avma, bytes, kind);
}

static __always_inline uint64_t out_word(struct scratch *s, uint32_t at)
{
	return *(uint64_t *) (s->out + (at & OUT_MASK));
}

/* Copies a node of a chain; s->node is the one after it then; 0: there is none. */
int chain_turn(struct scratch *s, const struct sw_sampled_step *step)
{
	if (s == NULL || step == NULL)
		return 0;
	uint64_t avma = s->node;
	uint32_t at = s->at, n_parts = s->n_parts;
	uint32_t bytes = step->chain.node_bytes;
	int how = asked_piece(s, avma, bytes, step->kind);
	s->node = 0;
	if (avma == s->r[step->other % SW_SAMPLED_REGISTERS])
		s->r[step->to % SW_SAMPLED_REGISTERS] = 1;
	if (how != COPIED)
		return 0;
	uint32_t content = at + sizeof(struct sw_sampled_part);
	uint64_t next = out_word(s, content + step->chain.next) & POINTER_MASK;
	uint64_t second = out_word(s, content + step->chain.second) & POINTER_MASK;
	if (avma >= s->span_begin && avma + bytes <= s->span_end) {
		s->at = at;
		s->n_parts = n_parts;
	}
	if (step->chain.second_bytes != 0)
		second_copy(s, second, step->chain.second_bytes, step->kind);
	s->node = next;
	return 0;
}

/* Compares a node of a list that is searched. */
int search_turn(struct scratch *s, const struct sw_sampled_step *step)
{
	if (s == NULL || step == NULL)
		return 0;
	uint64_t avma = s->node;
	if (user_word(s, avma + step->list.key) == s->r[step->other % SW_SAMPLED_REGISTERS]) {
		s->r[step->to % SW_SAMPLED_REGISTERS] = avma;
		s->node = 0;
		return 0;
	}
	s->node = user_word(s, avma + step->list.next);
	return 0;
}

/* True: the step is done. */
static __always_inline bool list_turn(struct scratch *s, const struct sw_sampled_step *step,
				      bool search)
{
	if (s->left == 0) { /* it begins */
		s->node = s->r[step->from % SW_SAMPLED_REGISTERS];
		s->left = search ? step->list.max : step->number;
		s->r[step->to % SW_SAMPLED_REGISTERS] = 0;
	}
	if (s->node != 0 && s->left != 0) {
		s->left--;
		if (search)
			(void) search_turn(s, step);
		else
			(void) chain_turn(s, step);
	}
	if (s->node != 0 && s->left != 0)
		return false;
	if (s->node != 0)
		s->flags |= SW_SAMPLED_CUT;
	s->left = 0;
	return true;
}

int span_copy(struct scratch *s, const struct sw_sampled_step *step)
{
	if (s == NULL || step == NULL)
		return 0;
	uint64_t begin = s->r[step->from % SW_SAMPLED_REGISTERS];
	uint64_t end = s->r[step->other % SW_SAMPLED_REGISTERS] + step->value;
	uint32_t max = step->number > SW_SAMPLED_PART_MAX ? SW_SAMPLED_PART_MAX : step->number;
	s->span_begin = s->span_end = 0;
	if (begin >= end)
		return 0;
	if (end - begin > max && step->what == SW_SAMPLED_FIRST)
		end = begin + max;
	else if (end - begin > max)
		begin = end - max;
	if (asked_piece(s, begin, (uint32_t) (end - begin), step->kind) == COPIED) {
		s->span_begin = begin;
		s->span_end = end;
	}
	return 0;
}

static __always_inline uint64_t user_register(struct scratch *s, uint32_t number)
{
	const struct sw_sampled_head *head = (const struct sw_sampled_head *) s->out;
	return number < SW_ITERATE_REGS ? head->regs[number] : 0;
}

/* 0: another one follows. */
int one_turn(struct scratch *s, const struct sw_sampled_recipe *recipe)
{
	if (s == NULL || recipe == NULL)
		return 1;
	uint32_t n = s->step;
	if (n >= recipe->n_steps || n >= SW_SAMPLED_STEPS_MAX)
		return 1;
	const struct sw_sampled_step *step = &recipe->steps[n];
	uint32_t next = n + 1, to = step->to % SW_SAMPLED_REGISTERS;
	uint64_t from = s->r[step->from % SW_SAMPLED_REGISTERS];
	switch (step->what) {
	case SW_SAMPLED_SET: s->r[to] = step->value; break;
	case SW_SAMPLED_THREAD: s->r[to] = s->thread_pointer + step->value; break;
	case SW_SAMPLED_MOVE: s->r[to] = from + step->value; break;
	case SW_SAMPLED_LOAD: s->r[to] = user_word(s, from + step->value); break;
	case SW_SAMPLED_JUMP: next = step->number; break;
	case SW_SAMPLED_ZERO:
		if (from == 0)
			next = step->number;
		break;
	case SW_SAMPLED_MASK: s->r[to] = from & step->value; break;
	case SW_SAMPLED_SUM:
		s->r[to] = from + s->r[step->other % SW_SAMPLED_REGISTERS] * step->value;
		break;
	case SW_SAMPLED_MET:
		if (is_met(s, from))
			next = step->number;
		break;
	case SW_SAMPLED_COPY: copy_part(s, from + step->value, step->number, step->kind); break;
	case SW_SAMPLED_USER: s->r[to] = user_register(s, step->number); break;
	case SW_SAMPLED_BELOW:
		if (from < s->r[step->other % SW_SAMPLED_REGISTERS])
			next = step->number;
		break;
	case SW_SAMPLED_SPAN:
	case SW_SAMPLED_FIRST: (void) span_copy(s, step); break;
	case SW_SAMPLED_SEARCH:
		if (!list_turn(s, step, true))
			next = n;
		break;
	case SW_SAMPLED_CHAIN:
		if (!list_turn(s, step, false))
			next = n;
		break;
	default: return 1;
	}
	s->step = next;
	return 0;
}

struct cook {
	struct scratch *s;
	const struct sw_sampled_recipe *recipe;
};

static long turn(uint32_t index, void *arg)
{
	struct cook *cook = arg;
	bool last = index == SW_SAMPLED_TURNS_MAX - 1 || cook->s->n_faults > SW_SAMPLED_FAULTS_MAX;
	if (last)
		cook->s->flags |= SW_SAMPLED_CUT;
	return last || one_turn(cook->s, cook->recipe) != 0;
}

/* ---- a sample -------------------------------------------------------------------------------- */

/* The number of a thread in the namespace with that inode; 0: it is not seen there. */
static __always_inline uint32_t number_in(const struct task_struct *task, uint32_t namespace)
{
	enum { LEVELS_MAX = 8 };
	static const uint32_t FIRST_NAMESPACE =
		0xeffffffc; /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
	/* Most readers are in the first one, and each read of the kernel's memory is a hundredth of a sample. */
	if (namespace == FIRST_NAMESPACE)
		return number_at(&task->pid);
	const struct pid *pid = pointer_at(&task->thread_pid);
	uint32_t level = number_at(&pid->level);
	for (uint32_t i = 0; i < LEVELS_MAX && i <= level; i++) {
		const struct pid_namespace *ns = pointer_at(&pid->numbers[i].ns);
		if (number_at(&ns->ns.inum) == namespace)
			return number_at(&pid->numbers[i].nr);
	}
	return 0;
}

static __always_inline void scratch_begin(struct scratch *s)
{
	s->n_parts = s->flags = s->n_looked = 0;
	s->at = sizeof(struct sw_sampled_head);
}

/* Clears members that only recipes use: most samples have none. */
static __always_inline void cook_begin(struct scratch *s)
{
	for (uint32_t i = 0; i < SW_SAMPLED_REGISTERS; i++)
		s->r[i] = 0;
	for (uint32_t i = 0; i < SW_SAMPLED_MET_MAX; i++)
		s->met[i] = 0;
	s->node = s->span_begin = s->span_end = 0;
	s->n_faults = s->step = s->left = 0;
}

/* A part of so many bytes that is no memory of the process; NULL: there is no space. */
static __always_inline uint64_t *part_begin(struct scratch *s, uint32_t bytes, uint32_t kind)
{
	uint32_t at = s->at;
	if (at > SW_SAMPLED_BYTES_MAX - sizeof(struct sw_sampled_part) - bytes)
		return NULL;
	struct sw_sampled_part *part = (struct sw_sampled_part *) (s->out + (at & OUT_MASK));
	part->avma = 0;
	part->bytes = bytes;
	part->kind = kind;
	s->at = at + sizeof(*part) + bytes;
	s->n_parts++;
	return (uint64_t *) (s->out + ((at + sizeof(*part)) & OUT_MASK));
}

/* Instructions that are probed and executed elsewhere: MAX_UINSN_BYTES, arch/x86/include/asm/uprobes.h. */
enum { PROBED_BYTES = 16 };

/*
 * Changes that probes of functions made to the current thread: where returns are probed, by whomever, the stack has addresses
 * of the kernel's own, and an instruction that is probed is executed elsewhere.
 */
int probes_put(struct scratch *s)
{
	enum { BYTES = sizeof(struct sw_called_replaced) };
	if (s == NULL)
		return 0;
	const struct uprobe_task *utask = probed_task(bpf_get_current_task_btf());
	if (utask == NULL)
		return 0;
	struct sw_sampled_head *head = (struct sw_sampled_head *) s->out;
	if (number_at(&utask->state) != RUNS) {
		uint64_t off = head->regs[REGS_PC] - word_at(&utask->xol_vaddr);
		if (off <= PROBED_BYTES)
			head->regs[REGS_PC] = word_at(&utask->vaddr) + off;
	}
	const struct return_instance *at = pointer_at(&utask->return_instances);
	uint32_t begin = s->at, n = 0;
	if (at == NULL || begin > SW_SAMPLED_BYTES_MAX - sizeof(struct sw_sampled_part) -
					  SW_ITERATE_RETURNS_MAX * BYTES)
		return 0;
	for (; n < SW_ITERATE_RETURNS_MAX && at != NULL; n++) {
		struct sw_called_replaced *to =
			(struct sw_called_replaced *) (s->out +
						       ((begin + sizeof(struct sw_sampled_part) +
							 n * BYTES) &
							OUT_MASK));
		to->at_avma = word_at(&at->stack);
		to->is_avma = word_at(&at->orig_ret_vaddr);
		at = pointer_at(&at->next);
	}
	(void) part_begin(s, n * BYTES, SW_CALLED_RETURNS); /* there is space */
	return 0;
}

static __always_inline void sample_make(struct scratch *s, const struct task_struct *task,
					const struct sw_sampled_setup *setup,
					const struct sw_sampled_recipe *recipe, bool in_kernel)
{
	struct sw_sampled_head *head = (struct sw_sampled_head *) s->out;
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	head->time_ns = bpf_ktime_get_ns();
	head->exec_id = task->self_exec_id;
	head->generation = recipe->generation;
	registers_read(user, &task->thread, head->regs);
	__builtin_memcpy(head->comm, task->comm, sizeof(head->comm));
	(void) probes_put(s);
	s->thread_pointer = task->thread.fsbase;
	uint64_t sp = user->sp;
	head->stack_end_avma = stack_end(task, sp, s->thread_pointer);
	if (in_kernel)
		s->flags |= SW_SAMPLED_IN_KERNEL;
	stack_copy(s, sp, head->stack_end_avma, setup->stack_bytes);
	if (recipe->n_steps > 0) {
		struct cook cook = {s, recipe};
		s->flags |= SW_SAMPLED_RECIPE;
		cook_begin(s);
		(void) bpf_loop(SW_SAMPLED_TURNS_MAX, turn, &cook, 0);
	}
	(void) stack_rest(s, stack_begin(sp, head->stack_end_avma), head->stack_end_avma,
			  setup->stack_bytes);
}

/* The copying of one thread: the buffer, whose it is, and what counts it. */
struct taking {
	struct scratch *s;
	struct sw_sampled_counts *counts;
	const struct task_struct *task;
	uint32_t pid;      /* of the process, in the reader's namespace */
	uint64_t start_ns; /* when it began */
	const struct sw_sampled_setup *setup;
	const struct sw_sampled_recipe *recipe;
	bool wakes; /* the reader, who else comes when it likes */
};

static __always_inline bool buffer_take(struct taking *t)
{
	if (__sync_lock_test_and_set(&t->s->busy, 1) != 0) {
		t->counts->n_nested++;
		return false;
	}
	scratch_begin(t->s);
	return true;
}

/* False: the maps are not there. */
static __always_inline bool taking_maps(struct taking *t)
{
	uint32_t zero = 0, cpu = bpf_get_smp_processor_id();
	t->task = bpf_get_current_task_btf();
	t->counts = bpf_map_lookup_elem(&sw_counts, &cpu);
	t->setup = bpf_map_lookup_elem(&sw_setup, &zero);
	t->s = bpf_map_lookup_elem(&sw_scratch, &cpu);
	t->pid = 0;
	t->start_ns = 0;
	t->recipe = NULL;
	t->wakes = false;
	return t->counts != NULL && t->setup != NULL && t->s != NULL;
}

/* False: the thread is of the kernel, which is counted. */
static __always_inline bool taking_process(struct taking *t)
{
	if (pointer_at(&t->task->mm) == NULL) {
		t->counts->n_kernel++;
		return false;
	}
	const struct task_struct *leader = pointer_at(&t->task->group_leader);
	t->pid = number_in(leader, t->setup->pid_namespace);
	t->start_ns = word_at(&leader->start_boottime);
	return true;
}

/* The recipe of that number, and the buffer. number: NULL: the process is not sampled. */
static __always_inline bool taking_recipe(struct taking *t, const uint32_t *number)
{
	t->recipe = number != NULL ? bpf_map_lookup_elem(&sw_recipes, number) : NULL;
	if (t->recipe == NULL) {
		t->counts->n_foreign++;
		return false;
	}
	return buffer_take(t);
}

/* False: the thread is not copied, and counted as such. True: the buffer is empty, and ours until taking_end() or
 * taking_drop(). foreign: only a record without a thread, from any process. */
static __always_inline bool taking_begin(struct taking *t, bool foreign)
{
	if (!taking_maps(t))
		return false;
	if (foreign)
		return buffer_take(t);
	return taking_process(t) && taking_recipe(t, bpf_map_lookup_elem(&sw_processes, &t->pid));
}

/* Nothing is written. */
static __always_inline void taking_drop(struct taking *t)
{
	t->s->busy = 0;
}

/* The head says whose the record is, and how large. */
static __always_inline void taking_head(struct taking *t)
{
	struct sw_sampled_head *head = (struct sw_sampled_head *) t->s->out;
	head->pid = t->pid;
	head->tid = number_in(t->task, t->setup->pid_namespace);
	head->start_ns = t->start_ns;
	head->n_parts = t->s->n_parts;
	head->flags = t->s->flags;
	head->bytes = t->s->at;
}

/* Writes what was made. False: there was no space for it. */
static __always_inline bool taking_end(struct taking *t)
{
	taking_head(t);
	uint64_t begin_ns = ((const struct sw_sampled_head *) t->s->out)->time_ns;
	uint32_t bytes = t->s->at;
	if (bytes > OUT_MASK)
		bytes = OUT_MASK;
	uint64_t how = t->wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	bool written = bpf_ringbuf_output(&sw_ring, t->s->out, bytes, how) == 0;
	if (written)
		t->counts->n_taken++;
	else
		t->counts->n_no_space++;
	t->counts->n_timed++;
	t->counts->ns += bpf_ktime_get_ns() - begin_ns;
	t->s->busy = 0;
	return written;
}

#endif
