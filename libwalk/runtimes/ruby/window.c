/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that is made while nothing changes: the frames of each thread, for each function in them
 * what its name, file and line need, and the locks that threads wait for. All of these are objects
 * that the garbage collector frees or moves, so nothing of them is read later. The memory that
 * names need is copied by asking for the names, through a memory that keeps what is read.
 *
 * In the window: nothing is allocated or opened; the reads are bounded by what was set aside.
 */
#include "runtimes/ruby/window.h"
#include "map.h"
#include "runtimes/ruby/created.h"
#include "runtimes/ruby/fibers.h"
#include "runtimes/ruby/locks.h"
#include "runtimes/ruby/yjit.h"
#include "snapshot/snapshot.h"
#include "unwind/copied.h"

#include <string.h>

enum {
	THREADS_MAX = 512,
	STACK_BYTES_MAX = 512 << 10, /* of a thread's frames, and of its values */
};

/* The slot of a key, or the empty one for it; NULL when too many are used. */
static struct sw_ruby_seen *slot_of(struct sw_ruby_window *w, uint64_t key)
{
	size_t i = (size_t) sw_mix64(key) % SW_RUBY_SEEN_SLOTS;
	while (w->seen[i].key != 0 && w->seen[i].key != key)
		i = (i + 1) % SW_RUBY_SEEN_SLOTS;
	return w->seen[i].key == key || w->n_seen < SW_RUBY_SEEN_SLOTS / 2 ? &w->seen[i] : NULL;
}

static void slot_fill(struct sw_ruby_window *w, struct sw_ruby_seen *s, uint64_t key,
		      const uint8_t *data, size_t bytes)
{
	w->n_seen += s->key == 0;
	*s = (struct sw_ruby_seen){key, data, bytes};
}

/* sw_memory_ops.read: copies what is read, once. */
static bool copying_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_ruby_window *w = arg;
	const uint8_t *data;
	for (size_t i = 0; i < 2; i++) {
		const struct sw_range *r = &w->bulk[i];
		if (r->bytes == 0 || avma < r->start_avma || avma - r->start_avma > r->bytes ||
		    length > r->bytes - (avma - r->start_avma))
			continue;
		memcpy(buffer, r->data + (avma - r->start_avma), length);
		return true;
	}
	struct sw_ruby_seen *s = avma != 0 ? slot_of(w, avma) : NULL;
	if (s == NULL)
		return false;
	if (s->key != 0 && s->data != NULL && s->bytes >= length) {
		memcpy(buffer, s->data, length);
		return true;
	}
	if (!sw_capture_copy(w->capture, avma, length, &data))
		return false;
	slot_fill(w, s, avma, data, length);
	memcpy(buffer, data, length);
	return true;
}

static void bulk_copy(struct sw_ruby_window *w, size_t i, uint64_t start_avma, uint64_t end_avma)
{
	const uint8_t *data;
	w->bulk[i] = (struct sw_range){0};
	if (end_avma <= start_avma || end_avma - start_avma > STACK_BYTES_MAX)
		return; /* then each frame is copied by itself */
	size_t bytes = (size_t) (end_avma - start_avma);
	if (sw_capture_copy(w->capture, start_avma, bytes, &data))
		w->bulk[i] = (struct sw_range){start_avma, bytes, data};
}

/* The key of a frame's name. No address that is read has the upper bit. The place alone does not
 * tell: YJIT leaves it 0 in any function. */
static uint64_t name_key(const struct sw_ruby_frame *frame)
{
	bool c = frame->kind == SW_RUBY_FRAME_C;
	uint64_t function = c ? frame->method_avma : frame->iseq_avma;
	return sw_mix64(function ^ sw_mix64(c ? 0 : frame->pc_avma)) | UINT64_C(1) << 63;
}

/* Copies what the frame's name needs, unless that was done. */
static void name_copy(struct sw_ruby_window *w, const struct sw_ruby_vm *vm,
		      const struct sw_ruby_frame *frame)
{
	struct sw_ruby_name name;
	uint64_t key = name_key(frame);
	struct sw_ruby_seen *s = slot_of(w, key);
	if (frame->kind == SW_RUBY_FRAME_OTHER || s == NULL || s->key == key)
		return;
	slot_fill(w, s, key, NULL, 0);
	if (frame->kind == SW_RUBY_FRAME_C)
		(void) sw_ruby_method_name(vm, frame->method_avma,
					   &name); /* wanted for its reads */
	else
		(void) sw_ruby_iseq_name(vm, frame->iseq_avma, frame->pc_avma, &name);
}

/* The structures that tell for which lock the thread waits, and who has it. Nothing is copied where
 * threads run: it would be of several instants. */
static void locks_copy(struct sw_ruby_window *w, const struct sw_ruby_vm *vm, uint64_t fs_base)
{
	struct sw_ruby_thread thread;
	const uint8_t *data;
	uint64_t owner, frame;
	if (!w->whole || vm->found->layout->locks == NULL ||
	    !sw_ruby_thread_read(vm, fs_base, &thread))
		return;
	if (thread.gvl_avma != w->gvl_avma)
		(void) sw_capture_copy(w->capture, thread.gvl_avma, SW_RUBY_GVL_BYTES,
				       &data); /* else: not known */
	w->gvl_avma = thread.gvl_avma;
	if (thread.mutex_avma != 0)
		(void) sw_ruby_mutex_owner(vm, &thread, &owner); /* wanted for its reads */
	else if (thread.can_be_woken)
		(void) sw_ruby_self_thread(vm, &thread, &frame, &owner); /* likewise */
}

/* The generated code around the instruction that is next, which tells whether a frame is being filled, and
 * which registers are saved. */
static void code_copy(struct sw_ruby_window *w, const struct sw_snapshot *snap, uint64_t pc_avma)
{
	const uint8_t *data;
	const struct sw_map *map = sw_snapshot_map(snap, pc_avma);
	if (w->found.layout->yjit_bytes != 0 && map != NULL && (map->prot & SW_MAP_EXEC) &&
	    map->inode == 0 && pc_avma > SW_RUBY_FILL_BYTES) {
		/* Where one cannot be had: as it is later. */
		(void) sw_capture_copy(w->capture, pc_avma - SW_RUBY_FILL_BYTES, SW_RUBY_FILL_BYTES,
				       &data);
		(void) sw_capture_copy(w->capture, pc_avma, SW_RUBY_END_BYTES, &data);
	}
}

static void stack_copy(struct sw_ruby_window *w, const struct sw_ruby_vm *vm,
		       const struct sw_ruby_stack *stack)
{
	struct sw_ruby_frame frame;
	bulk_copy(w, 0, stack->first_avma, stack->end_avma);
	uint64_t values_end_avma = 0, avma = stack->first_avma;
	if (sw_memory_u64(vm->memory, avma + SW_RUBY_FRAME_SP, &values_end_avma) &&
	    values_end_avma <= stack->first_avma)
		bulk_copy(w, 1, stack->values_avma, values_end_avma);
	for (size_t i = 0; i < SW_RUBY_FRAMES_MAX && avma < stack->end_avma; i++) {
		if (sw_ruby_frame_read(vm, avma, &frame))
			name_copy(w, vm, &frame);
		avma += vm->found->layout->frame_bytes;
	}
	memset(w->bulk, 0, sizeof(w->bulk));
}

static void thread_copy(struct sw_ruby_window *w, const struct sw_ruby_vm *vm, uint64_t fs_base)
{
	struct sw_ruby_stack stack;
	struct sw_ruby_fiber fiber;
	if (!sw_ruby_stack_read(vm, fs_base, &stack))
		return;
	(void) sw_ruby_fiber_of(vm, w->capture->snap, &stack, &fiber); /* wanted for its reads */
	locks_copy(w, vm, fs_base);
	stack_copy(w, vm, &stack);
}

/* sw_memory_ops.read: as sw_copied_memory(), until the window's limit is reached. */
static bool timely_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_ruby_window *w = arg;
	if (sw_capture_is_late(w->capture)) {
		w->fibers_cut = true;
		return false;
	}
	return sw_memory_read(sw_copied_memory(w->capture), avma, buffer, length);
}

struct creating {
	struct sw_ruby_window *w;
	const struct sw_ruby_vm *vm;
};

/* The memory that the name of the fiber's block needs. */
static bool created_copy(void *arg, const struct sw_ruby_created *created)
{
	struct creating *c = arg;
	const struct sw_ruby_frame frame = {.iseq_avma = created->iseq_avma,
					    .kind = SW_RUBY_FRAME_RUBY};
	if (sw_capture_is_late(c->w->capture)) {
		c->w->fibers_cut = true;
		return false;
	}
	if (created->iseq_avma != 0)
		name_copy(c->w, c->vm, &frame);
	return true;
}

/* Fibers are copied; the one that a thread runs was copied with the thread, and is copied once
 * more. */
static void fibers_copy(struct sw_ruby_window *w, const struct sw_ruby_vm *vm)
{
	/* Not remembered, as it is read once. */
	const struct sw_ruby_vm plain = {.memory = sw_copied_memory(w->capture),
					 .found = &w->found,
					 .pool = w->pool};
	static const struct sw_memory_ops ops = {.read = timely_read};
	struct sw_ruby_vm timely = plain;
	struct creating creating = {w, vm};
	struct sw_ruby_fiber fiber;
	uint64_t start, end, ec;
	size_t at = 0, n = 0;
	while (sw_ruby_fiber_memory(vm, w->capture->snap, &at, &start, &end)) {
		if (n == SW_RUBY_FIBERS_MAX || sw_capture_is_late(w->capture)) {
			w->fibers_cut = true;
			return;
		}
		if (sw_ruby_fiber_at(&plain, start, end, &fiber)) {
			n++;
			stack_copy(w, vm, &fiber.stack);
		}
	}
	timely.memory = (struct sw_memory){&ops, w};
	if (sw_ruby_any_ec(&timely, w->capture->snap, &ec))
		w->created_why = sw_ruby_created_each(&timely, ec, created_copy, &creating);
}

int sw_ruby_in_window(struct sw_capture *capture)
{
	static const struct sw_memory_ops ops = {.read = copying_read};
	struct sw_ruby_window *w = *capture->found;
	if (w == NULL)
		return 0;
	struct sw_ruby_vm vm = {.memory = {&ops, w}, .found = &w->found, .pool = w->pool};
	w->capture = capture;
	memset(w->seen, 0, sizeof(w->seen)); /* the window may be repeated */
	w->n_seen = 0;
	w->gvl_avma = 0;
	w->whole = sw_capture_is_whole(capture);
	if (capture->snap->n_threads > THREADS_MAX)
		sw_snapshot_note_limit(capture->snap,
				       "ruby: what threads after the 512th run and wait for was "
				       "not copied with their stacks");
	for (size_t i = 0; i < capture->snap->n_threads && i < THREADS_MAX; i++) {
		const struct sw_thread *t = &capture->snap->threads[i];
		if (t->fs_base == 0)
			continue;
		thread_copy(w, &vm, t->fs_base);
		code_copy(w, capture->snap, t->regs.pc_avma);
	}
	w->fibers_cut = false;
	w->created_why = NULL;
	if (capture->snap->priv->tasks) /* last: what threads need comes first */
		fibers_copy(w, &vm);
	return 0;
}
