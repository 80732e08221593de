/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_DEOPT_H
#define SW_V8_DEOPT_H

#include "bytes.h"
#include "memory.h"

/*
 * The use that the builtin which a deoptimisation enters makes of the frame that is given up, as
 * its code says. It calls C++ code twice:
 *
 *	begin      the frame is there, and so is the return address that the compiled code left
 *	compute    the frame's words are in an object, `input`; the stack they were on is used by the callees
 */
struct sw_v8_deopt {
	uint32_t begin_off, compute_off; /* in the builtin: the instruction behind each call */
	uint32_t return_off;             /* from sp before the first call to the return address */
	uint32_t input_off;              /* in Deoptimizer */
	uint32_t size_off, content_off;  /* in its input: bytes of the frame, and its words */
};

enum { SW_V8_DEOPTS_MAX = 4 };

/* The way from the builtin to its caller. */
struct sw_v8_given_up {
	uint64_t pc, sp, fp;
	bool incomplete; /* the function whose frame it was is not there any more */
};

/* Reads the builtin's code. False: it does something else. */
bool sw_v8_deopt_read(struct sw_bytes code, struct sw_v8_deopt *ret);

/* The caller of a builtin that has called one of the two and waits for it with this sp and fp. heap: what was copied of
 * objects. False: off is behind neither, or what leads to the caller is not there. */
bool sw_v8_deopt_caller(const struct sw_v8_deopt *deopt, uint64_t off, struct sw_memory stack,
			struct sw_memory heap, uint64_t sp, uint64_t fp,
			struct sw_v8_given_up *ret);

/* Reads what sw_v8_deopt_caller() will need of the heap. deoptimizer_avma: as it lies on the stack. */
void sw_v8_deopt_touch(const struct sw_v8_deopt *deopt, struct sw_memory heap,
		       uint64_t deoptimizer_avma);

/* Where the address of the Deoptimizer lies on the stack while its frames are computed. sp: that of the builtin. */
bool sw_v8_deopt_object(struct sw_memory stack, uint64_t sp, uint64_t *ret_avma);

#endif
