/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_REFUSAL_H
#define SW_ITERATE_REFUSAL_H

#include "iterate/verifier.h"

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stddef.h>

/* Why the kernel refuses a program: it says a number, and of some programs a line of its verifier; so what is known of the
 * machine decides, too. */

struct sw_iterate_machine {
	bool built;            /* this build has the programs */
	bool btf;              /* /sys/kernel/btf/vmlinux */
	unsigned major, minor; /* of the kernel's version; 0: unknown */
	uint64_t capabilities; /* effective, as in capget(2) */
	bool user_namespace;   /* we are in one: capabilities of it do not count for bpf(2) */
	char lockdown[16];     /* "none", "integrity", "confidentiality"; "" unknown */
	int unprivileged;      /* /proc/sys/kernel/unprivileged_bpf_disabled; -1 unknown */
};

/* Finds out about this machine, and our rights on it. Reads files of /proc and /sys. */
void sw_iterate_machine_look(struct sw_iterate_machine *machine);

/* -SW_E_*, *err filled: why loading failed with that errno. said: NULL: nothing is known of the verifier. */
int sw_iterate_refused_by(const struct sw_iterate_machine *machine, int error,
			  const struct sw_verifier_said *said, struct sw_error *err);

/* Both. */
int sw_iterate_refused(int error, const struct sw_verifier_said *said, struct sw_error *err);

#endif
