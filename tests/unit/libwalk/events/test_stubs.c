/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Entries of a PLT, the words that the linker fills, and functions that call others by them. */
#include "events/stubs.h"
#include "elf_image.h"
#include "test.h"

#include <snapwalk/event.h>

enum {
	PUT = IMAGE_CODE + 0x80, /* the function that is called */
	CHOSEN = IMAGE_CODE + 0xa0,
	CALLER = IMAGE_CODE + 0x100,
	SLOTS = 0x8000, /* the words */
	N_SLOTS = 6,
	STUB_BYTES = 0x10,
	/* Symbols. */
	SYM_PUT = 1,
	SYM_OTHER, /* of another file; the address is that of put() here */
	SYM_OBJECT,
	SYM_CHOSEN,
};

static const char names[] = "\0put\0other\0object\0chosen";

static const Elf64_Sym symbols[] = {
	[SYM_PUT] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, PUT, 16},
	[SYM_OTHER] = {5, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF, PUT, 0},
	[SYM_OBJECT] = {11, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, 0x9000, 8},
	[SYM_CHOSEN] = {18, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 0, 1, CHOSEN, 16},
};

static const Elf64_Rela relocations[N_SLOTS] = {
	{SLOTS, ELF64_R_INFO(SYM_PUT, R_X86_64_JUMP_SLOT), 0},
	{SLOTS + 8, ELF64_R_INFO(SYM_OTHER, R_X86_64_GLOB_DAT), 0},
	{SLOTS + 16, ELF64_R_INFO(SYM_PUT, R_X86_64_GLOB_DAT), 0},
	{SLOTS + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), PUT},
	{SLOTS + 32, ELF64_R_INFO(SYM_OBJECT, R_X86_64_JUMP_SLOT), 0},
	{SLOTS + 40, ELF64_R_INFO(0, R_X86_64_IRELATIVE), CHOSEN},
};

struct fixture {
	uint8_t *image;
	struct sw_elf elf;
};

static uint8_t code[0x200];

/* An instruction whose last four bytes are the way from its end to an address. */
static void code_put(uint64_t svma, const char *bytes, size_t n, uint64_t to_svma)
{
	int32_t displacement = (int32_t) (to_svma - (svma + n + 4));
	memcpy(code + (svma - IMAGE_CODE), bytes, n);
	memcpy(code + (svma - IMAGE_CODE) + n, &displacement, sizeof(displacement));
	code[svma - IMAGE_CODE + n + 4] = 0xc3;
}

static uint64_t stub(size_t slot)
{
	return IMAGE_CODE + slot * STUB_BYTES;
}

static int setup(void **state)
{
	static struct fixture f;
	const struct image_section sections[] = {
		{".dynstr", SHT_STRTAB, SHF_ALLOC, names, sizeof(names), 0, 0},
		{".dynsym", SHT_DYNSYM, SHF_ALLOC, symbols, sizeof(symbols), sizeof(*symbols), 1},
		{".rela.plt", SHT_RELA, SHF_ALLOC, relocations, sizeof(relocations),
		 sizeof(*relocations), 2},
	};
	memset(code, 0x90, sizeof(code));
	/* endbr64; bnd jmp *slot; the others are without both */
	code_put(stub(0), "\xf3\x0f\x1e\xfa\xf2\xff\x25", 7, SLOTS);
	for (size_t i = 1; i < N_SLOTS; i++)
		code_put(stub(i), "\xff\x25", 2, SLOTS + 8 * i);
	code_put(CALLER, "\xe8", 1, PUT);                      /* call */
	code_put(CALLER + 0x10, "\x0f\x84", 2, PUT);           /* je */
	code_put(CALLER + 0x20, "\xe9", 1, stub(0));           /* jmp to the stub */
	code_put(CALLER + 0x30, "\xff\x15", 2, SLOTS + 16);    /* call *slot */
	code_put(CALLER + 0x40, "\xff\x25", 2, SLOTS + 16);    /* jmp *slot */
	code_put(CALLER + 0x50, "\xff\x15", 2, SLOTS + 8);     /* call *slot of another file */
	code_put(CALLER + 0x60, "\xe8", 1, stub(1));           /* call of its stub */
	code_put(CALLER + 0x70, "\xe8", 1, IMAGE_CODE + 0xc0); /* call of something else */
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .sections = sections,
					  .n_sections = 3};
	f.image = elf_image(&parts);
	assert_true(sw_elf_init(&f.elf, (struct sw_bytes){f.image, IMAGE_BYTES}));
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	free(f->image);
	return 0;
}

TEST_OF(test_words, struct fixture *f)
{
	uint64_t svma;
	for (size_t i = 0; i < N_SLOTS; i++) {
		assert_true(sw_stub_word(&f->elf, stub(i), &svma));
		assert_int_equal(svma, SLOTS + 8 * i);
	}
	assert_true(sw_stub_word(&f->elf, stub(0) + 5, &svma)); /* without its first instructions */
	assert_false(sw_stub_word(&f->elf, PUT, &svma));
	assert_false(sw_stub_word(&f->elf, IMAGE_BYTES - 2, &svma));
	assert_false(sw_stub_word(&f->elf, IMAGE_BYTES, &svma));
}

/* The functions of this file that entries lead to. */
TEST_OF(test_targets, struct fixture *f)
{
	static const uint64_t wanted[N_SLOTS] = {PUT, 0, PUT, PUT, 0, 0};
	for (size_t i = 0; i < N_SLOTS; i++) {
		uint64_t svma = 0;
		assert_int_equal(sw_stub_target(&f->elf, stub(i), &svma), wanted[i] != 0);
		assert_int_equal(svma, wanted[i]);
	}
}

TEST_OF(test_names, struct fixture *f)
{
	assert_true(sw_stub_leads_to(&f->elf, stub(0), "put"));
	assert_false(sw_stub_leads_to(&f->elf, stub(0), "other"));
	assert_true(sw_stub_leads_to(&f->elf, stub(1), "other")); /* wherever it is */
	assert_true(sw_stub_leads_to(&f->elf, stub(2), "put"));
	assert_true(sw_stub_leads_to(&f->elf, stub(5), "chosen"));
	assert_false(sw_stub_leads_to(&f->elf, stub(5), "put"));
	assert_false(sw_stub_leads_to(&f->elf, PUT, "put"));
}

static bool calls(const struct fixture *f, uint64_t svma, uint64_t size)
{
	return sw_event_calls(f->image, IMAGE_BYTES, svma, size, PUT);
}

/* Callers by each way; not those of a function of another file. */
TEST_OF(test_calls, struct fixture *f)
{
	static const char wanted[] = "yyyyynnn";
	for (size_t i = 0; i < sizeof(wanted) - 1; i++)
		assert_int_equal(calls(f, CALLER + i * 0x10, 0x10), wanted[i] == 'y');
	/* The next function's call is none of this one's. */
	assert_true(calls(f, CALLER - 1, 0x10));
	assert_false(calls(f, CALLER - 1, 1));
}
