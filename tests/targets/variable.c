/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames whose size is known at run time only, and a realigned one: its CFA is an expression
 * (DW_CFA_def_cfa_expression: the caller's stack pointer was saved before the alignment). */
#include "target.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

static NOINLINE void use(volatile char *memory, size_t size)
{
	memory[size - 1] = memory[0];
}

static NOINLINE void with_alloca(size_t size)
{
	char *memory = alloca(size);
	use(memory, size);
	block();
	use(memory, size);
}

static NOINLINE void with_array(size_t size)
{
	char memory[size];
	use(memory, size);
	with_alloca(size * 3);
	use(memory, size);
}

static NOINLINE void realigned(size_t size)
{
	_Alignas(256) char memory[256];
	char *more = alloca(size);
	use(memory, sizeof(memory));
	use(more, size);
	with_array(size);
	use(memory, sizeof(memory));
	use(more, size);
}

int main(int argc, char **argv)
{
	expect_stack("block with_alloca with_array realigned main");
	ready();
	realigned(argc > 1 ? strtoul(argv[1], NULL, 0) : 100);
	return 0;
}
