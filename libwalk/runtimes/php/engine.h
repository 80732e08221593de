/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_ENGINE_H
#define SW_PHP_ENGINE_H

#include "cfi/find.h"
#include "runtimes/php/find.h"
#include "unwind/unwinder.h"

enum {
	/* Ends of execute_ex(): gcc makes one. More count as its body: a thread that is interrupted there has calls that
	 * are those of its caller, or none. */
	SW_PHP_RETURNS_MAX = 4,
};

/*
 * The native code that executes PHP: execute_ex() and, in the same frame, what the JIT made. In the
 * kind "hybrid", which all builds by gcc are, generated code is jumped to and leaves the stack
 * pointer as execute_ex() has set it.
 *
 *	CFA - 8			return address
 *	CFA - 16 ...		saved rbx, rbp, r12, r13
 *	CFA - frame_bytes	sp while code of PHP runs
 *	CFA - fp_below		r14 as it was at the entry: what the caller's PHP executed
 *
 * Where its frame has a frame pointer (gcc 14 of PHP 8.4), CFA = rbp + 16.
 */
struct sw_php_engine {
	struct sw_elf_cfi *cfi;        /* NULL: there are no tables */
	uint64_t start_svma, end_svma; /* [start, end) of execute_ex(); 0: not known */
	uint64_t body_svma;            /* an instruction of it, with its frame set up */
	uint32_t frame_bytes;          /* 0: not known, or with a frame pointer */
	uint32_t fp_below;             /* 0: not known */
	uint64_t fp_own_svma;          /* from this instruction on r14 is its own */
	/* [start, end): where r14 is its caller's again, up to and with its "ret". */
	struct {
		uint64_t start_svma, end_svma;
	} returns[SW_PHP_RETURNS_MAX];
	size_t n_returns;
	/* The rarely executed part of a function with a frame pointer: [start, end); 0 if none is
	 * known. */
	uint64_t cold_start_svma, cold_end_svma;
	bool hybrid;
	bool frame_pointer; /* its CFA is rbp + 16 */
	bool has_jit;       /* there is executable memory that the JIT may have used */
	bool opcache;       /* of which the JIT is a part, is loaded */
};

void sw_php_engine_read(const struct sw_snapshot *snap, const struct sw_php_found *found,
			struct sw_php_engine *ret);

/* Whether the frame at the cursor is one of execute_ex(), in whatever code it is. caller_sp_avma: its
 * CFA, 0 when that is not known. */
bool sw_php_engine_has(const struct sw_php_engine *engine, const struct sw_php_found *found,
		       const struct sw_cursor *cursor, uint64_t caller_sp_avma);

/* Whether execute_ex() is interrupted before r14 is its own: it is still its caller's then. */
bool sw_php_engine_begins(const struct sw_php_engine *engine, const struct sw_php_found *found,
			  const struct sw_cursor *cursor);

/* Whether it is interrupted where r14 is its caller's again, and the call that it has executed has ended. */
bool sw_php_engine_ends(const struct sw_php_engine *engine, const struct sw_php_found *found,
			const struct sw_cursor *cursor);

/* Whether frames of code that a JIT makes are known. */
bool sw_php_jit_frames(const struct sw_php_engine *engine);

/*
 * Whether there may be code of the JIT: executable memory of its own; while it writes to that, and there is none, any
 * shared memory that may be opcache's.
 */
bool sw_php_jit_at(const struct sw_php_engine *engine, const struct sw_snapshot *snap,
		   uint64_t avma);

/* Whether what returns there may have been called by code of the JIT; while it writes, a CALL must be before it. */
bool sw_php_jit_returns(const struct sw_php_engine *engine, const struct sw_snapshot *snap,
			struct sw_memory memory, uint64_t return_avma);

/* Whether the frame at the cursor is in code of the JIT. */
bool sw_php_in_jit(const struct sw_php_engine *engine, const struct sw_cursor *cursor);

/* sw_runtime_ops.step: out of code of the JIT. */
enum sw_step sw_php_engine_step(const struct sw_php_engine *engine,
				const struct sw_php_found *found, struct sw_cursor *cursor,
				struct sw_stepped *ret);

/* In the code of execute_ex()'s start, the slot of "mov [rsp + slot], r14"; -1: there is none. *ret_end: how
 * many bytes of it are up to the next instruction. */
int32_t sw_php_fp_slot(struct sw_bytes code, uint32_t *ret_end);

/* The same of "mov [rbp - n], r14": n; 0: there is none. */
uint32_t sw_php_fp_below_rbp(struct sw_bytes code, uint32_t *ret_end);

/* How many bytes of the code are up to where "mov r14, rdi" is done; start: it is not there. */
uint32_t sw_php_fp_own(struct sw_bytes code, uint32_t start);

/*
 * The next end of a function in code: from behind "mov r14, [rsp + slot]", or "mov r14, [rbp - n]", up to the
 * "ret" that follows. *off goes on behind it. False: there is no other.
 */
bool sw_php_return_find(struct sw_bytes code, bool rbp, uint32_t slot, size_t *off,
			size_t *ret_start);

/*
 * The next direct jump in code at code_svma that leads out of it: *off goes on behind it. False: there is no
 * other. Bytes are looked at: some are no jumps.
 */
bool sw_php_jump_out(struct sw_bytes code, uint64_t code_svma, size_t *off, uint64_t *ret_svma);

#endif
