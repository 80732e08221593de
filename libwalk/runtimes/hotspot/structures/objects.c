/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Objects of the Java heap, as far as names of threads need them. They move: what is read here must be
 * read again before it is believed.
 *
 * Sources: src/hotspot/share/oops/oop.hpp, arrayOop.hpp, markWord.hpp (klass_shift), compressedOops.hpp;
 * gc/z/zAddress.hpp (ZPointer layout) of jdk-25.0.3.
 */
#include "runtimes/hotspot/structures/objects.h"

enum {
	KLASS_OFF = 8,
	COMPACT_SHIFT = 42, /* markWord::klass_shift, 24 and 25 */
};

/* Whether it is the collector that is in use: others leave 0 there. */
static bool is_colored(const struct sw_hotspot *h, int64_t colors_svma, int64_t good_off)
{
	uint64_t colors, mask, value;
	return sw_hotspot_u64(h->memory, h->place->bias, colors_svma, &colors) && colors != 0 &&
	       sw_hotspot_u64(h->memory, colors, good_off, &mask) &&
	       sw_memory_u64(h->memory, mask, &value) && value != 0;
}

void sw_hotspot_objects_init(const struct sw_hotspot *h, struct sw_hotspot_objects *ret)
{
	const struct sw_hotspot_layout *at = &h->at;
	struct sw_memory m = h->memory;
	uint64_t bias = h->place->bias;
	*ret = (struct sw_hotspot_objects){0};
	(void) sw_hotspot_u64(m, bias, at->oop_base, &ret->oop_base);      /* stays 0 */
	(void) sw_hotspot_u32(m, bias, at->oop_shift, &ret->oop_shift);    /* stays 0 */
	(void) sw_hotspot_u64(m, bias, at->narrow_base, &ret->klass_base); /* stays 0 */
	(void) sw_hotspot_u32(m, bias, at->narrow_shift, &ret->klass_shift);
	if (ret->oop_shift > 8 || ret->klass_shift > 16)
		ret->oop_shift = ret->klass_shift = 0;
	/* ZGC until 20; what became of it in 21 to 23; the one with generations. */
	const struct {
		int64_t colors_svma, good_off;
		bool with_shift;
	} kinds[] = {
		{at->zgc, at->zgc_good, false},
		{at->xgc, at->xgc_good, false},
		{at->zgc, at->zgc_load_good, true},
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !ret->colored; i++) {
		ret->colors_svma = kinds[i].colors_svma;
		ret->good_off = kinds[i].good_off;
		ret->with_shift = kinds[i].with_shift;
		ret->colored = is_colored(h, ret->colors_svma, ret->good_off);
	}
}

bool sw_hotspot_object_class(const struct sw_hotspot_objects *o, enum sw_hotspot_header header,
			     struct sw_memory m, uint64_t object, uint64_t *ret)
{
	uint32_t narrow;
	uint64_t mark;
	switch (header) {
	case SW_HOTSPOT_HEADER_WIDE: return sw_hotspot_u64(m, object, KLASS_OFF, ret);
	case SW_HOTSPOT_HEADER_NARROW:
		if (!sw_hotspot_u32(m, object, KLASS_OFF, &narrow))
			return false;
		*ret = o->klass_base + ((uint64_t) narrow << o->klass_shift);
		return true;
	case SW_HOTSPOT_HEADER_COMPACT:
		if (!sw_memory_u64(m, object, &mark))
			return false;
		*ret = o->klass_base + ((mark >> COMPACT_SHIFT) << o->klass_shift);
		return true;
	case SW_HOTSPOT_HEADER_UNKNOWN: break;
	}
	return false;
}

uint64_t sw_hotspot_class_of(const struct sw_hotspot_objects *o, struct sw_memory m, uint64_t avma)
{
	enum { MARK_MASK = 3, MARK_MOVED = 3 }; /* markWord::marked_value */
	uint64_t mark, klass;
	bool is_there =
		avma != 0 && sw_memory_u64(m, avma, &mark) && (mark & MARK_MASK) != MARK_MOVED;
	return is_there && sw_hotspot_object_class(o, o->header, m, avma, &klass) ? klass : 0;
}

bool sw_hotspot_pointer_read(const struct sw_hotspot_objects *o, enum sw_hotspot_pointers pointers,
			     struct sw_memory m, uint64_t avma, uint64_t *ret)
{
	uint32_t narrow;
	uint64_t word;
	if (pointers == SW_HOTSPOT_POINTERS_NARROW) {
		if (!sw_memory_read(m, avma, &narrow, sizeof(narrow)))
			return false;
		*ret = sw_hotspot_narrow_decode(o, narrow);
		return true;
	}
	if (!sw_memory_u64(m, avma, &word))
		return false;
	*ret = sw_hotspot_handle_decode(o, word);
	return true;
}

bool sw_hotspot_array_read(const struct sw_hotspot *h, const struct sw_hotspot_objects *o,
			   struct sw_memory m, uint64_t object, uint32_t *ret_length,
			   uint64_t *ret_data)
{
	int64_t length = 12;
	if (o->header == SW_HOTSPOT_HEADER_COMPACT)
		length = 8;
	else if (o->header == SW_HOTSPOT_HEADER_WIDE)
		length = 16;
	*ret_data = object + (uint64_t) length + 4;
	if (o->header == SW_HOTSPOT_HEADER_WIDE && h->version < 23)
		*ret_data += 4; /* JDK-8139457: the gap is used since 23 */
	return sw_hotspot_u32(m, object, length, ret_length);
}

bool sw_hotspot_pointer_current(const struct sw_hotspot_objects *o, uint64_t good_mask,
				struct sw_memory m, uint64_t avma, uint64_t *ret)
{
	uint64_t word;
	if (o->colored && (!sw_memory_u64(m, avma, &word) ||
			   (word != 0 && !sw_hotspot_is_current(o, word, good_mask))))
		return false;
	return sw_hotspot_pointer_read(o, o->pointers, m, avma, ret) && *ret % 8 == 0;
}

void sw_hotspot_collector_read(const struct sw_hotspot_layout *at, uint64_t bias,
			       const struct sw_hotspot_objects *o, struct sw_memory m,
			       struct sw_hotspot_collector *ret)
{
	uint64_t heap, colors, mask;
	uint8_t active = 0;
	*ret = (struct sw_hotspot_collector){0};
	/* Without a word of it, it is believed to be at work. */
	ret->at_work = !sw_hotspot_u64(m, bias, at->collected_heap, &heap) ||
		       !sw_hotspot_u8(m, heap, at->heap_gc_active, &active) || active != 0;
	if (o->colored && sw_hotspot_u64(m, bias, o->colors_svma, &colors) &&
	    sw_hotspot_u64(m, colors, o->good_off, &mask))
		(void) sw_memory_u64(m, mask, &ret->good_mask); /* stays 0 */
}
