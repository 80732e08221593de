/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CAPTURE_CASE_H
#define CAPTURE_CASE_H

#include "capture/space.h"

/*
 * A capture of our own memory, for tests of hooks: prepare, change something, capture.
 *	struct capture_case c;
 *	capture_case_init(&c);			fails the test when there is no memory
 *	... a prepare hook with &c.capture ...
 *	capture_case_copy(&c);			what it wanted, as far as it can be read
 *	... a capture hook with &c.capture ...	its copies are c.snap->ranges
 *	capture_case_deinit(&c);
 */
struct capture_case {
	struct sw_snapshot *snap;
	struct sw_tracee tracee;
	struct sw_stop stop;
	struct sw_capture_space space;
	struct sw_capture capture;
	void *found; /* of the hooks */
};

void capture_case_init(struct capture_case *c);
void capture_case_copy(struct capture_case *c);
void capture_case_deinit(struct capture_case *c);

#endif
