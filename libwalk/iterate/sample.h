/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_SAMPLE_H
#define SW_ITERATE_SAMPLE_H

#include "iterate/sampled.h"

#include <snapwalk/error.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * The program that copies threads at events (iterate/bpf/sample.bpf.c, of all processes host.bpf.c), and its maps. Loading it needs CAP_BPF
 * and CAP_PERFMON; who has the descriptors needs neither.
 */
struct sw_iterate_sample {
	int program_fd; /* owned, as the following; for PERF_EVENT_IOC_SET_BPF */
	int setup_fd, processes_fd;
	int recipes_fd; /* struct sw_sampled_recipe by number: can be mapped, and written to at any time */
	int counts_fd; /* struct sw_sampled_counts by CPU: can be mapped */
	int ring_fd;   /* can be mapped as a ring of BPF */
	int known_fd; /* struct sw_sampled_known by place: can be mapped; negative: not all are sampled */
};

struct sw_iterate_sample_sizes {
	uint32_t n_cpus;
	uint32_t n_processes; /* that may be sampled at once */
	uint32_t ring_bytes;  /* a power of two, and whole pages */
	uint32_t
		n_held; /* of pairs of functions: handles that are outstanding at once; 0: the default */
	bool all;       /* each process is sampled: sw_iterate_sample_process() is not for it */
	bool linked; /* of functions: the programs are put at places by links (iterate/places.h) */
};

/**
 * Load it.
 *
 * @param ret  Set only on success; close with sw_iterate_sample_close().
 * @return As sw_iterate_load().
 */
int sw_iterate_sample_open(const struct sw_iterate_sample_sizes *sizes,
			   const struct sw_sampled_setup *setup, struct sw_iterate_sample *ret,
			   struct sw_error *err);
void sw_iterate_sample_close(struct sw_iterate_sample *sample);

/**
 * Sample a process from now on, with the recipe of that number.
 *
 * @return 0; -SW_E_LIMIT: there are n_processes; -SW_E_NOMEM; -SW_E_NOT_PERMITTED; -SW_E_IO.
 */
int sw_iterate_sample_process(const struct sw_iterate_sample *sample, pid_t pid, uint32_t number,
			      struct sw_error *err);
/* Sample it no more. */
void sw_iterate_sample_forget(const struct sw_iterate_sample *sample, pid_t pid);

#endif
