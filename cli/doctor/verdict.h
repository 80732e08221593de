/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DOCTOR_VERDICT_H
#define SW_CLI_DOCTOR_VERDICT_H

#include "text.h"

#include <stdint.h>
#include <sys/types.h>

enum sw_verdict {
	SW_VERDICT_OK,
	SW_VERDICT_NOTE,    /* worth knowing, does not stand in the way */
	SW_VERDICT_REFUSED, /* a capture cannot work */
};

/* The subject of the checks, and what they found. Nothing of it touches the target: /proc is read,
 * and the kernel is asked for its own rule by opening /proc/PID/mem. */
struct sw_doctor {
	pid_t pid;            /* 0: in general, no target */
	int proc_fd;          /* owned: /proc/PID; -EBADF without target */
	uint64_t cap_eff;     /* our effective capabilities */
	uint64_t cap_bnd;     /* our bounding set */
	int probe_errno;      /* of opening /proc/PID/mem; 0: the kernel allows a capture */
	struct sw_text self;  /* /proc/self/status */
	struct sw_text other; /* /proc/PID/status */
	struct sw_text report;
	bool json; /* the report is an array of checks, without its brackets */
	unsigned n_refused;
	bool is_busy; /* more wants to run than there are CPUs */
};

/* Appends the verdict of one check to the report, as a line or as an object; remedy may be NULL. */
__attribute__((format(printf, 5, 6))) void sw_doctor_say(struct sw_doctor *d,
							 enum sw_verdict verdict, const char *check,
							 const char *remedy, const char *fmt, ...);

/* Check ourselves and the machine. */
void sw_doctor_general(struct sw_doctor *d);
/* By what /proc/loadavg says: the last minute, and the threads that run or want to, with ours. */
bool sw_load_is_busy(double minute, unsigned now, long cpus);
/* Check the target. */
void sw_doctor_target(struct sw_doctor *d);

/* The field of a /proc/PID/status text ("TracerPid"), parsed as a number of that base; -1 when it
 * is not there. */
int64_t sw_status_field(const struct sw_text *status, const char *name, int base);

#endif
