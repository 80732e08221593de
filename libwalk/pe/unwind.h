/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_UNWIND_H
#define SW_PE_UNWIND_H

#include "memory.h"
#include "text.h"

#include <snapwalk/walk.h>

/*
 * A step by x64 unwind information (RUNTIME_FUNCTION, UNWIND_INFO): for PE images, for tables that
 * JITs register, and for .NET's managed code, which all use it. Where a table comes from is the
 * caller's business; everything is read from the target's memory, relative to an image base.
 */

/* An entry of a function table: RVAs from the image base. In memory it has the same layout. */
enum { SW_PE_FUNCTION_BYTES = 12 };
struct sw_pe_function {
	uint32_t begin_rva, end_rva; /* [begin, end) */
	uint32_t unwind_rva;
};

/* Which rules hold where implementations differ. */
enum sw_pe_rules {
	SW_PE_WINDOWS,  /* Windows and Wine: rsi, rdi, xmm6-15 are preserved, too */
	SW_PE_CLR_SYSV, /* CoreCLR on Unix: SET_FPREG_LARGE is valid; System V's preserved set */
};

/* Another function of the same image, for tail jumps and indirect entries. */
struct sw_pe_table {
	/* The entry that covers rva, or false. */
	bool (*find)(void *arg, uint32_t rva, struct sw_pe_function *ret);
	void *arg; /* borrowed */
};

struct sw_pe_env {
	struct sw_memory memory; /* of the image; of the stack, too, when that has no ops */
	struct sw_memory stack;
	uint64_t base_avma; /* of the image: what RVAs count from */
	enum sw_pe_rules rules;
	struct sw_pe_table table; /* find NULL: jumps are judged by the function's range alone */
	bool exact_pc;       /* pc is the next instruction: it may be in a prologue or epilogue */
	uint64_t fault_avma; /* out: what could not be read, for SW_PE_UNREADABLE */
	const char *why;     /* out: static; for SW_PE_BAD */
};

enum sw_pe_result {
	SW_PE_OK,         /* *ret are the caller's registers */
	SW_PE_OK_MACHINE, /* the same, and the caller was interrupted: its pc is exact */
	SW_PE_BAD,        /* the table is malformed, of a version we do not know, or a register that
			     it needs was lost */
	SW_PE_UNREADABLE,
};

/* Steps out of the function whose entry covers regs->pc_avma. regs and *ret may not overlap. xmm
 * registers are not tracked (struct sw_regs has none, and no address hangs on them). Everything is
 * read and decoded each time; pe/rule.h has the same with a cache. */
enum sw_pe_result sw_pe_step(struct sw_pe_env *env, const struct sw_pe_function *function,
			     const struct sw_regs *regs, struct sw_regs *ret);

/* A function without an entry is a leaf: nothing pushed, nothing saved; only for an exact pc.
 * Knows mingw's ___chkstk_ms, which pushes all the same. */
enum sw_pe_result sw_pe_step_leaf(struct sw_pe_env *env, const struct sw_regs *regs,
				  struct sw_regs *ret);

/* Follows indirect entries (bit 0 of UnwindData) and checks order and bounds. False: malformed. */
bool sw_pe_function_resolve(struct sw_pe_env *env, struct sw_pe_function *function);

/* Binary search in a sorted table of n entries (12 bytes each) at table_avma, in memory. */
bool sw_pe_table_search(struct sw_memory memory, uint64_t table_avma, size_t n, uint32_t rva,
			struct sw_pe_function *ret);

/* The entry in words: range, version, flags, prologue, frame register, every code, chain. */
void sw_pe_function_print(struct sw_pe_env *env, const struct sw_pe_function *function,
			  struct sw_text *text);

#endif
