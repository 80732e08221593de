/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: src/objects/shared-function-info.tq, script.tq (id), src/execution/isolate.h (NextOptimizationId(), GetNextScriptId()),
 * src/objects/deoptimization-data.h of V8 10.2 to 14.6. While garbage is collected the first word of an object that has moved
 * leads to where it is now (src/objects/map-word.h): the lowest bits of that are 0.
 */
#include "runtimes/v8/copied.h"
#include "copies/record.h"
#include "runtimes/v8/function.h"

#include <snapwalk/clock.h>
#include <string.h>

enum {
	SCRIPT_ID = 64,
	FRAMES_MAX = 1 << 17,
	CODE_MAX = 1 << 17,
	FILL_AGAIN_NS = 20 * 1000 * 1000, /* how long what could not be read is not read again */
};

void sw_v8_copies_deinit(struct sw_v8 *v8)
{
	sw_map64_deinit(&v8->copies->by_pc);
	sw_map64_deinit(&v8->copies->texts);
	sw_arena_deinit(&v8->copies->arena);
}

bool sw_v8_copies_renew(struct sw_v8 *v8)
{
	struct sw_v8_copies *c = v8->copies;
	c->number++;
	c->renewed_ns = sw_clock_ns();
	c->doubtful_sp = c->doubtful_pc = 0;
	return v8->n_frames < FRAMES_MAX && c->by_pc.count < CODE_MAX;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* True also for one that is being moved: *ret_sure says whether its type was looked at. */
static bool is_typed(struct sw_v8 *v8, uint64_t object, int32_t first, int32_t last, bool *ret_sure)
{
	uint64_t map;
	uint16_t type;
	*ret_sure = false;
	if (!sw_v8_word(v8->copied, object, 0, &map))
		return false;
	if (!sw_v8_is_object(map))
		return map % 8 == 0;
	*ret_sure = sw_v8_type(v8->heap, object, &type) && type >= first && type <= last;
	return *ret_sure;
}

bool sw_v8_function_shared(struct sw_v8 *v8, uint64_t function, uint64_t *ret)
{
	const struct sw_v8_layout *at = v8->heap.at;
	uint64_t shared;
	bool sure, shared_sure;
	if (!v8->by_copies)
		return sw_v8_shared_of(v8->heap, function, ret);
	if (!is_typed(v8, function, at->function_first, at->function_last, &sure) ||
	    !sw_v8_word(v8->copied, function, at->function_shared, &shared) ||
	    !is_typed(v8, shared, at->type_shared, at->type_shared, &shared_sure) ||
	    (!sure && !shared_sure))
		return false;
	*ret = shared;
	return true;
}

/* The words that say which function it is. */
struct identity {
	uint64_t name, outer, script, script_id, literal;
};

static bool identity_read(struct sw_v8_heap heap, uint64_t shared, struct identity *ret)
{
	const struct sw_v8_layout *at = heap.at;
	uint32_t literal = 0;
	if (!sw_v8_word(heap, shared, at->shared_name, &ret->name) ||
	    !sw_v8_word(heap, shared, at->shared_name + 8, &ret->outer) ||
	    !sw_v8_word(heap, shared, at->shared_script, &ret->script) ||
	    (at->shared_literal != SW_V8_NONE &&
	     !sw_v8_u32(heap, shared, at->shared_literal, &literal)) ||
	    !sw_v8_word(heap, ret->script, SCRIPT_ID, &ret->script_id))
		return false;
	ret->literal = literal;
	return sw_v8_is_smi(ret->script_id) && sw_v8_smi(ret->script_id) > 0;
}

uint64_t sw_v8_identity(struct sw_v8 *v8, uint64_t shared)
{
	struct identity i;
	if (!identity_read(v8->heap, shared, &i))
		return 0;
	uint64_t mix = sw_mix64(i.script_id ^ sw_mix64(i.literal ^ sw_mix64(i.name)));
	return sw_mix64(mix ^ i.outer ^ sw_mix64(i.script)) | 1;
}

bool sw_v8_is_still(struct sw_v8 *v8, uint64_t shared)
{
	struct identity then, now;
	return identity_read(v8->heap, shared, &then) && identity_read(v8->now, shared, &now) &&
	       memcmp(&then, &now, sizeof(then)) == 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Whether the words that say what the code is are as they were. */
static bool is_same(struct sw_v8 *v8, const struct sw_v8_known_code *k)
{
	const struct sw_v8_layout *at = v8->heap.at;
	uint8_t now[SW_V8_COPIED_CODE_BYTES];
	const int32_t words[] = {0, at->code_deopt, at->code_positions, at->code_start};
	if (!sw_memory_read(v8->heap.memory, k->code.object - 1, now, sizeof(now)))
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(words); i++)
		if (words[i] >= 0 && memcmp(now + words[i], k->head + words[i], 8) != 0)
			return false;
	return memcmp(now + at->code_size, k->head + at->code_size, 4) == 0;
}

static void known_fill(struct sw_v8 *v8, uint64_t pc, struct sw_v8_known_code *k)
{
	k->shared = k->number = 0;
	k->uncertain = k->has_state = false;
	k->first_ns = k->filled_ns = sw_clock_ns();
	if (k->code.kind < SW_V8_MAGLEV)
		return;
	if (!sw_v8_code_shared(v8->heap, &k->code, &k->shared))
		k->shared = 0;
	k->number = sw_v8_code_number(v8->heap, &k->code);
	k->uncertain = sw_v8_code_is_uncertain(v8->heap, &k->code, pc);
}

/* Objects that say what the code is of could not be read, as in a collection of garbage: they may be read later. */
static bool is_to_fill(const struct sw_v8_known_code *k, int64_t now_ns)
{
	return k->code.kind >= SW_V8_MAGLEV && now_ns - k->filled_ns >= FILL_AGAIN_NS &&
	       (k->shared == 0 || k->number == 0 || k->uncertain);
}

static struct sw_v8_known_code *known_get(const struct sw_v8 *v8, uint64_t pc)
{
	uint64_t kept;
	return sw_map64_get(&v8->copies->by_pc, pc, &kept)
		       ? (struct sw_v8_known_code *) (uintptr_t) kept
		       : NULL;
}

bool sw_v8_is_known_code(const struct sw_v8 *v8, uint64_t pc)
{
	const struct sw_v8_known_code *k = v8->by_copies ? known_get(v8, pc) : NULL;
	return k != NULL && k->code.object != 0;
}

struct sw_v8_known_code *sw_v8_known_code(struct sw_v8 *v8, uint64_t pc)
{
	struct sw_v8_copies *c = v8->copies;
	struct sw_v8_known_code *k = known_get(v8, pc), read = {0};
	if (k != NULL && k->code.object != 0 && (k->copy == c->number || is_same(v8, k))) {
		if (is_to_fill(k, c->renewed_ns)) {
			int64_t first_ns = k->first_ns;
			uint64_t number = k->number;
			known_fill(v8, pc, k);
			if (number != 0 && k->number == number)
				k->first_ns = first_ns;
		}
		k->copy = c->number;
		return k;
	}
	if (!sw_v8_code_find(v8->heap, pc, &read.code) ||
	    !sw_memory_read(v8->heap.memory, read.code.object - 1, read.head, sizeof(read.head)) ||
	    !is_same(v8, &read))
		read.code.object = 0;
	else
		known_fill(v8, pc, &read);
	if (read.code.object == 0 || !is_same(v8, &read)) {
		if (k != NULL)
			k->code.object = 0;
		return NULL;
	}
	read.copy = c->number;
	if (k == NULL) {
		k = sw_arena_alloc(&c->arena, sizeof(*k));
		if (k == NULL || sw_map64_put(&c->by_pc, pc, (uintptr_t) k) < 0)
			return NULL;
	}
	*k = read;
	return k;
}

bool sw_v8_code_at(struct sw_v8 *v8, uint64_t pc, struct sw_v8_code *ret)
{
	if (!v8->by_copies)
		return sw_v8_code_find(v8->heap, pc, ret);
	const struct sw_v8_known_code *k = sw_v8_known_code(v8, pc);
	if (k != NULL)
		*ret = k->code;
	return k != NULL;
}

bool sw_v8_is_proven_code(struct sw_v8 *v8, const struct sw_cursor *cursor,
			  const struct sw_v8_known_code *code)
{
	return code->number != 0 &&
	       code->first_ns < sw_copy_made_ns(cursor->thread, v8->copies->renewed_ns) &&
	       code->number == sw_v8_code_number(v8->heap, &code->code);
}
