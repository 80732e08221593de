/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A toy interpreter, for which tests/unit/toy has a reader. Its programs are functions that call each
 * other without a native call in between, or through native code; each activation of toy_eval() has an
 * entry in its native frame, which leads to the frames that it runs.
 */
#include "target.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>

struct toy_frame {
	struct toy_frame *caller; /* NULL: the native caller of toy_eval() */
	const char *function;     /* 16 bytes */
	uint64_t line;
};

struct toy_entry {
	struct toy_entry *previous;
	struct toy_frame *innermost;
};

struct toy_thread {
	uint64_t tid;
	struct toy_entry *entry;
	struct toy_thread *next;
};

extern struct toy_runtime {
	char magic[8];
	struct toy_thread *threads;
} toy_runtime;
struct toy_runtime toy_runtime = {.magic = "toyrt"};

static const char names[][16] = {"outer", "middle", "inner"};

static void native_helper(struct toy_thread *thread);

/* Runs functions [first, last]: each calls the next one, the last one is native code's. */
NOINLINE void toy_eval(struct toy_thread *thread, int first, int last);
NOINLINE void toy_eval(struct toy_thread *thread, int first, int last)
{
	struct toy_entry entry = {.previous = thread->entry};
	thread->entry = &entry;
	for (int i = first; i <= last; i++) {
		struct toy_frame *frame = calloc(1, sizeof(*frame));
		*frame = (struct toy_frame){entry.innermost, names[i], (uint64_t) i + 10};
		entry.innermost = frame;
	}
	if (last == 1)
		native_helper(thread);
	else
		block();
	thread->entry = entry.previous;
	KEEP();
}

static NOINLINE void native_helper(struct toy_thread *thread)
{
	toy_eval(thread, 2, 2);
	KEEP();
}

int main(void)
{
	struct toy_thread thread = {.tid = (uint64_t) syscall(SYS_gettid)};
	toy_runtime.threads = &thread;
	expect_stack("block inner toy_eval native_helper middle outer toy_eval main");
	ready();
	toy_eval(&thread, 0, 1);
	return 0;
}
