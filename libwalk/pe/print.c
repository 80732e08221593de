/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Function entries in words, as a debugger's command for function entries (WinDbg's .fnent) has
 * them. Registers are named as instructions number them. */
#include "arch/arch.h"
#include "pe/info.h"
#include "arch/x86_decode.h"

#include <inttypes.h>

static const char *reg_name(unsigned number)
{
	return sw_arch_reg_name(false, sw_x86_dwarf_number(number));
}

static void print_code(const struct sw_pe_info *info, const struct sw_pe_code *code,
		       struct sw_text *text)
{
	bool machine_error = code->info != 0;
	sw_text_printf(text, "  +0x%02x: ", code->offset);
	switch ((enum sw_pe_op) code->op) {
	case SW_PE_PUSH_NONVOL: sw_text_printf(text, "push %s", reg_name(code->info)); break;
	case SW_PE_ALLOC_LARGE:
	case SW_PE_ALLOC_SMALL: sw_text_printf(text, "allocate 0x%" PRIx32, code->value); break;
	case SW_PE_SET_FPREG:
	case SW_PE_SET_FPREG_LARGE:
		sw_text_printf(text, "set %s = rsp + 0x%" PRIx32, reg_name(info->frame_reg),
			       info->frame_bytes);
		break;
	case SW_PE_SAVE_NONVOL:
	case SW_PE_SAVE_NONVOL_FAR:
		sw_text_printf(text, "save %s at frame + 0x%" PRIx32, reg_name(code->info),
			       code->value);
		break;
	case SW_PE_SAVE_XMM128:
	case SW_PE_SAVE_XMM128_FAR:
		sw_text_printf(text, "save xmm%u at frame + 0x%" PRIx32, code->info, code->value);
		break;
	case SW_PE_PUSH_MACHFRAME:
		sw_text_printf(text, "machine frame%s", machine_error ? " with error code" : "");
		break;
	case SW_PE_EPILOG:
	case SW_PE_SPARE: sw_text_printf(text, "obsolete, ignored"); break;
	}
	sw_text_printf(text, "\n");
}

static void print_epilogs(const struct sw_pe_function *function,
			  const struct sw_pe_epilogs *epilogs, struct sw_text *text)
{
	if (epilogs->at_end)
		sw_text_printf(text, "  epilogue: rva 0x%" PRIx32 ", %u bytes\n",
			       function->end_rva - epilogs->bytes, epilogs->bytes);
	for (size_t i = 0; i < epilogs->n; i++)
		sw_text_printf(text, "  epilogue: rva 0x%" PRIx32 ", %u bytes\n",
			       function->end_rva - epilogs->from_end[i], epilogs->bytes);
}

static void print_info(const struct sw_pe_function *function, const struct sw_pe_info *info,
		       struct sw_text *text)
{
	sw_text_printf(text, "version %u, flags:%s%s%s%s, prologue: %u bytes, codes: %zu",
		       info->version, info->flags == 0 ? " none" : "",
		       info->flags & SW_PE_EHANDLER ? " exception-handler" : "",
		       info->flags & SW_PE_UHANDLER ? " termination-handler" : "",
		       info->flags & SW_PE_CHAININFO ? " chained" : "", info->prologue_bytes,
		       info->n_codes);
	if (info->frame_reg != 0)
		sw_text_printf(text, ", frame: %s - 0x%" PRIx32, reg_name(info->frame_reg),
			       info->frame_bytes);
	if (info->handler_rva != 0)
		sw_text_printf(text, ", handler: rva 0x%" PRIx32, info->handler_rva);
	sw_text_printf(text, "\n");
	for (size_t i = 0; i < info->n_codes; i++)
		print_code(info, &info->codes[i], text);
	print_epilogs(function, &info->epilogs, text);
}

void sw_pe_function_print(struct sw_pe_env *env, const struct sw_pe_function *function,
			  struct sw_text *text)
{
	struct sw_pe_function f = *function;
	struct sw_pe_info info;
	const char *what = "function";
	for (size_t i = 0; i < SW_PE_CHAIN_MAX; i++) {
		bool indirect = f.unwind_rva & 1;
		enum sw_pe_result r = SW_PE_BAD;
		if (sw_pe_function_resolve(env, &f))
			r = sw_pe_info_read(env, f.unwind_rva, &info);
		else if (env->why == NULL)
			r = SW_PE_UNREADABLE;
		sw_text_printf(text,
			       "%s: [0x%" PRIx64 ", 0x%" PRIx64 "), rva 0x%" PRIx32 "..0x%" PRIx32
			       "%s\nunwind information: rva 0x%" PRIx32 ", ",
			       what, env->base_avma + f.begin_rva, env->base_avma + f.end_rva,
			       f.begin_rva, f.end_rva, indirect ? ", by an indirect entry" : "",
			       f.unwind_rva);
		if (r == SW_PE_UNREADABLE) {
			sw_text_printf(text, "0x%" PRIx64 " cannot be read\n", env->fault_avma);
			return;
		}
		if (r != SW_PE_OK) {
			sw_text_printf(text, "malformed: %s\n", env->why);
			return;
		}
		print_info(&f, &info, text);
		if (!(info.flags & SW_PE_CHAININFO))
			return;
		f = info.parent;
		what = "chained to";
	}
	sw_text_printf(text, "malformed: the chain is too long\n");
}
