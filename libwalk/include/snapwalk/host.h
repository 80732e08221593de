/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_HOST_H
#define SNAPWALK_HOST_H

/*
 * Samples of the CPU time of all processes, by one event of the kernel for each CPU. Nothing is stopped.
 *
 *	sw_host_sampler_open		needs CAP_BPF and CAP_PERFMON; what follows needs neither
 *	sw_host_sampler_next		again and again, every 20 ms or so: of which process the next sample is
 *	sw_cpu_sampler_create_of	once for each process that is wanted
 *	sw_cpu_sampler_next		after each sample of that process: this sample
 *
 * The kernel copies registers and stack of any thread. What a runtime has of its frames is copied, too, from the second
 * sample of its process on.
 */

#include <snapwalk/sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_host_sampler;

enum { SW_HOST_PROCESSES_MAX = 1024 /* with samplers at once */ };

/** Zero-initialised means the defaults. */
struct sw_host_options {
	uint32_t rate_hz;   /* samples a second on each CPU that is not idle; 0: 19 */
	size_t stack_bytes; /* of each; 0: 16 KiB; at most 64 KiB */
};

enum sw_host_kind {
	SW_HOST_NONE,   /* for now there is nothing more */
	SW_HOST_SAMPLE, /* of a thread */
	SW_HOST_END,    /* the first thread of a process has ended, and no sample is left of it */
};

struct sw_host_event {
	enum sw_host_kind kind;
	pid_t pid;
	pid_t tid;              /* SW_HOST_SAMPLE, as the following */
	int64_t time_ns;        /* CLOCK_MONOTONIC */
	uint64_t start_ns;      /* of the process; with pid it tells processes apart */
	char comm[SW_COMM_MAX]; /* of the thread */
};

/** @return 0; -SW_E_NOT_PERMITTED and -SW_E_UNSUPPORTED with the reason; -SW_E_NOMEM. Free with
 * sw_host_sampler_close(), after all samplers of it. */
SW_PUBLIC int sw_host_sampler_open(const struct sw_host_options *options,
				   struct sw_host_sampler **ret, struct sw_error *err);
/** NULL is allowed. */
SW_PUBLIC void sw_host_sampler_close(struct sw_host_sampler *host);

/** Takes the next event. A sample that no sampler takes is left out, as is one of an earlier process of
 * the same number. */
SW_PUBLIC void sw_host_sampler_next(struct sw_host_sampler *host, struct sw_host_event *ret);

/** A sample that waits, from *at on, which is behind it then; 0 at first. Nothing is taken. A sampler that is created for it
 * reads the maps of the process at once: names of other samples may take long, and the process may have ended by then. */
SW_PUBLIC bool sw_host_sampler_peek(struct sw_host_sampler *host, uint64_t *at,
				    struct sw_host_event *ret);

/** Samples of before begin_ns and of later than end_ns (CLOCK_MONOTONIC) are left out. The kernel goes on to make them. */
SW_PUBLIC void sw_host_sampler_limit(struct sw_host_sampler *host, int64_t begin_ns,
				     int64_t end_ns);

/** Readable when there is a sample of a process without a sampler, for poll(2): it may end soon, and nothing can be found out
 * about it then. Also with other samples at times. Borrowed. */
SW_PUBLIC int sw_host_sampler_fd(const struct sw_host_sampler *host);

/** No thread of this process is copied any more, until its end. */
SW_PUBLIC void sw_host_sampler_leave_out(struct sw_host_sampler *host, pid_t pid);

/**
 * A sampler of one process, from the sample on that was returned or peeked at last. Its maps are read with the first
 * sample.
 *
 * @param ctx  Borrowed, as target and host, until the end.
 * @return 0; -SW_E_LIMIT: there are SW_HOST_PROCESSES_MAX; -SW_E_EXITED; -SW_E_NOMEM. Free with sw_cpu_sampler_destroy(), after
 *         sw_host_sampler_drop().
 */
SW_PUBLIC int sw_cpu_sampler_create_of(struct sw_host_sampler *host, struct sw_context *ctx,
				       struct sw_target *target, struct sw_cpu_sampler **ret,
				       struct sw_error *err);
/** The sampler is about to be destroyed. */
SW_PUBLIC void sw_host_sampler_drop(struct sw_host_sampler *host, struct sw_cpu_sampler *sampler);

/** Samples that found no space in the kernel's buffers; those that a sampler left out are its own. */
SW_PUBLIC uint64_t sw_host_sampler_lost(const struct sw_host_sampler *host);
/** Whether time in the kernel counts. */
SW_PUBLIC bool sw_host_sampler_with_kernel(const struct sw_host_sampler *host);
/** Time that the kernel needed for all samples so far, in threads that it sampled. */
SW_PUBLIC int64_t sw_host_sampler_cost_ns(const struct sw_host_sampler *host);

/** Samples of native frames alone: the kernel did not have the recipe of their runtime yet, or there is none. Without a host
 * they come with SW_CPU_SAMPLER_NATIVE alone. */
SW_PUBLIC uint64_t sw_cpu_sampler_native(const struct sw_cpu_sampler *sampler);
/** Samples that are left out, and count as lost, as the memory of the process does not answer: what it maps is on a file
 * system whose server does not. It is looked at again after a pause that grows. */
SW_PUBLIC uint64_t sw_cpu_sampler_unanswered(const struct sw_cpu_sampler *sampler);
/** Why the kernel does not copy what a runtime of the process has of its frames, in words; "" otherwise. */
SW_PUBLIC const char *sw_cpu_sampler_no_recipe(const struct sw_cpu_sampler *sampler);

#ifdef __cplusplus
}
#endif

#endif
