/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DELIVER_H
#define SW_CLI_DELIVER_H

#include "common/options.h"
#include "run/output.h"

enum {
	SW_DELIVERY_ALIKE_MAX = 32, /* kinds of processes; of others each is shown */
	SW_DELIVERY_PIDS = 6,
	SW_DELIVERY_COMM_BYTES = 32,
};

/* Processes that are like one that was shown, and idle as it is. */
struct sw_delivery_alike {
	uint64_t id; /* sw_report_idle_id() */
	char comm[SW_DELIVERY_COMM_BYTES], call[SW_DELIVERY_COMM_BYTES];
	pid_t pid; /* of the first one, which is shown */
	pid_t pids[SW_DELIVERY_PIDS];
	size_t more; /* besides it */
};

/* The part of a report that matters to those that come after it. */
struct sw_delivery_seen {
	uint64_t idle_id, hints_id; /* 0: is not idle, has none */
	char comm[SW_DELIVERY_COMM_BYTES], call[SW_DELIVERY_COMM_BYTES];
	pid_t pid;
};

/* Reports on their way out, wherever they come from: one file or standard output for all. */
struct sw_delivery {
	const struct sw_options *options; /* borrowed */
	enum sw_format format;
	struct sw_output output;
	size_t n_written;
	bool broken; /* the output failed: no use to go on */
	bool color;
	size_t columns;  /* of the terminal; 0: there is none */
	char about[128]; /* the last one that was written */
	struct sw_delivery_alike alike[SW_DELIVERY_ALIKE_MAX];
	size_t n_alike;
	uint64_t hints[SW_DELIVERY_ALIKE_MAX]; /* that were given */
	size_t n_hints;
	bool hints_given; /* those of the report that is put now */
	size_t n_matched; /* threads and stacks that --state, --function and --thread let pass */
};

/* Whether text that goes to path, NULL for the descriptor fd, is coloured. */
bool sw_delivery_color(const struct sw_options *options, const char *path, int fd);

/* path NULL: standard output. Errors are about sw_delivery_name(). */
int sw_delivery_begin(struct sw_delivery *ret, const struct sw_options *options,
		      enum sw_format format, const char *path, struct sw_error *err);
/* Begin likewise, in the format and to the file that the options say, before
 * sw_sandbox_enter_parsing(). Returns SW_STATUS_COMPLETE; else the error has been printed. */
int sw_delivery_begin_parsing(struct sw_delivery *ret, const struct sw_options *options);
const char *sw_delivery_name(const struct sw_delivery *d);

/*
 * Writes one report; says on standard error what is missing in it, or why it could not be written.
 * @param report  May be NULL when json is given, it is complete and to be written as JSON.
 * @param json    The dump as it came, with its size; NULL: made from the report.
 * @return SW_STATUS_*.
 */
int sw_delivery_put(struct sw_delivery *d, const char *about, const struct sw_report *report,
		    const char *json, size_t json_size);

/* Put a profile likewise, in options->profile_format. json as above; NULL: it is made. */
int sw_delivery_put_profile(struct sw_delivery *d, const char *about,
			    const struct sw_profile *profile, const char *json, size_t json_size);

/* The facts that sw_delivery_put() notes of a report; where another process writes it, to note them
 * here as well. */
struct sw_delivery_seen sw_delivery_seen(const struct sw_delivery *d,
					 const struct sw_report *report);
/* False: a process like that was shown, so that this one is only counted. */
bool sw_delivery_note(struct sw_delivery *d, const struct sw_delivery_seen *seen);

/* How many threads and stacks of a report pass the filter, where another process writes it. */
size_t sw_delivery_matches(const struct sw_delivery *d, const struct sw_report *report);

/* Makes the file appear if there is something in it; returns the worse of status and its own. Says
 * so when nothing of all that was written passed the filter: SW_STATUS_NOTHING. */
int sw_delivery_end(struct sw_delivery *d, int status);

#endif
