/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A CPython whose structures anybody wrote. The first byte says the version; what follows is laid over a
 * small one that is right, in parts: u16 offset / 4 | u8 length | bytes. Then its threads' frames are
 * paired with native ones all over the stack, and named; then its tasks are
 * looked at, and in which with statements it is; then all is read as a capture does. The rest is also taken for a table of
 * lines.
 */
#include "fuzz.h"
#include "cpython_world.h"
#include "lay_over.h"

#include "arch/arch.h"
#include "arch/syscall.h"
#include "bytes.h"
#include "runtimes/cpython/all_tasks.h"
#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/lock.h"
#include "runtimes/cpython/structures/lines.h"
#include "runtimes/cpython/names.h"

#include <string.h>
#include <sys/syscall.h>

struct names {
	struct sw_frame_sink sink;
	struct sw_cpython *c;
	size_t left;
};

static bool name(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	static struct sw_description d;
	struct names *n = (struct names *) sink;
	struct sw_frame frame = {.pc_avma = address_avma, .cookie = cookie};
	(void) sw_cpython_names(n->c, &frame, &d);
	return n->left-- > 1;
}

static void tasks(struct sw_cpython *c)
{
	const char *why;
	size_t n = sw_cpython_all_tasks(c, &why);
	for (size_t i = 0; i < n && i < 8; i++) {
		struct names names = {.sink.add = name, .c = c, .left = 64};
		struct sw_runtime_task task = {0};
		(void) sw_cpython_task_show(c, i, &task, &names.sink);
	}
}

/* Somebody waits for what the first object there is, as it is entered by a with statement. */
static void locks(struct cpython_world *w, struct sw_thread *thread)
{
	struct sw_runtime_wait wait;
	struct sw_cpython_waited waited = {.avma = WORLD_OBJECTS,
					   .bytes = {w->data + (WORLD_OBJECTS - WORLD), 64}};
	thread->captured = true;
	thread->captured_by = SW_CAPTURED_CORE;
	w->snap.threads = thread;
	w->snap.n_threads = 1;
	(void) sw_cpython_lock_wait(&w->c, thread, &waited, &wait);
}

/* Before a window, and in one where the thread waits for a lock. */
static void touch(struct cpython_world *w, struct sw_thread *thread)
{
	w->priv.hooks_whole = true;
	thread->captured = false;
	cpython_world_touch(w);
	thread->captured = true;
	thread->syscall = SYS_futex;
	thread->regs = (struct sw_regs){0};
	sw_regs_set(&thread->regs, SW_ARCH_SP, WORLD_STACK);
	sw_regs_set(&thread->regs, sw_arch_syscall_register(false, 0), WORLD_OBJECTS + 0x100);
	cpython_world_touch(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cpython_world w;
	struct sw_thread thread = {.tid = 1, .fs_base = WORLD_ID};
	struct sw_thread_info note;
	if (size == 0)
		return 0;
	unsigned minor = 8 + data[0] % 7;
	cpython_world_init_of(&w, minor, minor >= 13 && data[0] >= 0x80);
	if (w.c.usable)
		cpython_world_name_thread(&w);
	cpython_world_tasks(&w);
	lay_over(w.data, sizeof(w.data), data + 1, size - 1);
	if (minor >= 13)
		w.c.usable = sw_cpython_layout_read(w.c.memory, WORLD_RUNTIME, minor,
						    &w.c.at.layout, &w.c.at.missing);
	if (w.c.usable && sw_cpython_threads_read(&w.c)) {
		for (uint64_t sp = WORLD_STACK; sp < WORLD_STACK + 0x400; sp += 0x100) {
			struct names names = {.sink.add = name, .c = &w.c, .left = 64};
			struct sw_cursor cursor = {.snap = &w.snap,
						   .thread = &thread,
						   .memory = w.c.memory,
						   .place = &w.place,
						   .regs = {.sp_avma = sp}};
			(void) sw_cpython_frames(&w.c, &cursor, sp + 0x100, &names.sink);
		}
		(void) sw_cpython_thread_note(&w.c, &thread, &note);
		tasks(&w.c);
		locks(&w, &thread);
		touch(&w, &thread);
	}
	for (int64_t offset = -2; offset < 300; offset += 7)
		(void) sw_cpython_line(minor, (struct sw_bytes){data + 1, size - 1}, 1, offset);
	cpython_world_deinit(&w);
	return 0;
}
