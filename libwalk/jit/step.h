/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_STEP_H
#define SW_JIT_STEP_H

#include "jit/common/source.h"
#include "cfi/rule.h"
#include "map.h"
#include "unwind/unwinder.h"

/* Rules that were made of call frame information, of all sources. */
struct sw_jit_rules {
	struct sw_arena *arena; /* borrowed */
	/* By source: address -> rule's address, or minus an error (SW_E_*). */
	struct sw_map64 made[SW_JIT_SOURCES_MAX];
	size_t n;
};

/* source: its index. 0 and *ret, borrowed from the arena; -SW_E_NOT_FOUND: none; or another error. */
int sw_jit_rule_get(struct sw_jit_rules *rules, size_t source, const struct sw_jit_entry *entry,
		    uint64_t avma, const struct sw_cfi_rule **ret);

/* Where the unwind information of an entry with SW_JIT_PE lies. */
struct sw_pe_env sw_jit_pe_env(const struct sw_jit_entry *entry, struct sw_memory memory);

/* A step out of code by what a source says of it. */
enum sw_step sw_jit_entry_step(struct sw_jit_rules *rules, size_t source,
			       const struct sw_jit_entry *entry, struct sw_cursor *cursor,
			       struct sw_stepped *ret);

/* The same in words; name: the source's. */
void sw_jit_entry_explain(struct sw_jit_rules *rules, const struct sw_snapshot *snap, size_t source,
			  const char *name, const struct sw_jit_entry *entry, uint64_t avma,
			  struct sw_text *text);

#endif
