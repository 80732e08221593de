/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CORE_BUILDER_H
#define CORE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ELF core files made of literals, for unit tests:
 *	struct core_builder b = {0};
 *	core_thread(&b, 7, 0x401000, 0x7000, -1);
 *	core_load(&b, 0x7000, 0x1000, PF_R | PF_W, stack, sizeof(stack));
 *	core_write(&b, path);
 * Notes are in the order of the calls. Layout: ELF header, program headers, notes, loads.
 */

enum { CORE_LOADS = 16, CORE_FILES = 16, CORE_NOTE_BYTES = 16384 };

struct core_load {
	uint64_t start, memsz, filesz;
	uint32_t flags;
	const void *data; /* borrowed */
};

struct core_builder {
	uint8_t notes[CORE_NOTE_BYTES];
	size_t n_notes;
	struct core_load loads[CORE_LOADS];
	size_t n_loads;
	bool extended_count;    /* the number of program headers is in section header 0 (PN_XNUM) */
	uint8_t bytes[1 << 16]; /* what core_write() wrote */
	size_t size;
};

void core_note(struct core_builder *b, const char *owner, uint32_t type, const void *desc,
	       size_t size);
/* NT_PRSTATUS; DWARF register N other than rsp and rip holds tid * 0x100 + N. */
void core_thread(struct core_builder *b, int tid, uint64_t pc, uint64_t sp, int64_t syscall);
/* NT_PRPSINFO */
void core_process(struct core_builder *b, int pid, int ppid, int uid, char state, const char *comm);
/* NT_AUXV with two entries and AT_NULL */
void core_auxv(struct core_builder *b, uint64_t vdso, uint64_t entry);

struct core_file {
	uint64_t start, end, pages;
	const char *path;
};
/* NT_FILE with pages of 4096 bytes */
void core_files(struct core_builder *b, const struct core_file *files, size_t n);
void core_load(struct core_builder *b, uint64_t start, uint64_t memsz, uint32_t flags,
	       const void *data, size_t filesz);

/* Lays it out in bytes; fails the test when it does not fit. */
void core_layout(struct core_builder *b);
/* The same, and writes the first limit bytes of it. */
void core_write(struct core_builder *b, const char *path, size_t limit);

#endif
