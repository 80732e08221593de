/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_JIT_H
#define SW_JIT_H

#include "arena.h"
#include "bytes.h"
#include "unwind/capture.h"
#include "cfi/entry.h"
#include "formats/elf_symbol.h"
#include "memory.h"
#include "pe/unwind.h"
#include "text.h"

/*
 * Where generated code is published: one source for each kind of registry. jit/unwinder.c is the one
 * unwinder over all of them: it asks them in the order of its table, and the first that knows
 * an address says how to step out of it; when what it says leads nowhere, the next one is asked.
 * Names are independent of that: the first source that has a name gives it.
 *
 * A source has two tables of functions. Those of sw_jit_hook_ops run before and in the window, with the
 * privileges of a capture; those of sw_jit_source_ops read the copy, without any. Nothing that runs in the
 * window refers to the second table, so that its parsers cannot be reached with privileges
 * (tests/privileged.py).
 *
 * How to add a source: a folder jit/NAME with a const struct sw_jit_source_ops and a const struct
 * sw_jit_hook_ops, a row in the tables of jit/sources.c and jit/hooks.c at its place in the order of
 * preference. Sources never step: they say what the code's rule is.
 */

/* How to step out of code. */
enum sw_jit_how {
	SW_JIT_CFI,           /* call frame information: cfi, cfi_off */
	SW_JIT_PE,            /* x64 unwind information: function, base_avma */
	SW_JIT_FRAME_POINTER, /* the caller's rbp at [rbp], the return address at [rbp+8] */
	SW_JIT_FIXED_CFA,     /* CFA = rsp + cfa_offset, the return address at [CFA-8] */
	SW_JIT_END,           /* nothing called it: the first frame */
	SW_JIT_UNKNOWN,       /* the code is known, the way out of it is not */
};

/* The code at an address, as a source knows it. */
struct sw_jit_entry {
	uint64_t start_avma, end_avma; /* [start, end) that it holds for */
	enum sw_jit_how how;
	struct sw_cfi_section cfi; /* CFI: addresses are avmas; bytes borrowed until detach() */
	uint64_t cfi_off;          /* of the FDE in it */
	struct sw_pe_function function;
	uint64_t base_avma;
	uint32_t cfa_offset;
	bool live;    /* what says so was read after the target ran again */
	bool by_code; /* the instructions say so themselves */
	uint64_t
		id; /* tells it from an entry that was published for the same code before or later */
	const char *where; /* static words for explain(): "symfile"; may be NULL */
};

/* A place in the process that leads to a registry, found in a module's file. */
struct sw_jit_root {
	uint64_t avma;                /* of what probe() found */
	uint64_t detail;              /* the source's own */
	const struct sw_place *place; /* borrowed from the snapshot */
};

enum { SW_JIT_ROOTS_MAX = 16 /* of one module, all sources together */ };

struct sw_jit_probe; /* where probe() puts what it finds: jit/common/probe.h */

/* The argument of a source's prepare and capture hooks. */
struct sw_jit_capture {
	struct sw_capture *capture;      /* sw_capture_want(), _copy(), _read(), ->snap */
	const struct sw_jit_root *roots; /* those of the source */
	size_t n_roots;
	void **state; /* the source's own between the hooks; from snap->priv->arena, NULL at first */
};

/* These functions run while the process that captures has its privileges. */
struct sw_jit_hook_ops {
	const char *name; /* the source's */

	/*
	 * Optional. Once per ELF module and context: finds by its file what leads to a registry,
	 * and adds it with sw_jit_probe_add(). Hostile bytes. May be called before the stop.
	 */
	void (*probe)(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe);

	/*
	 * Optional. Before the stop: as sw_unwinder_ops.prepare. The running target's memory is read
	 * with sw_live_peek() (snapshot/live.h), which keeps nothing: what sw_snapshot_memory() reads is
	 * kept, and would be taken for what is there after the stop. Called without roots, too.
	 */
	int (*prepare)(struct sw_jit_capture *c);

	/* Optional. Target STOPPED: as sw_unwinder_ops.capture. */
	int (*capture)(struct sw_jit_capture *c);
};

/* These read the copy. */
struct sw_jit_source_ops {
	const char *name; /* wire name, as in the table of names */

	/*
	 * Optional. Target running again: make *ret_state. Does as little as can be, since most
	 * processes have no generated code: registries are read on the first find() or
	 * describe().
	 * roots are valid until detach(). found is what the hooks kept in *state: NULL when nothing,
	 * and for what was not taken from a process. 0, -SW_E_NOMEM.
	 */
	int (*attach)(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
		      size_t n_roots, void *found, void **ret_state);
	void (*detach)(void *state); /* frees it; NULL allowed */

	/*
	 * Optional. Beside copies of events the source is read again and again: makes the state of a further reading, as
	 * attach() does, out of an earlier one, and shares what is still so. Both are freed with detach(), in any order. 0,
	 * -SW_E_NOMEM.
	 */
	int (*again)(void *state, void **ret_state);

	/* Optional. Finds the entry of the code at an address. Called often: a search. */
	bool (*find)(void *state, uint64_t avma, struct sw_jit_entry *ret);

	/*
	 * Optional, without find(): as it, of a source that has only names. *ret_id tells the name from one that was
	 * published for the same code before or later.
	 */
	bool (*named)(void *state, uint64_t avma, uint64_t *ret_id);

	/* Optional. The name of the code at an address: 1 or 0; *ret is zeroed. */
	int (*describe)(void *state, uint64_t avma, struct sw_description *ret);

	/* Optional. Appends what else it knows of an address, in lines. */
	void (*explain)(void *state, uint64_t avma, struct sw_text *text);

	/* Optional. The registries found, with their number of entries; fills at most max. */
	size_t (*recognise)(void *state, struct sw_runtime *ret, size_t max);
};

enum { SW_JIT_SOURCES_MAX = 16 };

#endif
