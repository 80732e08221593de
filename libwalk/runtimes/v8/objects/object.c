/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: src/objects/objects-inl.h, string.tq, instance-type.h of V8 10.2 to 14.6. The type of a string
 * has bits: 0-2 how it is made, 3 one byte a character, 4 an external one without its cached address.
 */
#include "runtimes/v8/objects/object.h"
#include "utf8.h"

#include <string.h>

enum {
	TYPE_OFFSET = 12,
	FIRST_NONSTRING = 128,
	SHAPE_MASK = 7,
	SEQUENTIAL = 0,
	CONS = 1,
	EXTERNAL = 2,
	SLICED = 3,
	THIN = 5,
	ONE_BYTE = 8,
	UNCACHED = 16,
	LENGTH_MAX = (1 << 29) - 24,
	PARTS_MAX = 64, /* of a string that is put together, which are looked at */
	CHUNK = 256,    /* characters */
};

bool sw_v8_type(struct sw_v8_heap heap, uint64_t object, uint16_t *ret)
{
	uint64_t map;
	return sw_v8_word(heap, object, 0, &map) && sw_v8_is_object(map) &&
	       sw_memory_read(heap.memory, map - 1 + TYPE_OFFSET, ret, sizeof(*ret));
}

bool sw_v8_has_type(struct sw_v8_heap heap, uint64_t object, int32_t type)
{
	uint16_t found;
	return sw_v8_type(heap, object, &found) && found == type;
}

bool sw_v8_object(struct sw_v8_heap heap, uint64_t object, int64_t offset, int32_t type,
		  uint64_t *ret)
{
	uint64_t word;
	if (!sw_v8_word(heap, object, offset, &word) || !sw_v8_has_type(heap, word, type))
		return false;
	*ret = word;
	return true;
}

bool sw_v8_array(struct sw_v8_heap heap, uint64_t array, uint64_t *ret_avma, uint32_t *ret_n)
{
	uint64_t length;
	if (!sw_v8_word(heap, array, 8, &length) || !sw_v8_is_smi(length) || sw_v8_smi(length) < 0)
		return false;
	*ret_avma = array - 1 + 16;
	*ret_n = (uint32_t) sw_v8_smi(length);
	return true;
}

bool sw_v8_is_string(struct sw_v8_heap heap, uint64_t object)
{
	uint16_t type;
	return sw_v8_type(heap, object, &type) && type < FIRST_NONSTRING;
}

/* A part of a string that is still to be written. */
struct part {
	uint64_t string;
	uint32_t from, n; /* characters */
};

static bool flat(struct sw_v8_heap heap, uint64_t string, uint16_t type, uint64_t *ret_avma)
{
	*ret_avma = string - 1 + 16;
	if ((type & SHAPE_MASK) == SEQUENTIAL)
		return true;
	return (type & SHAPE_MASK) == EXTERNAL && !(type & UNCACHED) &&
	       sw_v8_word(heap, string, 24, ret_avma) && *ret_avma != 0;
}

bool sw_v8_characters(struct sw_v8_heap heap, uint64_t string, uint64_t *ret_avma, uint32_t *ret_n,
		      bool *ret_wide)
{
	uint16_t type;
	uint32_t n;
	if (!sw_v8_type(heap, string, &type) || type >= FIRST_NONSTRING ||
	    !sw_v8_u32(heap, string, 12, &n) || n > LENGTH_MAX)
		return false;
	if ((type & SHAPE_MASK) == THIN || (type & SHAPE_MASK) == CONS) {
		uint64_t first, second;
		uint32_t rest = 0;
		if (!sw_v8_word(heap, string, 16, &first) ||
		    ((type & SHAPE_MASK) == CONS &&
		     (!sw_v8_word(heap, string, 24, &second) ||
		      !sw_v8_u32(heap, second, 12, &rest) || rest != 0)))
			return false;
		string = first;
		if (!sw_v8_type(heap, string, &type) || type >= FIRST_NONSTRING ||
		    !sw_v8_u32(heap, string, 12, &n) || n > LENGTH_MAX)
			return false;
	}
	*ret_n = n;
	*ret_wide = !(type & ONE_BYTE);
	return flat(heap, string, type, ret_avma);
}

struct writer {
	char *to;
	size_t left; /* with the NUL */
};

static bool character_write(struct writer *w, uint32_t c)
{
	char bytes[SW_UTF8_BYTES_MAX];
	size_t n = sw_utf8_encode(c >= 0xd800 && c < 0xe000 ? SW_UTF8_REPLACEMENT : c, bytes);
	if (n >= w->left)
		return false;
	memcpy(w->to, bytes, n);
	w->to += n;
	w->left -= n;
	return true;
}

/* False: no more is taken; *ok says if that is because of memory. */
static bool flat_write(struct sw_v8_heap heap, uint64_t avma, const struct part *part, bool wide,
		       struct writer *w, bool *ok)
{
	uint8_t bytes[2 * CHUNK];
	size_t width = wide ? 2 : 1;
	uint32_t high = 0;
	for (uint32_t done = 0; done < part->n;) {
		uint32_t n = part->n - done < CHUNK ? part->n - done : CHUNK;
		if (n > w->left)
			n = (uint32_t) w->left;
		*ok = n > 0 && sw_memory_read(heap.memory, avma + (part->from + done) * width,
					      bytes, n * width);
		if (!*ok)
			return false;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t c =
				wide ? bytes[2 * i] | (uint32_t) bytes[2 * i + 1] << 8 : bytes[i];
			if (wide && c >= 0xd800 && c < 0xdc00) {
				high = c;
				continue;
			}
			if (wide && c >= 0xdc00 && c < 0xe000 && high != 0)
				c = 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00);
			high = 0;
			if (!character_write(w, c))
				return false;
		}
		done += n;
	}
	return true;
}

/* Take one part: it is written, or its own parts are put in its place. Returns false with *ok as
 * above. */
static bool part_take(struct sw_v8_heap heap, struct part part, struct part *stack, size_t *n_stack,
		      struct writer *w, bool *ok)
{
	uint16_t type;
	uint32_t length;
	uint64_t avma, first = 0, second = 0;
	*ok = sw_v8_type(heap, part.string, &type) && type < FIRST_NONSTRING &&
	      sw_v8_u32(heap, part.string, 12, &length) && length <= LENGTH_MAX &&
	      part.from <= length && *n_stack + 2 <= PARTS_MAX;
	if (!*ok)
		return false;
	if (part.n > length - part.from)
		part.n = length - part.from;
	switch (type & SHAPE_MASK) {
	case SEQUENTIAL:
	case EXTERNAL:
		*ok = flat(heap, part.string, type, &avma);
		return *ok && flat_write(heap, avma, &part, !(type & ONE_BYTE), w, ok);
	case THIN:
	case SLICED:
		*ok = sw_v8_word(heap, part.string, 16, &first) &&
		      ((type & SHAPE_MASK) == THIN || sw_v8_word(heap, part.string, 24, &second));
		if (*ok && (type & SHAPE_MASK) == SLICED)
			part.from += (uint32_t) sw_v8_smi(second);
		part.string = first;
		stack[(*n_stack)++] = part;
		return *ok;
	case CONS:
		*ok = part.from == 0 && sw_v8_word(heap, part.string, 16, &first) &&
		      sw_v8_word(heap, part.string, 24, &second);
		if (!*ok)
			return false;
		stack[(*n_stack)++] = (struct part){second, 0, part.n};
		stack[(*n_stack)++] = (struct part){first, 0, part.n};
		return *ok;
	default: *ok = false; return false;
	}
}

bool sw_v8_string(struct sw_v8_heap heap, uint64_t string, char *ret, size_t size)
{
	struct part stack[PARTS_MAX] = {{string, 0, LENGTH_MAX}};
	struct writer w = {ret, size};
	size_t n_stack = 1;
	bool ok = true;
	for (size_t n = 0; n_stack > 0 && n < PARTS_MAX; n++)
		if (!part_take(heap, stack[--n_stack], stack, &n_stack, &w, &ok))
			break;
	*w.to = '\0';
	return ok;
}
