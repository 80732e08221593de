/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_OBJECT_H
#define SW_V8_OBJECT_H

#include "memory.h"
#include "runtimes/v8/objects/layout.h"

/*
 * Objects of V8's heap. A word is a Smi (low bit 0, the number in the upper half) or the address of an
 * object plus 1. Objects move whenever the process runs: what is read of them is of one instant.
 */
struct sw_v8_heap {
	const struct sw_v8_layout *at;
	struct sw_memory memory;
};

static inline bool sw_v8_is_object(uint64_t word)
{
	return (word & 3) == 1;
}

static inline bool sw_v8_is_smi(uint64_t word)
{
	return (word & UINT32_MAX) == 0;
}

static inline int32_t sw_v8_smi(uint64_t word)
{
	return (int32_t) (word >> 32);
}

static inline bool sw_v8_word(struct sw_v8_heap heap, uint64_t object, int64_t offset,
			      uint64_t *ret)
{
	return sw_v8_is_object(object) && offset >= 0 &&
	       sw_memory_u64(heap.memory, object - 1 + (uint64_t) offset, ret);
}

static inline bool sw_v8_u32(struct sw_v8_heap heap, uint64_t object, int64_t offset, uint32_t *ret)
{
	return sw_v8_is_object(object) && offset >= 0 &&
	       sw_memory_read(heap.memory, object - 1 + (uint64_t) offset, ret, sizeof(*ret));
}

/* The instance type of an object. */
bool sw_v8_type(struct sw_v8_heap heap, uint64_t object, uint16_t *ret);
bool sw_v8_has_type(struct sw_v8_heap heap, uint64_t object, int32_t type);
/* A word that is an object of that type. */
bool sw_v8_object(struct sw_v8_heap heap, uint64_t object, int64_t offset, int32_t type,
		  uint64_t *ret);

/* The elements of any kind of array: their number, and where they are. */
bool sw_v8_array(struct sw_v8_heap heap, uint64_t array, uint64_t *ret_avma, uint32_t *ret_n);

bool sw_v8_is_string(struct sw_v8_heap heap, uint64_t object);
/* As UTF-8, cut to fit. False when it is no string, or cannot be read. */
bool sw_v8_string(struct sw_v8_heap heap, uint64_t string, char *ret, size_t size);

/* Where the characters of a string are that is one part: *ret_wide is set for two bytes each. */
bool sw_v8_characters(struct sw_v8_heap heap, uint64_t string, uint64_t *ret_avma, uint32_t *ret_n,
		      bool *ret_wide);

#endif
