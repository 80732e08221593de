/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_FILE_H
#define SW_MINIDUMP_FILE_H

#include "arena.h"
#include "bytes.h"

#include <snapwalk/walk.h>

/*
 * The contents of a minidump, as it says them: threads, modules, memory. All bytes are hostile; what does not fit into the file
 * is left out, and damaged says so.
 */

enum {
	SW_MINIDUMP_THREADS_MAX = 65536,
	SW_MINIDUMP_MODULES_MAX = 4096,
	SW_MINIDUMP_RANGES_MAX = 1 << 20, /* of memory, and regions */
};

struct sw_minidump_thread {
	uint32_t id;
	uint64_t teb_avma;
	struct sw_bytes context; /* no bytes: it has none */
	int64_t cpu_ns;          /* -1: not known */
	const char *name;        /* the arena's; NULL: not known */
};

struct sw_minidump_module {
	uint64_t start_avma, end_avma; /* [start, end) */
	uint32_t image_bytes, timestamp, checksum;
	const char *path; /* the arena's, as the process names it: "C:\\x.dll" */
	/* As sw_pe_image_build_id() makes it; of Linux the build-id of the file, its first 16 bytes, or what Breakpad makes of a
	 * file without one: see sw_minidump_elf_matches(). */
	uint8_t build_id[SW_BUILD_ID_MAX];
	size_t build_id_bytes;
	bool other; /* while files are looked for: there is one of its name, which is another one */
};

/* A stretch of memory whose state is known: MINIDUMP_MEMORY_INFO. */
struct sw_minidump_region {
	uint64_t start_avma, end_avma;
	uint32_t prot; /* SW_MAP_* */
};

struct sw_minidump_exception {
	uint32_t thread, code, flags;
	uint64_t at_avma;   /* of the instruction */
	uint32_t n_details; /* at most as many as are here */
	uint64_t details[15];
	struct sw_bytes context; /* of the thread, at the exception; no bytes: there is none */
};

/* Files of /proc as they were, in a minidump of Linux by Breakpad; no bytes: they are not in it. */
struct sw_minidump_proc {
	struct sw_bytes maps, status, auxv;
};

struct sw_minidump {
	bool is_linux; /* of a program for Linux or Android, as Breakpad and Crashpad write it */
	struct sw_minidump_proc proc;
	struct sw_minidump_thread *threads; /* by id; the arena's, as all tables */
	size_t n_threads;
	struct sw_minidump_module *modules; /* by address, not overlapping */
	size_t n_modules;
	uint64_t first_avma;     /* where the first one of the file's list is; 0: there is none */
	struct sw_range *ranges; /* in the file's order: they may overlap */
	size_t n_ranges;
	struct sw_minidump_region
		*regions; /* in the file's order; none where the file does not say it */
	size_t n_regions;
	bool has_exception;
	struct sw_minidump_exception exception;
	uint32_t pid;          /* 0: not known */
	int64_t time_s;        /* since 1970; 0: not known */
	int64_t begin_s;       /* of the process; 0: not known */
	bool damaged, limited; /* something does not fit into the file, or is more than a limit */
};

/* Whether a file begins as a minidump does. */
bool sw_minidump_is(struct sw_bytes file);

/* 0; -SW_E_FORMAT; -SW_E_ARCH: not of x64; -SW_E_NOMEM. name is for messages. ret borrows the file. */
int sw_minidump_parse(struct sw_arena *arena, struct sw_bytes file, const char *name,
		      struct sw_minidump *ret, struct sw_error *err);

#endif
