/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_SPACE_H
#define SW_CAPTURE_SPACE_H

#include "copier/serve.h"
#include "process/expendable.h"
#include "stop/stop.h"
#include "unwind/capture.h"
#include "unwind/tables.h"

#include <sys/uio.h>

enum {
	SW_CAPTURE_PAGE = 4096,
	SW_CAPTURE_BATCH = 1024,             /* ranges in one process_vm_readv(): IOV_MAX */
	SW_CAPTURE_BATCH_BYTES = 16 << 20,   /* bytes in one, so that the deadline is seen */
	SW_CAPTURE_PREFAULT_BYTES = 16384,   /* of a stack, whose pages are there before the stop */
	SW_CAPTURE_UNKNOWN_BYTES = 64 << 10, /* of a stack whose mapping is not known */
	SW_CAPTURE_ROOT_BYTES = 16 << 10,    /* at the upper end of a stack that is too long */
	SW_CAPTURE_NOTES = 1024,             /* reads of hooks that are proven a second time, */
	SW_CAPTURE_AGAIN_BYTES = 16 << 10,   /* so many bytes in one system call, */
	SW_CAPTURE_AGAIN_MAX = 512 << 10,    /* and so many in all */
};

static inline uint64_t sw_capture_page_up(uint64_t avma)
{
	return (avma + SW_CAPTURE_PAGE - 1) & -(uint64_t) SW_CAPTURE_PAGE;
}

struct sw_returns;

/* A part of memory to copy. */
struct sw_capture_part {
	uint64_t avma;
	size_t bytes; /* wanted; then what was read */
	uint8_t *to;
	int32_t thread;      /* whose stack this is; -1: a range of its own */
	int32_t owner;       /* the thread by whose registers it was found; -1: none */
	bool cut;            /* there was more */
	bool wait;           /* the lock that the owner waits for */
	bool context;        /* sw_thread.context of the owner */
	size_t wanted_bytes; /* of those that prepare hooks wanted, and of threads' stacks */
	bool absent;         /* pages of it did not come */
};

/* A read of a hook in the window, by what it gave. */
struct sw_capture_note {
	uint64_t avma, hash;
	size_t bytes;
};

/* A runtime or an unwinder whose hooks are called. */
struct sw_hook {
	const void *ops; /* which one */
	const char *name;
	bool is_runtime;
	int (*before)(struct sw_capture *capture);
	int (*stacks)(struct sw_capture *capture);
	int (*in_window)(struct sw_capture *capture);
	void (*touch)(const struct sw_snapshot *snap, void *found, struct sw_memory memory);
	void **found; /* of snap->priv->found */
};

/* Memory for what is copied in a stop, set aside before it. Stacks are packed one after the other
 * into one large mapping, of which only what is used becomes real. */
struct sw_capture_space {
	struct sw_snapshot *snap;            /* borrowed */
	struct sw_stop *stop;                /* borrowed */
	struct sw_expendable *reader;        /* borrowed: copies; NULL: it cannot be had */
	struct sw_returns *returns;          /* the snapshot's arena's; NULL: none are replaced */
	int proc_fd;                         /* borrowed: /proc/PID */
	const struct sw_credentials *owner;  /* the snapshot's arena's; NULL: not asked for yet */
	struct sw_hook hooks[SW_TABLES_MAX]; /* of those that the process has */
	size_t n_hooks;
	struct sw_capture capture; /* what they get, but for what is their own */
	struct sw_copier
		copier; /* owned until the snapshot has its memory; channel NULL: no hook has touch() */
	size_t pool_owned; /* bytes of its pool that are there */
	bool raised_above; /* the process that copies has a real-time priority above the lowest */
	enum sw_copier_end touched;    /* how the last run of the reader ended */
	size_t stack_bytes;            /* most of one stack */
	size_t total_bytes;            /* most of all stacks and wanted ranges */
	size_t used, size;             /* of snap->priv->pool */
	size_t kept;                   /* of the pool's end, for the capture hooks */
	size_t likely;                 /* bytes that will be used, as far as is known; 0: unknown */
	size_t warm;                   /* bytes of the pool that are there */
	struct sw_capture_part *parts; /* owned by the snapshot's arena */
	size_t n_parts, parts_max;
	size_t stacks_max;          /* n_parts may not pass it in the stacks hooks */
	size_t n_found;             /* parts that were found without those hooks */
	size_t asked;               /* the part that a hook asked for last: they go by threads */
	size_t first, first_used;   /* n_parts and used when this window began */
	size_t n_hooked;            /* parts that the stacks hooks added */
	size_t n_want, want_bytes;  /* the first parts: what prepare hooks wanted */
	size_t wanted_at, stack_at; /* where hooks found something last, of these and of stacks */
	struct sw_way context; /* to what is copied of each thread beside its stack; n 0: nothing */
	size_t ranges_max;     /* of snap->ranges */
	size_t copies_max;     /* of them, that hooks copied in the window */
	/* Reads of the last window with hooks, to be made again: capture/same.h. */
	bool notes_full; /* there were more, or nothing can be proven by them */
	size_t n_notes, noted_bytes;
	struct sw_capture_note notes[SW_CAPTURE_NOTES];
	uint8_t again[SW_CAPTURE_AGAIN_BYTES];
	struct iovec remote[SW_CAPTURE_BATCH];
	const struct sw_map *main_stack; /* borrowed: "[stack]" */
	uint64_t main_stack_end_avma;    /* above it lie arguments and environment */
	/* Fields for a window of capture/window.h; a stop of all threads leaves them as they are,
	 * 0. */
	bool *chosen;   /* by thread: whether it is in the window; NULL: who has registers */
	bool only_rest; /* threads that an earlier window left; no hooks */
	const bool *seems_whole; /* what hooks are told; NULL: by who is held */
	pid_t carrier;           /* the thread through which memory is read; 0: one that is held */
	bool no_vm_readv;        /* it is refused: read mem_fd instead */
	bool space_short;        /* a range was not copied as there was no space */
	bool out_of_time;
	/* The helper may be killed between any two instructions: how far it got. */
	_Atomic size_t n_copied;   /* parts of which bytes says what was read */
	_Atomic size_t hooks_done; /* of hooks, those in the window that are over */
};

/* Sets memory aside for n_threads. Needs no maps yet. */
int sw_capture_space_create(struct sw_snapshot *snap, struct sw_stop *stop,
			    const struct sw_snapshot_options *options, size_t n_threads,
			    struct sw_capture_space **ret, struct sw_error *err);

/* Makes the part of it real that is likely to be used. From any thread. */
void sw_capture_space_warm(struct sw_capture_space *space, size_t n_threads);

/* The argument of hooks, but for their own fields. */
struct sw_capture sw_capture_of(struct sw_capture_space *space);

/* Finds the main thread's stack by the maps and the process's stat. */
void sw_capture_main_stack_find(struct sw_capture_space *space);

/* Once maps and threads are known: finds out who of tables has something to do, and lets them prepare. */
void sw_capture_space_prepare(struct sw_capture_space *space, const struct sw_tables *tables);

/* Target running again: hands the copies to threads and ranges, warns of what is missing, gives
 * unused memory back. */
void sw_capture_space_finish(struct sw_capture_space *space);
/* Give one part to its thread, as the stack or the lock that it waits for; else the snapshot has
 * one range more. */
void sw_capture_part_give(struct sw_capture_space *space, const struct sw_capture_part *part);

#endif
