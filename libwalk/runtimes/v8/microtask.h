/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_MICROTASK_H
#define SW_V8_MICROTASK_H

#include "bytes.h"
#include "native/tls.h"

enum { SW_V8_ROOT = 128 }; /* r13 is so far behind the begin of the isolate */

/* Where V8 has what runs of its queue of microtasks: a handler of a promise, for example. */
struct sw_v8_microtasks {
	struct sw_tls_variable isolate; /* leads to the isolate that a thread is in */
	uint64_t bias;                  /* of its module */
	uint32_t off; /* of the microtask, from the isolate's root on; 0: it is not known */
};

/* By the builtin that runs them, RunMicrotasks. False: it is another one than is known. */
bool sw_v8_microtask_off(struct sw_bytes code, uint32_t *ret);

/* The microtask that the isolate of the thread with that fs base runs: an object, of whatever
 * type. */
bool sw_v8_microtask(const struct sw_v8_microtasks *microtasks, struct sw_memory memory,
		     uint64_t fs_base, uint64_t *ret);

#endif
