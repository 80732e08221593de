/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/gdb/symfile.h"
#include "arena.h"
#include "cleanup.h"
#include "elf_make.h"
#include "errors.h"
#include "fake.h"
#include "jit_case.h"
#include "cfi/fde.h"
#include "test.h"

#include <dwarf.h>

enum {
	ABS8 = DW_EH_PE_absptr,
	PCREL4 = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	TEXTREL4 = DW_EH_PE_textrel | DW_EH_PE_udata4,
	EXEC = SHF_ALLOC | SHF_EXECINSTR,
};

static const uint64_t code = 0x7f1234567000;

static struct sw_jit_symfile *symfile(struct elf_make *elf, uint16_t type)
{
	elf_make_finish(elf);
	memcpy(elf->bytes + offsetof(Elf64_Ehdr, e_type), &type, sizeof(type));
	uint8_t *bytes = malloc(elf->size);
	assert_non_null(bytes);
	memcpy(bytes, elf->bytes, elf->size);
	return sw_jit_symfile_open(bytes, elf->size);
}

static uint32_t rela(struct elf_make *elf, uint32_t target, uint32_t symtab, const Elf64_Rela *r,
		     size_t n)
{
	uint32_t index = elf_make_section(elf, ".rela", SHT_RELA, 0, 0, r, n * sizeof(*r));
	elf->sections[index].sh_info = target;
	elf->sections[index].sh_link = symtab;
	return index;
}

/* The rule of the table, in words; it is a range and a rule, or the answer. */
static void cfi_is(const struct sw_jit_symfile *f, uint64_t avma, const char *wanted)
{
	struct sw_arena arena = {0};
	struct sw_text text = {0};
	struct sw_cfi_section section;
	struct sw_cfi_fde fde;
	const struct sw_cfi_rule *rule;
	int r = sw_jit_symfile_cfi(f, avma, &section, &fde);
	if (r == 1) {
		sw_text_printf(&text, "[+0x%x, +0x%x) ", (unsigned) (fde.start_avma - code),
			       (unsigned) (fde.end_avma - code));
		assert_int_equal(sw_cfi_fde_rule(&section, fde.off, avma, &arena, &rule), 0);
		sw_cfi_rule_print(rule, &text);
	} else {
		sw_text_printf(&text, "%d", r);
	}
	assert_string_equal(text.data, wanted);
	sw_text_deinit(&text);
	sw_arena_deinit(&arena);
}

static void name_is(struct sw_jit_symfile *f, uint64_t avma, const char *name, uint64_t start)
{
	struct sw_description d = {0};
	assert_int_equal(sw_jit_symfile_describe(f, avma, &d), name != NULL);
	if (name == NULL)
		return;
	assert_string_equal(d.function, name);
	assert_int_equal(d.start_avma, start);
	assert_string_equal(d.file, "");
	assert_int_equal(d.line, 0);
}

/* LLVM's RuntimeDyld: ET_REL, sh_addr set, relocations not applied. Each kind of relocation. */
static void relocated(uint32_t type, uint8_t encoding, uint64_t table_avma)
{
	struct elf_make elf;
	struct eh_make eh = {.avma = table_avma};
	elf_make_init(&elf);
	size_t cie = eh_make_cie(&eh, encoding);
	size_t fde = eh_make_fde(&eh, cie, encoding, 0, 0x40, EH_ROWS(0x0e, 16));
	eh_make_end(&eh);
	memset(eh.bytes + fde + 8, 0xcc, encoding == ABS8 ? 8 : 4); /* what is there is not added */
	uint32_t text = elf_make_section(&elf, ".text", SHT_PROGBITS, EXEC, code, NULL, 0x80);
	uint32_t table = elf_make_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, table_avma,
					  eh.bytes, eh.size);
	elf_make_symbol(&elf, "", STB_LOCAL, STT_SECTION, (uint16_t) text, 0, 0);
	elf_make_symbol(&elf, "f", STB_GLOBAL, STT_FUNC, (uint16_t) text, 0x20, 0x40);
	elf_make_symtab(&elf, SHT_SYMTAB);
	const Elf64_Rela r = {.r_offset = fde + 8,
			      .r_info = ELF64_R_INFO(1, type),
			      .r_addend = 0x20};
	rela(&elf, table, elf.n_sections - 1, &r, 1);
	struct sw_jit_symfile *f = symfile(&elf, ET_REL);
	assert_non_null(f);
	cfi_is(f, code + 0x20, "[+0x20, +0x60) CFA = rsp+16, ra = [CFA-8]");
	cfi_is(f, code + 0x5f, "[+0x20, +0x60) CFA = rsp+16, ra = [CFA-8]");
	cfi_is(f, code + 0x60, "0");
	name_is(f, code + 0x5f, "f", code + 0x20);
	name_is(f, code + 0x1f, NULL, 0);
	sw_jit_symfile_close(f);
}

TEST(test_relocations)
{
	relocated(R_X86_64_64, ABS8, code + 0x1000);
	relocated(R_X86_64_PC32, PCREL4, code + 0x1000);
	relocated(R_X86_64_PC32, PCREL4, code - 0x1000);
	relocated(R_X86_64_PC64, DW_EH_PE_pcrel | DW_EH_PE_sdata8, 0x1000);
	/* A table that was given no address is taken to be near. */
	relocated(R_X86_64_PC32, PCREL4, 0);
}

/* Relocations that do not fit, are not known, or lie outside: the tables are said to be
 * malformed. */
TEST(test_bad_relocations)
{
	static const struct {
		uint32_t type;
		uint64_t table_avma, offset;
		uint32_t symbol;
	} bad[] = {
		{R_X86_64_PC32, 0x1000, 24, 1},
		{R_X86_64_32, code + 0x1000, 24, 1},
		{R_X86_64_GOTPCREL, code + 0x1000, 24, 1},
		{R_X86_64_64, code + 0x1000, 1 << 20, 1},
		{R_X86_64_64, code + 0x1000, UINT64_MAX, 1},
		{R_X86_64_64, code + 0x1000, 24, 9},
		{R_X86_64_64, code + 0x1000, 24, 0},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad); i++) {
		struct elf_make elf;
		struct eh_make eh = {.avma = bad[i].table_avma};
		elf_make_init(&elf);
		size_t cie = eh_make_cie(&eh, ABS8);
		(void) eh_make_fde(&eh, cie, ABS8, code, 0x40, EH_ROWS(0));
		uint32_t text =
			elf_make_section(&elf, ".text", SHT_PROGBITS, EXEC, code, NULL, 0x80);
		uint32_t table = elf_make_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC,
						  bad[i].table_avma, eh.bytes, eh.size);
		elf_make_symbol(&elf, "", STB_LOCAL, STT_SECTION, (uint16_t) text, 0, 0);
		elf_make_symtab(&elf, SHT_SYMTAB);
		const Elf64_Rela r = {.r_offset = bad[i].offset,
				      .r_info =
					      ELF64_R_INFO((uint64_t) bad[i].symbol, bad[i].type)};
		rela(&elf, table, elf.n_sections - 1, &r, 1);
		struct sw_jit_symfile *f = symfile(&elf, ET_REL);
		assert_non_null(f);
		cfi_is(f, code, "-1");
		sw_jit_symfile_close(f);
	}
}

/* PHP 8.2: pointers count from the code, and the table has no address. */
TEST(test_textrel)
{
	struct elf_make elf;
	struct eh_make eh = {.text_avma = code};
	elf_make_init(&elf);
	size_t cie = eh_make_cie(&eh, TEXTREL4);
	(void) eh_make_fde(&eh, cie, TEXTREL4, code, 0x80, EH_ROWS(0x0e, 32));
	eh_make_end(&eh);
	elf_make_section(&elf, ".text", SHT_NOBITS, EXEC, code, NULL, 0x80);
	elf_make_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0, eh.bytes, eh.size);
	struct sw_jit_symfile *f = symfile(&elf, ET_REL);
	cfi_is(f, code + 0x7f, "[+0x0, +0x80) CFA = rsp+32, ra = [CFA-8]");
	name_is(f, code, NULL, 0);
	sw_jit_symfile_close(f);
}

/* qemu 7.2: an executable file with .debug_frame and one entry for a whole buffer of code, which is
 * not in the file. */
TEST(test_debug_frame)
{
	static const uint8_t head[] = {0x10, 0,    0,  0,    0xff, 0xff, 0xff, 0xff, 3, 0,
				       1,    0x78, 16, 0x0c, 7,    8,    0x90, 1,    0, 0,
				       0x18, 0,    0,  0,    0,    0,    0,    0};
	uint64_t words[2] = {code, 128 << 20};
	static const uint8_t rows[4] = {0x0e, 0x88, 1, 0}; /* CFA = rsp + 136 */
	uint8_t bytes[sizeof(head) + sizeof(words) + sizeof(rows)];
	memcpy(bytes, head, sizeof(head));
	memcpy(bytes + sizeof(head), words, sizeof(words));
	memcpy(bytes + sizeof(head) + sizeof(words), rows, sizeof(rows));
	struct elf_make elf;
	elf_make_init(&elf);
	uint32_t text = elf_make_section(&elf, ".text", SHT_NOBITS, EXEC, code, NULL, 128 << 20);
	elf_make_section(&elf, ".debug_frame", SHT_PROGBITS, 0, 0, bytes, sizeof(bytes));
	elf_make_symbol(&elf, "code_gen_buffer", STB_GLOBAL, STT_FUNC, (uint16_t) text, code,
			128 << 20);
	elf_make_symtab(&elf, SHT_SYMTAB);
	struct sw_jit_symfile *f = symfile(&elf, ET_EXEC);
	cfi_is(f, code + (100 << 20), "[+0x0, +0x8000000) CFA = rsp+136, ra = [CFA-8]");
	name_is(f, code + (100 << 20), "code_gen_buffer", code);
	sw_jit_symfile_close(f);
}

TEST(test_names)
{
	struct elf_make elf;
	elf_make_init(&elf);
	uint16_t text =
		(uint16_t) elf_make_section(&elf, ".text", SHT_NOBITS, EXEC, code, NULL, 0x100);
	elf_make_symbol(&elf, "whole", STB_GLOBAL, STT_FUNC, text, 0, 0x100);
	elf_make_symbol(&elf, "part", STB_LOCAL, STT_FUNC, text, 0x40, 0x20);
	elf_make_symbol(&elf, "open", STB_LOCAL, STT_NOTYPE, text, 0x80, 0);
	elf_make_symbol(&elf, "absolute", STB_LOCAL, STT_FUNC, text, code + 0xc0, 0x10);
	elf_make_symbol(&elf, "data", STB_LOCAL, STT_OBJECT, text, 0x48, 4);
	elf_make_symbol(&elf, "outside", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0x48, 4);
	elf_make_symbol(&elf, "", STB_GLOBAL, STT_FUNC, text, 0x4c, 4);
	elf_make_symtab(&elf, SHT_SYMTAB);
	struct sw_jit_symfile *f = symfile(&elf, ET_REL);
	name_is(f, code, "whole", code);
	name_is(f, code + 0x48, "part", code + 0x40);
	name_is(f, code + 0x4c, "part", code + 0x40);
	name_is(f, code + 0x60, "whole", code);
	name_is(f, code + 0xb0, "open", code + 0x80);
	name_is(f, code + 0xc8, "absolute", code + 0xc0);
	name_is(f, code + 0x100, NULL, 0);
	sw_jit_symfile_close(f);
}

struct codes {
	struct sw_jit_code found[8];
	size_t n, max;
};

static bool code_note(void *arg, struct sw_jit_code found)
{
	struct codes *c = arg;
	c->found[c->n++] = found;
	return c->n < c->max;
}

static int codes_of(const void *bytes, size_t size, size_t said, size_t budget, struct codes *c)
{
	struct fake_memory fake = FAKE_MEMORY({0x5000, bytes, size});
	c->n = 0;
	return sw_jit_symfile_codes(fake_memory(&fake), 0x5000, said, &budget, code_note, c);
}

/* Headers alone: sections with code, an address and a size. */
TEST(test_codes)
{
	struct elf_make elf;
	struct codes c = {.max = 8};
	elf_make_init(&elf);
	elf_make_section(&elf, ".text", SHT_NOBITS, EXEC, code, NULL, 0x100);
	elf_make_section(&elf, ".text.empty", SHT_PROGBITS, EXEC, code + 0x100, NULL, 0);
	elf_make_section(&elf, ".text.nowhere", SHT_PROGBITS, EXEC, 0, NULL, 8);
	elf_make_section(&elf, ".text.wraps", SHT_NOBITS, EXEC, code, NULL, (size_t) -1);
	elf_make_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC, code + 0x200, NULL, 8);
	elf_make_section(&elf, ".text.cold", SHT_PROGBITS, EXEC, code + 0x300, NULL, 8);
	elf_make_finish(&elf);
	assert_int_equal(codes_of(elf.bytes, elf.size, elf.size, elf.size, &c), 1);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.found[0].start_avma, code);
	assert_int_equal(c.found[0].end_avma, code + 0x100);
	assert_int_equal(c.found[1].start_avma, code + 0x300);
	/* Told to stop; the budget; a size that lies; something else. */
	c.max = 1;
	assert_int_equal(codes_of(elf.bytes, elf.size, elf.size, elf.size, &c), -1);
	assert_int_equal(c.n, 1);
	c.max = 8;
	assert_int_equal(codes_of(elf.bytes, elf.size, elf.size, 64, &c), -1);
	assert_int_equal(codes_of(elf.bytes, elf.size, elf.size - 1, elf.size, &c), -1);
	assert_int_equal(codes_of(elf.bytes, elf.size - 1, SIZE_MAX, SIZE_MAX, &c), -1);
	assert_int_equal(codes_of(elf.bytes, elf.size, 63, elf.size, &c), 0);
	assert_int_equal(
		codes_of("not an ELF file, but as long as the header of one would have been.", 66,
			 66, 66, &c),
		0);
}

TEST(test_not_elf)
{
	uint8_t *bytes = calloc(1, 64);
	assert_null(sw_jit_symfile_open(bytes, 64));
	struct elf_make elf;
	elf_make_init(&elf);
	elf_make_finish(&elf);
	bytes = malloc(elf.size);
	memcpy(bytes, elf.bytes, elf.size);
	assert_null(sw_jit_symfile_open(bytes, elf.size - 1));
}
