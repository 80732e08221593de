/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_WALK_H
#define SNAPWALK_WALK_H

/*
 * libwalk: capture the stacks of all threads of a process and unwind them.
 *
 *	sw_context_create -> sw_target_open -> sw_snapshot_take -> sw_walk_all
 *
 * snapshot.h and capture.h, which come with this header, have all up to the snapshot.
 *
 * Only sw_snapshot_take() may stop threads, for milliseconds; when it returns the process runs and is not
 * needed any more (unless a stack was deeper than what was copied).
 * The library prints nothing, never exits, has no global state and leaves signals alone. Objects of
 * one context belong to one thread at a time.
 */

#include <snapwalk/capture.h>
#include <snapwalk/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SW_MAX_FRAMES = 65536,    /* hard limit of frames in one stack */
	SW_DEFAULT_FRAMES = 1024, /* frames in one stack when the caller does not say */
	SW_OUTER_FRAMES = 64,     /* see sw_walk.n_left_out */
};

/** How a frame's pc was found, best first. */
enum sw_trust {
	SW_TRUST_CONTEXT,       /* the thread's own registers */
	SW_TRUST_CFI,           /* DWARF call frame information */
	SW_TRUST_UNWIND_INFO,   /* PE unwind information */
	SW_TRUST_RUNTIME,       /* a runtime's own tables */
	SW_TRUST_JIT,           /* a JIT's published tables */
	SW_TRUST_INSTRUCTIONS,  /* the code's instructions, followed to its return */
	SW_TRUST_FRAME_POINTER, /* a chain of saved frame pointers */
	SW_TRUST_SCAN_VERIFIED, /* found on the stack; the call before it leads to its callee, or nothing
				   else is left before the thread's first frame */
	SW_TRUST_SCAN,          /* found on the stack, a call comes before it: a guess */
};

enum sw_end {
	SW_END_COMPLETE, /* the thread's first frame was reached, and that is proven */
	SW_END_FRAME_LIMIT,
	SW_END_STACK_LIMIT, /* the copy ended and the rest could not be read */
	SW_END_MEMORY,      /* memory that is needed could not be read */
	SW_END_NO_UNWIND_INFO,
	SW_END_BAD_UNWIND_INFO,
	SW_END_NO_PROGRESS, /* the same frame again, or a stack that grows the wrong way */
	SW_END_SCAN_LIMIT,
	SW_END_TIMEOUT,
	/* The native stack is whole; what a runtime has of its frames was not copied with it */
	SW_END_NATIVE_ONLY,
	/* The native stack is whole; what a runtime has of its frames could not be read, or not all of it */
	SW_END_RUNTIME_DATA,
	SW_END_INTERNAL,
};

enum {
	SW_FRAME_EXACT_PC = 1,  /* pc is the next instruction, not a return address */
	SW_FRAME_SIGNAL = 2,    /* a signal trampoline; the next frame was interrupted */
	SW_FRAME_LIVE_READ = 4, /* found with memory read after the target ran again */
	SW_FRAME_MAY_MISS = 8,  /* frames between this one and its callee may be missing */
	SW_FRAME_LANGUAGE = 16, /* of an interpreted function, run by the native frame that follows
				   it, or by the first one behind others of the same native frame */
	SW_FRAME_INTERNAL = 32, /* the own code of an interpreter or a virtual machine */
	SW_FRAME_AFTER_GUESS = 64, /* no guess by its trust, but its callee or one before it is,
				      and nothing has proven a frame in between */
};

struct sw_frame {
	uint64_t pc_avma;
	uint64_t sp_avma;
	const struct sw_place *place; /* borrowed from the snapshot; NULL when in no module */
	uint64_t cookie;              /* the owner's own, for sw_walk_describe() */
	const char *by;   /* static wire name: the unwinder, or the table of it, that found the
			     frame; "context" for the first one */
	const char *kind; /* static wire name of the kind of code: "native", "pe", "jit", "clr" ...;
			     "unknown" */
	uint8_t owner;    /* who knows the code, for sw_walk_describe(); 0: nobody */
	uint8_t trust;    /* enum sw_trust */
	uint16_t flags;   /* SW_FRAME_* */
};

/** A thread as a runtime knows it. */
struct sw_thread_info {
	const char *runtime; /* static: "clr" */
	int64_t id;          /* the runtime's own number; -1: none */
	char name[128];      /* UTF-8, "" when it has none */
	const char *mode;    /* static; may the runtime stop it ("cooperative")? NULL: unknown */
	const char *role;    /* static: "finalizer", "gc" ...; NULL: none */
};

/** The request of a client that a thread serves. Strings are UTF-8 if the client's were; what is too long
 * is cut and ends with "…". */
struct sw_served {
	const char *runtime; /* static: "php" */
	char method[16];     /* "GET"; "" when unknown, as the others */
	char uri[1024];      /* with its query */
	char script[1024];   /* path */
};

/** An attribute that a process publishes of itself, or of a thread: OpenTelemetry's OTEP 4719 and 4947. */
struct sw_attribute {
	const char *key, *value;
};
struct sw_resource {
	const struct sw_attribute *attributes; /* each key once */
	size_t n_attributes;
};

/** The request that a thread works on, as its program publishes it for OpenTelemetry: OTEP 4947. */
struct sw_trace {
	bool has_ids; /* trace_id and span_id are set */
	uint8_t trace_id[16], span_id[8];
	uint8_t flags;                         /* W3C trace flags; 1: sampled */
	const struct sw_attribute *attributes; /* the walks'; each key once */
	size_t n_attributes;
};

/** A goroutine as Go's runtime knows it. Strings are the walks' or static. */
struct sw_goroutine {
	uint64_t id;
	const char *state;       /* "waiting", "runnable", "running", "syscall" ... */
	bool scanned;            /* the collector reads its stack */
	const char *wait_reason; /* in the runtime's words; NULL: it does not wait, or unknown */
	/* For how long at least it has waited: since the collector saw that first. -1: unknown */
	int64_t since_ns;
	const char *created_by;   /* function; NULL: unknown */
	const char *created_file; /* NULL: unknown */
	uint32_t created_line;    /* 0: unknown */
	uint64_t created_by_id;   /* the goroutine that did; 0: unknown */
	pid_t tid;                /* of the thread that runs it; 0: none does */
};

/** A task as CPython's asyncio, .NET, Ruby or Erlang knows it. Strings are the walks' or static. */
struct sw_task {
	uint64_t address_avma; /* of the object, which tells it from others of its name */
	const char *name;      /* UTF-8 */
	const char *state;     /* "created", "waiting", "runnable", "running", "unknown" */
	/* The future that it waits for, which may be a task. 0: none */
	uint64_t waits_for_avma;
	const char *waits_for_name; /* of the task; NULL: not a task */
	pid_t tid;                  /* of the thread that runs it; 0: none does */
	/* Fields of a process of Erlang. */
	const char *registered;   /* the name that it is registered by; NULL: none */
	const char *initial_call; /* "module:function/arity"; NULL: unknown */
	bool has_messages;        /* it has a queue of messages */
	uint64_t messages;        /* in it */
};

/** The lock or other object that a thread waits for, as a runtime knows it. */
struct sw_runtime_wait {
	const char *kind;      /* static: "java_monitor" ... */
	uint64_t address_avma; /* of the object; 0: unknown */
	char target[128];      /* what it is: the object's class; "" when unknown */
	pid_t owner_tid;       /* who has it, a thread of the process; 0: nobody, or unknown */
	/* The name and number of a virtual thread of Java that has it while no thread runs that; "": none, or unknown. */
	char owner_name[160];
	/* static: how that is known, where the lock does not say it: "with", it is in the body of a with
	 * statement of Python. NULL: the runtime's structures say it */
	const char *trust;
};

/** A pool of threads that the program has made, as its workers know it. */
struct sw_worker_pool {
	uint64_t address_avma; /* of the pool's object, which tells it from others */
	const char *name;      /* static: its class, "ThreadPoolExecutor" */
	int64_t threads, most; /* that it has; that it may have. -1: unknown */
	int64_t queued;        /* items of work that no thread has begun; -1: unknown */
};

/** A task that waits for something that tasks share, or for another task, at the instant at which all were copied. Strings are
 * the walks' or static. */
struct sw_task_wait {
	const char *runtime;   /* static: "cpython" */
	uint64_t address_avma; /* of the task's object */
	const char *name;      /* UTF-8 */
	const char *kind;      /* static: "asyncio_lock" ..., or "task" */
	uint64_t object_avma;  /* that it waits for */
	/* The task that has it, or that is to end; 0 and NULL: nobody, or unknown. */
	uint64_t owner_avma;
	const char *owner_name;
	bool limited; /* it gives up after some time */
};

struct sw_walk {
	const struct sw_thread *thread; /* borrowed from the snapshot; NULL: no thread runs it */
	struct sw_frame *frames;        /* innermost first */
	size_t n_frames;
	enum sw_end end;
	const char
		*why; /* detail in words; NULL when complete. Owned by the walk's arena or static */
	/* The walk ended at a return address that is in no executable memory of the snapshot. Where the maps are older than the
	 * copy, that may be code which was made executable meanwhile. */
	bool unknown_code;
	const struct sw_thread_info *info; /* the walks'; NULL when no runtime knows the thread */
	size_t n_trimmed;                  /* frames left out before the first one */
	/* Frames left out before the outermost SW_OUTER_FRAMES, which say who began an endless recursion, of a stack that has more
	 * than a walk may have. 0 also when the outermost ones were not reached. */
	size_t n_left_out;
	const struct sw_goroutine
		*goroutine;              /* the walks'; NULL: none, or they were not asked for */
	const struct sw_task *task;      /* likewise */
	const struct sw_served *request; /* the walks'; NULL: none, or not asked for */
	const struct sw_trace *trace;    /* the walks'; NULL: it publishes none */
	const struct sw_runtime_wait
		*wait; /* the walks'; NULL when no runtime knows what it waits for */
	const struct sw_worker_pool *pool; /* the walks'; NULL: no runtime knows it for a worker */
};

/** Threads of Java that have a thread of the process only while they run: how many there were at the
 * instant of the copy. */
struct sw_virtual_threads {
	bool known;
	bool at_least;    /* there may be more: some are where they cannot be counted */
	uint64_t count;   /* started and not ended */
	uint64_t mounted; /* of these, those that a thread runs */
};

/** Collections of garbage, as the runtime counts them, at the instant of the copy. */
struct sw_collecting {
	bool known;
	bool now;             /* one that stops the program goes on */
	char name[64];        /* of the kind that runs, or ran last: "G1 full collection pauses" */
	char cause[64];       /* "Allocation Failure" */
	uint64_t number;      /* of that kind that have begun */
	int stopped_permille; /* of the time since the start the program was stopped; -1: unknown */
};

/** The event loop of a program's first thread, at the instant of the copy. */
struct sw_event_loop {
	bool known;
	/* For how long at least nothing but what the thread does now was done: since the loop looked at the clock. While it
	 * waits for events, that is the wait; before the loop begins, the time since it was made. */
	int64_t late_ms;
	int64_t requests; /* for which it waits: work of its pool, writes, connections */
};

/** The pool of threads of a runtime, at the instant of the copy; of php-fpm, its pool of processes. */
struct sw_thread_pool {
	bool known;
	int64_t working, threads, most; /* at work; there are; there may be */
	int64_t taken_ms; /* since when no work was taken from the queue; -1: unknown */
	bool waits;       /* the pool has asked for a thread to take work, which has not come */
	char name[40];    /* "": it has none, as all but those of php-fpm */
	int64_t queued;   /* connections that wait to be accepted, of php-fpm; -1: unknown */
};

/** A runtime that was recognised, or a registry in which it publishes its code. */
struct sw_runtime {
	const char *name;  /* static: "clr", "wine", "gdb-jit" ... */
	char version[64];  /* "" when unknown */
	char where[256];   /* module or file it was found in; "" when there is no single one */
	int64_t entries;   /* of a registry; -1: a runtime */
	char problem[256]; /* why it is not used, or not in whole; "" when it is */
	bool map_useless;  /* a perf map of its code would not mend the problem */
	char untold[256];  /* what of its threads is not told though it is used; "" */
	struct sw_virtual_threads virtual_threads; /* of Java 21 and later */
	struct sw_collecting collecting;
	struct sw_event_loop event_loop; /* of node */
	struct sw_thread_pool pool;      /* of .NET and php-fpm */
};

/** Walks of one snapshot: one for each captured thread, in the snapshot's order; then one for each
 * goroutine and each task that no thread runs, or that runs within another one. */
struct sw_walks {
	const struct sw_snapshot *snap; /* borrowed */
	struct sw_walk *walks;
	size_t n_walks;
	struct sw_runtime *runtimes; /* what was recognised in the process */
	size_t n_runtimes;
	int64_t walk_ns;
	size_t live_reads;
	struct sw_resource resource; /* the walks'; empty: it publishes none */
	const char *goroutines_why;  /* why not all are here that were asked for, in words; NULL */
	const char *tasks_why;       /* likewise */
	const char *awaits_why;      /* likewise */
	struct sw_task_wait *task_waits;
	size_t n_task_waits;
	/* Asked for, and no runtime of the process has such; then there is a reason above, too. */
	bool no_goroutines, no_tasks, no_requests;
	size_t n_remembered; /* walks that were those of earlier copies, and */
	size_t n_differ; /* were not the same when walked again: never, but for a fault of ours */
	struct sw_walks_priv *priv;
};

enum sw_walk_mode {
	SW_WALK_HYBRID, /* tables, then frame pointer, then scan */
	SW_WALK_TABLES, /* only what tables say */
	SW_WALK_SCAN,   /* only the scan: shows every return address there may be */
};

/** Whether a walk of a copy by a recipe may be that of an earlier copy, in which all that the walk was told was the same. */
enum sw_walk_memory {
	SW_WALK_REMEMBER,
	SW_WALK_FORGET,        /* each copy is walked */
	SW_WALK_REMEMBER_BOTH, /* each is, and both walks are compared: sw_walks.n_differ */
};

/** Zero-initialised means the defaults. */
struct sw_walk_options {
	enum sw_walk_mode mode;
	size_t max_frames; /* default SW_DEFAULT_FRAMES, at most SW_MAX_FRAMES */
	bool outermost; /* of a stack that has more, SW_OUTER_FRAMES of them are its outermost ones: sw_walk.n_left_out */
	int64_t deadline_ns; /* CLOCK_MONOTONIC; 0 means none. Later walks end with SW_END_TIMEOUT */
	/* For programs that no table covers. */
	size_t scan_below; /* a walk that ends before so many frames goes on by the scan */
	uint64_t
		scan_range_bytes; /* a direct CALL counts only when it leads to an address that lies at
				      most so far before the pc of the callee; 0: no limit */
	bool scan_all;            /* with SW_WALK_SCAN: every word that may be a return address */
	bool trim_unknown; /* frames of no module at the innermost end are left out: sw_walk.n_trimmed */
	bool goroutines; /* also of those that no thread runs */
	bool tasks;      /* of asyncio and of .NET, likewise */
	bool awaits; /* of the async functions of .NET and V8 that threads run, with who awaits them; tasks has them, too */
	bool args;   /* the requests that threads serve: sw_walk.request */
	enum sw_walk_memory memory;
};

/**
 * Unwind every captured thread of a snapshot. Broken and cut stacks are no error: see sw_walk.end.
 *
 * @param snap  Borrowed; must outlive *ret.
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_walk_all(const struct sw_snapshot *snap, const struct sw_walk_options *options,
			  struct sw_walks **ret, struct sw_error *err);
/**
 * The second opinion: the same by libunwind, over the same snapshot. options->mode does not count.
 *
 * @return As sw_walk_all(); -SW_E_UNSUPPORTED: libunwind is not installed.
 */
SW_PUBLIC int sw_walk_libunwind(const struct sw_snapshot *snap,
				const struct sw_walk_options *options, struct sw_walks **ret,
				struct sw_error *err);
/**
 * Load libunwind now, for a process that may not open and map files any more when it is to walk.
 *
 * @return 0; -SW_E_UNSUPPORTED: libunwind is not installed, or the program is a static file.
 */
SW_PUBLIC int sw_walk_libunwind_load(struct sw_error *err);
SW_PUBLIC void sw_walks_destroy(struct sw_walks *walks);

/** The pc to look names and lines up with: pc - 1 for return addresses, else pc. */
static inline uint64_t sw_frame_lookup_avma(const struct sw_frame *frame)
{
	return frame->pc_avma - !(frame->flags & SW_FRAME_EXACT_PC);
}

/** Wire names; static. Unknown values give "unknown". */
SW_PUBLIC const char *sw_trust_name(unsigned trust);
SW_PUBLIC const char *sw_end_name(unsigned end);
SW_PUBLIC const char *sw_module_kind_name(unsigned kind);

/** The function of a frame, as the owner of its code tells it. UTF-8 is not promised. */
struct sw_description {
	char function[4096];  /* cut to fit */
	char signature[1024]; /* of a Java method: "(I)V"; "" when unknown. Cut to fit */
	const char *tier;     /* static: how the runtime executes it; NULL when unknown */
	char file[1024];      /* "" when unknown */
	uint32_t line;        /* 0 when unknown */
	uint64_t start_avma;  /* of the function; 0 when unknown */
};

/**
 * The name that a runtime or a JIT gives to the code of a frame, whoever found the frame.
 * @return 1; 0 when nobody knows it.
 */
SW_PUBLIC int sw_walk_describe(const struct sw_walks *walks, const struct sw_frame *frame,
			       struct sw_description *ret);

/**
 * The same of code into which other functions were compiled: level 0 is the innermost of those that the
 * frame executes, the last level the function itself, of which sw_walk_describe() speaks.
 * @return 1; 0 when there is no such level.
 */
SW_PUBLIC int sw_walk_describe_inlined(const struct sw_walks *walks, const struct sw_frame *frame,
				       size_t level, struct sw_description *ret);

/**
 * Everything the unwinders know of an address, in words, several lines.
 * @param ret_text  Owned by the caller; free().
 * @return 0; -SW_E_NOT_FOUND (the address is not mapped); -SW_E_NOMEM.
 */
SW_PUBLIC int sw_explain(const struct sw_snapshot *snap, uint64_t avma, char **ret_text,
			 struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
