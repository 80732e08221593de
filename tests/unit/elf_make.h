/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_MAKE_H
#define ELF_MAKE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ELF64 files made in memory, for unit tests:
 *
 *	struct elf_make elf;
 *	elf_make_init(&elf);
 *	uint32_t text = elf_make_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
 *					 0x1000, NULL, 0x1000);	NULL: bytes of zero
 *	elf_make_symbol(&elf, "main", STB_GLOBAL, STT_FUNC, text, 0x1000, 0x40);
 *	elf_make_symtab(&elf, SHT_SYMTAB);	all symbols since the last one
 *	elf_make_finish(&elf);			elf.bytes, elf.size are the file
 */

enum { ELF_MAKE_BYTES = 1 << 17, ELF_MAKE_SECTIONS = 32, ELF_MAKE_SYMBOLS = 256 };

struct elf_make {
	uint8_t bytes[ELF_MAKE_BYTES];
	size_t size;
	Elf64_Shdr sections[ELF_MAKE_SECTIONS];
	uint32_t n_sections;
	char names[2048];
	uint32_t names_bytes;
	Elf64_Sym symbols[ELF_MAKE_SYMBOLS];
	uint32_t n_symbols;
	char strings[8192];
	uint32_t strings_bytes;
};

void elf_make_init(struct elf_make *elf);
uint32_t elf_make_section(struct elf_make *elf, const char *name, uint32_t type, uint64_t flags,
			  uint64_t svma, const void *data, size_t size);
void elf_make_symbol(struct elf_make *elf, const char *name, int bind, int type, uint16_t section,
		     uint64_t svma, uint64_t size);
void elf_make_symtab(struct elf_make *elf, uint32_t type);
void elf_make_build_id(struct elf_make *elf, const void *id, uint32_t size);
void elf_make_debuglink(struct elf_make *elf, const char *name, uint32_t crc);
void elf_make_finish(struct elf_make *elf);
/* Writes the file; fails the test when it cannot. */
void elf_make_write(const struct elf_make *elf, const char *path);

#endif
