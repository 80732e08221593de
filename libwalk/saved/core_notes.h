/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CORE_NOTES_H
#define SW_CORE_NOTES_H

#include "arena.h"
#include "bytes.h"

#include <snapwalk/walk.h>

/* A line of the NT_FILE note: a file mapping. */
struct sw_core_file {
	uint64_t start_avma, end_avma; /* [start, end) */
	uint64_t file_off;
	const char *path; /* borrowed from the notes' bytes */
	uint32_t number;  /* the same for the same path in sequence, from 1 */
};

/* The notes of a core file. */
struct sw_core_notes {
	bool is_32bit; /* set by who reads them: what follows is in the layout of i386 */
	struct sw_thread *threads; /* the arena's; in the file's order: the first is the one that
				      crashed. Registers are set, stacks not */
	size_t n_threads, threads_capacity;
	uint16_t fs, gs; /* of i386: selectors of the last thread, while notes are read */
	struct sw_core_file *files; /* the arena's; by address, not overlapping */
	size_t n_files;
	bool has_process;
	pid_t pid, ppid;
	uid_t uid;
	char state;
	char comm[SW_COMM_MAX];
	uint64_t vdso_avma;      /* AT_SYSINFO_EHDR, 0 when unknown */
	uint64_t entry_avma;     /* AT_ENTRY, 0 when unknown */
	uint64_t phdr_avma;      /* AT_PHDR, 0 when unknown */
	uint64_t execfn_avma;    /* AT_EXECFN, 0 when unknown */
	int signal;              /* the first thread's pr_cursig, 0: none */
	struct sw_bytes siginfo; /* of the first NT_SIGINFO; no bytes: there is none */
	bool malformed; /* a note did not fit in its segment or is not what its type says */
	bool limited;   /* more threads or files than the limits */
};

enum { SW_CORE_THREADS_MAX = 65536, SW_CORE_FILES_MAX = 262144 };

/* Adds what one PT_NOTE segment holds; what is malformed is left out. 0, -SW_E_NOMEM. */
int sw_core_notes_parse(struct sw_arena *arena, struct sw_bytes segment,
			struct sw_core_notes *notes);

/* Brings files into the order of their addresses, drops overlaps, numbers the paths. */
void sw_core_notes_sort_files(struct sw_core_notes *notes);

/* The file mapped at an address, or NULL. */
const struct sw_core_file *sw_core_notes_file(const struct sw_core_notes *notes, uint64_t avma);

#endif
