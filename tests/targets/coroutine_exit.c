/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A makecontext() coroutine without a successor returns: glibc's first frame of it ends the process, which
 * blocks on its way out. */
#include "target.h"

#include <stdlib.h>
#include <ucontext.h>

static NOINLINE void at_exit(void)
{
	block();
	KEEP();
}

static NOINLINE void coroutine(void)
{
	expect_stack("block at_exit");
	ready();
}

int main(void)
{
	static char stack[65536];
	static ucontext_t away;
	atexit(at_exit);
	getcontext(&away);
	away.uc_stack.ss_sp = stack;
	away.uc_stack.ss_size = sizeof(stack);
	makecontext(&away, coroutine, 0);
	setcontext(&away);
	return 1;
}
