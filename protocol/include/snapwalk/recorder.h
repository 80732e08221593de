/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_RECORDER_H
#define SNAPWALK_RECORDER_H

/*
 * A process that is sampled: its series, who was where, and what is counted of it.
 *
 *	sw_recorder_create -> sw_recorder_sample, as often as wanted -> sw_recorder_settle -> sw_recorder_destroy
 *
 * It adds nothing up itself: that does a sink, for instance sw_profile_sink().
 */

#include <snapwalk/event.h>
#include <snapwalk/host.h>
#include <snapwalk/pipeline.h>
#include <snapwalk/profile.h>
#include <snapwalk/sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_recorder;

enum sw_record_mode {
	SW_RECORD_WALL, /* all threads */
	SW_RECORD_CPU,  /* those that run, or want to */
	SW_RECORD_OFF,  /* those that are blocked, by time */
};
/** "wall", "cpu", "off"; static. */
SW_PUBLIC const char *sw_record_mode_name(enum sw_record_mode mode);

/** The counts so far. */
struct sw_recorder_totals {
	uint64_t n_samples;                 /* that succeeded */
	uint64_t n_failed;                  /* that did not */
	uint64_t n_threads;                 /* of all samples together, as the following */
	uint64_t n_read;                    /* threads that were read anew */
	uint64_t n_remembered;              /* whose walk was that of an earlier copy, */
	uint64_t n_differ;                  /* and is another one: sw_walks.n_differ */
	uint64_t n_missed;                  /* that ran, and whose stack could not be had */
	uint64_t n_stopped;                 /* that were stopped for it */
	uint64_t n_interrupted;             /* calls that returned EINTR because of that */
	uint64_t on_cpu, runnable, blocked; /* threads, by what they did */
	int64_t stopped_ns, longest_ns;     /* of the process; of one thread */
	int64_t blocked_ns;                 /* told to sink->blocked(), of all threads together */
	uint64_t n_lost;                    /* samples by events that found no space */
	bool no_kernel;                     /* of a process time in the kernel does not count */
	int64_t unplaced_ns; /* between samples, of threads that were not seen blocked since */
	double held_ns; /* by how much threads that want to run were held up: of one that is stopped alone, its share */
};

/** The receiver that adds up the stacks. A row is one thread with one stack, or all threads that
 * count together with it. */
struct sw_recorder_sink {
	/* The rows of those threads of a report for which wanted[] is set; activity and rows are one for
	 * each of its threads. Each counts once. 0, -SW_E_NOMEM. */
	int (*rows)(void *arg, const struct sw_report *report, const bool *wanted,
		    const enum sw_activity *activity, uint32_t *ret_rows, struct sw_error *err);
	void (*count)(void *arg, uint32_t row, uint64_t count);
	/* The row of the same thread and stack with another activity. Nothing is counted. NULL: it is the
	 * same row. 0, -SW_E_NOMEM. */
	int (*restate)(void *arg, uint32_t row, enum sw_activity activity, uint32_t *ret_row,
		       struct sw_error *err);
	/* A thread was blocked for so long with the stack of a row. NULL: nobody wants to know. */
	void (*blocked)(void *arg, uint32_t row, uint64_t ns);
	/* An event of a recorder with options.event, after its row was counted. NULL: nobody wants to know. 0; a
	 * negative error ends the sample. */
	int (*event)(void *arg, const struct sw_event *event, uint32_t row, struct sw_error *err);
	void *arg;
};
enum { SW_RECORDER_NO_ROW = UINT32_MAX }; /* counts as left out */

/** Where samples come from, when it is not a sampler of the recorder's own. */
struct sw_recorder_source {
	/* As sw_sampler_next(). */
	int (*next)(void *arg, struct sw_sample *ret, struct sw_error *err);
	/* Optional. For who has the sampler: as sw_sampler_note_unknown_code(). */
	void (*unknown_code)(void *arg, pid_t tid);
	void *arg;
};

/** Zero-initialised means the defaults. */
struct sw_recorder_options {
	enum sw_record_mode mode;
	uint32_t rate_hz; /* of SW_RECORD_CPU and with_events: for the kernel */
	/* SW_RECORD_WALL, native code: threads on a CPU are sampled by events of the kernel, where it permits
	 * them and the task iterator, and nobody is stopped; see sw_recorder_quiet(). As many samples are
	 * taken as rate_hz says. */
	bool with_events;
	/* How a sample is taken, walked and named; limit_ns is for each, resumed is not called. */
	struct sw_pipeline_options how;
	/* NULL: it samples the target. The target may then be NULL. */
	const struct sw_recorder_source *source;
	/* SW_RECORD_CPU: without the kernel's events it is an error. Otherwise running threads are sampled
	 * by the clock then. */
	bool only_events;
	bool fixed; /* see sw_cpu_sampler_create() */
	/* SW_RECORD_CPU: a stack at each of these events, not by CPU time; see sw_event_sampler_create(). Where that is
	 * refused it is an error. Borrowed for sw_recorder_create(). NULL: by CPU time. */
	const struct sw_event_options *event;
	/* SW_RECORD_CPU: the samples of its process are those of this one; see sw_cpu_sampler_create_of(). A sample of the
	 * recorder is one of them. Borrowed until the end. NULL: it has events of its own. */
	struct sw_host_sampler *host;
	/* Before and after names are looked for, which may take long: for somebody who samples with a
	 * priority. NULL: nobody wants to know. */
	void (*naming)(void *arg, bool begins);
	void *naming_arg; /* borrowed until the end */
};

/**
 * @param target   Consumed, also on failure.
 * @param options  Copied; what it points to, session and sink are borrowed until the end.
 * @return 0, or as sw_sampler_create() and sw_cpu_sampler_create(). Free with sw_recorder_destroy().
 */
SW_PUBLIC int sw_recorder_create(struct sw_target *target,
				 const struct sw_recorder_options *options,
				 struct sw_session *session, const struct sw_recorder_sink *sink,
				 struct sw_recorder **ret, struct sw_error *err);
/** NULL is allowed. */
SW_PUBLIC void sw_recorder_destroy(struct sw_recorder *recorder);

/**
 * Take a sample.
 * @return As sw_sampler_next(), sw_walk_all() and sw_report_build(); -SW_E_EXITED, -SW_E_NO_PROCESS,
 *         -SW_E_ZOMBIE: the process ended, and is not to be asked again.
 */
SW_PUBLIC int sw_recorder_sample(struct sw_recorder *recorder, struct sw_error *err);

/** Bring the counts of threads that did not run since to the sink. Called before the sink's result
 * is printed. */
SW_PUBLIC void sw_recorder_settle(struct sw_recorder *recorder);

/** Rows get other numbers: for each thread row() is told the one that it has, and says which it has now. */
SW_PUBLIC void sw_recorder_renumber(struct sw_recorder *recorder,
				    uint32_t (*row)(void *arg, uint32_t old), void *arg);

/** A thread in the last sample. */
struct sw_recorder_thread {
	pid_t tid;
	uint32_t row;   /* of the sink; SW_RECORDER_NO_ROW: its stack is not known */
	uint64_t first; /* the sample, from 0 on, in which it was seen first */
	bool ran;       /* since the sample before */
	enum sw_activity activity;
	struct sw_sample_times times; /* when it ran last, or another activity was seen */
	const char *comm;             /* borrowed until the next sample */
};
/** Slots, of which some have a thread. */
SW_PUBLIC size_t sw_recorder_slots(const struct sw_recorder *recorder);
/** False: that slot has none. */
SW_PUBLIC bool sw_recorder_thread(const struct sw_recorder *recorder, size_t slot,
				  struct sw_recorder_thread *ret);

/** See sw_cpu_sampler_native(); of a recorder with options.host, or with SW_STOP_NEVER. */
SW_PUBLIC uint64_t sw_recorder_native(const struct sw_recorder *recorder);
/** See sw_cpu_sampler_unanswered(); of a recorder with options.host. */
SW_PUBLIC uint64_t sw_recorder_unanswered(const struct sw_recorder *recorder);
/** See sw_cpu_sampler_no_recipe(); as sw_recorder_native(). */
SW_PUBLIC const char *sw_recorder_no_recipe(const struct sw_recorder *recorder);

/** See sw_event_sampler_cost(); of a recorder with options.event. */
SW_PUBLIC struct sw_event_cost sw_recorder_event_cost(const struct sw_recorder *recorder);
/** Whether an event has happened that sw_recorder_sample() has not told yet; makes no system call. */
SW_PUBLIC bool sw_recorder_has_events(const struct sw_recorder *recorder);

/** See sw_event_sampler_held(); of a recorder with options.event. */
SW_PUBLIC int sw_recorder_held(const struct sw_recorder *recorder,
			       int (*tell)(void *arg, const struct sw_event_held *held), void *arg,
			       struct sw_error *err);

/** See sw_event_sampler_is_over(); of a recorder with options.event. */
SW_PUBLIC bool sw_recorder_events_are_over(const struct sw_recorder *recorder);

/** See sw_event_sampler_stop(); of a recorder with options.event. */
SW_PUBLIC void sw_recorder_stop_events(struct sw_recorder *recorder);
/** See sw_event_sampler_drop(); likewise. sw_recorder_totals() has the new number. */
SW_PUBLIC void sw_recorder_drop_events(struct sw_recorder *recorder);
/** See sw_event_sampler_take_out(); likewise. */
SW_PUBLIC bool sw_recorder_take_probe_out(struct sw_recorder *recorder);

SW_PUBLIC bool sw_recorder_has_ended(const struct sw_recorder *recorder);
/** The recorder's; borrowed. */
SW_PUBLIC const struct sw_recorder_totals *sw_recorder_totals(const struct sw_recorder *recorder);
/** Threads of the process in the last sample. */
SW_PUBLIC size_t sw_recorder_threads(const struct sw_recorder *recorder);
/** Whether it is sampled by events of the kernel: see sw_cpu_sampler_create(). Then n_samples counts those. */
SW_PUBLIC bool sw_recorder_by_events(const struct sw_recorder *recorder);
/** Whether no thread is stopped: events have the stacks of those that run. */
SW_PUBLIC bool sw_recorder_quiet(const struct sw_recorder *recorder);
/** As sw_sampler_refused(); with SW_RECORD_CPU why there are no events. */
SW_PUBLIC const char *sw_recorder_refused(const struct sw_recorder *recorder);
/** Why there are no events, with SW_RECORD_CPU and with_events; "": there are, or they were not asked for. With event:
 * as sw_event_sampler_no_stacks(). */
SW_PUBLIC const char *sw_recorder_no_events(const struct sw_recorder *recorder);
/** The report that was made last, of threads that were not known; NULL: none yet. Borrowed until the next
 * sample. */
SW_PUBLIC const struct sw_report *sw_recorder_report(const struct sw_recorder *recorder);

/** The target of a sink's additions. */
struct sw_profile_adding {
	struct sw_profile *profile; /* borrowed */
	enum sw_record_mode mode;
	uint64_t interval_ns; /* that a sample stands for */
};
/** A sink that adds samples to a profile. @param adding  Borrowed until the end. */
SW_PUBLIC struct sw_recorder_sink sw_profile_sink(struct sw_profile_adding *adding);

#ifdef __cplusplus
}
#endif

#endif
