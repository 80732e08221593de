/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe/known_code.h"
#include "arch/arch.h"
#include "pe/info.h"
#include "pe/rule.h"

#include <string.h>

bool sw_pe_has_pushed_flags(struct sw_memory memory, uint64_t begin_avma, uint64_t pc_avma)
{
	static const uint8_t first[] = {0x9c, 0xc7, 0x41, 0x30}, pop[] = {0x8f, 0x41, 0x44};
	enum { POP_AT = 0x1e };
	uint8_t code[POP_AT + sizeof(pop)];
	return pc_avma > begin_avma && pc_avma - begin_avma <= POP_AT &&
	       sw_memory_read(memory, begin_avma, code, sizeof(code)) &&
	       memcmp(code, first, sizeof(first)) == 0 &&
	       memcmp(code + POP_AT, pop, sizeof(pop)) == 0;
}

bool sw_pe_is_fiber_jump(struct sw_memory memory, uint64_t pc_avma)
{
	enum { MOV_BYTES = 7 };
	static const uint8_t wanted[] = {
		0x48, 0x8b, 0xa2, 0x98, 0x00, 0x00, 0x00, /* mov 0x98(%rdx),%rsp */
		0xff, 0xa2, 0xf8, 0x00, 0x00, 0x00,       /* jmp *0xf8(%rdx) */
	};
	uint8_t code[sizeof(wanted)];
	return sw_memory_read(memory, pc_avma - MOV_BYTES, code, sizeof(code)) &&
	       memcmp(code, wanted, sizeof(wanted)) == 0;
}

enum sw_pe_result sw_pe_fiber_jump_step(struct sw_pe_env *env, const struct sw_regs *regs,
					struct sw_regs *ret)
{
	enum { CONTEXT_RIP = 0xf8 };
	uint64_t rdx, pc;
	if (!sw_regs_get(regs, SW_X86_64_RDX, &rdx))
		return sw_pe_bad(env, "the other fiber's address was lost");
	env->fault_avma = rdx + CONTEXT_RIP;
	if (!sw_memory_u64(env->stack.ops != NULL ? env->stack : env->memory, env->fault_avma, &pc))
		return SW_PE_UNREADABLE;
	struct sw_pe_draft draft;
	sw_pe_draft_init(env, &draft);
	*ret = *regs;
	ret->known &= draft.rule.preserved;
	sw_regs_set(ret, SW_ARCH_SP, regs->sp_avma);
	sw_regs_set(ret, SW_ARCH_RA, pc);
	return SW_PE_OK;
}
