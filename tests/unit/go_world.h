/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef GO_WORLD_H
#define GO_WORLD_H

#include "fake.h"

/*
 * A small Go program and one of its threads: an ELF file with the runtime's functions that change
 * stacks, each of GO_FUNC_BYTES bytes, and two of its own, main.outer() with main.inner() compiled into
 * it; an m with its three g; a goroutine's stack and g0's; the list of goroutines, of which a second one waits
 * for a channel.
 *
 *	file     0 headers | GO_TEXT code | GO_RODATA table of functions, tree of calls | GO_DATA moduledata
 */
enum {
	GO_BASE = 0x400000, /* of the file, in the process too */
	GO_TEXT = GO_BASE + 0x1000,
	GO_RODATA = GO_BASE + 0x2000,
	GO_DATA = GO_BASE + 0x4000,
	GO_IMAGE_BYTES = 0x4400,
	GO_TABLE = GO_RODATA + 0x40,
	GO_TREE = GO_RODATA + 0x1800, /* go:func.* */
	GO_MODULE = GO_DATA + 0x40,
	GO_FUNC_BYTES = 0x40,
	GO_FRAME =
		0x18, /* from sp to the return address in those that have a frame, behind their first 4 bytes */
	GO_C_CODE = 0x700000, /* of a library */
	GO_TID = 7,
	GO_STACK_WORDS = 128,
	GO_FS_BASE = 0x7f0000001000,
	GO_GLOBALS = GO_DATA + 0x380, /* allglen, allgptr */
	GO_REASONS = GO_RODATA + 0x1900,
	GO_PARKED_WORDS = 32,
	/* Words of g. */
	GO_G_STATUS = 10,
	GO_G_ID = 11,
	GO_G_SINCE = 13,
	GO_G_REASON = 14,
	GO_G_PARENT = 16,
	GO_G_CREATED = 17,
	GO_G_WORDS = 18,
	/* Offsets in m. */
	GO_M_VDSO_SP = 30,
};

#define GO_HEAP      UINT64_C(0xc000000000)
#define GO_M         (GO_HEAP + 0x1000)
#define GO_G0        (GO_HEAP + 0x2000)
#define GO_CURG      (GO_HEAP + 0x2400)
#define GO_GSIGNAL   (GO_HEAP + 0x2800)
#define GO_PARKED    (GO_HEAP + 0x3000)
#define GO_LIST      (GO_HEAP + 0x4000)
#define GO_STACK     (GO_HEAP + 0x8000) /* the goroutine's, of GO_STACK_WORDS words */
#define GO_STACK_END (GO_STACK + 8 * GO_STACK_WORDS)
/* The stack of the goroutine that waits. */
#define GO_PARKED_STACK (GO_HEAP + 0x9000)

enum go_world_func {
	GO_GOEXIT,
	GO_MSTART,
	GO_MCALL,
	GO_SYSTEMSTACK,
	GO_MORESTACK,
	GO_ASMCGOCALL,
	GO_CGOCALLBACK,
	GO_CROSSCALL2,
	GO_GOGO,
	GO_CLONE,
	GO_NANOTIME1,
	GO_SCHEDULE,
	GO_FOR_EACH_G,
	GO_CAST_SCAN_STATUS,
	GO_PRINT_CREATED_BY,
	GO_GOROUTINE_HEADER,
	GO_ASYNC_PREEMPT,
	GO_LINKED, /* C code */
	GO_LEAF,   /* main.leaf: the return address is at rsp */
	GO_OUTER,
	GO_N_FUNCS,
};

struct go_world {
	uint8_t image[GO_IMAGE_BYTES];
	uint64_t m[32], g0[16], curg[16], gsignal[16];
	uint64_t slot;                   /* of the thread's TLS */
	uint64_t stack[GO_STACK_WORDS];  /* from GO_STACK */
	uint64_t system[GO_STACK_WORDS]; /* g0's, from go_world_system() */
	uint64_t pc, sp;
	struct sw_regs regs;                 /* besides */
	uint64_t curg_more[GO_G_WORDS - 16]; /* behind curg */
	uint64_t globals[2], list[4];
	uint64_t parked[GO_G_WORDS], parked_stack[GO_PARKED_WORDS];
};

/* Make a world with that layout of the table of functions: 1.18 or, else, 1.20. */
void go_world_init(struct go_world *w, bool v118);

/* The address of byte offset of a function. */
uint64_t go_world_pc(enum go_world_func func, unsigned offset);
/* The address of the n-th word of g0's stack, and that of the goroutine's. */
uint64_t go_world_system(size_t n);
uint64_t go_world_stack(size_t n);
/* A word of its moduledata. */
void go_world_module(struct go_world *w, unsigned offset, uint64_t value);
void go_world_code(struct go_world *w, enum go_world_func func, unsigned offset, const void *bytes,
		   size_t n);

/* The process, with the thread at pc and sp; free with fake_snapshot_destroy(). */
struct sw_snapshot *go_world_snapshot(const struct go_world *w);

#endif
