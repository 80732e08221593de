/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_CODE_H
#define SW_SAMPLE_CODE_H

#include "process/target.h"
#include "snapshot/snapshot.h"

#include <stdbool.h>
#include <stdint.h>

/* Which code a process has mapped, as of the last look. Zero-initialised: none was taken. */
struct sw_sample_code {
	uint64_t size_pages; /* of the memory, when the maps were read last */
	uint64_t hash;       /* of the mappings of code; 0: not made */
	int64_t looked_ns;   /* when they were compared last */
	bool asked;          /* sw_sample_code_ask(), and no look since */
	bool in_vain;        /* the last look that was asked for found the code as it was */
};

/* A walk came to code that the maps do not have. Code that is made executable changes no size: the next comparison is made
 * without a look at it, SW_SAMPLE_CODE_NS after the last one. One in vain makes the next such comparison wait for a second. */
void sw_sample_code_ask(struct sw_sample_code *code);
enum { SW_SAMPLE_CODE_NS = 20000000 };

/* Whether code came or went since the last look, or a runtime that base does not have is announced: at most once a second, and
 * only if the size of the memory is another one. */
bool sw_sample_code_is_other(struct sw_sample_code *code, const struct sw_target *target,
			     const struct sw_snapshot *base);

/* Whether a runtime that base does not have is announced; as above, at most once in every_ns. */
bool sw_sample_code_is_announced(struct sw_sample_code *code, const struct sw_target *target,
				 const struct sw_snapshot *base, int64_t every_ns);

#endif
