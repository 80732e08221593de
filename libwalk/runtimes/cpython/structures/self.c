/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: Include/cpython/frameobject.h (f_localsplus) of 3.8 to 3.10; layout.c has it of later versions. */
#include "runtimes/cpython/structures/self.h"

enum {
	HEAD_TYPE = 8,
	TYPE_NAME = 24,
	/* The first variable of a frame that is an object. */
	FRAME_LOCALS_8 = 360,
	FRAME_LOCALS_10 = 352,
};

bool sw_cpython_local_read(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_frame *frame, unsigned n, uint64_t *ret)
{
	const struct sw_cpython_layout *l = &at->layout;
	unsigned off = l->pairing != SW_CPYTHON_BY_CONTENT ? l->frame_locals
		       : l->minor == 10                    ? FRAME_LOCALS_10
							   : FRAME_LOCALS_8;
	if (!sw_memory_u64(memory, frame->avma + off + 8 * (uint64_t) n, ret))
		return false;
	*ret &= ~UINT64_C(7);
	return *ret != 0;
}

bool sw_cpython_self_read(const struct sw_cpython_at *at, struct sw_memory memory,
			  const struct sw_cpython_frame *frame, uint64_t *ret)
{
	return sw_cpython_local_read(at, memory, frame, 0, ret);
}

static bool name_avma_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   uint64_t *ret)
{
	uint64_t more = at->layout.head_more, type;
	return sw_memory_u64(memory, avma + HEAD_TYPE + more, &type) &&
	       sw_memory_u64(memory, type + TYPE_NAME + more, ret);
}

bool sw_cpython_class_name(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   char *ret, size_t bytes)
{
	uint64_t name_avma;
	if (!name_avma_read(at, memory, avma, &name_avma))
		return false;
	for (size_t i = 0; i < bytes && sw_memory_read(memory, name_avma + i, &ret[i], 1); i++)
		if (ret[i] == '\0')
			return true;
	return false;
}

bool sw_cpython_is_class(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			 const char *name)
{
	uint64_t name_avma;
	char c = 1;
	if (!name_avma_read(at, memory, avma, &name_avma))
		return false;
	for (size_t i = 0; c != '\0'; i++)
		if (!sw_memory_read(memory, name_avma + i, &c, 1) || c != name[i])
			return false;
	return true;
}
