/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Before it runs a microtask, V8 writes down which one, for its own stacks:
 *
 *	mov %reg, off(%r13)	r13 is the isolate's root. The first of its kind in RunMicrotasks, and once more, when
 *				nothing is left to run
 *
 * The isolate that a thread is in is in a variable of the thread from V8 11.3 on.
 *
 * Source: src/builtins/builtins-microtask-queue-gen.cc (RunSingleMicrotask, RunMicrotasks), src/execution/isolate.cc
 * (g_current_isolate_), src/codegen/x64/constants-x64.h (kRootRegisterBias) of V8 11.3 to 14.6, and their builtins.
 */
#include "runtimes/v8/microtask.h"
#include "arch/insn.h"
#include "runtimes/v8/objects/object.h"

enum { OFF_MAX = 1 << 16, TIMES = 2, CODE_MAX = 16 << 10 };

/* 49 89 or 4d 89 /r with a displacement of 32 bits and r13 below it. */
static bool is_store(struct sw_bytes code, size_t at, uint32_t *ret_off)
{
	enum { REX_W_B = 0x49, REX_R = 4, MOV_TO = 0x89, ADDRESS = 0xc7, R13_FAR = 0x85 };
	uint8_t b[3];
	return sw_bytes_copy(code, at, b, sizeof(b)) && (b[0] & ~REX_R) == REX_W_B &&
	       b[1] == MOV_TO && (b[2] & ADDRESS) == R13_FAR &&
	       sw_bytes_u32(code, at + sizeof(b), ret_off);
}

bool sw_v8_microtask_off(struct sw_bytes code, uint32_t *ret)
{
	uint32_t off = 0, n = 0, found;
	if (code.size > CODE_MAX)
		return false;
	for (size_t at = 0; at < code.size;) {
		struct sw_insn i;
		if (!sw_arch_insn(false, code.data + at, code.size - at, at, &i))
			return false;
		if (is_store(code, at, &found) && (off == 0 || off == found)) {
			off = found;
			n++;
		}
		at += i.length;
	}
	if (n != TIMES || off == 0 || off % 8 != 0 || off > OFF_MAX)
		return false;
	*ret = off;
	return true;
}

bool sw_v8_microtask(const struct sw_v8_microtasks *m, struct sw_memory memory, uint64_t fs_base,
		     uint64_t *ret)
{
	uint64_t slot, isolate;
	return m->off != 0 && fs_base != 0 &&
	       sw_tls_address(&m->isolate, memory, m->bias, fs_base, &slot) &&
	       sw_memory_u64(memory, slot, &isolate) && isolate != 0 && isolate % 8 == 0 &&
	       sw_memory_u64(memory, isolate + SW_V8_ROOT + m->off, ret) && sw_v8_is_object(*ret);
}
