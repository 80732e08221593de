/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_PERFMAP_H
#define SW_JIT_PERFMAP_H

#include "jit/common/source.h"
#include "bytes.h"
#include "range_index.h"

/*
 * The text that runtimes write to /tmp/perf-PID.map: "START SIZE NAME" in each line, numbers in
 * hexadecimal, with 0x or without. Lines are only ever appended, so later ones are true; the last one
 * may be cut, since files are written in blocks.
 * Source: Linux tools/perf/Documentation/jit-interface.txt, v6.1.
 */
enum { SW_PERFMAP_LINES_MAX = 4 << 20 /* the last ones are looked at */ };

struct sw_perfmap_line {
	uint64_t start_avma, bytes;
	struct sw_bytes name; /* borrowed; not empty */
};

/* The line that begins at an offset; it must be whole. */
bool sw_perfmap_line_read(struct sw_bytes map, size_t offset, struct sw_perfmap_line *ret);

/* Adds the ranges of all lines, each with its offset as value; lines that are no such are skipped.
 * *ret_n: lines that count; *ret_limited: there were more. 0, -SW_E_NOMEM. */
int sw_perfmap_parse(struct sw_bytes map, struct sw_jit_ranges *ranges, size_t *ret_n,
		     bool *ret_limited);

extern const struct sw_jit_hook_ops sw_jit_perfmap_hooks;
extern const struct sw_jit_source_ops sw_jit_perfmap;

#endif
