/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/instances.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/native_array.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/signature.h"

enum {
	BUCKETS_SHIFT_MAX = 18,
	INSTANCES_MAX = 1 << 17, /* .NET 9's largest image has 24767 */
	ENTRY_BYTES_MAX = 256,   /* the longest of .NET 8 to 10 has 50 */
	ARGUMENTS_MAX = 64,      /* of one method */
	AMBIGUOUS = 0,           /* where no entry can be: the header is there */

	/* The flags in the first number of a signature; others than these two are not known. */
	SIGNATURE_ARGUMENTS = 0x04,
	SIGNATURE_OWNER = 0x40,

	ELEMENT_VALUETYPE = 0x11,
	ELEMENT_CLASS = 0x12,
	ELEMENT_GENERICINST = 0x15,
};

struct entry {
	uint32_t flags, rid, function;
	uint64_t owner_off, arguments_off; /* valid when flags say so */
};

/* [A,B] at *at, which is moved behind them. */
static bool arguments_read(const struct sw_clr_metadata *m, struct sw_bytes b, uint64_t *at,
			   struct sw_text *text)
{
	uint32_t n;
	if (!sw_clr_number_read(b, at, &n, NULL) || n == 0 || n > ARGUMENTS_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		sw_text_append(text, i == 0 ? "[" : ",", 1);
		if (!sw_clr_instance_type_read(m, b, at, text))
			return false;
	}
	sw_text_append(text, "]", 1);
	return true;
}

/* False: it has what is not known here, so that neither its parts nor its end can be told. */
static bool entry_read(struct sw_bytes b, uint64_t at, struct sw_text *unused, struct entry *ret)
{
	uint32_t id;
	unused->size = 0;
	if (at < b.size && b.size - at > ENTRY_BYTES_MAX)
		b.size = at + ENTRY_BYTES_MAX; /* entries may lie over each other */
	if (!sw_clr_number_read(b, &at, &ret->flags, NULL) || ret->flags == 0 ||
	    (ret->flags & ~(uint32_t) (SIGNATURE_ARGUMENTS | SIGNATURE_OWNER)) != 0)
		return false;
	ret->owner_off = at;
	if (ret->flags & SIGNATURE_OWNER && !sw_clr_instance_type_read(NULL, b, &at, unused))
		return false;
	if (!sw_clr_number_read(b, &at, &ret->rid, NULL))
		return false;
	ret->arguments_off = at;
	if ((ret->flags & SIGNATURE_ARGUMENTS && !arguments_read(NULL, b, &at, unused)) ||
	    !sw_clr_native_number(b, &at, &id))
		return false;
	ret->function = sw_clr_entry_function(id);
	return true;
}

struct indexer {
	struct sw_bytes bytes;
	uint64_t n_functions;
	uint32_t left; /* entries that may still be looked at */
	struct sw_text unused;
	struct sw_map64 *found;
};

/* The instances of one bucket, which lies at [at, end). */
static bool bucket_index(struct indexer *x, uint64_t at, uint64_t end)
{
	bool all = true;
	while (at < end) {
		struct entry entry;
		uint32_t distance;
		uint64_t other, entry_off = ++at; /* behind the hash */
		if (x->left == 0 || !sw_clr_native_number(x->bytes, &at, &distance))
			return false;
		x->left--;
		entry_off += distance;
		if (!entry_read(x->bytes, entry_off, &x->unused, &entry) ||
		    entry.function >= x->n_functions)
			all = false;
		else if (sw_map64_put(x->found, entry.function,
				      sw_map64_get(x->found, entry.function, &other)
					      ? AMBIGUOUS
					      : entry_off) < 0)
			return false;
	}
	return all;
}

static bool buckets_index(struct indexer *x)
{
	uint8_t header;
	if (!sw_bytes_u8(x->bytes, 0, &header) || header >> 2 > BUCKETS_SHIFT_MAX ||
	    (header & 3) == 3)
		return false;
	const uint64_t base = 1, bytes = UINT64_C(1) << (header & 3);
	bool all = true;
	for (uint64_t i = 0; i < UINT64_C(1) << (header >> 2) && x->left > 0; i++) {
		uint32_t begin = 0, end = 0;
		if (!sw_bytes_copy(x->bytes, base + i * bytes, &begin, bytes) ||
		    !sw_bytes_copy(x->bytes, base + (i + 1) * bytes, &end, bytes))
			return false;
		all &= bucket_index(x, base + begin, base + end);
	}
	return all && x->left > 0;
}

bool sw_clr_instances_index(struct sw_bytes section, uint64_t n_functions, struct sw_map64 *ret)
{
	struct indexer x = {.bytes = section,
			    .n_functions = n_functions,
			    .left = INSTANCES_MAX,
			    .found = ret};
	bool all = buckets_index(&x);
	sw_text_deinit(&x.unused);
	return all;
}

/* The generic type of this image that a signature says the method is of; 0: it says another. */
static uint32_t owner_row(struct sw_bytes b, uint64_t at)
{
	uint32_t element, kind, token;
	return sw_clr_number_read(b, &at, &element, NULL) && element == ELEMENT_GENERICINST &&
			       sw_clr_number_read(b, &at, &kind, NULL) &&
			       (kind == ELEMENT_CLASS || kind == ELEMENT_VALUETYPE) &&
			       sw_clr_number_read(b, &at, &token, NULL) && (token & 3) == 0
		       ? token >> 2
		       : 0;
}

bool sw_clr_instance_name(const struct sw_clr_metadata *m, struct sw_bytes b, uint64_t entry_off,
			  struct sw_text *text)
{
	sw_cleanup(sw_text_deinit) struct sw_text unused = {0};
	struct entry entry;
	if (entry_off == AMBIGUOUS || !entry_read(b, entry_off, &unused, &entry))
		return false;
	uint32_t owner = sw_clr_method_owner(m, entry.rid);
	if (owner == 0)
		return false;
	if (entry.flags & SIGNATURE_OWNER
		    ? owner_row(b, entry.owner_off) != owner ||
			      !sw_clr_instance_type_read(m, b, &entry.owner_off, text)
		    : !sw_clr_type_def_name(m, owner, false, text))
		return false;
	sw_text_append(text, ".", 1);
	if (!sw_clr_method_def_name(m, entry.rid, text) ||
	    (entry.flags & SIGNATURE_ARGUMENTS &&
	     !arguments_read(m, b, &entry.arguments_off, text)))
		return false;
	(void) sw_clr_method_def_parameters(m, entry.rid, text); /* what it could read */
	return true;
}
