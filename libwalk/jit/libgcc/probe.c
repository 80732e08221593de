/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libgcc's registry has no symbol in a stripped file, but the functions that are exported for it
 * refer to it, and little else that can be written to:
 *
 *	gcc <= 12, __register_frame_info_bases:    mov unseen_objects(%rip), %rax
 *						   mov %rbx, unseen_objects(%rip)
 *		   __deregister_frame_info_bases:  the same two lists, read
 *	gcc >= 13, __register_frame_info_bases:    lea registered_objects(%rip), %rdi  (14)
 *						   lea registered_frames(%rip), %rdi
 * A list is what is both loaded and stored, another one what is loaded; where there is none, what is
 * pointed to are trees. Copies that are linked statically export nothing: there it needs symbols,
 * and these tell directly. (Names: gcc 12.2, 13.2 and 14.2, libgcc/unwind-dw2-fde.c.)
 */
#include "jit/libgcc/probe.h"
#include "jit/common/probe.h"
#include "jit/libgcc/list.h"

#include <elf.h>

enum { FUNCTION_BYTES = 1024, REFERENCES_MAX = 32, TREE_BYTES = 24 };

struct reference {
	uint64_t svma;
	uint8_t opcode; /* 8b load, 89 store, 8d address */
};

struct references {
	struct reference r[REFERENCES_MAX];
	size_t n;
};

/* Zero at the start, and written to later: .bss, or the zeros at the end of .data. */
static bool is_variable(const struct sw_elf_symbols *symbols, uint64_t svma, uint64_t bytes)
{
	struct sw_elf_segment s;
	bool inside = false;
	if (svma % 8 != 0)
		return false;
	for (uint32_t i = 0; sw_elf_segment(symbols->elf, i, &s); i++) {
		bool covers = svma >= s.svma && svma - s.svma < s.memory_bytes &&
			      bytes <= s.memory_bytes - (svma - s.svma);
		if (s.type == PT_LOAD && (s.flags & PF_W) && covers)
			inside = true;
		if (s.type == PT_GNU_RELRO && covers)
			return false; /* the global offset table */
	}
	return inside;
}

/* The references of 8 bytes, relative to rip, in a function: REX.W opcode modrm(00 reg 101) disp32. */
static void references_find(const struct sw_elf_symbols *symbols, const char *name,
			    struct references *ret)
{
	struct sw_elf_symbol symbol;
	struct sw_bytes code;
	ret->n = 0;
	if (!sw_elf_symbols_find(symbols, name, &symbol) ||
	    !sw_elf_loaded(symbols->elf, symbol.svma, &code))
		return;
	uint64_t size =
		symbol.size != 0 && symbol.size < FUNCTION_BYTES ? symbol.size : FUNCTION_BYTES;
	if (size > code.size)
		size = code.size;
	for (uint64_t at = 0; at + 7 <= size && ret->n < REFERENCES_MAX; at++) {
		const uint8_t *c = code.data + at;
		uint32_t disp;
		if ((c[0] & 0xfb) != 0x48 || (c[1] != 0x8b && c[1] != 0x89 && c[1] != 0x8d) ||
		    (c[2] & 0xc7) != 0x05 || !sw_bytes_u32(code, at + 3, &disp))
			continue;
		uint64_t svma = symbol.svma + at + 7 + (uint64_t) (int64_t) (int32_t) disp;
		if (is_variable(symbols, svma, c[1] == 0x8d ? TREE_BYTES : 8))
			ret->r[ret->n++] = (struct reference){svma, c[1]};
	}
}

static bool has(const struct references *refs, size_t end, uint64_t svma, uint8_t opcode)
{
	for (size_t i = 0; i < end; i++)
		if (refs->r[i].svma == svma && refs->r[i].opcode == opcode)
			return true;
	return false;
}

static void variable_add(struct sw_jit_probe *probe, const char *name,
			 const struct sw_elf_symbol *symbol)
{
	bool list = strstr(name, "seen_objects") != NULL;
	if (symbol->size == (list ? 8 : TREE_BYTES))
		(void) sw_jit_probe_add(probe, symbol->svma,
					list ? SW_JIT_LIBGCC_LIST : SW_JIT_LIBGCC_TREE);
}

void sw_jit_libgcc_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe)
{
	struct references in, out;
	static const char *const names[] = {"unseen_objects", "seen_objects", "registered_objects",
					    "registered_frames", NULL};
	references_find(symbols, "__register_frame_info_bases", &in);
	if (in.n == 0)
		sw_jit_probe_variables(probe, names, variable_add);
	bool list = false;
	for (size_t i = 0; i < in.n; i++) {
		if (in.r[i].opcode != 0x8b || !has(&in, in.n, in.r[i].svma, 0x89) ||
		    has(&in, i, in.r[i].svma, 0x8b))
			continue;
		list = true;
		(void) sw_jit_probe_add(probe, in.r[i].svma, SW_JIT_LIBGCC_LIST);
	}
	if (list) {
		references_find(symbols, "__deregister_frame_info_bases", &out);
		for (size_t i = 0; i < out.n; i++)
			if (out.r[i].opcode == 0x8b && !has(&in, in.n, out.r[i].svma, 0x8b) &&
			    !has(&out, i, out.r[i].svma, 0x8b))
				(void) sw_jit_probe_add(probe, out.r[i].svma, SW_JIT_LIBGCC_LIST);
		return;
	}
	for (size_t i = 0; i < in.n; i++)
		if (in.r[i].opcode == 0x8d && !has(&in, i, in.r[i].svma, 0x8d))
			(void) sw_jit_probe_add(probe, in.r[i].svma, SW_JIT_LIBGCC_TREE);
}
