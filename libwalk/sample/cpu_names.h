/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_CPU_NAMES_H
#define SW_SAMPLE_CPU_NAMES_H

#include "events/events.h"
#include "map.h"

#include <snapwalk/snapshot.h>

/* Names of the threads of one process, which are read again now and then. Zero-initialised but for the first members. */
struct sw_cpu_names {
	int task_fd;             /* borrowed: /proc/PID/task */
	bool fixed;              /* nothing is read but by sw_cpu_names_read() */
	struct sw_map64 indices; /* tid -> index + 1 */
	struct sw_cpu_name {
		int64_t read_ns;
		char comm[SW_COMM_MAX];
	} * all; /* owned */
	size_t n, max;
};

void sw_cpu_names_deinit(struct sw_cpu_names *names);

/* Empty: it is not known. */
void sw_cpu_names_find(struct sw_cpu_names *names, pid_t tid, char comm[static SW_COMM_MAX]);

/* A record of the kernel says it. */
void sw_cpu_names_note(struct sw_cpu_names *names, const struct sw_events_sample *named);

/* Reads the names of all threads, as long as they can be read. */
void sw_cpu_names_read(struct sw_cpu_names *names);

#endif
