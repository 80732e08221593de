/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_INFO_H
#define SW_PE_INFO_H

#include "pe/unwind.h"

/*
 * UNWIND_INFO, decoded: what a function's prologue did, last instruction first.
 * Sources: Microsoft, "x64 exception handling" (UNWIND_INFO, UNWIND_CODE); CoreCLR 10.0,
 * src/coreclr/inc/win64unwind.h; version 2: LLVM 21, llvm/include/llvm/Support/Win64EH.h and
 * llvm/test/MC/COFF/seh-unwindv2.s.
 */
enum {
	SW_PE_CODES_MAX = 255, /* CountOfCodes is a byte */
	SW_PE_CHAIN_MAX = 32,  /* infos of one function, and indirect entries; real ones have 3 */
	SW_PE_REG_RSP = 4,     /* in the numbering of instructions */
	SW_PE_REGS = 16,
};

enum {
	SW_PE_EHANDLER = 1,
	SW_PE_UHANDLER = 2,
	SW_PE_CHAININFO = 4,
};

enum sw_pe_op {
	SW_PE_PUSH_NONVOL = 0,
	SW_PE_ALLOC_LARGE = 1,
	SW_PE_ALLOC_SMALL = 2,
	SW_PE_SET_FPREG = 3,
	SW_PE_SAVE_NONVOL = 4,
	SW_PE_SAVE_NONVOL_FAR = 5,
	SW_PE_EPILOG = 6, /* version 1: SAVE_XMM, of which 8 bytes were saved; obsolete */
	SW_PE_SPARE = 7,  /* version 1: SAVE_XMM_FAR; obsolete */
	SW_PE_SAVE_XMM128 = 8,
	SW_PE_SAVE_XMM128_FAR = 9,
	SW_PE_PUSH_MACHFRAME = 10,
	SW_PE_SET_FPREG_LARGE = 11, /* CoreCLR on Unix */
};

struct sw_pe_code {
	uint8_t offset; /* of the end of the prologue's instruction, from the function's begin */
	uint8_t op;     /* enum sw_pe_op */
	uint8_t info;   /* a register, or as the operation says */
	uint32_t value; /* bytes: allocated, or from the frame's base */
};

/* Epilogues that version 2 lists; each is a run of pops and the instruction that leaves. */
struct sw_pe_epilogs {
	uint8_t bytes; /* of each */
	bool at_end;   /* one ends where the function does */
	uint8_t n;     /* others */
	uint16_t from_end
		[SW_PE_CODES_MAX]; /* where they begin, in bytes before the function's end */
};

struct sw_pe_info {
	uint8_t version, flags, prologue_bytes, n_slots;
	uint8_t frame_reg;    /* in the numbering of instructions; 0: none */
	uint32_t frame_bytes; /* from the frame's base to where the register points */
	size_t n_codes;
	struct sw_pe_code codes[SW_PE_CODES_MAX]; /* without those of epilogues */
	struct sw_pe_epilogs epilogs;
	struct sw_pe_function parent; /* when flags has SW_PE_CHAININFO */
	uint32_t handler_rva;         /* when it has SW_PE_EHANDLER or SW_PE_UHANDLER; else 0 */
};

/* SW_PE_OK, SW_PE_BAD (env->why) or SW_PE_UNREADABLE. *ret may be half filled otherwise. */
enum sw_pe_result sw_pe_info_read(struct sw_pe_env *env, uint32_t unwind_rva,
				  struct sw_pe_info *ret);

static inline enum sw_pe_result sw_pe_bad(struct sw_pe_env *env, const char *why)
{
	env->why = why;
	return SW_PE_BAD;
}

static inline bool sw_pe_read(struct sw_pe_env *env, uint64_t avma, void *buffer, size_t length)
{
	env->fault_avma = avma;
	return sw_memory_read(env->memory, avma, buffer, length);
}

#endif
