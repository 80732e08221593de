/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe/info.h"
#include "arch/arch.h"
#include "bytes.h"

#include <string.h>

enum { HEADER_BYTES = 4, SLOT_BYTES = 2, PARENT_BYTES = SW_PE_FUNCTION_BYTES };

/* How many slots a code takes; 0: it is not valid. */
static size_t code_slots(const struct sw_pe_env *env, const struct sw_pe_info *info, uint8_t op,
			 uint8_t op_info)
{
	switch ((enum sw_pe_op) op) {
	case SW_PE_PUSH_NONVOL:
	case SW_PE_ALLOC_SMALL:
	case SW_PE_SET_FPREG: return 1;
	case SW_PE_PUSH_MACHFRAME: return op_info <= 1 ? 1 : 0;
	case SW_PE_ALLOC_LARGE: return op_info <= 1 ? 2U + op_info : 0;
	case SW_PE_SAVE_NONVOL:
	case SW_PE_SAVE_XMM128: return 2;
	case SW_PE_SAVE_NONVOL_FAR:
	case SW_PE_SAVE_XMM128_FAR:
	case SW_PE_SPARE: return 3;
	case SW_PE_EPILOG: return info->version == 1 ? 2 : 1;
	case SW_PE_SET_FPREG_LARGE: return env->rules == SW_PE_CLR_SYSV ? 3 : 0;
	}
	return 0;
}

/* The value in the slots behind a code: scaled where the format scales it. */
static uint32_t code_value(const struct sw_pe_code *code, size_t slots, const uint16_t *behind)
{
	uint32_t small = slots > 1 ? behind[0] : 0;
	uint32_t large = slots > 2 ? small | (uint32_t) behind[1] << 16 : 0;
	switch ((enum sw_pe_op) code->op) {
	case SW_PE_ALLOC_SMALL: return code->info * 8U + 8;
	case SW_PE_ALLOC_LARGE: return slots == 2 ? small * 8 : large;
	case SW_PE_SAVE_NONVOL: return small * 8;
	case SW_PE_SAVE_XMM128: return small * 16;
	case SW_PE_SAVE_NONVOL_FAR:
	case SW_PE_SAVE_XMM128_FAR:
	case SW_PE_SET_FPREG_LARGE: return large;
	default: return 0;
	}
}

/* The first EPILOG code says how long epilogues are, each further one where one is; 0 is padding. */
static void epilog_add(struct sw_pe_epilogs *epilogs, const struct sw_pe_code *code, bool first)
{
	if (first) {
		epilogs->bytes = code->offset;
		epilogs->at_end = code->info & 1;
		return;
	}
	uint16_t from_end = (uint16_t) (code->offset | code->info << 8);
	if (from_end != 0)
		epilogs->from_end[epilogs->n++] = from_end;
}

static enum sw_pe_result code_check(struct sw_pe_env *env, struct sw_pe_info *info,
				    const struct sw_pe_code *code)
{
	switch ((enum sw_pe_op) code->op) {
	case SW_PE_PUSH_NONVOL:
	case SW_PE_SAVE_NONVOL:
	case SW_PE_SAVE_NONVOL_FAR:
		if (code->info == SW_PE_REG_RSP)
			return sw_pe_bad(env, "the unwind information saves the stack pointer");
		return SW_PE_OK;
	case SW_PE_SET_FPREG_LARGE:
		/* CoreCLR 10.0, unwinder/amd64/unwinder.cpp: the 4-bit field is 15, 28 bits count */
		if (info->frame_bytes != 15 * 16 || code->value >= UINT32_C(1) << 28)
			return sw_pe_bad(env, "the unwind information has a bad frame offset");
		info->frame_bytes = code->value * 16;
		/* fall through */
	case SW_PE_SET_FPREG:
		if (info->frame_reg == 0)
			return sw_pe_bad(env, "the unwind information names no frame register");
		return SW_PE_OK;
	default: return SW_PE_OK;
	}
}

static enum sw_pe_result codes_decode(struct sw_pe_env *env, struct sw_pe_info *info,
				      const uint16_t *slots)
{
	bool epilogs = false;
	for (size_t i = 0; i < info->n_slots;) {
		struct sw_pe_code code = {.offset = (uint8_t) slots[i],
					  .op = (slots[i] >> 8) & 15,
					  .info = (uint8_t) (slots[i] >> 12)};
		size_t n = code_slots(env, info, code.op, code.info);
		if (n == 0 || n > info->n_slots - i)
			return sw_pe_bad(env, "the unwind information has an unknown code");
		code.value = code_value(&code, n, slots + i + 1);
		i += n;
		if (info->version == 2 && code.op == SW_PE_EPILOG) {
			epilog_add(&info->epilogs, &code, !epilogs);
			epilogs = true;
			continue;
		}
		enum sw_pe_result r = code_check(env, info, &code);
		if (r != SW_PE_OK)
			return r;
		info->codes[info->n_codes++] = code;
	}
	return SW_PE_OK;
}

static void header_decode(const uint8_t header[HEADER_BYTES], struct sw_pe_info *info)
{
	info->version = header[0] & 7;
	info->flags = header[0] >> 3;
	info->prologue_bytes = header[1];
	info->n_slots = header[2];
	info->frame_reg = header[3] & 15;
	info->frame_bytes = (header[3] >> 4) * 16U;
	info->n_codes = 0;
	info->epilogs.bytes = info->epilogs.n = 0;
	info->epilogs.at_end = false;
	info->parent = (struct sw_pe_function){0};
	info->handler_rva = 0;
}

enum sw_pe_result sw_pe_info_read(struct sw_pe_env *env, uint32_t unwind_rva,
				  struct sw_pe_info *ret)
{
	uint8_t header[HEADER_BYTES];
	uint16_t slots[SW_PE_CODES_MAX + 1 + PARENT_BYTES / SLOT_BYTES];
	uint64_t avma = env->base_avma + unwind_rva;
	if (!sw_pe_read(env, avma, header, sizeof(header)))
		return SW_PE_UNREADABLE;
	header_decode(header, ret);
	if (ret->version == 3)
		return sw_pe_bad(env, "unwind information of version 3 is not supported");
	if (ret->version != 1 && ret->version != 2)
		return sw_pe_bad(env, "unwind information of an unknown version");
	if (ret->frame_reg == SW_PE_REG_RSP)
		return sw_pe_bad(env, "the stack pointer as frame register");

	/* The data behind the codes begins at an even slot. */
	size_t tail = (ret->n_slots + 1U) & ~1U;
	size_t behind = ret->flags & SW_PE_CHAININFO                     ? PARENT_BYTES
			: ret->flags & (SW_PE_EHANDLER | SW_PE_UHANDLER) ? sizeof(uint32_t)
									 : 0;
	size_t bytes = behind > 0 ? tail * SLOT_BYTES + behind : (size_t) ret->n_slots * SLOT_BYTES;
	if (bytes > 0 && !sw_pe_read(env, avma + HEADER_BYTES, slots, bytes))
		return SW_PE_UNREADABLE;
	if (ret->flags & SW_PE_CHAININFO)
		memcpy(&ret->parent, slots + tail, sizeof(ret->parent));
	else if (behind > 0)
		memcpy(&ret->handler_rva, slots + tail, sizeof(ret->handler_rva));
	return codes_decode(env, ret, slots);
}
