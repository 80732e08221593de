/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MEMORY_CALIBRATE_H
#define SW_CLI_MEMORY_CALIBRATE_H

#include <snapwalk/error.h>

#include <stddef.h>

/* CPU time that a call of a function takes longer on this machine while it is followed, in ns. */
struct sw_call_cost {
	double handing; /* one that hands out: probes at its beginning and its RET, and the copy of the stack */
	double copy; /* the part of it that the kernel's program measures itself, as of struct sw_event_cost */
	double taking;  /* one that takes back */
	double unknown; /* one that takes back what is not followed: little more than the probe */
	double stepped_more; /* either, where the kernel steps the instruction at its beginning */
};

/*
 * Measures that on functions of this program, in a child that calls them. Takes some tenths of a second. Needs CAP_BPF and
 * CAP_PERFMON.
 *
 * @param stack_bytes  Of each copy; 0: the default.
 * @return 0; -SW_E_UNSUPPORTED, -SW_E_NOT_PERMITTED, -SW_E_IO, -SW_E_NOMEM.
 */
int sw_call_calibrate(size_t stack_bytes, struct sw_call_cost *ret, struct sw_error *err);

#endif
