/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For single-stepping: into handlers of exceptions as LLVM's libunwind goes there, out of frames of functions. */
#include "target.h"

#include <stdint.h>

void jumpto(uint64_t *regs);
void lands(uint64_t *regs, void (*throws)(uint64_t *regs));

static volatile size_t sink, depth;

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

static NOINLINE void thrower(uint64_t *regs, size_t n)
{
	if (n > 0)
		thrower(regs, n - 1);
	else
		jumpto(regs);
	KEEP();
}

static NOINLINE void throws(uint64_t *regs)
{
	thrower(regs, depth);
	KEEP();
}

static NOINLINE void work(void)
{
	uint64_t here[17] = {0};
	static uint64_t elsewhere[17];
	for (size_t i = 0; i < 6; i++) {
		depth = i;
		lands(i % 2 == 0 ? here : elsewhere, throws);
		sink += i;
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
