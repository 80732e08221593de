/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JITDUMP_PARSE_H
#define SW_JITDUMP_PARSE_H

#include "bytes.h"
#include "cfi/entry.h"
#include "range_index.h"

/*
 * Files of binary records that runtimes write for perf: functions with their bytes, moves of them,
 * lines, and call frame information.
 *
 *	file	"DTiJ" u32 version | u32 bytes of this header ... | records
 *	record	u32 kind | u32 bytes of all of it | u64 time | what its kind says
 *	 0 LOAD		u32 pid, tid | u64 vma, start, bytes, index | name, NUL | code
 *	 1 MOVE		u32 pid, tid | u64 vma, old start, new start, bytes, index
 *	 2 DEBUG_INFO	u64 start, entries | each: u64 address | u32 line, column | file, NUL
 *	 3 CLOSE
 *	 4 UNWINDING_INFO	u64 bytes, of them .eh_frame_hdr at the end, mapped | bytes
 * 2 and 4 come before the LOAD that they belong to.
 * Source: Linux tools/perf/Documentation/jitdump-specification.txt and util/jitdump.h, v6.1.
 */
enum { SW_JITDUMP_FUNCTIONS_MAX = 4 << 20 };

struct sw_jitdump_function {
	uint64_t start_avma, bytes;
	uint32_t name_off;   /* of a NUL-terminated name in the file */
	uint32_t lines_off;  /* of the first entry of its DEBUG_INFO; 0: none */
	uint32_t lines_end;  /* where that record ends */
	uint32_t unwind_off; /* of its call frame information; 0: none */
	uint32_t unwind_bytes;
	bool gone; /* moved away */
};

struct sw_jitdump {
	struct sw_bytes bytes;                 /* borrowed */
	struct sw_jitdump_function *functions; /* owned */
	size_t n, capacity;
	struct sw_jit_ranges ranges; /* value: index of a function */
	size_t n_cfi;                /* functions that have call frame information */
	const char *problem;         /* static: why it is not used in whole; NULL */
};

/* 0; -SW_E_NOMEM. A file that is no jitdump has no functions and a problem; a record that is cut ends
 * it, as files are written in blocks. */
int sw_jitdump_parse(struct sw_bytes bytes, struct sw_jitdump *ret);
void sw_jitdump_deinit(struct sw_jitdump *dump);

const struct sw_jitdump_function *sw_jitdump_find(const struct sw_jitdump *dump, uint64_t avma);

/* The function's name, "" when it has none. */
const char *sw_jitdump_name(const struct sw_jitdump *dump, const struct sw_jitdump_function *f);

/* File (no NUL behind it) and line at an address; false when they are not known. */
bool sw_jitdump_line(const struct sw_jitdump *dump, const struct sw_jitdump_function *f,
		     uint64_t avma, struct sw_bytes *ret_file, uint32_t *ret_line);

/* The .eh_frame of a function as if it were where perf puts it: behind the code, at the next
 * multiple of 8. */
bool sw_jitdump_cfi(const struct sw_jitdump *dump, const struct sw_jitdump_function *f,
		    struct sw_cfi_section *ret);

#endif
