/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads what the walk will read: the frames of each thread, for each function in them what its name, file and line
 * need, and the locks that threads wait for. All of these are objects that the garbage collector frees or moves, so
 * nothing of them is read later.
 */
#include "runtimes/ruby/touch.h"
#include "cleanup.h"
#include "map.h"
#include "runtimes/ruby/created.h"
#include "runtimes/ruby/fibers.h"
#include "runtimes/ruby/locks.h"
#include "runtimes/ruby/yjit.h"
#include "snapshot/snapshot.h"

enum {
	/* Limits of the rehearsal: */
	VM_WORDS = 12,     /* of rb_vm_t, among them the main thread */
	THREAD_WORDS = 16, /* of rb_thread_t, which begins with its node in the list of threads */
	THREADS_MAX = 4096,
	ROUNDS_MAX = 16,   /* a name takes some 8 */
	POINTER_WORDS = 3, /* of rb_native_thread, that may be a thread pointer */
	POINTER_ALIGN = 64,
};

struct touching {
	const struct sw_snapshot *snap;
	struct sw_ruby_vm vm;
	struct sw_map64 names; /* that were read */
	uint64_t gvl_avma;     /* the last one that was read */
	/* The rehearsal finds out where a thread has its thread pointer, and any execution context. */
	bool pointer_known, pointer_direct;
	size_t pointer_word, pointer_inner;
	uint64_t ec_avma;
	uint64_t vm_avma; /* rb_vm_t */
	size_t ec_word;   /* of a thread, that has its execution context; 0: not known */
	size_t n_nodes;
	uint64_t nodes[THREADS_MAX]; /* rb_thread_t */
	bool gathers;
};

/* A part of the rehearsal that no other depends on. */
static void part_begin(const struct touching *t)
{
	if (t->gathers)
		t->vm.memory.ops->part(t->vm.memory.arg);
}

/* The key of a frame's name. The place alone does not tell: YJIT leaves it 0 in any function. */
static uint64_t name_key(const struct sw_ruby_frame *frame)
{
	bool c = frame->kind == SW_RUBY_FRAME_C;
	uint64_t function = c ? frame->method_avma : frame->iseq_avma;
	return sw_mix64(function ^ sw_mix64(c ? 0 : frame->pc_avma));
}

static void name_touch(struct touching *t, const struct sw_ruby_frame *frame)
{
	struct sw_ruby_name name;
	uint64_t key = name_key(frame), value;
	if (frame->kind == SW_RUBY_FRAME_OTHER || sw_map64_get(&t->names, key, &value))
		return;
	(void) sw_map64_put(&t->names, key, 0); /* else it is read again */
	if (frame->kind == SW_RUBY_FRAME_C)
		(void) sw_ruby_method_name(&t->vm, frame->method_avma,
					   &name); /* wanted for its reads */
	else
		(void) sw_ruby_iseq_name(&t->vm, frame->iseq_avma, frame->pc_avma, &name);
}

static void stack_touch(struct touching *t, const struct sw_ruby_stack *stack)
{
	struct sw_ruby_frame frame;
	uint64_t avma = stack->first_avma;
	for (size_t i = 0; i < SW_RUBY_FRAMES_MAX && avma < stack->end_avma; i++) {
		part_begin(t);
		if (sw_ruby_frame_read(&t->vm, avma, &frame))
			name_touch(t, &frame);
		avma += t->vm.found->layout->frame_bytes;
	}
}

/*
 * The structures that tell for which lock the thread waits, and who has it. The walk knows by the GVL that all of
 * them are of one instant: where threads run, it is not read.
 */
static void locks_touch(struct touching *t, uint64_t fs_base)
{
	struct sw_ruby_thread thread;
	uint8_t gvl[SW_RUBY_GVL_BYTES];
	uint64_t owner, frame;
	if (t->vm.found->layout->locks == NULL || !sw_ruby_thread_read(&t->vm, fs_base, &thread))
		return;
	if (t->snap->priv->hooks_whole && thread.gvl_avma != t->gvl_avma)
		(void) sw_memory_read(t->vm.memory, thread.gvl_avma, gvl,
				      sizeof(gvl)); /* else: not known */
	t->gvl_avma = thread.gvl_avma;
	if (thread.mutex_avma != 0)
		(void) sw_ruby_mutex_owner(&t->vm, &thread, &owner); /* wanted for its reads */
	else if (thread.can_be_woken)
		(void) sw_ruby_self_thread(&t->vm, &thread, &frame, &owner); /* likewise */
}

/* The generated code around the instruction that is next, which tells whether a frame is being filled, and
 * which registers are saved. */
static void code_touch(const struct touching *t, uint64_t pc_avma)
{
	uint8_t before[SW_RUBY_FILL_BYTES], behind[SW_RUBY_END_BYTES];
	const struct sw_map *map = sw_snapshot_map(t->snap, pc_avma);
	if (t->vm.found->layout->yjit_bytes == 0 || map == NULL || !(map->prot & SW_MAP_EXEC) ||
	    map->inode != 0 || pc_avma <= sizeof(before))
		return;
	/* Where one cannot be had: as it is later. */
	(void) sw_memory_read(t->vm.memory, pc_avma - sizeof(before), before, sizeof(before));
	(void) sw_memory_read(t->vm.memory, pc_avma, behind, sizeof(behind));
}

static void thread_touch(struct touching *t, const struct sw_thread *thread)
{
	struct sw_ruby_stack stack;
	struct sw_ruby_fiber fiber;
	if (sw_ruby_stack_read(&t->vm, thread->fs_base, &stack)) {
		(void) sw_ruby_fiber_of(&t->vm, t->snap, &stack, &fiber); /* wanted for its reads */
		locks_touch(t, thread->fs_base);
		stack_touch(t, &stack);
	}
	code_touch(t, thread->regs.pc_avma);
}

/* sw_ruby_created_fn: what the name of the fiber's block needs. */
static bool created_touch(void *arg, const struct sw_ruby_created *created)
{
	const struct sw_ruby_frame frame = {.iseq_avma = created->iseq_avma,
					    .kind = SW_RUBY_FRAME_RUBY};
	if (created->iseq_avma != 0)
		name_touch(arg, &frame);
	return true;
}

static void fibers_touch(struct touching *t)
{
	struct sw_ruby_fiber fiber;
	uint64_t start, end, ec;
	size_t at = 0, n = 0;
	while (n < SW_RUBY_FIBERS_MAX && sw_ruby_fiber_memory(&t->vm, t->snap, &at, &start, &end)) {
		part_begin(t);
		if (!sw_ruby_fiber_at(&t->vm, start, end, &fiber))
			continue;
		n++;
		stack_touch(t, &fiber.stack);
	}
	/* The walk says what cannot be read. */
	if (t->gathers) /* they are in a list */
		return;
	ec = t->ec_avma;
	if (ec != 0 || sw_ruby_any_ec(&t->vm, t->snap, &ec))
		(void) sw_ruby_created_each(&t->vm, ec, created_touch, t);
}

/* Memory that can be a structure of Ruby's. A look-up: nothing is fetched for a word that is no address. */
static bool is_data(const struct touching *t, uint64_t avma)
{
	const struct sw_map *map =
		avma != 0 && avma % 8 == 0 ? sw_snapshot_map(t->snap, avma) : NULL;
	return map != NULL && (map->prot & SW_MAP_WRITE);
}

/* The execution context of a thread (rb_thread_t), which leads back to it. */
static bool context_of(struct touching *t, uint64_t thread_avma, uint64_t *ret)
{
	uint64_t words[THREAD_WORDS], back;
	bool any_vm = false;
	if (!is_data(t, thread_avma) ||
	    !sw_memory_read(t->vm.memory, thread_avma, words, sizeof(words)))
		return false;
	for (size_t i = 2; i < THREAD_WORDS; i++)
		any_vm |= words[i] == t->vm_avma;
	/* The same word in all threads. */
	size_t first = t->ec_word != 0 ? t->ec_word : 2;
	size_t end = t->ec_word != 0 ? t->ec_word + 1 : THREAD_WORDS;
	for (size_t i = first; any_vm && i < end; i++) {
		*ret = words[i];
		if (*ret == t->vm_avma || !is_data(t, *ret) ||
		    *ret > UINT64_MAX - SW_RUBY_EC_BYTES ||
		    !sw_memory_u64(t->vm.memory, *ret + SW_RUBY_EC_THREAD, &back) ||
		    back != thread_avma)
			continue;
		t->ec_word = i;
		return true;
	}
	return false;
}

/* Whether it is the thread pointer of the thread that executes ec: a control block begins with its own address (glibc, musl). */
static bool is_pointer(const struct touching *t, uint64_t avma, uint64_t ec_avma)
{
	uint64_t self;
	struct sw_ruby_stack stack;
	return avma % POINTER_ALIGN == 0 && is_data(t, avma) &&
	       sw_memory_u64(t->vm.memory, avma, &self) && self == avma &&
	       sw_ruby_stack_read(&t->vm, avma, &stack) && stack.ec_avma == ec_avma;
}

/* Looks for a word with the thread pointer, in rb_thread_t (Ruby 3.1) or in the rb_native_thread that it leads to. */
static void pointer_find(struct touching *t, uint64_t thread_avma, uint64_t ec_avma)
{
	uint64_t words[THREAD_WORDS], inner[POINTER_WORDS];
	t->ec_avma = ec_avma;
	t->pointer_known = sw_memory_read(t->vm.memory, thread_avma, words, sizeof(words));
	if (!t->pointer_known)
		return;
	t->pointer_direct = true;
	for (size_t i = 2; i < THREAD_WORDS; i++) {
		t->pointer_word = i;
		if (is_pointer(t, words[i], ec_avma))
			return;
	}
	t->pointer_direct = false;
	for (size_t i = 2; i < THREAD_WORDS; i++) {
		if (!is_data(t, words[i]) ||
		    !sw_memory_read(t->vm.memory, words[i], inner, sizeof(inner)))
			continue;
		t->pointer_word = i;
		for (t->pointer_inner = 0; t->pointer_inner < POINTER_WORDS; t->pointer_inner++)
			if (is_pointer(t, inner[t->pointer_inner], ec_avma))
				return;
	}
	t->pointer_known = false;
}

/* The thread pointer of a thread (rb_thread_t); 0: not known. */
static uint64_t pointer_of(struct touching *t, uint64_t thread_avma, uint64_t ec_avma)
{
	uint64_t words[THREAD_WORDS], inner[POINTER_WORDS], avma;
	if (!t->pointer_known || !sw_memory_read(t->vm.memory, thread_avma, words, sizeof(words)))
		return 0;
	avma = words[t->pointer_word];
	if (!t->pointer_direct && sw_memory_read(t->vm.memory, avma, inner, sizeof(inner)))
		avma = inner[t->pointer_inner];
	return is_pointer(t, avma, ec_avma) ? avma : 0;
}

/*
 * Before the window no thread's thread pointer is known: what the threads execute is found by the list of them, a ring
 * with the main thread in it. It says which pages the window begins with, no more.
 *
 * Source: vm_core.h (struct rb_vm_struct, struct rb_thread_struct) of Ruby 3.1.2 and 3.3.8.
 */
static void nodes_find(struct touching *t)
{
	const struct sw_ruby_found *found = t->vm.found;
	uint64_t vm, words[VM_WORDS], node = 0, ec;
	if (found->vm_svma == 0 ||
	    !sw_memory_u64(t->vm.memory, found->vm_svma + found->place->bias, &vm) || vm == 0 ||
	    !sw_memory_read(t->vm.memory, vm, words, sizeof(words)))
		return;
	t->vm_avma = vm;
	for (size_t i = 0; i < VM_WORDS && node == 0; i++)
		if (context_of(t, words[i], &ec))
			node = words[i];
	if (node != 0)
		pointer_find(t, node, ec);
	for (size_t n = 0; n < THREADS_MAX && node != 0; n++) {
		t->nodes[t->n_nodes++] = node;
		if (!sw_memory_u64(t->vm.memory, node, &node) || node == t->nodes[0])
			return;
	}
}

/* A thread of the list. */
static void node_touch(struct touching *t, uint64_t node)
{
	struct sw_ruby_stack stack;
	struct sw_ruby_fiber fiber;
	uint64_t ec;
	if (!context_of(t, node, &ec))
		return;
	const struct sw_thread thread = {.fs_base = pointer_of(t, node, ec)};
	if (thread.fs_base != 0) {
		thread_touch(t, &thread);
	} else if (sw_ruby_stack_of(&t->vm, ec, &stack)) {
		(void) sw_ruby_fiber_of(&t->vm, t->snap, &stack, &fiber); /* wanted for its reads */
		stack_touch(t, &stack);
	}
}

static void nodes_touch(struct touching *t)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		part_begin(t);
		node_touch(t, t->nodes[i]);
	}
	if (t->snap->priv->tasks)
		fibers_touch(t);
}

/*
 * Before the window. Threads, fibers and functions do not depend on each other: what all of them miss is fetched
 * together, as a turn costs more than reading once more what is there.
 */
static void rehearse(struct touching *t)
{
	nodes_find(t);
	for (size_t i = 0; i < ROUNDS_MAX && t->vm.memory.ops->part != NULL; i++) {
		t->gathers = true;
		nodes_touch(t);
		t->gathers = false;
		sw_map64_deinit(&t->names);
		if (!t->vm.memory.ops->fetch(t->vm.memory.arg))
			break;
	}
	nodes_touch(t);
}

void sw_ruby_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory)
{
	const struct sw_ruby_before *before = found;
	struct touching t = {.snap = snap,
			     .vm = {.memory = memory,
				    .found = &before->found,
				    .pool = before->pool}};
	struct sw_ruby_pool pool;
	if (before->pool.avma != 0)
		(void) sw_ruby_pool_read(memory, before->pool.avma,
					 &pool); /* else fibers are told without it */
	bool any = false;
	for (size_t i = 0; i < snap->n_threads; i++) {
		any |= snap->threads[i].fs_base != 0;
		if (snap->threads[i].fs_base != 0)
			thread_touch(&t, &snap->threads[i]);
	}
	if (!any)
		rehearse(&t);
	else if (snap->priv->tasks) /* last: what threads need comes first */
		fibers_touch(&t);
	sw_map64_deinit(&t.names);
}
