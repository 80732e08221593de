/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef JIT_CODE_H
#define JIT_CODE_H

/*
 * The machine code that the example and the stress target of <snapwalk/ftable.h> generate: one small
 * function in several forms, each with another way out of it. Called with rdi = a list of functions,
 * it calls the first one with rdi = the rest of the list:
 *
 *	void f(struct step *steps) { steps->call(steps + 1); }
 */
#include <snapwalk/ftable.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct step {
	void (*call)(struct step *rest);
};

enum code_kind { CODE_FIXED, CODE_FRAME_POINTER, CODE_EH_FRAME, CODE_RUNTIME_FUNCTION, CODE_KINDS };

enum {
	CODE_BYTES = 64, /* of one function, padded */
	FIXED_FRAME = 32,
	EH_CIE_BYTES = 24,
	EH_FDE_BYTES = 48,
};

/* The call in all of them: mov (%rdi),%rax; add $8,%rdi; call *%rax. */
#define CODE_CALL "\x48\x8b\x07\x48\x83\xc7\x08\xff\xd0"

/* sub $24,%rsp; call; add $24,%rsp; ret */
static const char code_fixed[] = "\x48\x83\xec\x18" CODE_CALL "\x48\x83\xc4\x18\xc3";

/* push %rbp; mov %rsp,%rbp; sub $32,%rsp; call; leave; ret */
static const char code_frame_pointer[] = "\x55\x48\x89\xe5\x48\x83\xec\x20" CODE_CALL "\xc9\xc3";

/* push %rbx; push %rbp; sub $72,%rsp; mov $32,%ebp; call; add $72,%rsp; pop %rbp; pop %rbx; ret:
 * rbp is a register like others, and leads nowhere. Offsets of what follows are in the tables below. */
static const char code_tables[] =
	"\x53\x55\x48\x83\xec\x48\xbd\x20\x00\x00\x00" CODE_CALL "\x48\x83\xc4\x48\x5d\x5b\xc3";

static inline size_t code_write(uint8_t *to, enum code_kind kind)
{
	static const struct {
		const char *bytes;
		size_t n;
	} forms[CODE_KINDS] = {
		{code_fixed, sizeof(code_fixed) - 1},
		{code_frame_pointer, sizeof(code_frame_pointer) - 1},
		{code_tables, sizeof(code_tables) - 1},
		{code_tables, sizeof(code_tables) - 1},
	};
	memset(to, 0xcc, CODE_BYTES);
	memcpy(to, forms[kind].bytes, forms[kind].n);
	return forms[kind].n;
}

static inline void put32(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value));
}

/* CIE: version 1, "zR", code 1, data -8, return address in 16, pointers relative to themselves in 4
 * bytes; CFA = rsp + 8, return address at CFA - 8. */
static inline void eh_cie_write(uint8_t *to)
{
	static const uint8_t rest[] = {1,    'z', 'R', 0, 1, 0x78, 16,	 1,    0x1b,
				       0x0c, 7,	  8,   0x90, 1, 0,	  0};
	put32(to, EH_CIE_BYTES - 4);
	put32(to + 4, 0);
	memcpy(to + 8, rest, sizeof(rest));
}

/* The FDE of code_tables at code; cie is where its CIE lies. */
static inline void eh_fde_write(uint8_t *to, const uint8_t *cie, const uint8_t *code)
{
	static const uint8_t program[] = {
		0x41, 0x0e, 16,       /* push %rbx: advance 1, CFA = rsp + 16 */
		0x83, 2,	      /* rbx at CFA - 16 */
		0x41, 0x0e, 24,       /* push %rbp */
		0x86, 3,	      /* rbp at CFA - 24 */
		0x44, 0x0e, 96,       /* sub $72,%rsp */
		0x52, 0x0e, 24,       /* add $72,%rsp, 18 bytes on */
		0x41, 0xc6, 0x0e, 16, /* pop %rbp: as it was at first */
		0x41, 0xc3, 0x0e, 8,  /* pop %rbx */
	};
	memset(to, 0, EH_FDE_BYTES);
	put32(to, EH_FDE_BYTES - 4);
	put32(to + 4, (uint32_t) (to + 4 - cie));
	put32(to + 8, (uint32_t) (code - (to + 8)));
	put32(to + 12, sizeof(code_tables) - 1);
	to[16] = 0; /* bytes of augmentation data */
	memcpy(to + 17, program, sizeof(program));
}

/* UNWIND_INFO of code_tables: version 1, no flags; prologue of 6 bytes; from its end on: rsp was
 * lowered by 72 (UWOP_ALLOC_SMALL, 8), rbp and rbx pushed. */
enum { UNWIND_INFO_BYTES = 12 };
static inline void unwind_info_write(uint8_t *to)
{
	static const uint8_t info[UNWIND_INFO_BYTES] = {1, 6,	 3, 0,	  6, 8 << 4 | 2,
							2, 5 << 4, 1, 3 << 4, 0, 0};
	memcpy(to, info, sizeof(info));
}

/* Memory for code and its tables, near each other; an address that 32 bits reach from everywhere in
 * it. */
static inline uint8_t *region_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return (uint8_t *) p;
}

#endif
