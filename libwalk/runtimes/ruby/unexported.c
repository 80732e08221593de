/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: vm_core.h (ruby_current_ec, rb_current_execution_context()), vm.c (rb_thread_current(),
 * rb_iseq_eval(), rb_iseq_eval_main(), rb_vm_exec()), eval_intern.h (EC_EXEC_TAG()) of Ruby 3.3.8;
 * "ELF Handling For Thread-Local Storage" 0.21, §4.1; compared with Debian's libruby3.3 3.3.8.
 */
#include "runtimes/ruby/unexported.h"
#include "cfi/function.h"
#include "cleanup.h"
#include "runtimes/ruby/layout.h"

#include <string.h>

enum {
	CURRENT_BYTES = 64,  /* of rb_thread_current() */
	CALLER_BYTES = 1024, /* of a function that calls rb_vm_exec() */
	EXEC_BYTES = 4096,   /* of rb_vm_exec() */
	TARGETS_MAX = 64,    /* that one function calls or jumps to */
	RELOCATIONS_MAX = 1 << 20,
	PLT_ENTRY_BYTES = 16,
};

static uint64_t relative(struct sw_bytes code, uint64_t code_svma, uint64_t off)
{
	uint32_t displacement;
	if (!sw_bytes_u32(code, off, &displacement))
		return 0;
	return code_svma + off + 4 + (uint64_t) (int64_t) (int32_t) displacement;
}

static bool is(struct sw_bytes code, uint64_t off, const char *bytes, size_t n)
{
	return off <= code.size && n <= code.size - off && memcmp(code.data + off, bytes, n) == 0;
}

/* ---- ruby_current_ec ------------------------------------------------------------------------------ */

/* The code behind the variable reads its rb_thread_t. */
static bool thread_is_read(struct sw_bytes code, uint64_t off)
{
	const char read[] = {0x48, (char) 0x8b, 0x40, SW_RUBY_EC_THREAD};
	return is(code, off, read, sizeof(read));
}

/*
 * A library's:
 *	48 8d 3d disp32		lea rdi, [rip + pair]
 *	e8 rel32		call __tls_get_addr
 *	48 8b 00		mov rax, [rax]			the pair is of the variable
 *	48 8b 80 disp32		mov rax, [rax + offset]		or of all variables of the module
 */
static bool library_in(const struct sw_elf_symbols *symbols, struct sw_bytes code,
		       uint64_t code_svma, uint64_t off, struct sw_tls_variable *ret)
{
	uint32_t offset = 0;
	uint64_t pair = relative(code, code_svma, off + 3);
	for (off += 7; is(code, off, "\x66", 1) || is(code, off, "\x48", 1);)
		off++; /* prefixes of the call, for the linker */
	if (!is(code, off, "\xe8", 1))
		return false;
	off += 5;
	if (is(code, off, "\x48\x8b\x80", 3) && sw_bytes_u32(code, off + 3, &offset) &&
	    offset <= INT32_MAX)
		off += 7;
	else if (is(code, off, "\x48\x8b\x00", 3))
		off += 3;
	else
		return false;
	return thread_is_read(code, off) && sw_tls_of_pair(symbols, pair, (int32_t) offset, ret);
}

bool sw_ruby_ec_in(const struct sw_elf_symbols *symbols, struct sw_bytes code, uint64_t code_svma,
		   struct sw_tls_variable *ret)
{
	if (code.size > CURRENT_BYTES)
		code.size = CURRENT_BYTES;
	for (uint64_t i = 0; i < code.size; i++) {
		uint32_t offset;
		if (is(code, i, "\x48\x8d\x3d", 3) && library_in(symbols, code, code_svma, i, ret))
			return true;
		/* A program's: mov rax, fs:[offset] */
		if (is(code, i, "\x64\x48\x8b\x04\x25", 5) && sw_bytes_u32(code, i + 5, &offset) &&
		    (int32_t) offset < 0 && thread_is_read(code, i + 9)) {
			*ret = (struct sw_tls_variable){.kind = SW_TLS_PROGRAM,
							.offset = (int32_t) offset};
			return true;
		}
	}
	return false;
}

bool sw_ruby_ec_find(const struct sw_elf_symbols *symbols, struct sw_tls_variable *ret)
{
	struct sw_elf_symbol symbol;
	struct sw_bytes code;
	return sw_elf_symbols_find(symbols, "rb_thread_current", &symbol) &&
	       sw_elf_loaded(symbols->elf, symbol.svma, &code) &&
	       sw_ruby_ec_in(symbols, code, symbol.svma, ret);
}

/* ---- rb_vm_exec() --------------------------------------------------------------------------------- */

/* Whether the slot that a PLT entry jumps through is filled with the function of that name. */
static bool slot_is(const struct sw_elf_symbols *symbols, uint64_t slot_svma, const char *name)
{
	struct sw_elf_section section;
	struct sw_bytes bytes;
	if (!sw_elf_section_named(symbols->elf, ".rela.plt", &section) ||
	    !sw_elf_section_bytes(symbols->elf, &section, &bytes))
		return false;
	for (uint64_t i = 0; i < RELOCATIONS_MAX; i++) {
		Elf64_Rela rela;
		Elf64_Sym symbol;
		const char *own;
		if (!sw_bytes_copy(bytes, i * sizeof(rela), &rela, sizeof(rela)))
			return false;
		if (rela.r_offset == slot_svma)
			return sw_elf_symbol_read(&symbols->dynsym, ELF64_R_SYM(rela.r_info),
						  &symbol) &&
			       sw_bytes_str(symbols->dynsym.strings, symbol.st_name, &own) &&
			       strcmp(own, name) == 0;
	}
	return false;
}

/* [endbr64] [bnd] jmp [rip + slot] */
static bool leads_to(const struct sw_elf_symbols *symbols, uint64_t plt_svma, const char *name)
{
	struct sw_bytes code;
	if (!sw_elf_loaded(symbols->elf, plt_svma, &code))
		return false;
	for (uint64_t i = 0; i + 6 <= PLT_ENTRY_BYTES; i++)
		if (is(code, i, "\xff\x25", 2))
			return slot_is(symbols, relative(code, plt_svma, i + 2), name);
	return false;
}

/*
 * Where direct calls and jumps in the first bytes of a function lead. Bytes are looked at, not
 * instructions: what is none leads to no function that passes the questions below.
 */
static size_t targets_in(struct sw_bytes code, uint64_t code_svma, uint64_t *ret)
{
	size_t n = 0;
	for (uint64_t i = 0; i + 5 <= code.size && n < TARGETS_MAX; i++)
		if (code.data[i] == 0xe8 || code.data[i] == 0xe9)
			ret[n++] = relative(code, code_svma, i + 1);
	return n;
}

static bool function_at(const struct sw_elf_symbols *symbols, struct sw_elf_cfi *cfi, uint64_t svma,
			uint64_t max, struct sw_elf_entry *ret, struct sw_bytes *ret_code)
{
	if (!sw_elf_entry_find(cfi, svma, ret) || ret->start_svma != svma ||
	    !sw_elf_loaded(symbols->elf, svma, ret_code))
		return false;
	if (max > ret->end_svma - svma)
		max = ret->end_svma - svma;
	if (ret_code->size > max)
		ret_code->size = (size_t) max;
	return true;
}

/* The function is the only one that both callers lead to and that calls setjmp(): EC_EXEC_TAG(). */
static bool calls_setjmp(const struct sw_elf_symbols *symbols, struct sw_elf_cfi *cfi,
			 uint64_t svma, struct sw_elf_entry *ret)
{
	uint64_t targets[TARGETS_MAX];
	struct sw_bytes code;
	if (!function_at(symbols, cfi, svma, EXEC_BYTES, ret, &code))
		return false;
	for (size_t i = 0, n = targets_in(code, svma, targets); i < n; i++)
		if (leads_to(symbols, targets[i], "_setjmp"))
			return true;
	return false;
}

static size_t callees(const struct sw_elf_symbols *symbols, struct sw_elf_cfi *cfi,
		      const char *name, uint64_t *ret)
{
	struct sw_elf_symbol symbol;
	struct sw_elf_entry entry;
	struct sw_bytes code;
	return sw_elf_symbols_find(symbols, name, &symbol) &&
			       function_at(symbols, cfi, symbol.svma, CALLER_BYTES, &entry, &code)
		       ? targets_in(code, symbol.svma, ret)
		       : 0;
}

bool sw_ruby_vm_exec_find(const struct sw_elf_symbols *symbols, struct sw_module *module,
			  uint64_t *ret_start_svma, uint64_t *ret_end_svma)
{
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(module);
	uint64_t a[TARGETS_MAX], b[TARGETS_MAX];
	struct sw_elf_entry entry, found = {0};
	if (cfi == NULL)
		return false;
	size_t n_a = callees(symbols, cfi, "rb_iseq_eval", a);
	size_t n_b = callees(symbols, cfi, "rb_iseq_eval_main", b);
	for (size_t i = 0; i < n_a; i++) {
		bool both = false;
		for (size_t k = 0; k < n_b; k++)
			both |= a[i] == b[k];
		if (!both || a[i] == found.start_svma || !calls_setjmp(symbols, cfi, a[i], &entry))
			continue;
		if (found.start_svma != 0)
			return false; /* which one? */
		found = entry;
	}
	*ret_start_svma = found.start_svma;
	*ret_end_svma = found.end_svma;
	return found.start_svma != 0;
}
