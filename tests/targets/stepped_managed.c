/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For single-stepping: functions whose call frame information does not tell of their epilogues (lib/managed_frames.S). */
#include "target.h"

#include <stddef.h>

size_t managed_leaf(size_t n);
size_t managed_saved(size_t n, size_t (*f)(size_t));
size_t managed_tail(size_t n);
size_t managed_far(size_t n, size_t (*f)(size_t));
size_t managed_fp(size_t n);
size_t managed_early(size_t n);

static volatile size_t sink;

void begin_steps(void);
void end_steps(void);

void NOINLINE begin_steps(void)
{
	KEEP();
}

void NOINLINE end_steps(void)
{
	KEEP();
}

static NOINLINE size_t called(size_t n)
{
	KEEP();
	return n + 1;
}

static NOINLINE void work(void)
{
	for (size_t i = 0; i < 4; i++) {
		sink += managed_leaf(i);
		sink += managed_saved(i, called);
		sink += managed_saved(i, managed_fp);
		sink += managed_tail(i);
		sink += managed_far(i, called);
		sink += managed_far(i, managed_tail);
#ifdef SYNCHRONOUS
		sink += managed_early(i);
#endif
	}
	KEEP();
}

int main(void)
{
	printf("begin %p\nend %p\n", (void *) begin_steps, (void *) end_steps);
	ready();
	getchar();
	begin_steps();
	work();
	end_steps();
	block();
	return 0;
}
