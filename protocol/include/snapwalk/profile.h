/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_PROFILE_H
#define SNAPWALK_PROFILE_H

/*
 * Samples added up: who was seen where, in which state, how often and for how long. The memory for
 * it grows with distinct stacks and threads, not with samples, and both are limited; samples that
 * found no space are counted. The JSON shape is described by snapwalk-profile.schema.json and
 * snapwalk-profile(5).
 */

#include <snapwalk/protocol.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_PROFILE_SCHEMA "snapwalk.profile/1"

struct sw_profile;

/** The state of a thread at a sample. */
enum sw_profile_state {
	SW_PROFILE_AS_REPORTED, /* as the report has it: 'R' is on the CPU, but runnable when the iterator
				 * captured it; all others are blocked */
	SW_PROFILE_ON_CPU,
	SW_PROFILE_RUNNABLE, /* wants a CPU and has none */
	SW_PROFILE_BLOCKED,
	SW_PROFILE_IDLE, /* blocked in a place where threads wait for work; found out, need not be given */
	SW_PROFILE_STATES,
};

/** The weight of one sample of a thread. Zero: nothing yet, but sw_profile_again() may. */
struct sw_profile_weight {
	uint64_t count; /* samples */
	uint64_t ns;    /* of time that they stand for */
	enum sw_profile_state state;
	bool skip; /* this thread is left away */
};

/** Zero-initialised means the defaults. */
struct sw_profile_limits {
	size_t max_stacks;  /* distinct ones; 0: 100,000 */
	size_t max_threads; /* more are counted by their names alone; 0: 32,768 */
	size_t max_rows;    /* of a thread with a stack in a state; 0: 1,048,576 */
	size_t max_bytes;   /* of names, frames and stacks, not to the byte; 0: 128 MiB */
};

/** How the samples were taken: all that the profile itself cannot know. Zero: unknown. */
struct sw_profile_info {
	const char *mode;                    /* static: "wall", "cpu", "off" */
	int64_t begin_ns;                    /* CLOCK_REALTIME */
	int64_t duration_ns;                 /* from the first sample to the end */
	uint32_t rate_hz;                    /* as asked for */
	uint64_t n_samples;                  /* rounds, each of all threads */
	uint64_t n_wanted, n_late, n_lost;   /* rounds; by the rate; after their time; not at all */
	int64_t stopped_ns, longest_stop_ns; /* of the target */
	const char *unit; /* static: what is counted, as "descriptor"; NULL: samples */
};

/** Totals of a profile. */
struct sw_profile_totals {
	uint64_t count, ns;           /* of all that was added and found space */
	uint64_t left_count, left_ns; /* what did not: the limits were reached */
	size_t n_stacks, n_threads, n_rows, n_bytes;
};

enum { SW_PROFILE_NO_ROW = UINT32_MAX };

/** @param limits  May be NULL. @return 0; -SW_E_NOMEM. Free with sw_profile_destroy(). */
SW_PUBLIC int sw_profile_create(const struct sw_profile_limits *limits, struct sw_profile **ret,
				struct sw_error *err);
SW_PUBLIC void sw_profile_destroy(struct sw_profile *profile);

/** Replaces what was said before. */
SW_PUBLIC void sw_profile_set_info(struct sw_profile *profile, const struct sw_profile_info *info);
/** The information that was set last, or by the text that was read. The profile's. */
SW_PUBLIC const struct sw_profile_info *sw_profile_get_info(const struct sw_profile *profile);

/** Why it ended before its time, by the text that was read; "": it did not. The profile's. */
SW_PUBLIC const char *sw_profile_ended_early(const struct sw_profile *profile);

/** Limits for what is added from now on; what is there already stays. */
SW_PUBLIC void sw_profile_set_limits(struct sw_profile *profile,
				     const struct sw_profile_limits *limits);

/** Stacks that are added from now on have their process as outermost frame: "server (4242)". */
SW_PUBLIC void sw_profile_set_by_process(struct sw_profile *profile);

/**
 * Count every thread of a report once.
 *
 * A thread that was not captured counts, too, with the reason in place of its stack. A stack that
 * finds no space is no error.
 *
 * @param report    Borrowed for the call: all that is needed of it is copied.
 * @param weights   One for each of report->threads[]; NULL: a count of 1 for each.
 * @param ret_rows  One for each of report->threads[]: what sw_profile_again() takes; may be NULL.
 * @return 0; -SW_E_NOMEM, after which some threads of the report are counted.
 */
SW_PUBLIC int sw_profile_add(struct sw_profile *profile, const struct sw_report *report,
			     const struct sw_profile_weight *weights, uint32_t *ret_rows,
			     struct sw_error *err);

/**
 * Count a thread again that did not run since sw_profile_add(): same stack, same state. Costs two
 * additions.
 *
 * @param row As sw_profile_add() gave it; SW_PROFILE_NO_ROW counts as left out. It is one of this
 * profile.
 */
SW_PUBLIC void sw_profile_again(struct sw_profile *profile, uint32_t row, uint64_t count,
				uint64_t ns);

/**
 * The row of the same thread with the same stack, but in another state: it was on a CPU, is blocked
 * now, and did not move between.
 *
 * @param ret_row  SW_PROFILE_NO_ROW when there is no space, or row was none.
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_profile_restate(struct sw_profile *profile, uint32_t row,
				 enum sw_profile_state state, uint32_t *ret_row,
				 struct sw_error *err);

/** Whether nothing was left out, and no more than 2 % of the rounds are lost. */
SW_PUBLIC bool sw_profile_is_complete(const struct sw_profile *profile);

SW_PUBLIC struct sw_profile_totals sw_profile_totals(const struct sw_profile *profile);

/* ---- writing and reading --------------------------------------------------------------------- */

enum sw_profile_format {
	SW_PROFILE_TEXT,       /* for people */
	SW_PROFILE_FOLDED,     /* "comm;outermost;...;innermost COUNT", for flame graph programs */
	SW_PROFILE_JSON,       /* our own: all that is known; sw_profile_parse() reads it */
	SW_PROFILE_PPROF,      /* gzipped profile.proto */
	SW_PROFILE_SPEEDSCOPE, /* its file format, JSON */
	SW_PROFILE_FIREFOX,    /* a processed profile of the Firefox Profiler, JSON */
	SW_PROFILE_HTML,       /* one page that needs nothing else */
	SW_PROFILE_OTLP,       /* OpenTelemetry, protobuf: ProfilesData */
	SW_PROFILE_SVG,        /* a flame graph as a picture without scripts */
	SW_PROFILE_FORMATS,
};

enum { SW_PROFILE_VALUES_MAX = 4 };

/** Values that pprof has of each row in place of samples and time; OTLP has the last of them. */
struct sw_profile_values {
	struct sw_profile_value_type {
		const char *type, *unit; /* "inuse_space", "bytes" */
	} types[SW_PROFILE_VALUES_MAX];
	size_t n_types;
	const uint64_t (
		*rows)[SW_PROFILE_VALUES_MAX]; /* borrowed; one for each row of the profile */
	size_t n_rows;
};

/** Zero-initialised means the defaults. Only text, HTML, pprof and OTLP look at it. */
struct sw_profile_write_options {
	const struct sw_profile_values *values; /* NULL: samples and time */
	const struct sw_profile *old;           /* what to compare with; NULL: nothing */
	bool color;
	bool all;       /* in text: also what is small or idle */
	size_t columns; /* of the terminal; 0: as wide as it takes */
	const char *id; /* in OTLP: a receiver that knows it takes the profile once; NULL: none */
};

/**
 * @param options  May be NULL.
 * @param ret      The caller's; free(). A NUL follows it, which is not in *ret_size.
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_profile_write(const struct sw_profile *profile, enum sw_profile_format format,
			       const struct sw_profile_write_options *options, char **ret,
			       size_t *ret_size, struct sw_error *err);

/**
 * The profile as JSON with what a dump has in its head: id, time, reason, complete, process and timings,
 * so that it can be kept among dumps.
 *
 * @param head  Of this report only those are looked at: they are the profile's.
 * @param ret   As of sw_profile_write().
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_profile_write_kept(const struct sw_profile *profile, const struct sw_report *head,
				    char **ret, size_t *ret_size, struct sw_error *err);

/**
 * The profile of a JSON text, whoever wrote it. Stacks beyond the default limits are left out and
 * counted.
 *
 * @return 0; -SW_E_FORMAT: not a profile of this schema; -SW_E_NOMEM. Free with sw_profile_destroy().
 */
SW_PUBLIC int sw_profile_parse(const char *json, size_t size, struct sw_profile **ret,
			       struct sw_error *err);

/** A profile of another format has these, and ours has no place for them. */
struct sw_profile_left_out {
	size_t n_values; /* kinds of values of each sample, besides the number of samples and a time */
	size_t n_labels;   /* of all samples */
	size_t n_comments; /* of the file: those of sample say what is missing */
	size_t n_states; /* samples that do not say whether their thread was on a CPU: they count as if */
};

/** Whether these may be the bytes of a file of pprof, packed by gzip or not. */
SW_PUBLIC bool sw_profile_is_pprof(const void *data, size_t size);
/**
 * The profile of a file of pprof, whoever wrote it: at most 256 MiB when it is unpacked, and 4,194,304 messages of each kind.
 * Names that its locations have with a line are kept; others can be had by sw_profile_symbolize(), by the build-ids of its mappings.
 *
 * @param ret_left_out  What is not in *ret.
 * @return 0; -SW_E_FORMAT: no profile of pprof, or without a number of samples; -SW_E_LIMIT; -SW_E_NOMEM. Free with sw_profile_destroy().
 */
SW_PUBLIC int sw_profile_parse_pprof(const void *data, size_t size, struct sw_profile **ret,
				     struct sw_profile_left_out *ret_left_out,
				     struct sw_error *err);

/** Whether the first line may be one of folded stacks. */
SW_PUBLIC bool sw_profile_is_folded(const void *data, size_t size);
/**
 * The profile of folded stacks, whoever wrote them. Frames "FILE+0xADDRESS" get names by sw_profile_symbolize(), where its
 * finder has one file of that name in its directories.
 *
 * @return 0; -SW_E_FORMAT: a line is no stack with a count; -SW_E_NOMEM. Free with sw_profile_destroy().
 */
SW_PUBLIC int sw_profile_parse_folded(const void *data, size_t size, struct sw_profile **ret,
				      struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
