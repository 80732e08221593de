/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_DIFF_H
#define SNAPWALK_DIFF_H

/* The changes between two dumps. */

#include <snapwalk/protocol.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_DIFF_SCHEMA "snapwalk.diff/1"

enum sw_diff_change {
	SW_DIFF_CAME,    /* not in the first dump */
	SW_DIFF_WENT,    /* not in the second */
	SW_DIFF_MOVED,   /* another stack, in frames that are not an interpreter's own */
	SW_DIFF_RAN,     /* the same stack, and it used CPU time in between */
	SW_DIFF_STILL,   /* the same stack, and no CPU time as far as known */
	SW_DIFF_UNKNOWN, /* one of the dumps has no stack of it */
	SW_DIFF_CHANGES,
};
/** "came" ... Static. */
SW_PUBLIC const char *sw_diff_change_name(enum sw_diff_change change);

/** A thread; its report's. */
struct sw_diff_thread {
	const struct sw_report_thread *before, *after; /* NULL: not there */
	enum sw_diff_change change;
};

/** A stack, and how many threads have it; its report's. Stacks that differ only in frames of an interpreter's own
 * are one: the first of them is here. */
struct sw_diff_group {
	const struct sw_report_stack *before, *after; /* NULL: no thread had it */
	size_t n_before, n_after;                     /* threads */
};

/** A lock, or the other end of a pipe: anything with an owner that threads wait for. */
struct sw_diff_lock {
	const struct sw_report_wait *before, *after; /* of one who waits; NULL: nobody did */
	size_t n_before, n_after;                    /* threads that wait for it */
	const pid_t *still; /* who waits for it in both, and did not move in between */
	size_t n_still;
	bool held; /* by the same thread, or process, in both */
};

struct sw_diff {
	const struct sw_report *before, *after; /* borrowed */
	bool same_process;                      /* by number and start time */
	/* Only with same_process: numbers of threads mean nothing in another. */
	struct sw_diff_thread *threads;
	size_t n_threads;
	size_t n_changes[SW_DIFF_CHANGES];
	struct sw_diff_lock *locks; /* most who did not move first */
	size_t n_locks;
	/* Groups that grew or shrank, most first. Stacks are compared by the frames that people see; between two
	 * processes by what is the same for the same code in all processes. */
	struct sw_diff_group *groups;
	size_t n_groups;
	size_t n_same_groups;
	struct sw_diff_priv *priv;
};

/**
 * Compare two dumps.
 *
 * @param before  Borrowed, as is after; both must outlive *ret.
 * @return 0; -SW_E_NOMEM. Free with sw_diff_destroy().
 */
SW_PUBLIC int sw_diff_build(const struct sw_report *before, const struct sw_report *after,
			    struct sw_diff **ret, struct sw_error *err);
SW_PUBLIC void sw_diff_destroy(struct sw_diff *diff);

/** For people. *ret_text is the caller's; free(). -SW_E_NOMEM. */
SW_PUBLIC int sw_diff_text(const struct sw_diff *diff, const struct sw_text_options *options,
			   char **ret_text, size_t *ret_size, struct sw_error *err);
/** As one line of JSON; its fields are in snapwalk-diff(1). */
SW_PUBLIC int sw_diff_json(const struct sw_diff *diff, char **ret_text, size_t *ret_size,
			   struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
