/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_MERGE_H
#define SNAPWALK_MERGE_H

/*
 * Dumps of many processes or hosts as one tree: threads of the same role are together as long as they are in the same
 * calls, outermost first, and each place knows which processes are there. What is held grows with distinct places, not
 * with dumps: a report may be freed once it was added. The JSON shape is described by snapwalk-merge.schema.json.
 */

#include <snapwalk/protocol.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_MERGE_SCHEMA "snapwalk.merge/1"

struct sw_merge;

/** Labels by which a process is called. */
enum sw_merge_label {
	SW_MERGE_BY_AUTO, /* the process id; of several hosts, the host too */
	SW_MERGE_BY_PID,
	SW_MERGE_BY_NAME, /* of its main thread */
	SW_MERGE_BY_HOST,
	SW_MERGE_BY_UNIT,
	SW_MERGE_BY_CONTAINER,
	SW_MERGE_BY_FILE,  /* that the dump came from, without directory and ".json" */
	SW_MERGE_BY_ORDER, /* in which dumps were added, from 0 */
};

/** Zero-initialised means the defaults. */
struct sw_merge_options {
	enum sw_merge_label label;
	const char *noun;     /* of a process, "rank"; copied; NULL: as the label says */
	bool functions;       /* lines are not compared */
	size_t max_processes; /* more are refused; 0: 65,536 */
	size_t max_places;    /* what finds no space is counted; 0: 1,048,576 */
	size_t max_bytes;     /* of names; 0: 64 MiB */
};

/** @param options  May be NULL. @return 0; -SW_E_NOMEM. Free with sw_merge_destroy(). */
SW_PUBLIC int sw_merge_create(const struct sw_merge_options *options, struct sw_merge **ret,
			      struct sw_error *err);
SW_PUBLIC void sw_merge_destroy(struct sw_merge *merge);

/**
 * Add a process. Of several dumps of one process the newest one counts, whichever is added first: processes are the same
 * by host, process id and start time.
 *
 * @param report  Borrowed for the call.
 * @param name    Where the dump came from: a file or an id; copied.
 * @return 0; -SW_E_LIMIT: too many processes; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_merge_add(struct sw_merge *merge, const struct sw_report *report, const char *name,
			   struct sw_error *err);

/** Note a dump that could not be added, and why. -SW_E_NOMEM. */
SW_PUBLIC int sw_merge_refuse(struct sw_merge *merge, const char *name, const char *message,
			      struct sw_error *err);

/** Processes that were added. */
SW_PUBLIC size_t sw_merge_processes(const struct sw_merge *merge);

/** Dumps that do not count, as there is a newer one of the same process. */
SW_PUBLIC size_t sw_merge_older(const struct sw_merge *merge);

/** Whether each process that was added is complete, nothing was refused and all found space. */
SW_PUBLIC bool sw_merge_is_complete(const struct sw_merge *merge);

/** For people, the verdict first. Only color and all of the options count. *ret_text is the caller's; free().
 * -SW_E_NOMEM. */
SW_PUBLIC int sw_merge_text(const struct sw_merge *merge, const struct sw_text_options *options,
			    char **ret_text, size_t *ret_size, struct sw_error *err);
/** As one line of JSON. */
SW_PUBLIC int sw_merge_json(const struct sw_merge *merge, char **ret_text, size_t *ret_size,
			    struct sw_error *err);
/** A page that any browser shows without network and without scripts. */
SW_PUBLIC int sw_merge_html(const struct sw_merge *merge, char **ret_text, size_t *ret_size,
			    struct sw_error *err);
/** "role;outermost;...;innermost THREADS". */
SW_PUBLIC int sw_merge_folded(const struct sw_merge *merge, char **ret_text, size_t *ret_size,
			      struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
