/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SNAPSHOT_H
#define SW_SNAPSHOT_H

#include "arena.h"
#include "map.h"
#include "process/files.h"
#include "process/maps.h"
#include "process/pages.h"
#include "slots.h"

#include <snapwalk/walk.h>

enum {
	SW_LIMITS_NOTED_MAX =
		16 /* each place that notes one has its own text; further ones are left out */
};

/* The part of a snapshot that only its makers (live, core, fixture) see. */
struct sw_snapshot_priv {
	struct sw_arena arena; /* strings, small arrays */
	uint8_t *pool;         /* owned mmap: copied stacks and ranges */
	size_t pool_bytes;
	void *copier_pool; /* owned mmap: ranges that the reader of runtimes asked for; NULL */
	size_t copier_pool_bytes;
	uint8_t *file; /* owned mmap: core file or fixture memory that stacks point into */
	size_t file_bytes;
	int mem_fd;  /* owned: /proc/PID/mem. Bound to the address space, so that neither a
				   reused pid nor an exec can make it read another program's memory */
	int task_fd; /* borrowed: /proc/PID/task of a process that is sampled; -EBADF: none */
	struct sw_pages pages; /* which reads of mem_fd may not come back */
	bool goroutines;       /* of sw_snapshot_options */
	bool tasks;            /* likewise */
	bool task_waits;       /* what tasks of asyncio wait for, where they are few */
	bool awaits;           /* likewise */
	bool saved;            /* likewise */
	bool args;             /* likewise */
	bool hooks_torn;       /* threads ran while hooks copied, in the last window, too */
	bool hooks_whole;      /* no thread seemed to run while the readers of runtimes read */
	bool hooks_cut;        /* these did not get all that they asked for */
	bool try_later;        /* a hook could not copy what it is for, but may in a moment */
	/* When the readers of runtimes had read, in the last window (CLOCK_MONOTONIC); 0: they did not. */
	int64_t touched_ns;
	/* The snapshot whose maps this one borrows, through which what does not change is read; NULL: its own. Borrowed. */
	const struct sw_snapshot *base;
	bool live_dead;     /* a live read failed because the process is gone: ask no more */
	bool borrowed;      /* found, and what pages have, are another snapshot's */
	bool native_only;   /* known from before, by the same maps: no runtime, no made code */
	bool lacks_runtime; /* native_only, and there is a runtime: its frames are missing */
	/* Threads have copies by a recipe (sw_thread.copy): these alone are of one instant. What is read later has to
	 * be constant. */
	bool by_copies;
	bool unpublished; /* by_copies: no made code publishes anything, so nobody is asked for it */
	struct sw_range *shared; /* borrowed: ranges that are of no thread's copy */
	size_t n_shared;
	struct sw_slots *
		kept; /* borrowed: states of runtimes, by their ops, that outlive walks; NULL: none do */
	struct sw_range
		*live; /* owned: pages that snapshot/live.c read, in the order of their reading */
	size_t n_live, live_capacity;
	struct sw_map64 live_by_page; /* -> index into live */
	size_t warnings_capacity;
	const char *limits[SW_LIMITS_NOTED_MAX]; /* static */
	size_t n_limits, n_limits_warned;        /* the first ones are warnings */
	struct sw_slots found;      /* what hooks of unwinders and runtimes keep, by their ops */
	struct sw_side_files *side; /* owned: snapshot/side_file.h; NULL: none */
	uint64_t image_bytes;       /* of images that were put together from memory so far */
	struct sw_read_log
		*read_log;       /* borrowed: where reads of the walk are noted; NULL: nowhere */
	struct sw_range *copies; /* all stacks and ranges by start, without overlaps */
	size_t n_copies, copies_max;
};

/* An empty snapshot. Makers fill the public fields from priv->arena and finish with
 * sw_snapshot_index(). */
int sw_snapshot_create(struct sw_context *ctx, struct sw_snapshot **ret, struct sw_error *err);

/* Sorts threads, maps, places, ranges for the lookups; drops overlapping maps. */
void sw_snapshot_index(struct sw_snapshot *snap);
/* Only of threads and ranges: maps and places stay as they are. May be called again. */
void sw_snapshot_index_threads(struct sw_snapshot *snap);

/* The captured thread that has this thread pointer, which the C library calls a thread by (pthread_t of glibc
 * and musl); NULL. */
static inline const struct sw_thread *sw_snapshot_thread_by_pointer(const struct sw_snapshot *snap,
								    uint64_t pointer)
{
	for (size_t i = 0; pointer != 0 && i < snap->n_threads; i++)
		if (snap->threads[i].captured && snap->threads[i].fs_base == pointer)
			return &snap->threads[i];
	return NULL;
}

/* Whether there is executable memory that is no file's: code that the process has made, and that may
 * have become more at any time. Asks for places. */
bool sw_snapshot_has_made_code(const struct sw_snapshot *snap);

/* Whether a module of that kind is mapped. Asks for places. */
bool sw_snapshot_has_kind(const struct sw_snapshot *snap, enum sw_module_kind kind);

/* Adds a warning. Out of memory loses it: a warning is never worth a failure. */
__attribute__((format(printf, 5, 6))) void sw_snapshot_warn(struct sw_snapshot *snap,
							    enum sw_warning_code code, pid_t tid,
							    int reason, const char *fmt, ...);

/*
 * Notes what is left out because there is more of it than a limit, once: "frames of ... after the 512th were not copied". For
 * places where nothing may be allocated, or where the snapshot is not to be changed any more. what is static.
 */
static inline void sw_snapshot_note_limit(const struct sw_snapshot *snap, const char *what)
{
	struct sw_snapshot_priv *priv = snap->priv;
	for (size_t i = 0; i < priv->n_limits; i++)
		if (priv->limits[i] == what)
			return;
	if (priv->n_limits < SW_LIMITS_NOTED_MAX)
		priv->limits[priv->n_limits++] = what;
}
/* Makes warnings of what was noted. */
void sw_snapshot_warn_limits(struct sw_snapshot *snap);

enum { SW_WARNINGS_MAX = 40000 }; /* one for each thread, and what else there is */

/*
 * Add the PE images that a Windows process's own list of modules names and maps do not show: where
 * files cannot be mapped executable, the loader reads them into anonymous memory, headers too. Needs
 * the threads' registers; may change maps and places. A list that is damaged is a warning.
 */
int sw_snapshot_add_loaded(struct sw_snapshot *snap, const struct sw_opener *opener,
			   struct sw_error *err);

enum {
	SW_IMAGE_COPY_MAX = 64 << 20,    /* bytes of an image that is put together from memory */
	SW_IMAGE_COPY_TOTAL = 256 << 20, /* of all such images of a snapshot */
};

/* How large the next of those images may be. */
static inline uint64_t sw_snapshot_image_max(const struct sw_snapshot *snap)
{
	uint64_t left = SW_IMAGE_COPY_TOTAL - snap->priv->image_bytes;
	return left < SW_IMAGE_COPY_MAX ? left : SW_IMAGE_COPY_MAX;
}

#endif
