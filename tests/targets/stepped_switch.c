/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For single-stepping: two stacks of its own, between which and main's it goes by code without tables. Prints
 * the addresses of begin_steps() and end_steps(), those stacks, and where that code is.
 */
#include "target.h"

enum { STACK_BYTES = 1 << 16 };

struct transfer {
	void *from, *value; /* returned in rax, rdx; given in rdi, rsi */
};

struct transfer switch_moves(void *to, void *value);
struct transfer switch_ontop(void *to, void *value, struct transfer (*fn)(struct transfer));
extern char switch_begin[], switch_end[], switch_first[], switch_root[];
void switch_pushes(void **to, void **from);
void *switch_make(void *top, void (*fn)(struct transfer));

static _Alignas(4096) char stacks[2][STACK_BYTES];
static void *main_context, *pushed_context;
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

static NOINLINE struct transfer give(struct transfer t, size_t depth)
{
	if (depth > 0)
		t = give(t, depth - 1);
	else
		t = switch_moves(t.from, t.value);
	KEEP();
	sink += depth;
	return t;
}

/* Called on a stack whose own code waits in give(). */
static NOINLINE struct transfer on_top(struct transfer t)
{
	sink++;
	KEEP();
	return t;
}

static void fiber(struct transfer t)
{
	for (size_t depth = 0;; depth = (depth + 1) % 4)
		t = give(t, depth);
}

static void pushed(void)
{
	for (;;) {
		switch_pushes(&main_context, &pushed_context);
		sink++;
	}
}

static NOINLINE void work_pushes(void)
{
	void **top = (void **) (void *) (stacks[1] + STACK_BYTES) - 9;
	top[6] = (void *) pushed;
	top[7] = switch_root;
	pushed_context = top;
	for (int i = 0; i < 3; i++)
		switch_pushes(&pushed_context, &main_context);
	KEEP();
}

static NOINLINE void work(void)
{
	struct transfer a = {switch_make(stacks[0] + STACK_BYTES, fiber), NULL};
	for (int i = 0; i < 6; i++)
		a = switch_moves(a.from, NULL);
	a = switch_ontop(a.from, NULL, on_top);
	a = switch_moves(a.from, NULL);
	KEEP();
}

int main(void)
{
	const void *firsts[] = {switch_first, (void *) pushed};
	printf("begin %p\nend %p\n", (void *) begin_steps, (void *) end_steps);
	for (int i = 0; i < 2; i++)
		printf("stack%d %lx-%lx:%lx:%lx\n", i, (unsigned long) stacks[i],
		       (unsigned long) stacks[i] + STACK_BYTES, (unsigned long) firsts[i],
		       (unsigned long) switch_root);
	printf("switch %lx-%lx\n", (unsigned long) switch_begin, (unsigned long) switch_end);
	ready();
	getchar();
	begin_steps();
	work();
	work_pushes();
	end_steps();
	block();
	return 0;
}
