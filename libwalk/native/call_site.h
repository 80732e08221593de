/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CALL_SITE_H
#define SW_CALL_SITE_H

#include "native/tail_jump.h"
#include "unwind/unwinder.h"

/*
 * Is a word from the stack the return address of the cursor's frame? Looks at the CALL before it
 * and asks if it leads to the function that the frame is in.
 */
enum sw_call_site {
	SW_SITE_NONE,     /* no code, or no call comes before it: it is no return address */
	SW_SITE_OTHER,    /* the call leads elsewhere: stale, unless that function jumped here */
	SW_SITE_POSSIBLE, /* an indirect call or a signal, or the frame's function is not known */
	SW_SITE_LIKELY, /* a direct call to Windows code without an entry, about where the frame is */
	SW_SITE_VERIFIED, /* a direct call, also through a PLT entry, to the frame's function or to one
			     that jumps to it */
};

struct sw_callee {
	const struct sw_cursor *cursor; /* borrowed */
	bool tried, known;
	bool about;          /* not known, but it begins in [start, pc] */
	uint64_t start_avma; /* the frame's function begins here, when known */
	size_t insns_left;   /* of functions that may jump to it */
};

/* For the frame that cursor is at. */
static inline struct sw_callee sw_callee_of(const struct sw_cursor *cursor)
{
	return (struct sw_callee){.cursor = cursor, .insns_left = SW_TAIL_JUMP_INSNS_MAX};
}

enum sw_call_site sw_call_site_check(struct sw_callee *callee, uint64_t return_avma);

/* Whether anything but SW_SITE_NONE is found of a word; for who asks of one word alone. */
bool sw_is_return_address(const struct sw_cursor *cursor, uint64_t word);

/* A direct call to shortly before the frame's pc: to its function, when nothing says where that begins. */
bool sw_is_called_near(const struct sw_cursor *c, uint64_t return_avma);

/* True when avma is in executable memory. */
bool sw_is_executable(const struct sw_snapshot *snap, uint64_t avma);

/*
 * A frame from sp_avma to cfa_avma is the last that its memory has place for. With 0 for a return address it is a fiber's
 * first, on memory that was mapped for it alone, as Crystal's (1.6, src/fiber/context/x86_64-sysv.cr: that word is never
 * written). The stacks of threads end in what is not theirs.
 */
bool sw_is_end_of_mapping(const struct sw_snapshot *snap, uint64_t sp_avma, uint64_t cfa_avma);

/* Unwind tables, or where functions of a PE32 image begin, say that the function with code at avma has none at next_avma. */
bool sw_function_ends(const struct sw_snapshot *snap, uint64_t avma, uint64_t next_avma);

/* Code of compilers: of ELF files and of the vDSO. NULL: code of no file. */
bool sw_is_native_code(const struct sw_place *place);

#endif
