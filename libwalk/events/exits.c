/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/exits.h"
#include "arch/insn.h"
#include "cleanup.h"
#include "errors.h"
#include "events/place.h"
#include "events/stubs.h"
#include "formats/elf_file.h"
#include "formats/elf_frames.h"

#include <stdlib.h>

enum {
	CODE_MAX = 1 << 20, /* bytes of one function */
	IS_INSN = 1,        /* an instruction begins here, */
	IS_REACHED = 2,     /* to which the function's own flow comes */
	PARTS_MAX = 16,     /* functions that one ends by a jump to, and parts of them */
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
		ret[(*ret_n)++] = e->avma + at;
	}
	return 0;
}

/* Code that is looked at: the function, those that it ends by a jump to, and so on. */
struct parts {
	struct part {
		uint64_t start, end;
	} all[PARTS_MAX];
	size_t n;
};

static bool parts_have(const struct parts *p, uint64_t avma)
{
	for (size_t i = 0; i < p->n; i++)
		if (avma >= p->all[i].start && avma < p->all[i].end)
			return true;
	return false;
}

/* Where an instruction jumps to, also through the PLT. */
static bool jump_target(const struct exits *e, const struct sw_elf *elf, size_t at,
			const struct sw_insn *insn, uint64_t *ret)
{
	if (insn->op == SW_INSN_JUMP_FAR)
		return sw_stub_target(elf, e->avma + at, ret);
	if (!jumps_direct(insn))
		return false;
	*ret = insn->target;
	if (insn->target - e->avma >= e->code.size)
		(void) sw_stub_target(elf, insn->target,
				      ret); /* else the jump leads there itself */
	return true;
}

/* Jumps out of the code: the stack pointer is where it was at the beginning, so the RET there is its own. */
static void jumps_add(const struct exits *e, const struct sw_elf *elf, struct parts *p)
{
	struct sw_insn insn;
	for (size_t at = 0; at < e->code.size; at += insn.length) {
		struct part part;
		uint64_t target;
		if (!insn_at(e, at, &insn))
			return;
		if ((e->marks[at] & IS_REACHED) && p->n < PARTS_MAX &&
		    jump_target(e, elf, at, &insn, &target) && !parts_have(p, target) &&
		    sw_elf_frame_range(elf, target, &part.start, &part.end))
			p->all[p->n++] = part;
	}
}

/* Jumps to memset(3), which returns its first argument: calloc(3) ends by one. The code of memset is chosen when the program
 * is loaded, so its RETs are not known. */
static int fills_add(const struct exits *e, const struct sw_elf *elf, uint64_t *ret, size_t *ret_n,
		     uint64_t *ret_first)
{
	struct sw_insn insn;
	for (size_t at = 0; at < e->code.size && insn_at(e, at, &insn); at += insn.length) {
		if (insn.op != SW_INSN_JUMP || !(e->marks[at] & IS_REACHED) ||
		    insn.target - e->avma < e->code.size ||
		    !sw_stub_leads_to(elf, insn.target, "memset"))
			continue;
		if (*ret_n == SW_EVENT_RETURNS_MAX)
			return -SW_E_UNSUPPORTED;
		*ret_first |= UINT64_C(1) << *ret_n;
		ret[(*ret_n)++] = e->avma + at;
	}
	return 0;
}

static int none(struct sw_error *err)
{
	return sw_fail(err, SW_E_UNSUPPORTED,
		       "its returns are not followed: it ends by jumps to other functions, "
		       "or not at all");
}

/* Adds the returns of the code, and where it jumps to; elf: NULL: that is not followed. */
static int exits_add(struct sw_bytes code, uint64_t avma, const struct sw_elf *elf,
		     struct parts *parts, uint64_t *ret, size_t *ret_n, uint64_t *ret_first,
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
	if (elf != NULL)
		jumps_add(&e, elf, parts);
	if (elf != NULL && fills_add(&e, elf, ret, ret_n, ret_first) < 0)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "its returns are not followed: it has more than %d",
			       SW_EVENT_RETURNS_MAX);
	return returns_list(&e, ret, ret_n, err);
}

int sw_exits_find(struct sw_bytes code, uint64_t avma, uint64_t *ret, size_t *ret_n,
		  struct sw_error *err)
{
	*ret_n = 0;
	int r = exits_add(code, avma, NULL, NULL, ret, ret_n, NULL, err);
	for (size_t i = 0; r == 0 && i < *ret_n; i++)
		ret[i] -= avma;
	return r == 0 && *ret_n == 0 ? none(err) : r;
}

/* Adds the returns of code that the function jumps to, directly or not. Code that is not understood has none: calls that end
 * there are left out. */
static int jumped_to_add(const struct sw_elf *elf, struct parts *parts, uint64_t *ret,
			 size_t *ret_n, uint64_t *ret_first, struct sw_error *err)
{
	for (size_t i = 1; i < parts->n; i++) {
		const struct part part = parts->all[i];
		struct sw_bytes code;
		struct sw_error why = {0};
		size_t before = *ret_n;
		if (!sw_elf_loaded(elf, part.start, &code) || code.size < part.end - part.start)
			continue;
		code.size = part.end - part.start;
		int r = exits_add(code, part.start, elf, parts, ret, ret_n, ret_first, &why);
		if (r == -SW_E_NOMEM)
			return sw_fail_nomem(err);
		if (r < 0) {
			*ret_n = before;
			*ret_first &= (UINT64_C(1) << before) - 1;
		}
	}
	return 0;
}

int sw_event_returns_of(const void *image, size_t image_size, uint64_t svma, uint64_t size,
			struct sw_event_place *place, struct sw_error *err)
{
	struct sw_bytes code;
	struct sw_elf elf;
	uint64_t all[SW_EVENT_RETURNS_MAX];
	struct parts parts = {.all = {{svma, svma + size}}, .n = 1};
	uint64_t first = 0;
	size_t n = 0;
	int r = sw_place_code(image, image_size, svma, &code, err);
	if (r < 0)
		return r;
	if (place->reentered)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "its returns are not followed: a loop comes back to its beginning");
	(void) sw_elf_init(&elf, (struct sw_bytes){image, image_size}); /* as there */
	code.size = size <= code.size ? size : 0;
	r = exits_add(code, svma, &elf, &parts, all, &n, &first, err);
	if (r == 0)
		r = jumped_to_add(&elf, &parts, all, &n, &first, err);
	if (r == 0 && n == 0)
		r = none(err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct sw_bytes at;
		if (!sw_elf_loaded(&elf, all[i], &at))
			return sw_fail(err, SW_E_INVALID, "its code is not in the file");
		place->returns_off[i] = (uint64_t) (at.data - (const uint8_t *) image);
	}
	if (r == 0) {
		place->n_returns = n;
		place->returns_first = first;
	}
	return r;
}
