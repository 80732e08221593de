/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_PLACES_H
#define SW_ITERATE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Links that put a program at an instruction of one process: BPF_TRACE_UPROBE_MULTI, Linux 6.6. They need the privileges of
 * the program, CAP_BPF and CAP_PERFMON, where the event of a probe needs CAP_SYS_ADMIN: bpf_uprobe_multi_link_attach() in
 * kernel/trace/bpf_trace.c and perf_uprobe_event_init() in kernel/events/core.c, v6.6 to v6.18.
 */

/* Whether the kernel has them, and for all threads of a process: before 6.10, and what was taken from it into older ones, a
 * program ran for one thread alone. Needs CAP_BPF and CAP_PERFMON. */
bool sw_iterate_places_there(void);

/* Instructions of one file; borrowed. */
struct sw_iterate_places {
	const uint64_t *offs;
	const uint64_t *
		semaphores_off; /* of words of the file that the kernel counts up meanwhile; 0: none */
	const uint64_t *cookies; /* of the program there */
	size_t n;
};

/**
 * Put a program there, at all or none.
 *
 * @param program_fd  Loaded for this (struct sw_iterate_sample_sizes.linked).
 * @param pid         Of the process, whose first thread has not ended: the kernel knows it by the memory of that one.
 * @param path        Of the file that it has mapped.
 * @return a descriptor, or a negative errno.
 */
int sw_iterate_places_link(int program_fd, pid_t pid, const char *path,
			   const struct sw_iterate_places *places);

/* A program that does nothing, at an instruction. A descriptor, or a negative errno. Allocates nothing. */
int sw_iterate_places_nothing(pid_t pid, const char *path, uint64_t file_off);

/**
 * Change what a loader is about to load, so that its programs at places of code are for such links. libbpf has a section
 * name for that from 1.3 on.
 *
 * @param data  Of a light skeleton of libbpf: it has the attributes of BPF_PROG_LOAD of each program, at multiples of 8.
 * @return how many programs.
 */
size_t sw_iterate_places_data(void *data, size_t size);

#endif
