/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a function calls another one, as the code says it: directly, by the PLT, or through a word that the linker fills. */
#include "arch/insn.h"
#include "events/place.h"
#include "events/stubs.h"
#include "formats/elf_file.h"

#include <string.h>

enum {
	INSNS_MAX = 1 << 16,
	SLOT_INSN_BYTES = 6, /* ff 15 or ff 25 with a displacement from the end */
};

struct callee {
	struct sw_elf elf;
	struct sw_elf_table symbols; /* that relocations name; without one there are none */
	bool has_symbols;
	uint64_t svma;
};

static bool symbol_is(const struct callee *c, uint64_t index)
{
	Elf64_Sym symbol;
	return sw_elf_symbol_read(&c->symbols, index, &symbol) && symbol.st_shndx != SHN_UNDEF &&
	       symbol.st_value == c->svma;
}

/* Whether the linker fills the word with the address of the callee. */
static bool slot_is(const struct callee *c, uint64_t slot_svma)
{
	Elf64_Rela rela;
	return c->has_symbols && sw_stub_relocation(&c->elf, slot_svma, &rela) &&
	       symbol_is(c, ELF64_R_SYM(rela.r_info));
}

/* "jmp *disp(%rip)" and "call *disp(%rip)" at the beginning of code, which is at svma. */
static bool goes_through_slot(const struct callee *c, const uint8_t *code, size_t n, uint64_t svma)
{
	int32_t displacement;
	if (n < SLOT_INSN_BYTES || code[0] != 0xff || (code[1] != 0x15 && code[1] != 0x25))
		return false;
	memcpy(&displacement, code + 2, sizeof(displacement));
	return slot_is(c, svma + SLOT_INSN_BYTES + (uint64_t) (int64_t) displacement);
}

static bool stub_leads_there(const struct callee *c, uint64_t svma)
{
	uint64_t slot_svma;
	return sw_stub_word(&c->elf, svma, &slot_svma) && slot_is(c, slot_svma);
}

bool sw_event_calls(const void *image, size_t image_size, uint64_t svma, uint64_t size,
		    uint64_t callee_svma)
{
	struct callee c = {.svma = callee_svma};
	struct sw_bytes code;
	struct sw_insn insn;
	if (!sw_elf_init(&c.elf, (struct sw_bytes){image, image_size}) ||
	    sw_place_code(image, image_size, svma, &code, NULL) < 0)
		return false;
	c.has_symbols = sw_elf_table_typed(&c.elf, SHT_DYNSYM, &c.symbols);
	if (code.size > size)
		code.size = size;
	size_t at = 0;
	for (int i = 0; i < INSNS_MAX && at < code.size; i++, at += insn.length) {
		if (!sw_arch_insn(false, code.data + at, code.size - at, svma + at, &insn))
			return false;
		bool jumps = insn.op == SW_INSN_JUMP || insn.op == SW_INSN_BRANCH ||
			     (insn.op == SW_INSN_CALL && insn.target_known);
		if (jumps && insn.target == callee_svma)
			return true;
		if (jumps && insn.target - svma >= code.size && stub_leads_there(&c, insn.target))
			return true;
		if ((insn.op == SW_INSN_CALL || insn.op == SW_INSN_JUMP_FAR) &&
		    !insn.target_known &&
		    goes_through_slot(&c, code.data + at, code.size - at, svma + at))
			return true;
	}
	return false;
}
