/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_METHOD_H
#define SW_CLR_METHOD_H

#include "pe/unwind.h"

#include <stdbool.h>
#include <stdint.h>

/* What is known of one address of managed code, without names. */
enum sw_clr_code_kind {
	SW_CLR_CODE_NONE, /* not managed code */
	SW_CLR_CODE_JIT,  /* compiled at run time */
	SW_CLR_CODE_R2R,  /* ReadyToRun: compiled ahead of time */
	SW_CLR_CODE_STUB, /* a helper that the runtime made; no method, no unwind information */
};

struct sw_clr_code {
	uint8_t kind;                   /* enum sw_clr_code_kind */
	bool collectible;               /* may be freed while the process runs */
	unsigned index;                 /* which entry of its method: 0 the body, else a funclet */
	const char *stub;               /* STUB: static, its kind in words */
	uint64_t base_avma;             /* what RVAs of function count from */
	uint64_t start_avma;            /* first instruction of the method; 0: not known */
	uint64_t method_avma;           /* MethodDesc; 0: not known */
	uint64_t header_avma;           /* JIT: its code header; 0: not known */
	uint64_t module_avma;           /* R2R: Module */
	uint64_t info_avma;             /* R2R: ReadyToRunInfo; 0 when the image was asked */
	struct sw_pe_function function; /* the entry that covers the address */
	const struct sw_clr_runtime *runtime; /* borrowed */
};

struct sw_clr;
struct sw_clr_runtime;

/* The code at an address, pc as it is; NULL when it is not managed code or there is no memory. Cached
 * by address; valid until detach. */
const struct sw_clr_code *sw_clr_code_find(struct sw_clr *clr, uint64_t pc_avma);

#endif
