/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_SAMPLER_H
#define SNAPWALK_SAMPLER_H

/*
 * Samples of one process, again and again: what is known of it is kept between them.
 *
 *	sw_sampler_create -> sw_sampler_next, as often as wanted -> sw_sampler_destroy
 *
 * A thread that was not on a CPU since the last sample has the same stack as then (its switch counters
 * say that): it is not read again. A sample tells only what changed. Threads that ran are read without
 * a stop, as by sw_snapshot_take(); those that are on a CPU at that instant are stopped, unless the
 * options forbid it.
 */

#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_sampler;

/** The activity of a thread at the instant of a sample. */
enum sw_activity {
	SW_ACTIVITY_ON_CPU,   /* also: runnable, where the task iterator is refused */
	SW_ACTIVITY_RUNNABLE, /* waits for a CPU */
	SW_ACTIVITY_BLOCKED,  /* waits for something else */
	SW_ACTIVITY_OTHER,    /* stopped by a signal, or ended */
};
/** "on-cpu", "runnable", "blocked", "other"; static. */
SW_PUBLIC const char *sw_activity_name(enum sw_activity activity);

enum sw_change_kind {
	SW_CHANGE_READ,   /* it is captured in the sample's snapshot */
	SW_CHANGE_STATE,  /* another activity, and the stack of the sample before */
	SW_CHANGE_MISSED, /* it ran, and its stack could not be had: reason */
	SW_CHANGE_ENDED,  /* no thread has its slot any more */
};

/** The time that a thread has used, up to an instant. Differences of two are exact. */
struct sw_sample_times {
	int64_t time_ns;   /* that instant, CLOCK_MONOTONIC */
	int64_t cpu_ns;    /* on a CPU; -1: unknown */
	int64_t queued_ns; /* waiting for a CPU; -1: unknown */
	int64_t since_ns;  /* for how long it has been off the CPU; 0: it is on one; -1: unknown */
	uint64_t n_waits;  /* how often it gave its CPU up by itself; UINT64_MAX: unknown */
};

struct sw_sample_change {
	uint32_t
		slot; /* the thread's number in this series, from 0 on; used again when it has ended */
	pid_t tid;
	enum sw_change_kind kind;
	enum sw_activity activity;
	int reason; /* SW_E_* of SW_CHANGE_MISSED. SW_E_IO_WORKER, SW_E_ZOMBIE, SW_E_EXITED: there is
		       no stack */
	char comm[SW_COMM_MAX];       /* not of SW_CHANGE_ENDED */
	struct sw_sample_times times; /* as the sample saw it; of SW_CHANGE_ENDED: saw it last */
};

/** The changes since the sample before. Threads that are not among the changes are and do what they
 * were and did then. */
struct sw_sample {
	uint64_t number;  /* from 1 on */
	int64_t time_ns;  /* CLOCK_REALTIME */
	int64_t begin_ns; /* CLOCK_MONOTONIC: of what ran since then it tells nothing */
	/* The threads that were read, in sw_snapshot.threads; others may be in it without a stack.
	 * Borrowed until the next call with the series. NULL: none was read. */
	struct sw_snapshot *snap;
	const struct sw_sample_change
		*changes; /* likewise; each slot at most twice: ended, and new */
	size_t n_changes;
	size_t n_threads;               /* of the process */
	size_t n_stopped;               /* of them, for this sample */
	size_t n_interrupted;           /* system calls that return EINTR because of that */
	int64_t stopped_ns, longest_ns; /* of the process, of one thread */
	uint64_t
		generation; /* of maps and modules: with the same one, an address is the same code */
	bool light;         /* snap is of native code, read by the maps of an earlier one */
	bool kept; /* as light, of other code too: what frames have of it (owner, cookie) stays the same, as the generation */
	bool more; /* of sw_cpu_sampler_next(): ask again at once */
	bool event_alone; /* an event without a stack: sw_cpu_sampler_event() says which; snap is NULL */
	bool new_program; /* it became another one by execve(): all threads that were known ended */
};

/**
 * Begin a series. The process is not touched yet.
 *
 * @param ctx      Borrowed, as target, until the end of the series. Snapshots of the series are of it.
 * @param options  Copied; pointers in it as for sw_snapshot_take(). tids and running_only are not
 *                 looked at: a series is of all threads. SW_STOP_ALWAYS and a refused iterator: all
 *                 threads are read in each sample.
 * @return 0; -SW_E_NOMEM; with SW_STOP_NEVER -SW_E_UNSUPPORTED and -SW_E_NOT_PERMITTED: there is no task
 *         iterator. Free with sw_sampler_destroy().
 */
SW_PUBLIC int sw_sampler_create(struct sw_context *ctx, struct sw_target *target,
				const struct sw_snapshot_options *options, struct sw_sampler **ret,
				struct sw_error *err);
/** Why every thread is read in each sample though that was not asked for, in words; "" otherwise. Of
 * the series. */
SW_PUBLIC const char *sw_sampler_refused(const struct sw_sampler *series);

/** Set which threads following samples may stop, as in the options. */
SW_PUBLIC void sw_sampler_set_stop(struct sw_sampler *series, enum sw_stop_mode stop);

/**
 * Take a sample.
 *
 * @param ret  Set only on success. Everything in it is the series', until the next call with it.
 * @return 0, also when stacks are missing; as sw_snapshot_take(). After a failure the next sample may
 *         succeed, but for -SW_E_EXITED, -SW_E_NO_PROCESS and -SW_E_ZOMBIE. Changes and stops of a
 *         sample that failed are told by the next one.
 */
SW_PUBLIC int sw_sampler_next(struct sw_sampler *series, struct sw_sample *ret,
			      struct sw_error *err);
/**
 * The walk of a thread of the last sample ended at code that the sample's maps do not have (sw_walk.unknown_code). Where the
 * sample has them from an earlier one (sw_sample.light), they are compared with the process soon, and if it has other code by
 * then, the thread is read again, though it may not run.
 */
SW_PUBLIC void sw_sampler_note_unknown_code(struct sw_sampler *series, pid_t tid);
/**
 * Threads that do not run are read by recipes of their runtimes, where these have such, once a sample was taken: that
 * takes a fraction of the time. Only with blocked_only, and not in two processes: what is constant is read from the
 * running process while the sample is walked and named.
 */
SW_PUBLIC void sw_sampler_set_by_recipes(struct sw_sampler *series);
/** NULL is allowed. The snapshot of the last sample is destroyed, too. */
SW_PUBLIC void sw_sampler_destroy(struct sw_sampler *series);

/* ---- in two processes ------------------------------------------------------------------------ */

/*
 * For somebody who samples with privileges and parses without: one process has the sampler, and parses
 * nothing; another, forked from it after the first sample, is given the samples.
 *
 *	sw_sampler_create_lent, sw_sampler_next, sw_sampler_is_light, fork
 *	in the first:  sw_sampler_next, sw_sampler_pack		... again and again
 *	in the second: sw_sampler_leave, then sw_sampler_unpack	... as often
 *
 * Both have the maps and modules of the first sample. When the process has others the series is over.
 */

/** Programs of the task iterator that were loaded by somebody else: sw_iterator_load(),
 * sw_iterator_load_moved(). */
struct sw_sampler_programs {
	int threads_fd, moved_fd; /* copied by dup(2) */
};
/** As sw_sampler_create(). -SW_E_LIMIT: no descriptor is left. */
SW_PUBLIC int sw_sampler_create_lent(struct sw_context *ctx, struct sw_target *target,
				     const struct sw_snapshot_options *options,
				     const struct sw_sampler_programs *programs,
				     struct sw_sampler **ret, struct sw_error *err);
/** After a sample: whether the following ones can be handed on. All code is native. */
SW_PUBLIC bool sw_sampler_is_light(const struct sw_sampler *series);
/** From now on sw_sampler_next() answers -SW_E_CHANGED when the process has other maps or code, or more
 * threads ran than can be handed on; then the series is over. */
SW_PUBLIC void sw_sampler_fix(struct sw_sampler *series);
/**
 * A sample as bytes, for a process that has the same series.
 * @param ret  The series', until the next call.
 * @return 0; -SW_E_INVALID: not of this kind; -SW_E_LIMIT: above 64 MiB; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_sampler_pack(struct sw_sampler *series, const struct sw_sample *sample,
			      const void **ret, size_t *ret_size, struct sw_error *err);
enum { SW_SAMPLE_BYTES_MAX = 64 << 20 };
/** Closes what only sw_sampler_next() needs. In the forked process. */
SW_PUBLIC void sw_sampler_leave(struct sw_sampler *series);
/**
 * The sample of sw_sampler_pack().
 * @param bytes  Borrowed until the next call with the series.
 * @param ret    As of sw_sampler_next().
 * @return 0; -SW_E_FORMAT: they are not what was packed.
 */
SW_PUBLIC int sw_sampler_unpack(struct sw_sampler *series, const void *bytes, size_t size,
				struct sw_sample *ret, struct sw_error *err);

/* ---- whole captures in two processes ----------------------------------------------------------- */

/*
 * The same of whole snapshots: one process captures, and parses nothing; another, forked from it after the
 * first capture, walks that one and those that it is given. Both have the modules of the first.
 *
 *	sw_snapshot_take, sw_snapshot_native_code, fork
 *	in the first:  sw_snapshot_take, sw_snapshot_native_code, sw_snapshot_pack	... again and again
 *	in the second: sw_snapshot_unpack, sw_walk_all, sw_snapshot_destroy		... as often
 */

/**
 * A number for the code and modules that a process has mapped. As long as it is the same one, a capture finds
 * nothing to look into before the copy that the one before it did not know, and can be handed over.
 *
 * @return 0: not all is native code, or memory may not come. There is no such number.
 */
SW_PUBLIC uint64_t sw_snapshot_native_code(const struct sw_snapshot *snap);
/**
 * A snapshot as bytes.
 * @param to  Nothing is read from there: it may be memory of both.
 * @return 0; -SW_E_INVALID: taken with the option peers; -SW_E_LIMIT: more than max bytes.
 */
SW_PUBLIC int sw_snapshot_pack(const struct sw_snapshot *snap, void *to, size_t max,
			       size_t *ret_size, struct sw_error *err);
/**
 * The snapshot of sw_snapshot_pack().
 *
 * @param base   The first one, with the same sw_snapshot_native_code(). Borrowed, as bytes, until the snapshot is
 *               destroyed.
 * @param bytes  Of the process that this one was forked from.
 * @return 0; -SW_E_FORMAT: they are not what was packed; -SW_E_NOMEM. Free with sw_snapshot_destroy().
 */
SW_PUBLIC int sw_snapshot_unpack(const struct sw_snapshot *base, const void *bytes, size_t size,
				 struct sw_snapshot **ret, struct sw_error *err);

/* ---- CPU time -------------------------------------------------------------------------------- */

struct sw_cpu_sampler;

enum {
	/* For somebody who gives privileges up before the first sample: the process is looked at in
	 * sw_cpu_sampler_create() and not again, and sw_cpu_sampler_next() answers -SW_E_CHANGED when it has
	 * other code. Then it is to be destroyed. */
	SW_CPU_SAMPLER_FIXED = 1 << 0,
	/* Not by cycles, even where the machine counts them: each sample stands for exactly 1 / rate_hz s. */
	SW_CPU_SAMPLER_CLOCK = 1 << 1,
	/* Where the kernel cannot copy what a runtime of the process has of its frames, samples have native frames alone, and
	 * their stacks say so. Else there is no sampler then. Not with SW_CPU_SAMPLER_FIXED. */
	SW_CPU_SAMPLER_NATIVE = 1 << 2,
};

/**
 * Begin a series of samples of CPU time: of each thread so many in each second that it runs, taken by the
 * kernel (perf_event_open(2)), of threads that come, too. Nothing is stopped. For native code only.
 *
 * @param ctx          Borrowed, as target, until the end.
 * @param stack_bytes  Of each sample: what lies beyond is not walked. 0: 16 KiB; at most 32 KiB.
 * @param flags        SW_CPU_SAMPLER_*.
 * @return 0; -SW_E_NOT_PERMITTED, -SW_E_UNSUPPORTED, -SW_E_LIMIT: not here, in words; -SW_E_INVALID: not of
 *         this process, which has other code; -SW_E_EXITED, -SW_E_NOMEM, -SW_E_IO. Free with sw_cpu_sampler_destroy().
 */
SW_PUBLIC int sw_cpu_sampler_create(struct sw_context *ctx, struct sw_target *target,
				    uint32_t rate_hz, size_t stack_bytes, unsigned flags,
				    struct sw_cpu_sampler **ret, struct sw_error *err);
/** NULL is allowed. */
SW_PUBLIC void sw_cpu_sampler_destroy(struct sw_cpu_sampler *sampler);
/**
 * Some of the samples that were taken meanwhile: one of each of so many threads.
 *
 * @param ret  Set only on success; the sampler's, until the next call. snap has those threads, changes say of
 *             each that it was read; snap is NULL when there is no sample. Slots mean nothing.
 * @return As sw_sampler_next().
 */
SW_PUBLIC int sw_cpu_sampler_next(struct sw_cpu_sampler *sampler, struct sw_sample *ret,
				  struct sw_error *err);
/** Samples that found no space in the kernel's buffers, as it was not asked often enough, or that were left
 * there. */
SW_PUBLIC uint64_t sw_cpu_sampler_lost(const struct sw_cpu_sampler *sampler);
/** Whether time that threads spend in the kernel counts; otherwise it is not permitted. */
SW_PUBLIC bool sw_cpu_sampler_with_kernel(const struct sw_cpu_sampler *sampler);

#ifdef __cplusplus
}
#endif

#endif
