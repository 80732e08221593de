/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the assembly of pe_step.c writes functions and, where the assembler has no directives for it,
 * unwind information. */
	.intel_syntax noprefix

/* ---- helpers: each function is followed by 0xcc, so that no two touch -------------------------- */
.macro FUNCTION name
	.balign	16, 0xcc
	.globl	\name
	.seh_proc \name
\name:
.endm
.macro END
	.seh_endproc
	int3
.endm
/* A function whose entry and unwind information are written by hand. */
.macro BARE name
	.balign	16, 0xcc
	.globl	\name
\name:
.endm
.macro BARE_END name
.L\name\()_end:
	int3
.endm
/* begin, end, information */
.macro ENTRY begin, end, info
	.section .pdata
	.balign	4
	.rva	\begin, \end, \info
	.text
.endm
.macro INFO name
	.section .xdata
	.balign	4
\name:
.endm
#define CODE(offset, op, info)	.byte offset, (info) << 4 | (op)
#define PUSH_NONVOL	0
#define ALLOC_LARGE	1
#define ALLOC_SMALL	2
#define SET_FPREG	3
#define SAVE_NONVOL	4
#define SAVE_NONVOL_FAR	5
#define EPILOG		6
#define SAVE_XMM128	8
#define RBX	3
#define RBP	5
#define RSI	6
#define RDI	7
#define R12	12
#define R14	14
#define R15	15
