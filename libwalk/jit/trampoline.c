/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code that publishes nothing, but is known by its instructions or by a variable of its
 * runtime, and whose frame is always the same.
 *
 * CPython 3.12 and 3.13, Python/asm_trampoline.S, x86-64: with -X perf each function of the program
 * has a copy of these 11 bytes.
 *	+0	sub $8,%rsp	48 83 ec 08	CFA = rsp+8
 *	+4	call *%rcx	ff d1		CFA = rsp+16
 *	+6	add $8,%rsp	48 83 c4 08	CFA = rsp+16
 *	+10	ret		c3		CFA = rsp+8
 *
 * BEAM (Erlang/OTP 24 and later, erts/emulator/beam/beam_common.h): the first frame of each process
 * returns to the code that the variable beam_normal_exit points at. Nothing called it: there the
 * stack of the process ends.
 */
#include "cleanup.h"
#include "jit/trampoline.h"
#include "errors.h"
#include "jit/common/probe.h"
#include "jit/common/source.h"
#include "snapshot/read.h"

#include <string.h>

static const uint8_t python_code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
				      0x48, 0x83, 0xc4, 0x08, 0xc3};

enum {
	PYTHON_BYTES = sizeof(python_code),
	PYTHON_PUSHED = 4, /* [PUSHED, RET): the frame is there */
	PYTHON_RET = 10,
	ROOT_BEAM = 1,
};

static const char beam_variable[] = "beam_normal_exit";

struct trampolines {
	struct sw_snapshot_memory memory;
	const struct sw_jit_root *roots; /* borrowed until detach() */
	size_t n_roots;
};

static void trampoline_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe)
{
	struct sw_elf_symbol symbol;
	if (sw_elf_symbols_find(symbols, beam_variable, &symbol) && symbol.size == sizeof(uint64_t))
		(void) sw_jit_probe_add(probe, symbol.svma, ROOT_BEAM); /* no space: not used */
}

static int trampoline_attach(const struct sw_snapshot *snap, const struct sw_jit_root *roots,
			     size_t n_roots, void *found, void **ret_state)
{
	(void) found; /* it has no hooks */
	struct trampolines *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -SW_E_NOMEM;
	t->memory.snap = snap;
	t->roots = roots;
	t->n_roots = n_roots;
	*ret_state = t;
	return 0;
}

/* The trampoline around avma, whatever lies beside it. */
static bool python_find(struct sw_memory memory, uint64_t avma, struct sw_jit_entry *ret)
{
	for (uint64_t at = 0; at < PYTHON_BYTES; at++) {
		uint8_t code[PYTHON_BYTES];
		uint64_t start = avma - at;
		uint8_t first;
		if (start > avma || !sw_memory_read(memory, start, &first, 1))
			return false;
		if (first != python_code[0] || !sw_memory_read(memory, start, code, sizeof(code)) ||
		    memcmp(code, python_code, sizeof(code)) != 0)
			continue;
		bool pushed = at >= PYTHON_PUSHED && at < PYTHON_RET;
		uint64_t begin = at < PYTHON_PUSHED ? 0
				 : at < PYTHON_RET  ? PYTHON_PUSHED
						    : PYTHON_RET;
		uint64_t end = at < PYTHON_PUSHED ? PYTHON_PUSHED
			       : at < PYTHON_RET  ? PYTHON_RET
						  : PYTHON_BYTES;
		*ret = (struct sw_jit_entry){.start_avma = start + begin,
					     .end_avma = start + end,
					     .how = SW_JIT_FIXED_CFA,
					     .cfa_offset = pushed ? 16 : 8,
					     .by_code = true,
					     .where = "the trampoline of CPython's -X perf"};
		return true;
	}
	return false;
}

/* avma is the address itself or, as for every return address, the byte before. */
static bool beam_find(const struct trampolines *t, struct sw_memory memory, uint64_t avma,
		      struct sw_jit_entry *ret)
{
	for (size_t i = 0; i < t->n_roots; i++) {
		uint64_t exit_avma;
		if (t->roots[i].detail != ROOT_BEAM ||
		    !sw_memory_u64(memory, t->roots[i].avma, &exit_avma) || exit_avma == 0 ||
		    (avma != exit_avma && avma != exit_avma - 1))
			continue;
		*ret = (struct sw_jit_entry){.start_avma = exit_avma - 1,
					     .end_avma = exit_avma + 1,
					     .how = SW_JIT_END,
					     .where = "the end of an Erlang process's stack"};
		return true;
	}
	return false;
}

static bool trampoline_find(void *state, uint64_t avma, struct sw_jit_entry *ret)
{
	struct trampolines *t = state;
	const struct sw_place *place = sw_snapshot_place(t->memory.snap, avma);
	if (place != NULL && sw_module_kind(place->module) == SW_MODULE_ELF)
		return false;
	struct sw_memory memory = sw_snapshot_memory(&t->memory);
	size_t live_before = t->memory.live_reads;
	if (!beam_find(t, memory, avma, ret) && !python_find(memory, avma, ret))
		return false;
	ret->live = t->memory.live_reads != live_before;
	return true;
}

const struct sw_jit_hook_ops sw_jit_trampoline_hooks = {
	.name = "trampoline",
	.probe = trampoline_probe,
};

const struct sw_jit_source_ops sw_jit_trampoline = {
	.name = "trampoline",
	.attach = trampoline_attach,
	.detach = free,
	.find = trampoline_find,
};
