/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WINE_THREADS_H
#define WINE_THREADS_H

#include <winsock2.h>
#include <ws2tcpip.h>

#include <windows.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread of the program: what it does, and what is known of it. */
struct role {
	const char *name; /* the thread's name, also in Linux: at most 15 bytes */
	void (*run)(struct role *role);
	/* How its stack is told from inside. */
	enum {
		WALK_ALL, /* RtlVirtualUnwind is right from the system call to the thread's start */
		WALK_START, /* right for the first frames only: up to where its own rules fail */
		WALK_NONE,  /* not always in the same place: only functions are known */
	} walk;
	const char *functions; /* own functions that must be on the stack, innermost first */
	uint32_t tid;          /* of Linux */
	HANDLE handle;
	volatile LONG ready; /* it is where it will stay, or about to be */
};

/* Marks the thread's place; the next thing it does is what it is there for. */
void role_ready(struct role *role);

/* Waits for ever, in a system call. */
void wait_for_ever(void);

/* Functions, of which the stacks are made, are not merged, inlined or left out. */
#define PLAIN __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
/* After a call that must stay one. The instruction is there because Windows takes a return address for
 * one in an epilogue if that is what follows, and does not ask the frame's handler then. */
#define HERE() __asm__ volatile("nop" ::: "memory")

/* threads_code.c: code that the program makes itself, with tables of each kind. */
void run_table(struct role *role);
void run_growable(struct role *role);
void run_callback(struct role *role);
void run_unlisted(struct role *role);
/* threads_waits.c */
extern struct role wait_roles[];
extern const size_t n_wait_roles;
/* threads_frames.c */
extern struct role frame_roles[];
extern const size_t n_frame_roles;
/* threads_more.c */
extern struct role more_roles[];
extern const size_t n_more_roles;

#endif
