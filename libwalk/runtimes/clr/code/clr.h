/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_RUNTIME_H
#define SW_CLR_RUNTIME_H

#include "arena.h"
#include "runtimes/clr/published/layout.h"
#include "map.h"
#include "pe/rule.h"
#include "snapshot/snapshot.h"
#include "snapshot/read.h"

/* The kind of an address of managed code, without names. */
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

/* A CoreCLR in the process. */
struct sw_clr_runtime {
	struct sw_place *place;          /* its module; borrowed */
	struct sw_clr_contract contract; /* json NULL: it has none */
	struct sw_clr_layout at;
	bool is_windows;   /* it is one for Windows: so are its calls and its threads' numbers */
	bool usable;       /* at is valid */
	char version[64];  /* "" when unknown */
	char problem[192]; /* why it is not usable, or what of it is not; "" when all is well */
};

enum { SW_CLR_RUNTIMES_MAX = 4 };

/* By which rules its code is unwound, and which registers are preserved. */
static inline enum sw_pe_rules sw_clr_rules(const struct sw_clr_runtime *runtime)
{
	return runtime->is_windows ? SW_PE_WINDOWS : SW_PE_CLR_SYSV;
}

struct sw_clr_dynamic;

/* All of them, and what was found with their help. */
struct sw_clr {
	const struct sw_snapshot *snap;   /* borrowed */
	struct sw_snapshot_memory source; /* of memory */
	struct sw_memory memory;
	/* The snapshot has copies of the kernel's, one after another: code may come, and some may be freed, between them. */
	bool by_copies;
	uint64_t n_copies;              /* since it was opened */
	int64_t renewed_ns;             /* when the last one came */
	struct sw_clr_dynamic *dynamic; /* owned */
	size_t n_dynamic, dynamic_capacity;
	struct sw_map64 by_start; /* first instruction -> 1 + index of dynamic */
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX];
	size_t n_runtimes;
	bool double_mapped; /* see sw_clr_is_helper() */
	struct sw_arena arena;
	struct sw_map64 by_pc;   /* -> struct sw_clr_code, 0: not managed */
	struct sw_map64 rules;   /* pc << 1 | exact -> struct sw_pe_rule */
	struct sw_map64 hijacks; /* pc << 1 | exact -> 1 + distance behind OnHijackTripThread */
	uint64_t *threads;       /* Thread objects; the arena's */
	size_t n_threads, threads_capacity;
	bool threads_tried;
	struct sw_map64 replaced; /* slot on a stack -> address of what was there, in a Thread */
	bool replaced_tried;
	struct sw_clr_names *names;        /* owned; NULL until the first name is asked for */
	struct sw_clr_thread_infos *infos; /* owned; the same of threads */
	struct sw_clr_locks *locks;        /* the arena's */
	bool locks_tried;
	uint64_t looked_bytes; /* of stacks, for objects that threads wait for: library_locks.h */
	const struct sw_clr_tasks_window
		*window;                /* borrowed: what copied tasks; NULL: nothing did */
	struct sw_clr_all_tasks *tasks; /* owned; NULL until something is known of them */
	struct sw_thread_pool pool;     /* of the first runtime */
};

/* By copies: whether the code may be another one than was there when the copy was made. */
static inline bool sw_clr_is_doubtful(const struct sw_clr *clr, const struct sw_clr_code *code)
{
	return clr->by_copies && code->collectible;
}

/* Registers that code of the process leaves as they are; there is a runtime. */
static inline uint32_t sw_clr_preserved(const struct sw_clr *clr)
{
	return sw_pe_preserved(sw_clr_rules(&clr->runtimes[0]));
}

#endif
