/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WINE_CASE_H
#define WINE_CASE_H

#include "fake.h"

/*
 * A Wine process made of literals: ntdll.dll with the functions that Wine's Unix code enters and ntdll.so
 * with the two dispatchers, a thread with its TEB and three stacks. Every function, Windows or Unix,
 * has its return address at [rsp].
 *
 *	struct wine_case w;
 *	wine_case_init(&w);
 *	wine_put(&w, WINE_WINDOWS + 0x8000, WINE_APP + 5);	a word of a stack, or of the TEB
 *	struct sw_snapshot *snap = wine_case_snapshot(&w, pc, sp);	one thread; not finished
 */

static const uint64_t WINE_NTDLL = UINT64_C(0x170000000);
static const uint64_t WINE_NTDLL_COPY = UINT64_C(0x1000000);
static const uint64_t WINE_UNIX_BIAS = UINT64_C(0x550000000000);

enum {
	WINE_TEB = 0x20002000,
	WINE_SIGNAL = 0x20003800, /* signal stack, up to WINE_SIGNAL_END */
	WINE_SIGNAL_END = 0x20010000,
	WINE_UNIX = 0x30000000, /* Unix stack, up to WINE_UNIX_END */
	WINE_UNIX_END = 0x30100000,
	WINE_WINDOWS = 0x40000000, /* Windows stack, up to WINE_WINDOWS_END */
	WINE_WINDOWS_END = 0x40010000,
	WINE_FRAME = 0x300ff000, /* the outermost syscall_frame */

	/* RVAs in ntdll.dll: functions of 0x40 bytes. */
	WINE_CALLBACK = 0x1000,
	WINE_EXCEPTION = 0x1040,
	WINE_APC = 0x1080,
	WINE_LOADER = 0x10c0,
	WINE_START = 0x1100,
	WINE_DELETE = 0x1140,
	WINE_VERSION = 0x1180,
	WINE_APP = 0x11c0,   /* any Windows function */
	WINE_THUNK = 0x1200, /* of a system call: without an entry */
	WINE_LIST = 0x2010,  /* the list of function tables */
	WINE_IMAGE_BYTES = 0x300000,

	/* Offsets in ntdll.so's code. */
	WINE_FUNCTION = 0x10, /* any Unix function */
	WINE_SYSCALL_DISPATCHER = 0x20,
	WINE_UNIX_DISPATCHER = 0x40,
	WINE_CALLS_BACK = 0x60, /* call_user_mode_callback(): its CFA is said to be rbp + 0xf0 */
	WINE_CODE_BYTES = 0x80,

	/* Fields of the TEB and of a syscall_frame. */
	TEB_EXIT_FRAME = 0x320,
	TEB_SYSCALL_FRAME = 0x328,
	FRAME_RBX = 0x08,
	FRAME_RIP = 0x70,
	FRAME_RSP = 0x88,
	FRAME_RBP = 0x98,
	FRAME_PREV = 0xa0,
	FRAME_CFA = 0xa8,
	FRAME_RBP_8 = 0x400,
};

struct wine_case {
	uint8_t teb[0x378];
	uint8_t signal[WINE_SIGNAL_END - WINE_SIGNAL];
	uint8_t unix_stack[0x10000]; /* the upper end */
	uint8_t windows[WINE_WINDOWS_END - WINE_WINDOWS];
	uint64_t list[2];                  /* head of the function tables */
	bool no_dispatchers, no_callbacks; /* ntdll.dll does not export them */
	bool has_copy; /* of ntdll.dll, which was not told where unix calls go */
};

/* A thread whose syscall_frame is WINE_FRAME, empty. */
void wine_case_init(struct wine_case *w);
void wine_put(struct wine_case *w, uint64_t avma, uint64_t value);
struct sw_snapshot *wine_case_snapshot(struct wine_case *w, uint64_t pc, uint64_t sp);

/* The address of something in ntdll.dll, in ntdll.so. */
static inline uint64_t wine_dll(uint64_t rva)
{
	return WINE_NTDLL + rva;
}
uint64_t wine_so(uint64_t code_off);

#endif
