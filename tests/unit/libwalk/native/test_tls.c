/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a thread's variable is, by what ld.so has put into a GOT. */
#include "elf_make.h"
#include "fake.h"
#include "native/tls.h"
#include "native/tls_symbol.h"
#include "test.h"

#include <time.h>

enum { FS = 0x7000, BIAS = 0x100000, GOT = 0x20, DTV = 0x9000, BLOCK = 0xa000, PAIR = 0xb000 };

static uint64_t got[2], pair[2], dtv[8], control[2] = {FS, DTV};
static const struct fake_region regions[] = {{BIAS + GOT, got, sizeof(got)},
					     {PAIR, pair, sizeof(pair)},
					     {FS, control, sizeof(control)},
					     {DTV, dtv, sizeof(dtv)}};

static bool find(enum sw_tls_kind kind, int64_t offset, uint64_t *ret)
{
	struct fake_memory fake = {regions, 4, 0};
	const struct sw_tls_variable v = {.kind = kind, .offset = offset, .got_svma = GOT};
	return sw_tls_address(&v, fake_memory(&fake), BIAS, FS, ret);
}

TEST(test_static_storage)
{
	uint64_t avma;
	assert_true(find(SW_TLS_PROGRAM, -16, &avma));
	assert_int_equal(avma, FS - 16);
	got[0] = (uint64_t) -24;
	assert_true(find(SW_TLS_WORD, 0, &avma));
	assert_int_equal(avma, FS - 24);
	got[0] = 0; /* not relocated yet */
	assert_false(find(SW_TLS_WORD, 0, &avma));
	got[0] = 0x1234; /* the resolver */
	got[1] = (uint64_t) -32;
	assert_true(find(SW_TLS_DESCRIPTOR, 0, &avma));
	assert_int_equal(avma, FS - 32);
}

TEST(test_blocks)
{
	uint64_t avma;
	dtv[6] = BLOCK;
	got[0] = 3;
	got[1] = 8;
	assert_true(find(SW_TLS_PAIR, 4, &avma));
	assert_int_equal(avma, BLOCK + 12);
	got[0] = 0x1234;
	got[1] = PAIR;
	pair[0] = 3;
	pair[1] = 16;
	assert_true(find(SW_TLS_DESCRIPTOR, 0, &avma));
	assert_int_equal(avma, BLOCK + 16);
	dtv[6] = UINT64_MAX; /* not allocated in this thread */
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
	dtv[6] = 0;
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
	pair[0] = SW_TLS_MODULES_MAX + 1;
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
	pair[0] = 0;
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
	got[1] = PAIR + 8; /* the end of the memory */
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
}

/* A file with a variable, the relocation of which is the last one of many. The others are of a variable whose name has no end for
 * long. */
struct large {
	struct elf_make made;
	Elf64_Phdr tls;
	char strings[4 << 20];
	Elf64_Rela relocations[1 << 16];
};

static void large_make(struct large *l)
{
	enum { LAST = (1 << 16) - 1 };
	Elf64_Ehdr *head = (Elf64_Ehdr *) l->made.bytes;
	elf_make_init(&l->made);
	uint16_t data = (uint16_t) elf_make_section(&l->made, ".tdata", SHT_PROGBITS,
						    SHF_ALLOC | SHF_TLS, 0, NULL, 64);
	elf_make_symbol(&l->made, "wanted", STB_GLOBAL, STT_TLS, data, 16, 8);
	elf_make_symbol(&l->made, "other", STB_GLOBAL, STT_TLS, data, 24, 8);
	elf_make_symtab(&l->made, SHT_DYNSYM);
	uint32_t rela = elf_make_section(&l->made, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0, NULL, 0);
	elf_make_finish(&l->made);
	Elf64_Shdr *sections = (Elf64_Shdr *) (l->made.bytes + head->e_shoff);
	for (unsigned i = 0; i < head->e_shnum; i++) {
		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		Elf64_Shdr *strings = &sections[sections[i].sh_link];
		memset(l->strings, 'x', sizeof(l->strings));
		memcpy(l->strings, l->made.bytes + strings->sh_offset, strings->sh_size);
		Elf64_Sym *symbols = (Elf64_Sym *) (l->made.bytes + sections[i].sh_offset);
		memset(l->strings + symbols[2].st_name, 'x', strings->sh_size - symbols[2].st_name);
		strings->sh_offset = offsetof(struct large, strings);
		strings->sh_size = sizeof(l->strings);
	}
	for (size_t i = 0; i <= LAST; i++)
		l->relocations[i] = (Elf64_Rela){.r_offset = 0x1000 + 16 * i,
						 .r_info = ELF64_R_INFO(i == LAST ? 1ULL : 2ULL,
									R_X86_64_DTPMOD64)};
	sections[rela].sh_offset = offsetof(struct large, relocations);
	sections[rela].sh_size = sizeof(l->relocations);
	l->tls = (Elf64_Phdr){.p_type = PT_TLS, .p_memsz = 64, .p_align = 8};
	head->e_phoff = offsetof(struct large, tls);
	head->e_phnum = 1;
	head->e_phentsize = sizeof(l->tls);
}

TEST(test_long_names)
{
	struct large *l = calloc(1, sizeof(*l));
	struct sw_tls_variable variable;
	struct sw_elf_symbols symbols;
	struct sw_elf elf;
	assert_non_null(l);
	large_make(l);
	assert_true(sw_elf_init(&elf, (struct sw_bytes){(const uint8_t *) l, sizeof(*l)}));
	assert_true(sw_elf_symbols_open(&elf, &symbols));
	clock_t before = clock();
	assert_true(sw_tls_find(&symbols, "wanted", &variable));
	/* Not the time of 65,536 names of 4 MiB: that is some 10 s. */
	assert_true(clock() - before < CLOCKS_PER_SEC);
	assert_int_equal(variable.kind, SW_TLS_PAIR);
	assert_int_equal(variable.got_svma, 0x1000 + 16 * 0xffff);
	free(l);
}
