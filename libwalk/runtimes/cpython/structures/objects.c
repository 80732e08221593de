/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: Objects/dict-common.h, Include/internal/pycore_{dict,object}.h, Include/cpython/object.h and
 * Include/{,c}longintrepr.h of the versions that layout.c names, by the debug information of their builds.
 */
#include "runtimes/cpython/structures/objects.h"
#include "runtimes/cpython/structures/code.h"

#include <string.h>

enum {
	HEAD_TYPE = 8, /* of PyObject */
	TYPE_BASIC_SIZE = 32,
	TYPE_FLAGS = 168,
	TYPE_DICT_OFFSET = 288,
	INLINE_VALUES = 1 << 2, /* Py_TPFLAGS_INLINE_VALUES, 3.13 */
	MANAGED_DICT = 1 << 4,  /* Py_TPFLAGS_MANAGED_DICT, 3.11 on */
	INLINE_VALID = 3,       /* 3.13: struct _dictvalues.valid */
	MODULE_DICT = 16,
	DICT_KEYS = 32,
	DICT_VALUES = 40,
	INT_TAG =
		16, /* 3.12 on: digits << 3 | sign; before: the number of digits, negative for a sign */
	INT_DIGITS = 24,
	INT_DIGIT_BITS = 30,
	ATTRIBUTES_MAX = 1024, /* of an object: some are read while threads are held */
	ENTRIES_PART = 64,     /* entries that are read at once */
	NEAR = 4096,
};

/* The keys of a dictionary, and their values; of instances these are an array of their own. */
struct table {
	uint64_t entries_avma;
	uint64_t values_avma; /* 0: beside the keys */
	uint64_t n;
	unsigned entry_words; /* hash, key, value; or key, value */
};

static bool keys_read(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		      struct table *ret)
{
	uint64_t w
		[4]; /* up to 3.10: references, size, function, usable; 3.11 on: sizes are logarithms */
	if (avma == 0 || avma % 8 != 0 || !sw_memory_read(memory, avma, w, sizeof(w)))
		return false;
	if (at->layout.minor <= 10) {
		unsigned width = w[1] <= 0xff ? 1 : w[1] <= 0xffff ? 2 : w[1] <= UINT32_MAX ? 4 : 8;
		if (w[1] > 2 * (uint64_t) SW_CPYTHON_DICT_ENTRIES_MAX ||
		    !sw_memory_u64(memory, avma + 32, &ret->n))
			return false;
		ret->entries_avma = avma + 40 + w[1] * width;
		ret->entry_words = 3;
	} else {
		unsigned index_log = w[1] >> 8 & 0xff, kind = w[1] >> 16 & 0xff;
		if (index_log > 24 || kind > 2)
			return false;
		ret->n = w[3];
		ret->entries_avma = avma + 32 + (UINT64_C(1) << index_log);
		ret->entry_words = kind == 0 ? 3 : 2;
	}
	return ret->n <= SW_CPYTHON_DICT_ENTRIES_MAX;
}

/* False when not all could be read. */
static bool table_each(struct sw_memory memory, const struct table *t,
		       bool (*each)(void *arg, uint64_t key_avma, uint64_t value_avma), void *arg)
{
	for (uint64_t from = 0; from < t->n; from += ENTRIES_PART) {
		uint64_t entries[ENTRIES_PART * 3], values[ENTRIES_PART];
		uint64_t n = t->n - from < ENTRIES_PART ? t->n - from : ENTRIES_PART;
		unsigned width = t->entry_words;
		if (!sw_memory_read(memory, t->entries_avma + from * width * 8, entries,
				    (size_t) n * width * 8) ||
		    (t->values_avma != 0 &&
		     !sw_memory_read(memory, t->values_avma + from * 8, values, (size_t) n * 8)))
			return false;
		for (uint64_t i = 0; i < n; i++) {
			uint64_t key = entries[i * width + width - 2];
			uint64_t value =
				t->values_avma != 0 ? values[i] : entries[i * width + width - 1];
			if (key != 0 && value != 0 && !each(arg, key, value))
				return true;
		}
	}
	return true;
}

static uint64_t values_of(const struct sw_cpython_at *at, uint64_t avma)
{
	return avma == 0 ? 0 : avma + (at->layout.minor >= 13 ? 8 : 0);
}

static bool dict_table(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		       struct table *ret)
{
	uint64_t keys, values;
	if (avma == 0 || avma % 8 != 0 ||
	    !sw_memory_u64(memory, avma + DICT_KEYS + at->layout.head_more, &keys) ||
	    !sw_memory_u64(memory, avma + DICT_VALUES + at->layout.head_more, &values))
		return false;
	ret->values_avma = values_of(at, values);
	return keys_read(at, memory, keys, ret);
}

void sw_cpython_dict_each(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			  bool (*each)(void *arg, uint64_t key_avma, uint64_t value_avma),
			  void *arg)
{
	struct table t;
	if (dict_table(at, memory, avma, &t))
		(void) table_each(memory, &t, each, arg); /* what cannot be read is not there */
}

struct search {
	const struct sw_cpython_at *at;
	struct sw_memory memory;
	const char *key;
	uint64_t found_avma;
	bool unreadable; /* a key that may be it */
};

static bool is_key(void *arg, uint64_t key_avma, uint64_t value_avma)
{
	struct search *s = arg;
	char text[64];
	if (!sw_cpython_string(s->at, s->memory, key_avma, text, sizeof(text)))
		s->unreadable = true;
	else if (strcmp(text, s->key) == 0)
		s->found_avma = value_avma;
	return s->found_avma == 0;
}

static enum sw_cpython_found table_find(const struct sw_cpython_at *at, struct sw_memory memory,
					const struct table *t, const char *key, uint64_t *ret_avma)
{
	struct search search = {.at = at, .memory = memory, .key = key};
	bool all = table_each(memory, t, is_key, &search);
	if (search.found_avma == 0)
		return all && !search.unreadable ? SW_CPYTHON_ABSENT : SW_CPYTHON_UNREADABLE;
	*ret_avma = search.found_avma;
	return SW_CPYTHON_FOUND;
}

bool sw_cpython_dict_get(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			 const char *key, uint64_t *ret_avma)
{
	struct table t;
	return dict_table(at, memory, avma, &t) &&
	       table_find(at, memory, &t, key, ret_avma) == SW_CPYTHON_FOUND;
}

/*
 * Where an object has its attributes: a dictionary, or values of which its type has the keys. From 3.11
 * on both are said before the object:
 *
 *	3.11   values at -32, dictionary at -24
 *	3.12   at -24 either one: values less 1, or the dictionary
 *	3.13   dictionary at -24, without the GIL at -8; else values after the object, if its type says so
 */
static bool managed_values(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			   uint64_t type, uint64_t flags, uint64_t *ret_dict, uint64_t *ret_values)
{
	uint64_t size;
	*ret_values = 0;
	if (!sw_memory_u64(memory, avma - (at->layout.head_more != 0 ? 8 : 24), ret_dict))
		return false;
	if (at->layout.minor == 11)
		return *ret_dict != 0 || sw_memory_u64(memory, avma - 32, ret_values);
	if (at->layout.minor == 12) {
		if (*ret_dict & 1) {
			*ret_values = *ret_dict + 1;
			*ret_dict = 0;
		}
		return true;
	}
	if (*ret_dict != 0 || !(flags & INLINE_VALUES))
		return true;
	uint8_t head[INLINE_VALID + 1];
	if (!sw_memory_u64(memory, type + TYPE_BASIC_SIZE + at->layout.head_more, &size) ||
	    size > NEAR || !sw_memory_read(memory, avma + size, head, sizeof(head)) ||
	    head[INLINE_VALID] != 1)
		return false;
	*ret_values = avma + size;
	return true;
}

enum sw_cpython_found sw_cpython_attribute_find(const struct sw_cpython_at *at,
						struct sw_memory memory, uint64_t avma,
						const char *name, uint64_t *ret_avma)
{
	uint64_t type, flags, offset, dict = 0, values = 0, keys;
	struct table t;
	if (avma == 0 || avma % 8 != 0 ||
	    !sw_memory_u64(memory, avma + HEAD_TYPE + at->layout.head_more, &type) ||
	    !sw_memory_u64(memory, type + TYPE_FLAGS + at->layout.head_more, &flags))
		return SW_CPYTHON_UNREADABLE;
	if (at->layout.minor >= 11 && (flags & MANAGED_DICT)) {
		if (!managed_values(at, memory, avma, type, flags, &dict, &values))
			return SW_CPYTHON_UNREADABLE;
	} else if (!sw_memory_u64(memory, type + TYPE_DICT_OFFSET + at->layout.head_more,
				  &offset) ||
		   offset == 0 || offset > NEAR || !sw_memory_u64(memory, avma + offset, &dict)) {
		return SW_CPYTHON_UNREADABLE;
	}
	if (dict != 0)
		return dict_table(at, memory, dict, &t) && t.n <= ATTRIBUTES_MAX
			       ? table_find(at, memory, &t, name, ret_avma)
			       : SW_CPYTHON_UNREADABLE;
	if (values == 0 || at->layout.type_keys == SW_CPYTHON_NONE ||
	    !sw_memory_u64(memory, type + at->layout.type_keys, &keys) ||
	    !keys_read(at, memory, keys, &t) || t.n > ATTRIBUTES_MAX)
		return SW_CPYTHON_UNREADABLE;
	t.values_avma = values_of(at, values);
	return table_find(at, memory, &t, name, ret_avma);
}

bool sw_cpython_attribute_get(const struct sw_cpython_at *at, struct sw_memory memory,
			      uint64_t avma, const char *name, uint64_t *ret_avma)
{
	return sw_cpython_attribute_find(at, memory, avma, name, ret_avma) == SW_CPYTHON_FOUND;
}

bool sw_cpython_module_get(const struct sw_cpython_at *at, struct sw_memory memory,
			   uint64_t interp_avma, const char *module, uint64_t *ret_avma)
{
	uint64_t modules;
	return sw_memory_u64(memory, interp_avma + at->layout.interp_modules, &modules) &&
	       sw_cpython_dict_get(at, memory, modules, module, ret_avma);
}

bool sw_cpython_global_get(const struct sw_cpython_at *at, struct sw_memory memory,
			   uint64_t interp_avma, const char *module, const char *name,
			   uint64_t *ret_avma)
{
	uint64_t found, dict;
	return sw_cpython_module_get(at, memory, interp_avma, module, &found) &&
	       sw_memory_u64(memory, found + MODULE_DICT + at->layout.head_more, &dict) &&
	       sw_cpython_dict_get(at, memory, dict, name, ret_avma);
}

bool sw_cpython_small_int(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			  uint32_t *ret)
{
	uint64_t head, one = at->layout.minor >= 12 ? 1 << 3 : 1;
	avma += at->layout.head_more;
	return sw_memory_u64(memory, avma + INT_TAG, &head) && head == one &&
	       sw_memory_read(memory, avma + INT_DIGITS, ret, sizeof(*ret)) &&
	       *ret >> INT_DIGIT_BITS == 0;
}

bool sw_cpython_int(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		    uint64_t *ret)
{
	uint64_t head;
	uint32_t digits[2];
	avma += at->layout.head_more;
	if (!sw_memory_u64(memory, avma + INT_TAG, &head) ||
	    !sw_memory_read(memory, avma + INT_DIGITS, digits, sizeof(digits)))
		return false;
	/* Two digits, in the words of both kinds; what is smaller is no address. */
	if ((head != 2 && head != 2 << 3) || digits[0] >> INT_DIGIT_BITS ||
	    digits[1] >> INT_DIGIT_BITS)
		return false;
	*ret = (uint64_t) digits[1] << INT_DIGIT_BITS | digits[0];
	return true;
}
