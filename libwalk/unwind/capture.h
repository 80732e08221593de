/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_H
#define SW_CAPTURE_H

#include "memory.h"
#include "way.h"

#include <snapwalk/walk.h>
#include <stdio.h>
#include <sys/stat.h>

/*
 * The operations of unwinders' and runtimes' hooks around the window, the time in which nothing of
 * the target changes. Before it: find out what must be copied, open files. In it: copy into memory
 * that was set aside before; when that is used up copies fail, and a warning says so.
 *
 * The maker of the snapshot (a capture, the reader of a core file) fills the table of operations.
 */
struct sw_capture;

/* A read, of many that are made together. */
struct sw_capture_read {
	uint64_t avma;
	void *buffer;
	size_t bytes;
	bool ok; /* out */
};

struct sw_capture_ops {
	int (*want)(struct sw_capture *capture, uint64_t avma, size_t bytes);
	bool (*stack)(struct sw_capture *capture, uint64_t sp_avma, uint64_t end_avma);
	void (*stack_known)(struct sw_capture *capture, size_t thread, uint64_t end_avma);
	bool (*copy)(struct sw_capture *capture, uint64_t avma, size_t bytes,
		     const uint8_t **ret_data);
	void (*copy_many)(struct sw_capture *capture, struct sw_capture_read *reads, size_t n);
	void (*expect)(struct sw_capture *capture, size_t bytes);
	bool (*is_late)(struct sw_capture *capture);
	bool (*wanted)(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes);
	bool (*in_stack)(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes);
	void (*read_many)(struct sw_capture *capture, struct sw_capture_read *reads, size_t n);
	bool (*is_whole)(struct sw_capture *capture);
	void (*of_threads)(struct sw_capture *capture, const struct sw_way *way);
	int (*open)(struct sw_capture *capture, const char *path, struct stat *st);
	ssize_t (*proc_read)(struct sw_capture *capture, const char *name, char *buffer,
			     size_t bytes);
};

struct sw_capture {
	struct sw_snapshot *snap; /* maps, places and threads as known so far; in the window also
				     the threads' registers. Hooks may add side files, no more */
	const struct sw_capture_ops *ops;
	struct sw_memory memory; /* before the window only: the running process, or the core file;
				    what it gives is not kept */
	void *arg;               /* of those who fill ops */
	void **found; /* the hook owner's own from hook to hook, NULL at first; what it points to
			 comes from snap->priv->arena, and is given to attach() or open() */
};

/* Before the window: this range will be copied in it. Bounded by SW_CAPTURE_WANT_BYTES in all.
 * 0, -SW_E_LIMIT. */
static inline int sw_capture_want(struct sw_capture *capture, uint64_t avma, size_t bytes)
{
	return capture->ops->want(capture, avma, bytes);
}

/*
 * Before the window: the end of the way is copied for each thread with its stack, up to SW_CONTEXT_BYTES: sw_thread.context.
 * It belongs to the thread's registers, whatever other threads did meanwhile. One hook of a process may ask for it.
 */
static inline void sw_capture_of_threads(struct sw_capture *capture, const struct sw_way *way)
{
	capture->ops->of_threads(capture, way);
}

/*
 * stacks(): a further stack of a thread, in use from sp_avma up to end_avma: will be copied like its
 * own one (its red zone too, at most --stack-bytes from the lower end). False when there is none, or
 * when SW_CAPTURE_STACKS for each thread are used up.
 */
static inline bool sw_capture_stack(struct sw_capture *capture, uint64_t sp_avma, uint64_t end_avma)
{
	return capture->ops->stack(capture, sp_avma, end_avma);
}

/*
 * stacks(): the stack that the sp of threads[thread] is on ends at end_avma, if its mapping does not
 * end before; the caller adds what else of the thread's stacks is in use.
 */
static inline void sw_capture_stack_known(struct sw_capture *capture, size_t thread,
					  uint64_t end_avma)
{
	capture->ops->stack_known(capture, thread, end_avma);
}

/* In the window: copy [avma, avma + bytes) now; *ret_data is the copy, which will be one of the
 * snapshot's ranges. False when it cannot be read or there is no memory left for it. */
static inline bool sw_capture_copy(struct sw_capture *capture, uint64_t avma, size_t bytes,
				   const uint8_t **ret_data)
{
	return capture->ops->copy(capture, avma, bytes, ret_data);
}

/*
 * The same for many, with one system call for up to SW_CAPTURE_READS of them. The caller gives avma
 * and bytes; buffer is the copy then, where ok is set.
 */
static inline void sw_capture_copy_many(struct sw_capture *capture, struct sw_capture_read *reads,
					size_t n)
{
	capture->ops->copy_many(capture, reads, n);
}

/* Before the window: so much will be copied in it besides. Memory for it is touched now, and not then. */
static inline void sw_capture_expect(struct sw_capture *capture, size_t bytes)
{
	capture->ops->expect(capture, bytes);
}

/* In the window: whether its limit is reached. */
static inline bool sw_capture_is_late(struct sw_capture *capture)
{
	return capture->ops->is_late(capture);
}

/* In the window: what lies in one range that was wanted, and was copied. buffer may be NULL. Costs least in
 * the order in which the ranges were wanted. */
static inline bool sw_capture_wanted(struct sw_capture *capture, uint64_t avma, void *buffer,
				     size_t bytes)
{
	return capture->ops->wanted(capture, avma, buffer, bytes);
}

/* In in_window(): the same of the threads' stacks, with what the C library keeps at their upper ends; in the
 * order of threads. They are kept only of those that did not run: ask sw_capture_is_whole(). */
static inline bool sw_capture_in_stack(struct sw_capture *capture, uint64_t avma, void *buffer,
				       size_t bytes)
{
	return capture->ops->in_stack(capture, avma, buffer, bytes);
}

/* In the window: reads at once, without keeping, to follow pointers; one system call for up to
 * SW_CAPTURE_READS of them. */
static inline void sw_capture_read_many(struct sw_capture *capture, struct sw_capture_read *reads,
					size_t n)
{
	capture->ops->read_many(capture, reads, n);
}

/* The same for one. */
static inline bool sw_capture_read(struct sw_capture *capture, uint64_t avma, void *buffer,
				   size_t bytes)
{
	struct sw_capture_read one = {avma, buffer, bytes, false};
	capture->ops->read_many(capture, &one, 1);
	return one.ok;
}

/* In the window: whether no thread of the process runs, so that its memory does not change. */
static inline bool sw_capture_is_whole(struct sw_capture *capture)
{
	return capture->ops->is_whole(capture);
}

/*
 * Before the window: opens a regular file by its path as the target sees it, in its root directory: an
 * fd, or -1 with errno. EACCES: the user of the process may not read it, though we may; what comes of a file is shown to
 * whoever may see the dump. The file of a core file is opened as we may open it. The caller checks owner and times by
 * *st: the fd may be that of a copy, where the file's server may not answer later.
 */
static inline int sw_capture_open_stat(struct sw_capture *capture, const char *path,
				       struct stat *st)
{
	return capture->ops->open(capture, path, st);
}

/* The same for those to whom owner and times are nothing. */
static inline int sw_capture_open(struct sw_capture *capture, const char *path)
{
	struct stat st;
	return capture->ops->open(capture, path, &st);
}

/* Before the window: a small file of /proc/PID as text, ended by a NUL. Its length; 0 or less when
 * there is none. */
static inline ssize_t sw_capture_proc_read(struct sw_capture *capture, const char *name,
					   char *buffer, size_t bytes)
{
	return capture->ops->proc_read(capture, name, buffer, bytes);
}

/* Before the window: whether the process has the clock of the machine: it is in no time namespace with another one. A kernel
 * without these has no such file. */
static inline bool sw_capture_has_our_clock(struct sw_capture *capture)
{
	char text[256];
	long long s, ns;
	ssize_t n = sw_capture_proc_read(capture, "timens_offsets", text, sizeof(text));
	return n <= 0 || (sscanf(text, "monotonic %lld %lld", &s, &ns) == 2 && s == 0 && ns == 0);
}

enum {
	SW_CAPTURE_READS = 64,
	SW_CAPTURE_WANT_BYTES = 2 << 20, /* of all hooks before the window together */
	SW_CAPTURE_SPACE_BYTES = 4
				 << 20, /* of all hooks in the window together, set aside before */
	SW_CAPTURE_RANGES = 4096,       /* ranges in one snapshot */
	/* More of both where sw_snapshot_options.goroutines or tasks is set. */
	SW_CAPTURE_GOROUTINES_BYTES = 128 << 20,
	SW_CAPTURE_GOROUTINES_RANGES = 1 << 18,
	SW_CAPTURE_STACKS = 4, /* further stacks of each thread, on average */
};

#endif
