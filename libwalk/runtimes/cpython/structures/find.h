/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_FIND_H
#define SW_CPYTHON_FIND_H

#include "runtimes/cpython/structures/layout.h"

#include <snapwalk/walk.h>

/* An interpreter that is in the process. */
struct sw_cpython_at {
	struct sw_place *place; /* of the program or libpython; borrowed from the snapshot */
	struct sw_cpython_layout layout;
	uint64_t runtime_avma;   /* _PyRuntime */
	uint64_t code_type_avma; /* PyCode_Type */
	char version[24];    /* "3.11.2"; "3.8" when the file does not say more; "3.14.0t" without
				     the GIL */
	const char *missing; /* static; why it is not read, in words that "... could not be
				    found" may follow; NULL */
	const char *problem; /* static; the same as a sentence */
};

/* Whether a file may be an interpreter, by its name. */
bool sw_cpython_probe(const struct sw_snapshot *snap);

/* Parses the file's headers and symbols. False when there is no interpreter. */
bool sw_cpython_find(const struct sw_snapshot *snap, struct sw_memory memory,
		     struct sw_cpython_at *ret);

#endif
