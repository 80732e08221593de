/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ELF_FILE_H
#define SW_ELF_FILE_H

#include "bytes.h"
#include "memory.h"

#include <elf.h>

/*
 * The headers of ELF files, read straight from their bytes: a file that somebody else wrote is
 * never more than a bounds-checked view here. A part that does not lie in the file counts as not
 * there. Source: System V gABI 4.3, chapters 4 and 5.
 */

enum {
	SW_ELF_SECTIONS_MAX = 65535, /* a real file has tens; -ffunction-sections is linked away */
	SW_ELF_SEGMENTS_MAX = 4096,
};

struct sw_elf {
	struct sw_bytes image; /* borrowed */
	Elf64_Ehdr header;     /* of a 32-bit file the same, widened */
	bool is_32bit;
	uint32_t n_sections; /* 0: none, or they do not lie in the image */
	uint32_t n_segments; /* that lie in the image */
	/* As the header says; more when the file is cut short, UINT64_MAX when that lost the number. */
	uint64_t n_segments_said;
	struct sw_bytes section_names;
};

struct sw_elf_section {
	uint32_t index;
	const char *name; /* borrowed from the image, "" when it has none */
	uint32_t type;
	uint64_t flags;
	uint64_t svma, off, size;
	uint32_t link, info;
	uint64_t align, entry_bytes;
};

struct sw_elf_segment {
	uint32_t type, flags;
	uint64_t off, svma, file_bytes, memory_bytes;
	uint64_t align;
};

/* False when it is no little-endian ELF file of 64 bits, whose machine is not looked at, nor one of 32
 * bits for i386. Without section headers it is still one. */
bool sw_elf_init(struct sw_elf *elf, struct sw_bytes image);
/* The same for core files, which have a segment for each mapping: no limit but the file's size. */
bool sw_elf_init_core(struct sw_elf *elf, struct sw_bytes image);
/* A 64-bit one, as it is in the file. */
bool sw_elf_header_fits(const Elf64_Ehdr *header);
/* The header by itself, of an image that cannot be had in one part; of a 32-bit one, widened. */
bool sw_elf_header(struct sw_memory memory, uint64_t base, Elf64_Ehdr *ret);

bool sw_elf_section(const struct sw_elf *elf, uint32_t index, struct sw_elf_section *ret);
/* The first of that type that is not empty. */
bool sw_elf_section_typed(const struct sw_elf *elf, uint32_t type, struct sw_elf_section *ret);
bool sw_elf_section_named(const struct sw_elf *elf, const char *name, struct sw_elf_section *ret);
/* The bytes of a section as they are in the file; false for NOBITS and when they do not lie in the
 * image. */
bool sw_elf_section_bytes(const struct sw_elf *elf, const struct sw_elf_section *section,
			  struct sw_bytes *ret);

bool sw_elf_segment(const struct sw_elf *elf, uint32_t index, struct sw_elf_segment *ret);
/* The size of a program header as it is in the file. */
size_t sw_elf_segment_bytes(const Elf64_Ehdr *header);
/* The first of that type. */
bool sw_elf_segment_typed(const struct sw_elf *elf, uint32_t type, struct sw_elf_segment *ret);
/* The segments of an image at base that cannot be had in one part, at most max. Returns how
 * many. */
size_t sw_elf_segments_read(struct sw_memory memory, uint64_t base, struct sw_elf_segment *ret,
			    size_t max);
/* The bytes of the file that are loaded at the address, up to the end of their segment. */
bool sw_elf_loaded(const struct sw_elf *elf, uint64_t svma, struct sw_bytes *ret);

/* A note; its name counts the NUL. */
struct sw_elf_note {
	uint32_t type;
	struct sw_bytes name, value;
};

/* The note at *off of a section's or segment's bytes, of that alignment; *off goes on to the next. False
 * at the end, which is before the size when the notes are malformed. */
bool sw_elf_note(struct sw_bytes notes, uint64_t align, uint64_t *off, struct sw_elf_note *ret);
/* The build-id among notes. */
bool sw_elf_notes_build_id(struct sw_bytes notes, uint64_t align, struct sw_bytes *ret);
/* The build-id, from sections or segments of notes. */
bool sw_elf_build_id(const struct sw_elf *elf, struct sw_bytes *ret);

/* A symbol table and its strings. */
struct sw_elf_table {
	struct sw_bytes symbols; /* Elf64_Sym[], or Elf32_Sym[] */
	struct sw_bytes strings;
	bool is_32bit;
};

static inline size_t sw_elf_symbol_bytes(bool is_32bit)
{
	return is_32bit ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
}

/* The symbol at an index, widened. False behind the last one. */
bool sw_elf_symbol_read(const struct sw_elf_table *table, uint64_t index, Elf64_Sym *ret);

/* The table of the first section of a type (SHT_SYMTAB, SHT_DYNSYM). False when there is none, or it is
 * not whole. */
bool sw_elf_table_typed(const struct sw_elf *elf, uint32_t type, struct sw_elf_table *ret);

/* The exported symbols by PT_DYNAMIC; 0 for what it does not say. In an image copied from memory
 * ld.so has added the bias. */
struct sw_elf_dynamic {
	uint64_t symbols_svma, strings_svma, strings_bytes, gnu_hash_svma, got_svma;
};

bool sw_elf_dynamic(const struct sw_elf *elf, struct sw_elf_dynamic *ret);

/* Where that is in memory, whoever has added the bias: only what is of no segment has it already. */
uint64_t sw_elf_dynamic_avma(const struct sw_elf *elf, uint64_t bias, uint64_t dynamic_svma);

#endif
