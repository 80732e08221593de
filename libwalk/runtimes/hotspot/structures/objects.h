/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_OBJECTS_H
#define SW_HOTSPOT_OBJECTS_H

#include "runtimes/hotspot/structures/hotspot.h"

/* Where an object says of which class it is. */
enum sw_hotspot_header {
	SW_HOTSPOT_HEADER_UNKNOWN,
	SW_HOTSPOT_HEADER_NARROW, /* 4 bytes at 8 */
	SW_HOTSPOT_HEADER_WIDE,   /* 8 bytes at 8: -XX:-UseCompressedClassPointers */
	SW_HOTSPOT_HEADER_COMPACT, /* the upper bits of the first word: -XX:+UseCompactObjectHeaders */
};

enum sw_hotspot_pointers {
	SW_HOTSPOT_POINTERS_UNKNOWN,
	SW_HOTSPOT_POINTERS_NARROW, /* 4 bytes: compressed */
	SW_HOTSPOT_POINTERS_WIDE,
};

/* How objects of this process look. */
struct sw_hotspot_objects {
	enum sw_hotspot_header header;
	enum sw_hotspot_pointers pointers;
	uint64_t klass_base, oop_base;
	uint32_t klass_shift, oop_shift;
	bool colored;    /* pointers are ZGC's: objects move while the process runs */
	bool with_shift; /* ... and carry the color below the address */
	/* Where colored ones have the address of what load barriers compare with: a variable, as svma,
	 * that leads to what it is in. */
	int64_t colors_svma, good_off;
};

/* Fills what the VM says of them; header and pointers are found out when the first one is looked at. */
void sw_hotspot_objects_init(const struct sw_hotspot *h, struct sw_hotspot_objects *ret);

/* The class of an object, by a header of this kind. */
bool sw_hotspot_object_class(const struct sw_hotspot_objects *o, enum sw_hotspot_header header,
			     struct sw_memory m, uint64_t object, uint64_t *ret);

/* The class of an object that no collector has moved; 0: unknown. */
uint64_t sw_hotspot_class_of(const struct sw_hotspot_objects *o, struct sw_memory m, uint64_t avma);

/* The object that a field of that many bytes leads to, 0 for null. */
bool sw_hotspot_pointer_read(const struct sw_hotspot_objects *o, enum sw_hotspot_pointers pointers,
			     struct sw_memory m, uint64_t avma, uint64_t *ret);

enum {
	SW_HOTSPOT_COLOR_SHIFT = 12, /* ZPointerRemappedShift: four bits, one of which is set */
	SW_HOTSPOT_COLOR_MASK = 15,
};

/* The object to which a word of the VM's own refers; 0: none. */
static inline uint64_t sw_hotspot_handle_decode(const struct sw_hotspot_objects *o, uint64_t word)
{
	uint64_t color = word >> SW_HOTSPOT_COLOR_SHIFT & SW_HOTSPOT_COLOR_MASK;
	if (!o->colored || !o->with_shift)
		return word;
	/* The address begins behind the bit that is set. */
	return color != 0 && (color & (color - 1)) == 0
		       ? word >> (SW_HOTSPOT_COLOR_SHIFT + 1 + __builtin_ctzll(color))
		       : 0;
}

/* The object to which a compressed pointer refers. */
static inline uint64_t sw_hotspot_narrow_decode(const struct sw_hotspot_objects *o, uint32_t narrow)
{
	return narrow != 0 ? o->oop_base + ((uint64_t) narrow << o->oop_shift) : 0;
}

/* Whether the object is where a word of ZGC's says: others may be of before it was moved, and something
 * else may lie there. good_mask: what load barriers compare with at that instant. */
static inline bool sw_hotspot_is_current(const struct sw_hotspot_objects *o, uint64_t word,
					 uint64_t good_mask)
{
	uint64_t mask = (uint64_t) SW_HOTSPOT_COLOR_MASK << SW_HOTSPOT_COLOR_SHIFT;
	if (!o->colored)
		return true;
	return o->with_shift ? good_mask != 0 && ((word ^ good_mask) & mask) == 0
			     : (word & good_mask) != 0;
}

/* The object that a field leads to, 0 for null. False: it cannot be read, or may be an old pointer. */
bool sw_hotspot_pointer_current(const struct sw_hotspot_objects *o, uint64_t good_mask,
				struct sw_memory m, uint64_t avma, uint64_t *ret);

/* The work of the collector on objects. */
struct sw_hotspot_collector {
	bool at_work; /* it has stopped the program: pointers may lead to where objects will be */
	uint64_t good_mask; /* of colored pointers; 0: none is current */
};

/* By memory of one instant. */
void sw_hotspot_collector_read(const struct sw_hotspot_layout *at, uint64_t bias,
			       const struct sw_hotspot_objects *o, struct sw_memory m,
			       struct sw_hotspot_collector *ret);

/* The length of an array of bytes or chars, and where its first one is. */
bool sw_hotspot_array_read(const struct sw_hotspot *h, const struct sw_hotspot_objects *o,
			   struct sw_memory m, uint64_t object, uint32_t *ret_length,
			   uint64_t *ret_data);

#endif
