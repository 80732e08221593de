/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIES_EXECUTE_H
#define SW_COPIES_EXECUTE_H

#include "iterate/sampled.h"
#include "memory.h"

#include <stddef.h>

struct sw_recipe_thread {
	const uint64_t *regs; /* borrowed */
	uint64_t thread_pointer;
};

/*
 * A recipe executed here, for a thread that does not run: what iterate/bpf/sample.bpf.c does at an event. The record has no
 * stack: the caller has that.
 *
 * @param recipe  As sw_recipe_is_valid() wants it.
 * @param thread  Its registers, SW_ITERATE_REGS of them.
 * @param memory  Of the process, while the thread does not run.
 * @param record  Space for SW_SAMPLED_BYTES_MAX, aligned to 8 bytes. As sw_copy_parse() reads it; of the head only bytes,
 *                n_parts and flags are set, all else is 0.
 * @return How many bytes it has.
 */
size_t sw_recipe_execute(const struct sw_sampled_recipe *recipe, struct sw_memory memory,
			 const struct sw_recipe_thread *thread, uint8_t *record);

#endif
