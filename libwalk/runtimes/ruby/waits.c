/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads that wait for the GVL or a Mutex, and their holders, by what was copied in the
 * window; a core file is of one instant anyhow. A thread waits for the GVL if it is in the list of
 * waiting threads: the condition variable alone does not say it, on which it sleeps for other
 * reasons, too.
 */
#include "runtimes/ruby/waits.h"
#include "arch/arch.h"
#include "arch/syscall.h"
#include "bytes.h"
#include "runtimes/ruby/locks.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum { COND_BYTES = 48 /* pthread_cond_t of glibc */ };

/* A thread of the snapshot that is Ruby's. */
struct sw_ruby_known {
	struct sw_ruby_thread thread;
	pid_t tid;
	bool gvl_read;       /* of one instant with all threads */
	uint64_t owner_avma; /* of its GVL; 0: nobody */
	bool queued;         /* for its GVL */
};

static int known_order(const void *a, const void *b)
{
	const struct sw_ruby_known *x = a, *y = b;
	return (x->thread.avma > y->thread.avma) - (x->thread.avma < y->thread.avma);
}

static struct sw_ruby_known *known_find(const struct sw_ruby *ruby, uint64_t thread_avma)
{
	struct sw_ruby_known key = {.thread.avma = thread_avma};
	return ruby->n_known > 0
		       ? bsearch(&key, ruby->known, ruby->n_known, sizeof(key), known_order)
		       : NULL;
}

static bool gvl_read(const struct sw_ruby *ruby, uint64_t gvl_avma, struct sw_ruby_gvl *ret)
{
	const struct sw_ruby_lock_layout *at = ruby->found.layout->locks;
	uint8_t data[SW_RUBY_GVL_BYTES];
	struct sw_bytes bytes = {data, sizeof(data)};
	return !ruby->snap->priv->hooks_torn &&
	       sw_memory_read(ruby->vm.memory, gvl_avma, data, sizeof(data)) &&
	       sw_ruby_gvl_parse(at, bytes, ret);
}

/* Notes those in the list. It ends at a thread that is not known: of those behind it nothing is said. */
static void queue_walk(struct sw_ruby *ruby, uint64_t gvl_avma, uint64_t node_avma)
{
	const struct sw_ruby_lock_layout *at = ruby->found.layout->locks;
	for (size_t i = 0; i < ruby->n_known; i++) {
		struct sw_ruby_known *k = known_find(ruby, node_avma - at->thread_node);
		if (k == NULL || k->thread.gvl_avma != gvl_avma || k->queued ||
		    !sw_memory_u64(ruby->vm.memory, node_avma, &node_avma))
			break;
		k->queued = true;
	}
}

static void gvls_read(struct sw_ruby *ruby)
{
	struct sw_ruby_gvl gvl = {0};
	uint64_t last_avma = 0;
	bool read = false;
	for (size_t i = 0; i < ruby->n_known; i++) {
		struct sw_ruby_known *k = &ruby->known[i];
		if (k->thread.gvl_avma != last_avma) {
			last_avma = k->thread.gvl_avma;
			read = gvl_read(ruby, last_avma, &gvl);
			if (read)
				queue_walk(ruby, last_avma, gvl.first_avma);
		}
		k->gvl_read = read;
		k->owner_avma = read ? gvl.owner_avma : 0;
	}
}

/* Once, of all threads. No memory: nothing is known. */
static void known_read(struct sw_ruby *ruby)
{
	const struct sw_snapshot *snap = ruby->snap;
	ruby->known_read = true;
	if (ruby->found.layout == NULL || ruby->found.layout->locks == NULL)
		return;
	ruby->known = calloc(snap->n_threads, sizeof(*ruby->known));
	for (size_t i = 0; ruby->known != NULL && i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		struct sw_ruby_known *k = &ruby->known[ruby->n_known];
		if (t->captured && t->fs_base != 0 &&
		    sw_ruby_thread_read(&ruby->vm, t->fs_base, &k->thread)) {
			k->tid = t->tid;
			ruby->n_known++;
		}
	}
	if (ruby->n_known > 0)
		qsort(ruby->known, ruby->n_known, sizeof(*ruby->known), known_order);
	gvls_read(ruby);
}

/* NULL: not Ruby's, or its GVL is not of one instant with it. */
static const struct sw_ruby_known *known_of(struct sw_ruby *ruby, const struct sw_thread *thread)
{
	struct sw_ruby_thread t;
	if (!ruby->known_read)
		known_read(ruby);
	if (ruby->n_known == 0 || thread->fs_base == 0 ||
	    !sw_ruby_thread_read(&ruby->vm, thread->fs_base, &t))
		return NULL;
	const struct sw_ruby_known *k = known_find(ruby, t.avma);
	return k != NULL && k->tid == thread->tid && k->gvl_read ? k : NULL;
}

/* 0: not captured, in another ractor, or the one that waits itself. */
static pid_t owner_tid(const struct sw_ruby *ruby, const struct sw_ruby_known *waits,
		       uint64_t owner_avma)
{
	const struct sw_ruby_known *k = owner_avma != 0 ? known_find(ruby, owner_avma) : NULL;
	return k != NULL && k != waits && k->thread.gvl_avma == waits->thread.gvl_avma ? k->tid : 0;
}

/* Which thread is to end, where the innermost frame of this one is a method in C of that Thread which waits for it. */
static bool joined_read(const struct sw_ruby_vm *vm, const struct sw_ruby_thread *thread,
			uint64_t *ret_avma)
{
	uint64_t cfp;
	struct sw_ruby_frame frame;
	struct sw_ruby_name name;
	return sw_ruby_self_thread(vm, thread, &cfp, ret_avma) &&
	       sw_ruby_frame_read(vm, cfp, &frame) && frame.kind == SW_RUBY_FRAME_C &&
	       sw_ruby_method_name(vm, frame.method_avma, &name) &&
	       (strcmp(name.label, "join") == 0 || strcmp(name.label, "value") == 0);
}

bool sw_ruby_wait(struct sw_ruby *ruby, const struct sw_thread *thread, struct sw_runtime_wait *ret)
{
	uint64_t word = 0, owner;
	bool futex = thread->syscall == SYS_futex;
	const struct sw_ruby_known *k;
	if ((!futex && thread->syscall != SYS_ppoll) || (k = known_of(ruby, thread)) == NULL ||
	    !sw_regs_get(&thread->regs, sw_arch_syscall_register(false, 0), &word))
		return false;
	const struct sw_ruby_lock_layout *at = ruby->found.layout->locks;
	uint64_t gvl = k->thread.gvl_avma;
	bool own = futex && word - (k->thread.avma + at->thread_cond) < COND_BYTES;
	bool yields = futex &&
		      word - (gvl + at->gvl_yield) < (uint64_t) at->gvl_yield_end - at->gvl_yield;
	if ((own && k->queued) || yields) {
		*ret = (struct sw_runtime_wait){.kind = "ruby_gvl", .address_avma = gvl};
		ret->owner_tid = owner_tid(ruby, k, k->owner_avma);
		return true;
	}
	if ((futex && !own) || k->queued || !k->thread.can_be_woken)
		return false;
	if (k->thread.mutex_avma == 0 && joined_read(&ruby->vm, &k->thread, &owner)) {
		*ret = (struct sw_runtime_wait){.kind = "thread"};
		ret->owner_tid = owner_tid(ruby, k, owner);
		return true;
	}
	if (k->thread.mutex_avma == 0 || !sw_ruby_mutex_owner(&ruby->vm, &k->thread, &owner))
		return false;
	*ret = (struct sw_runtime_wait){.kind = "ruby_mutex", .address_avma = k->thread.mutex_avma};
	ret->owner_tid = owner_tid(ruby, k, owner);
	return true;
}

bool sw_ruby_thread_note(struct sw_ruby *ruby, const struct sw_thread *thread,
			 struct sw_thread_info *ret)
{
	const struct sw_ruby_known *k = known_of(ruby, thread);
	if (k == NULL)
		return false;
	*ret = (struct sw_thread_info){.runtime = "ruby", .id = -1};
	if (k->owner_avma == k->thread.avma)
		ret->mode = "holds_gvl";
	return true;
}
