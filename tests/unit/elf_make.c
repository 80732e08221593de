/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_make.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

static uint32_t text_add(char *texts, uint32_t *bytes, size_t max, const char *text)
{
	uint32_t at = *bytes;
	size_t n = strlen(text) + 1;
	assert_true(at + n <= max);
	memcpy(texts + at, text, n);
	*bytes += (uint32_t) n;
	return at;
}

void elf_make_init(struct elf_make *elf)
{
	memset(elf, 0, sizeof(*elf));
	elf->size = sizeof(Elf64_Ehdr);
	elf->n_sections = 1;
	elf->names_bytes = 1;
	elf->n_symbols = 1;
	elf->strings_bytes = 1;
}

uint32_t elf_make_section(struct elf_make *elf, const char *name, uint32_t type, uint64_t flags,
			  uint64_t svma, const void *data, size_t size)
{
	assert_true(elf->n_sections < ELF_MAKE_SECTIONS);
	elf->size = (elf->size + 7) & ~(size_t) 7;
	size_t in_file = type == SHT_NOBITS ? 0 : size;
	assert_true(elf->size + in_file <= sizeof(elf->bytes));
	Elf64_Shdr *section = &elf->sections[elf->n_sections];
	*section = (Elf64_Shdr){
		.sh_name = text_add(elf->names, &elf->names_bytes, sizeof(elf->names), name),
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = svma,
		.sh_offset = elf->size,
		.sh_size = size,
		.sh_addralign = 1,
	};
	if (data != NULL && in_file > 0)
		memcpy(elf->bytes + elf->size, data, in_file);
	elf->size += in_file;
	return elf->n_sections++;
}

void elf_make_symbol(struct elf_make *elf, const char *name, int bind, int type, uint16_t section,
		     uint64_t svma, uint64_t size)
{
	assert_true(elf->n_symbols < ELF_MAKE_SYMBOLS);
	elf->symbols[elf->n_symbols++] = (Elf64_Sym){
		.st_name = text_add(elf->strings, &elf->strings_bytes, sizeof(elf->strings), name),
		.st_info = (unsigned char) ELF64_ST_INFO(bind, type),
		.st_shndx = section,
		.st_value = svma,
		.st_size = size,
	};
}

void elf_make_symtab(struct elf_make *elf, uint32_t type)
{
	bool dynamic = type == SHT_DYNSYM;
	uint32_t strings = elf_make_section(elf, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, 0, 0,
					    elf->strings, elf->strings_bytes);
	uint32_t table = elf_make_section(elf, dynamic ? ".dynsym" : ".symtab", type, 0, 0,
					  elf->symbols, elf->n_symbols * sizeof(Elf64_Sym));
	elf->sections[table].sh_link = strings;
	elf->sections[table].sh_entsize = sizeof(Elf64_Sym);
	elf->n_symbols = 1;
	elf->strings_bytes = 1;
}

void elf_make_build_id(struct elf_make *elf, const void *id, uint32_t size)
{
	uint8_t note[12 + 4 + 64] = {4, 0, 0, 0,   0,   0,  0, 0, NT_GNU_BUILD_ID,
				     0, 0, 0, 'G', 'N', 'U'};
	assert_true(size <= 64);
	memcpy(note + 4, &size, sizeof(size));
	memcpy(note + 16, id, size);
	(void) elf_make_section(elf, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0x300, note,
				16 + size);
}

void elf_make_debuglink(struct elf_make *elf, const char *name, uint32_t crc)
{
	uint8_t link[256] = {0};
	size_t at = (strlen(name) + 1 + 3) & ~(size_t) 3;
	assert_true(at + sizeof(crc) <= sizeof(link));
	memcpy(link, name, strlen(name));
	memcpy(link + at, &crc, sizeof(crc));
	(void) elf_make_section(elf, ".gnu_debuglink", SHT_PROGBITS, 0, 0, link, at + sizeof(crc));
}

void elf_make_finish(struct elf_make *elf)
{
	uint32_t names = elf->n_sections;
	/* The name of the table of names must be in it before it is written. */
	char name[] = ".shstrtab";
	assert_true(elf->names_bytes + sizeof(name) <= sizeof(elf->names));
	memcpy(elf->names + elf->names_bytes, name, sizeof(name));
	(void) elf_make_section(elf, name, SHT_STRTAB, 0, 0, elf->names,
				elf->names_bytes + sizeof(name));
	elf->size = (elf->size + 7) & ~(size_t) 7;
	size_t headers = elf->n_sections * sizeof(Elf64_Shdr);
	assert_true(elf->size + headers <= sizeof(elf->bytes));
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = elf->size,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half) elf->n_sections,
		.e_shstrndx = (Elf64_Half) names,
	};
	memcpy(elf->bytes, &header, sizeof(header));
	memcpy(elf->bytes + elf->size, elf->sections, headers);
	elf->size += headers;
}

void elf_make_write(const struct elf_make *elf, const char *path)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(elf->bytes, 1, elf->size, f), elf->size);
	assert_int_equal(fclose(f), 0);
}
