/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: src/hotspot/share/code/pcDesc.hpp, scopeDesc.cpp (decode_body()), debugInfo.hpp;
 * jdk-17.0.15 and jdk-25.0.3. A scope is three numbers: where its sender's is (0: none), the index
 * of its Method, its bytecode index + 1.
 */
#include "runtimes/hotspot/scopes.h"
#include "bytes.h"
#include "runtimes/hotspot/method.h"

#include <string.h>

enum { PC_DESC_BYTES = 16, SCOPE_BYTES = 15 };

/* The first descriptor at or behind the offset; the array is sorted, and has one at each end. */
static bool descriptor_find(struct sw_hotspot *h, const struct sw_hotspot_blob *b, int32_t pc_off,
			    uint32_t *ret_scope, bool *ret_exact)
{
	uint64_t low = 0, high = (b->pcs_end_avma - b->pcs_avma) / PC_DESC_BYTES;
	if (b->pcs_avma == 0 || b->pcs_end_avma - b->pcs_avma > SW_HOTSPOT_PCS_BYTES_MAX)
		return false;
	uint64_t n = high;
	uint32_t words[2];
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (!sw_memory_read(h->memory, b->pcs_avma + middle * PC_DESC_BYTES, words,
				    sizeof(words)))
			return false;
		if ((int32_t) words[0] < pc_off)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= n || !sw_memory_read(h->memory, b->pcs_avma + low * PC_DESC_BYTES, words,
					sizeof(words)))
		return false;
	*ret_exact = (int32_t) words[0] == pc_off;
	*ret_scope = words[1];
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

size_t sw_hotspot_scopes_at(struct sw_hotspot *h, const struct sw_hotspot_blob *b, uint64_t pc,
			    struct sw_hotspot_scope ret[SW_HOTSPOT_SCOPES_MAX], bool *ret_exact)
{
	uint32_t off = 0, sender;
	size_t n = 0;
	*ret_exact = false;
	if (b->kind == SW_HOTSPOT_COMPILED &&
	    descriptor_find(h, b, (int32_t) (pc - b->code_avma), &off, ret_exact)) {
		while (off != 0 && n < SW_HOTSPOT_SCOPES_MAX && scope_read(h, b, off, &ret[n], &sender)) {
			n++;
			if (sender == 0 && ret[n - 1].method_avma == b->method_avma)
				return n;
			if (sender >= off) /* written before it: else it would never end */
				break;
			off = sender;
		}
	}
	/* Not to its end: the method itself is what is certain. */
	ret[0] = (struct sw_hotspot_scope){b->method_avma, SW_HOTSPOT_BCI_NONE};
	*ret_exact = false;
	return 1;
}
