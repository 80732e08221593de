/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_H
#define SW_V8_H

#include "map.h"
#include "memory.h"
#include "runtimes/v8/code.h"
#include "runtimes/v8/instructions/deopt.h"
#include "runtimes/v8/objects/layout.h"
#include "runtimes/v8/microtask.h"
#include "runtimes/v8/wasm.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

struct sw_v8_copies;
struct sw_v8_told;

/* A builtin: code of V8 itself that its own compilers made when it was built. */
struct sw_v8_builtin {
	uint32_t off, bytes; /* in the blob */
	const char *name;    /* the image's, without "Builtins_" */
	bool interprets;     /* runs bytecode in its caller's or its own frame, or leaves that */
	bool handler;        /* of one bytecode */
	bool resumes;        /* an async function or generator, which its function belongs to */
	bool runs_microtasks;
};

/* A file that has V8 in it; kept with the module. */
struct sw_v8_program {
	bool usable;
	const char *missing; /* static: why it is not */
	char version[64];
	struct sw_v8_layout at;
	struct sw_bytes blob;           /* all builtins; the image's */
	uint64_t blob_off;              /* in the file */
	struct sw_v8_builtin *builtins; /* owned; by off */
	size_t n_builtins;
	/* Set up the frame of the code that calls them; indices, -1: it has none. */
	int prologue, wasm_prologue;
	int wasm_lazy; /* is entered with one word above the return address */
	/* Builtins that deoptimisations enter; their indices. */
	struct sw_v8_deopt deopts[SW_V8_DEOPTS_MAX];
	size_t deopt_builtins[SW_V8_DEOPTS_MAX], n_deopts;
	uint64_t wasm_state_svma; /* the variable that leads to code of WebAssembly; 0: unknown */
	uint64_t loop_svma;       /* libuv's loop of the first thread; 0: unknown */
	/* The code that finds pointers on the stack for the collector: assembly without tables,
	 * which keeps rbp. */
	struct sw_bytes walker;
	uint64_t walker_off;   /* in the file */
	struct sw_bytes sizes; /* of bytecodes, for three scales of operands; none: unknown */
	struct sw_v8_microtasks microtasks; /* bias: that of the place is not in it */
	/* The rbp with which JavaScript has called the C++ code that runs, from the isolate's root on; 0: it is not known. */
	uint32_t entry_off;
	/* The key under which a thread has its isolate, before 11.3; 0: it is in a variable of the thread (microtasks). */
	uint64_t isolate_key_svma;
};

/* The code that a frame executes. */
struct sw_v8_frame {
	uint64_t shared;             /* 0: unknown */
	uint64_t bytecode;           /* of an interpreted one */
	int32_t offset;              /* in it; -1: unknown */
	struct sw_v8_code code;      /* object 0: none */
	uint64_t pc;                 /* with code */
	bool exact;                  /* pc is that of an interrupted instruction */
	struct sw_v8_wasm_code wasm; /* object 0: none */
	uint64_t script;             /* of WebAssembly; 0: unknown */
	const char *combinator;      /* static: it is no function but that call; NULL */
	int32_t element;             /* of it; -1: unknown */
	const char *wrapper;         /* static: it is no function but code of V8's; NULL */
	/* By copies: which function, wherever it lies; which compilation; what it executes. */
	uint64_t identity, number;
	const struct sw_v8_told *told; /* the arena's of the copies; NULL: unknown */
};

/* The function that a thread runs for a builtin which continues an async function, or as a
 * promise's handler. */
struct sw_v8_resumed {
	pid_t tid;
	uint64_t closure;
	uint64_t job; /* the microtask that has called it; 0: it is of a builtin */
};

struct sw_v8 {
	const struct sw_snapshot *snap; /* borrowed */
	struct sw_snapshot_memory source;
	struct sw_v8_heap heap; /* over source */
	/* The snapshot has copies of the kernel's, one after another: heap has the running process behind the copy. */
	bool by_copies;
	struct sw_snapshot_memory copied_source;
	struct sw_v8_heap copied;            /* the copy alone */
	struct sw_v8_heap now;               /* the running process alone */
	struct sw_v8_copies *copies;         /* owned */
	struct sw_place *place;              /* borrowed from the snapshot */
	const struct sw_v8_program *program; /* the module's */
	uint64_t wasm_state_avma;            /* 0: unknown */
	struct sw_v8_microtasks microtasks;
	struct sw_event_loop loop;
	const char *short_why;      /* static: why not all that names need was copied; NULL */
	bool any_unnamed;           /* of the frames that were looked at */
	struct sw_map64 by_frame;   /* mix of a frame's words -> 1 + index */
	struct sw_v8_frame *frames; /* owned; cookies are 1 + index */
	size_t n_frames, frames_capacity;
	uint64_t
		unset_sp; /* sp of the frame that is not set up yet, though it has called; 0: none */
	uint64_t unset_function; /* what its JSFunction may be; 0: unknown */
	uint64_t
		stale_sp; /* sp of the interpreted frame whose bytecode offset is of an earlier call */
	struct sw_v8_resumed *resumed; /* owned; one a thread at most */
	size_t n_resumed, resumed_capacity;
	bool resumed_lost;
	uint64_t called;     /* JSFunction of the outermost frame until now; 0: none */
	char task_name[544]; /* of the one that was shown last */
};

#endif
