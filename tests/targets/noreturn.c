/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A call that is the last instruction of its function. The return address is the first byte of the
 * next function: only a lookup of pc - 1 gives the right name and the right CFI row.
 */
#include "target.h"

void fatal(int n);
void bystander(void);

__attribute__((noreturn)) void die(void);
NOINLINE void die(void)
{
	printf("return-address-is-next-function %d\n",
	       __builtin_return_address(0) == (void *) bystander);
	expect_stack("block die fatal main");
	ready();
	for (;;)
		block();
}

/* In assembly, so that no compiler puts padding or anything else between the two. */
__asm__(".text\n"
	".globl fatal\n"
	".type fatal, @function\n"
	"fatal:\n"
	".cfi_startproc\n"
	"	subq $40, %rsp\n"
	".cfi_adjust_cfa_offset 40\n"
	"	call die\n"
	".cfi_endproc\n"
	".size fatal, . - fatal\n"
	".globl bystander\n"
	".type bystander, @function\n"
	"bystander:\n"
	".cfi_startproc\n"
	"	ret\n"
	".cfi_endproc\n"
	".size bystander, . - bystander\n");

int main(void)
{
	fatal(1);
	return 0;
}
