/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: src/hotspot/share/code/pcDesc.hpp, scopeDesc.cpp (decode_body()), debugInfo.hpp;
 * jdk-17.0.15 and jdk-25.0.3. A scope is three numbers: where its sender's is (0: none), the index
 * of its Method, its bytecode index + 1.
 */
#include "runtimes/hotspot/structures/scopes.h"
#include "bytes.h"
#include "runtimes/hotspot/structures/method.h"

#include <string.h>

enum { PC_DESC_BYTES = 16, SCOPE_BYTES = 15 };

/* Descriptors about an offset; scope 0: there is no such descriptor. */
struct descriptors {
	uint32_t before; /* the scope of the last one in front of it */
	uint32_t at;     /* of the first one at or behind it */
	bool exact;      /* it is at the offset */
};

static bool descriptor_read(struct sw_hotspot *h, const struct sw_hotspot_blob *b, uint64_t i,
			    uint32_t words[2])
{
	return sw_memory_read(h->memory, b->pcs_avma + i * PC_DESC_BYTES, words, 8);
}

/* The array is sorted, and has one without a scope at each end. */
static bool descriptors_find(struct sw_hotspot *h, const struct sw_hotspot_blob *b, int32_t pc_off,
			     struct descriptors *ret)
{
	uint64_t low = 0, high = (b->pcs_end_avma - b->pcs_avma) / PC_DESC_BYTES, n = high;
	uint32_t words[2];
	if (b->pcs_avma == 0 || b->pcs_end_avma - b->pcs_avma > SW_HOTSPOT_PCS_BYTES_MAX)
		return false;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (!descriptor_read(h, b, middle, words))
			return false;
		if ((int32_t) words[0] < pc_off)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = (struct descriptors){0};
	if (low > 0 && descriptor_read(h, b, low - 1, words))
		ret->before = words[1];
	if (low >= n || !descriptor_read(h, b, low, words))
		return false;
	ret->exact = (int32_t) words[0] == pc_off;
	ret->at = words[1];
	return true;
}

/* The method that metadata[index - 1] is. */
static bool method_at(struct sw_hotspot *h, const struct sw_hotspot_blob *b, uint32_t index,
		      uint64_t *ret)
{
	return index != 0 && index < UINT32_C(1) << 20 && b->metadata_avma != 0 &&
	       sw_memory_u64(h->memory, b->metadata_avma + UINT64_C(8) * (index - 1), ret);
}

static bool scope_read(struct sw_hotspot *h, const struct sw_hotspot_blob *b, uint32_t off,
		       struct sw_hotspot_scope *ret, uint32_t *ret_sender)
{
	uint8_t bytes[SCOPE_BYTES];
	uint64_t size = b->scopes_end_avma - b->scopes_avma, at = 0;
	uint32_t method, bci;
	if (off >= size)
		return false;
	size -= off;
	if (size > sizeof(bytes))
		size = sizeof(bytes);
	struct sw_bytes view = {bytes, (size_t) size};
	unsigned base = sw_hotspot_unsigned5_base(h);
	if (!sw_memory_read(h->memory, b->scopes_avma + off, bytes, (size_t) size) ||
	    !sw_hotspot_unsigned5(view, &at, base, ret_sender) ||
	    !sw_hotspot_unsigned5(view, &at, base, &method) ||
	    !sw_hotspot_unsigned5(view, &at, base, &bci))
		return false;
	ret->bci = (int32_t) bci - 1;
	return method_at(h, b, method, &ret->method_avma);
}

/* All from one on; 0 when it does not end in the method itself. */
static size_t chain_read(struct sw_hotspot *h, const struct sw_hotspot_blob *b, uint32_t off,
			 struct sw_hotspot_scope ret[SW_HOTSPOT_SCOPES_MAX])
{
	uint32_t sender;
	for (size_t n = 0; off != 0 && n < SW_HOTSPOT_SCOPES_MAX; n++) {
		if (!scope_read(h, b, off, &ret[n], &sender))
			return 0;
		if (sender == 0)
			return ret[n].method_avma == b->method_avma ? n + 1 : 0;
		if (sender >= off) /* written before it: else it would never end */
			return 0;
		off = sender;
	}
	return 0;
}

/* Between two descriptors, what both have in common: of two places, nothing else is certain. The
 * number of the innermost ones that the second one has for itself. */
static size_t own_of(const struct sw_hotspot_scope *before, size_t n_before,
		     const struct sw_hotspot_scope *at, size_t n)
{
	size_t common = 0;
	while (common < n && common < n_before &&
	       before[n_before - 1 - common].method_avma == at[n - 1 - common].method_avma) {
		common++;
		/* Another call: what was compiled in there is something else. */
		if (before[n_before - common].bci != at[n - common].bci)
			break;
	}
	return common > 0 ? n - common : n - 1;
}

size_t sw_hotspot_scopes_at(struct sw_hotspot *h, const struct sw_hotspot_blob *b, uint64_t pc,
			    struct sw_hotspot_scope ret[SW_HOTSPOT_SCOPES_MAX], bool *ret_exact)
{
	struct sw_hotspot_scope before[SW_HOTSPOT_SCOPES_MAX];
	struct descriptors d;
	size_t n = 0;
	if (b->kind == SW_HOTSPOT_COMPILED &&
	    descriptors_find(h, b, (int32_t) (pc - b->code_avma), &d)) {
		n = chain_read(h, b, d.at, ret);
		*ret_exact = d.exact;
	}
	if (n == 0) { /* the method itself is what is certain */
		ret[0] = (struct sw_hotspot_scope){b->method_avma, SW_HOTSPOT_BCI_NONE};
		*ret_exact = false;
		return 1;
	}
	if (d.exact)
		return n;
	size_t own = own_of(before, chain_read(h, b, d.before, before), ret, n);
	memmove(ret, ret + own, (n - own) * sizeof(*ret));
	return n - own;
}
