/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For single-stepping: into code as GHC makes it and out of it, also by way of C. Prints the addresses of begin_steps()
 * and end_steps(), and where the code is whose table does not tell of each instruction.
 */
#include "target.h"

#include <stdint.h>

void StgRun(void (*code)(void), void *stack);
void Main_returns_info(void);
void Main_callsC_info(void);
void of_c(void);
void begin_steps(void);
void end_steps(void);
extern char stg_run_end[];

static volatile size_t sink;

void NOINLINE begin_steps(void)
{
	KEEP();
}

void NOINLINE end_steps(void)
{
	KEEP();
}

void NOINLINE of_c(void)
{
	sink++;
	KEEP();
}

static NOINLINE void schedule(void (*code)(void))
{
	uint64_t stack[64] = {0};
	StgRun(code, stack);
	KEEP();
}

static NOINLINE void work(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		schedule(Main_returns_info);
		schedule(Main_callsC_info);
	}
	KEEP();
}

int main(void)
{
	printf("begin %p\nend %p\ntables %#llx-%p\n", (void *) begin_steps, (void *) end_steps,
	       (unsigned long long) (uintptr_t) StgRun + 4, (void *) stg_run_end);
	work(1);
	ready();
	getchar();
	begin_steps();
	work(5);
	end_steps();
	block();
	return 0;
}
