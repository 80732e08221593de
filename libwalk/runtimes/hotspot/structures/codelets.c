/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The interpreter's codelets lie in a row, each with a header that says how long it is. Source:
 * src/hotspot/share/code/stubs.hpp and interpreter/interpreter.hpp, jdk-17.0.15 and jdk-25.0.3.
 */
#include "runtimes/hotspot/structures/codelets.h"

#include <string.h>

enum { CODELETS_MAX = 2048, CODELET_BYTES_MAX = 1 << 20 };

struct sw_hotspot_codelets {
	size_t n;
	struct sw_hotspot_codelet all[CODELETS_MAX];
};

static void name_read(const struct sw_hotspot *h, uint64_t avma, char *ret, size_t size)
{
	if (!sw_memory_read(h->memory, avma, ret, size - 1))
		ret[0] = '\0';
	ret[size - 1] = '\0';
	for (char *c = ret; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static void codelets_read(struct sw_hotspot *h, struct sw_hotspot_codelets *c)
{
	const struct sw_hotspot_layout *at = &h->at;
	uint64_t queue, base, name;
	uint32_t end, size;
	if (at->codelet_size == SW_HOTSPOT_NONE || at->codelet_description == SW_HOTSPOT_NONE ||
	    !sw_hotspot_u64(h->memory, h->place->bias, at->interpreter, &queue) ||
	    !sw_hotspot_u64(h->memory, queue, at->queue_buffer, &base) ||
	    !sw_hotspot_u32(h->memory, queue, at->queue_end, &end))
		return;
	for (uint64_t off = 0; off < end && c->n < CODELETS_MAX; off += size) {
		struct sw_hotspot_codelet *one = &c->all[c->n];
		if (!sw_hotspot_u32(h->memory, base + off, at->codelet_size, &size) || size == 0 ||
		    size > CODELET_BYTES_MAX ||
		    !sw_hotspot_u64(h->memory, base + off, at->codelet_description, &name))
			return;
		*one = (struct sw_hotspot_codelet){.start_avma = base + off,
						   .end_avma = base + off + size};
		if (name != 0)
			name_read(h, name, one->name, sizeof(one->name));
		one->entry = strncmp(one->name, "method entry point", 18) == 0 ||
			     strncmp(one->name, "native method entry point", 25) == 0;
		c->n++;
	}
}

const struct sw_hotspot_codelet *sw_hotspot_codelet_at(struct sw_hotspot *h, uint64_t pc)
{
	if (h->codelets == NULL) {
		h->codelets = sw_arena_calloc(&h->arena, 1, sizeof(*h->codelets));
		if (h->codelets == NULL)
			return NULL;
		codelets_read(h, h->codelets);
	}
	size_t low = 0, high = h->codelets->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sw_hotspot_codelet *c = &h->codelets->all[middle];
		if (pc >= c->start_avma && pc < c->end_avma)
			return c;
		if (pc >= c->end_avma)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
