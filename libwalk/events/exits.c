/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/exits.h"
#include "arch/insn.h"
#include "cleanup.h"
#include "errors.h"
#include "events/place.h"

#include <stdlib.h>

enum {
	CODE_MAX = 1 << 20, /* bytes of one function */
	IS_INSN = 1,        /* an instruction begins here, */
	IS_REACHED = 2,     /* to which the function's own flow comes */
};

struct exits {
	struct sw_bytes code;
	uint64_t avma;
	uint8_t *marks;    /* owned: of each byte */
	uint32_t *waiting; /* owned: instructions to go on from, each at most once */
	size_t n_waiting;
	bool jumps_far;
};

static bool insn_at(const struct exits *e, size_t at, struct sw_insn *ret)
{
	return sw_arch_insn(false, e->code.data + at, e->code.size - at, e->avma + at, ret);
}

static bool jumps_direct(const struct sw_insn *insn)
{
	return insn->op == SW_INSN_JUMP || insn->op == SW_INSN_BRANCH;
}

/* Instructions one behind the other. False: not to the end of the function. */
static bool insns_mark(struct exits *e)
{
	struct sw_insn insn;
	size_t at = 0;
	for (; at < e->code.size; at += insn.length) {
		if (!insn_at(e, at, &insn))
			return false;
		e->marks[at] |= IS_INSN;
		e->jumps_far |= insn.op == SW_INSN_JUMP_FAR;
	}
	return at == e->code.size;
}

static bool jumps_are_right(const struct exits *e)
{
	struct sw_insn insn;
	for (size_t at = 0; at < e->code.size; at += insn.length) {
		if (!insn_at(e, at, &insn))
			return false;
		uint64_t target = insn.target - e->avma;
		if (jumps_direct(&insn) && target < e->code.size && !(e->marks[target] & IS_INSN))
			return false;
	}
	return true;
}

static void wait_for(struct exits *e, uint64_t at)
{
	if (at >= e->code.size || (e->marks[at] & IS_REACHED))
		return;
	e->marks[at] |= IS_REACHED;
	e->waiting[e->n_waiting++] = (uint32_t) at;
}

static void reached_mark(struct exits *e)
{
	struct sw_insn insn;
	wait_for(e, 0);
	while (e->n_waiting > 0) {
		size_t at = e->waiting[--e->n_waiting];
		if (!insn_at(e, at, &insn))
			continue;
		if (jumps_direct(&insn))
			wait_for(e, insn.target - e->avma);
		if (insn.op != SW_INSN_JUMP && insn.op != SW_INSN_JUMP_FAR &&
		    insn.op != SW_INSN_RETURN && insn.op != SW_INSN_STOP)
			wait_for(e, at + insn.length);
	}
}

/* A piece is instructions one behind the other that no flow comes to. */
static int returns_list(const struct exits *e, uint64_t *ret, size_t *ret_n, struct sw_error *err)
{
	struct sw_insn insn;
	bool called = false;
	*ret_n = 0;
	for (size_t at = 0; at < e->code.size; at += insn.length) {
		if (!insn_at(e, at, &insn))
			break;
		bool reached = e->marks[at] & IS_REACHED;
		called = !reached && (called || insn.op == SW_INSN_CALL);
		if (insn.op != SW_INSN_RETURN || (!reached && !called && !e->jumps_far))
			continue;
		if (insn.value != 0)
			return sw_fail(err, SW_E_UNSUPPORTED,
				       "its returns are not followed: they take arguments from the "
				       "stack");
		if (*ret_n == SW_EVENT_RETURNS_MAX)
			return sw_fail(err, SW_E_UNSUPPORTED,
				       "its returns are not followed: it has more than %d",
				       SW_EVENT_RETURNS_MAX);
		ret[(*ret_n)++] = at;
	}
	if (*ret_n == 0)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "its returns are not followed: it ends by jumps to other functions, "
			       "or not at all");
	return 0;
}

int sw_exits_find(struct sw_bytes code, uint64_t avma, uint64_t *ret, size_t *ret_n,
		  struct sw_error *err)
{
	if (code.size == 0 || code.size > CODE_MAX)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "its returns are not followed: its size is not known, or too large");
	sw_cleanup(sw_free_p) uint8_t *marks = calloc(code.size, 1);
	sw_cleanup(sw_free_p) uint32_t *waiting = calloc(code.size, sizeof(*waiting));
	if (marks == NULL || waiting == NULL)
		return sw_fail_nomem(err);
	struct exits e = {.code = code, .avma = avma, .marks = marks, .waiting = waiting};
	if (!insns_mark(&e) || !jumps_are_right(&e))
		return sw_fail(
			err, SW_E_UNSUPPORTED,
			"its returns are not followed: its code is not understood to its end");
	reached_mark(&e);
	return returns_list(&e, ret, ret_n, err);
}

int sw_event_returns_of(const void *image, size_t image_size, uint64_t svma, uint64_t size,
			struct sw_event_place *place, struct sw_error *err)
{
	struct sw_bytes code;
	uint64_t all[SW_EVENT_RETURNS_MAX];
	size_t n;
	int r = sw_place_code(image, image_size, svma, &code, err);
	if (r < 0)
		return r;
	if (place->reentered)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "its returns are not followed: a loop comes back to its beginning");
	uint64_t off = (uint64_t) (code.data - (const uint8_t *) image);
	code.size = size <= code.size ? size : 0;
	r = sw_exits_find(code, svma, all, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		place->returns_off[i] = off + all[i];
	place->n_returns = n;
	return 0;
}
