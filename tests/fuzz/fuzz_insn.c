/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as instructions: decoded within them. Following them is part of fuzz_cfi. */
#include "fuzz.h"
#include "arch/insn.h"
#include "arch/written.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t at = 0; at < 2 * size; at++) {
		struct sw_insn insn;
		size_t off = at / 2;
		if (sw_arch_insn(at % 2 != 0, data + off, size - off, off, &insn) &&
		    (insn.length == 0 || insn.length > SW_INSN_BYTES_MAX ||
		     insn.length > size - off))
			__builtin_trap();
		if (sw_arch_written(data + off, size - off) > 0xffff)
			__builtin_trap();
		struct sw_move move;
		if (sw_arch_move(data + off, size - off, off, &move) &&
		    (move.length == 0 || move.length > size - off || move.to > 15 ||
		     move.from > 15))
			__builtin_trap();
	}
	return 0;
}
