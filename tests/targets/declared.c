/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declares probes as sys/sdt.h of SystemTap does, and comes to them a known number of times: for each line that it reads it
 * calls orders() and closes() ROUNDS times each and prints the semaphore of the probe in closes().
 */
#include <stdio.h>

enum { ROUNDS = 50 };

/* A note of the place 990, whose operands are given. */
#define NOTE(name, semaphore, operands)                                   \
	".pushsection .note.stapsdt,\"\",\"note\"\n"                      \
	".balign 4\n"                                                     \
	".4byte 992f - 991f, 994f - 993f, 3\n"                            \
	"991: .asciz \"stapsdt\"\n"                                       \
	"992: .balign 4\n"                                                \
	"993: .8byte 990b, _.stapsdt.base, " semaphore "\n"               \
	".asciz \"shop\"\n.asciz \"" name "\"\n.asciz \"" operands "\"\n" \
	"994: .balign 4\n.popsection\n"

__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n");

__asm__(".text\n.globl orders\n.type orders, @function\n"
	"orders: .cfi_startproc\n"
	"sub $24, %rsp\n.cfi_def_cfa_offset 32\n"
	"mov %rdi, 8(%rsp)\n"
	"mov %edi, %eax\n"
	"neg %eax\n"
	"mov $1, %ecx\n"
	"990: nop\n" NOTE(
		"order__begin", "0",
		"8@%rdi -4@%eax 4@$7 8@8(%rsp) 8@(%rsp,%rcx,8) 2@count(%rip)") "add $24, "
									       "%rsp\n.cfi_def_cfa_"
									       "offset 8\n"
									       "ret\n.cfi_"
									       "endproc\n.size "
									       "orders, . - "
									       "orders\n");

__asm__(".section .probes,\"aw\"\n.balign 2\n.globl semaphore\nsemaphore: .2byte 0\n.text\n"
	".globl closes\n.type closes, @function\n"
	"closes: .cfi_startproc\n"
	"cmpw $0, semaphore(%rip)\n"
	"je 1f\n"
	"990: nop\n" NOTE("order__end", "semaphore",
			  "8@%rdi") "1: ret\n.cfi_endproc\n.size closes, . - closes\n");

extern volatile unsigned short semaphore;
void orders(long n);
void closes(long n);

int main(void)
{
	char line[16];
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		for (long i = 0; i < ROUNDS; i++) {
			orders(i);
			closes(i);
		}
		printf("%d\n", semaphore);
		fflush(stdout);
	}
	return 0;
}
