/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CORE_ELF_H
#define SW_CORE_ELF_H

#include "arena.h"
#include "bytes.h"

#include <snapwalk/walk.h>

/* A stretch of the address space that a core file speaks of. */
struct sw_core_segment {
	uint64_t start_avma, end_avma; /* [start, end) */
	struct sw_bytes data;          /* of start; may be shorter than the stretch, or empty */
	uint32_t prot;                 /* SW_MAP_* */
};

/* The outer shape of an ELF core file; borrows the file's bytes. */
struct sw_core_elf {
	struct sw_core_segment *segments; /* the arena's; by address, not overlapping */
	size_t n_segments;
	struct sw_bytes *notes; /* the arena's: contents of each PT_NOTE */
	size_t n_notes;
	uint64_t
		missing_bytes; /* what the headers promise and the file, cut short, does not hold */
	bool is_32bit;         /* of a program for i386 */
	bool limited;          /* more segments than the limits: the rest is left out */
};

enum { SW_CORE_SEGMENTS_MAX = 262144, SW_CORE_NOTE_SEGMENTS_MAX = 64 };

/*
 * 0; -SW_E_FORMAT when it is not a core file (the message says what it is); -SW_E_ARCH;
 * -SW_E_NOMEM. name is for messages.
 */
int sw_core_elf_parse(struct sw_arena *arena, struct sw_bytes file, const char *name,
		      struct sw_core_elf *ret, struct sw_error *err);

/* Index of the segment that holds an address, or of the first one behind it, or n_segments. */
size_t sw_core_elf_next(const struct sw_core_elf *core, uint64_t avma);

/* The segment that holds an address, or NULL. */
const struct sw_core_segment *sw_core_elf_segment(const struct sw_core_elf *core, uint64_t avma);

/* All of length bytes at an address, or false. May go over from one segment to the next. */
bool sw_core_elf_read(const struct sw_core_elf *core, uint64_t avma, void *buffer, size_t length);

#endif
