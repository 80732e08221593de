/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_file.h"

enum { NOTES_MAX = 1024 };

static uint64_t align4(uint64_t value)
{
	return (value + 3) & ~UINT64_C(3);
}

/* With more than 0xff00 sections their number and the index of the names move to section 0
 * (gABI 4.1, "ELF Header", e_shnum and e_shstrndx). */
static void sections_init(struct sw_elf *elf)
{
	uint16_t entry_bytes, n16, names16;
	uint64_t n = 0;
	if (!sw_bytes_u64(elf->image, offsetof(Elf64_Ehdr, e_shoff), &elf->section_off) ||
	    !sw_bytes_u16(elf->image, offsetof(Elf64_Ehdr, e_shentsize), &entry_bytes) ||
	    !sw_bytes_u16(elf->image, offsetof(Elf64_Ehdr, e_shnum), &n16) ||
	    !sw_bytes_u16(elf->image, offsetof(Elf64_Ehdr, e_shstrndx), &names16) ||
	    elf->section_off == 0 || entry_bytes != sizeof(Elf64_Shdr) ||
	    !sw_bytes_has(elf->image, elf->section_off, sizeof(Elf64_Shdr)))
		return;
	uint32_t names = names16;
	n = n16;
	uint64_t first = elf->section_off; /* checked above to lie inside */
	if (n == 0)
		(void) sw_bytes_u64(elf->image, first + offsetof(Elf64_Shdr, sh_size), &n);
	if (names == SHN_XINDEX)
		(void) sw_bytes_u32(elf->image, first + offsetof(Elf64_Shdr, sh_link), &names);
	if (n > SW_ELF_SECTIONS_MAX ||
	    !sw_bytes_has(elf->image, elf->section_off, n * sizeof(Elf64_Shdr)))
		return;
	elf->n_sections = (uint32_t) n;
	struct sw_elf_section strings;
	if (sw_elf_section(elf, names, &strings) && strings.type == SHT_STRTAB)
		(void) sw_elf_section_bytes(elf, &strings, &elf->section_names);
}

static void segments_init(struct sw_elf *elf)
{
	uint16_t entry_bytes, n;
	if (!sw_bytes_u64(elf->image, offsetof(Elf64_Ehdr, e_phoff), &elf->segment_off) ||
	    !sw_bytes_u16(elf->image, offsetof(Elf64_Ehdr, e_phentsize), &entry_bytes) ||
	    !sw_bytes_u16(elf->image, offsetof(Elf64_Ehdr, e_phnum), &n) ||
	    entry_bytes != sizeof(Elf64_Phdr) || n > SW_ELF_SEGMENTS_MAX ||
	    !sw_bytes_has(elf->image, elf->segment_off, (uint64_t) n * sizeof(Elf64_Phdr)))
		return;
	elf->n_segments = n;
}

bool sw_elf_init(struct sw_elf *elf, struct sw_bytes image)
{
	static const uint8_t ident[] = {ELFMAG0,    ELFMAG1,     ELFMAG2,   ELFMAG3,
					ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	*elf = (struct sw_elf){.image = image};
	if (image.data == NULL || image.size < sizeof(Elf64_Ehdr) ||
	    memcmp(image.data, ident, sizeof(ident)) != 0)
		return false;
	sections_init(elf);
	segments_init(elf);
	return true;
}

bool sw_elf_section(const struct sw_elf *elf, uint32_t index, struct sw_elf_section *ret)
{
	struct sw_bytes header;
	if (index >= elf->n_sections ||
	    !sw_bytes_sub(elf->image, elf->section_off + (uint64_t) index * sizeof(Elf64_Shdr),
			  sizeof(Elf64_Shdr), &header))
		return false;
	uint32_t name = 0;
	*ret = (struct sw_elf_section){.index = index, .name = ""};
	/* The header is whole: none of these can fail. */
	(void) sw_bytes_u32(header, offsetof(Elf64_Shdr, sh_name), &name);
	(void) sw_bytes_u32(header, offsetof(Elf64_Shdr, sh_type), &ret->type);
	(void) sw_bytes_u64(header, offsetof(Elf64_Shdr, sh_flags), &ret->flags);
	(void) sw_bytes_u64(header, offsetof(Elf64_Shdr, sh_addr), &ret->svma);
	(void) sw_bytes_u64(header, offsetof(Elf64_Shdr, sh_offset), &ret->off);
	(void) sw_bytes_u64(header, offsetof(Elf64_Shdr, sh_size), &ret->size);
	(void) sw_bytes_u32(header, offsetof(Elf64_Shdr, sh_link), &ret->link);
	(void) sw_bytes_u64(header, offsetof(Elf64_Shdr, sh_entsize), &ret->entry_bytes);
	(void) sw_bytes_str(elf->section_names, name, &ret->name); /* "" stays */
	return true;
}

bool sw_elf_section_typed(const struct sw_elf *elf, uint32_t type, struct sw_elf_section *ret)
{
	struct sw_elf_section section;
	for (uint32_t i = 1; i < elf->n_sections; i++) {
		if (sw_elf_section(elf, i, &section) && section.type == type && section.size > 0) {
			*ret = section;
			return true;
		}
	}
	return false;
}

bool sw_elf_section_named(const struct sw_elf *elf, const char *name, struct sw_elf_section *ret)
{
	struct sw_elf_section section;
	for (uint32_t i = 1; i < elf->n_sections; i++) {
		if (sw_elf_section(elf, i, &section) && strcmp(section.name, name) == 0) {
			*ret = section;
			return true;
		}
	}
	return false;
}

bool sw_elf_section_bytes(const struct sw_elf *elf, const struct sw_elf_section *section,
			  struct sw_bytes *ret)
{
	return section->type != SHT_NOBITS && section->type != SHT_NULL &&
	       sw_bytes_sub(elf->image, section->off, section->size, ret);
}

bool sw_elf_segment(const struct sw_elf *elf, uint32_t index, struct sw_elf_segment *ret)
{
	struct sw_bytes header;
	if (index >= elf->n_segments ||
	    !sw_bytes_sub(elf->image, elf->segment_off + (uint64_t) index * sizeof(Elf64_Phdr),
			  sizeof(Elf64_Phdr), &header))
		return false;
	*ret = (struct sw_elf_segment){0};
	(void) sw_bytes_u32(header, offsetof(Elf64_Phdr, p_type), &ret->type);
	(void) sw_bytes_u64(header, offsetof(Elf64_Phdr, p_offset), &ret->off);
	(void) sw_bytes_u64(header, offsetof(Elf64_Phdr, p_vaddr), &ret->svma);
	(void) sw_bytes_u64(header, offsetof(Elf64_Phdr, p_filesz), &ret->file_bytes);
	(void) sw_bytes_u64(header, offsetof(Elf64_Phdr, p_memsz), &ret->memory_bytes);
	return true;
}

bool sw_elf_loaded(const struct sw_elf *elf, uint64_t svma, struct sw_bytes *ret)
{
	struct sw_elf_segment segment;
	for (uint32_t i = 0; i < elf->n_segments; i++) {
		if (!sw_elf_segment(elf, i, &segment) || segment.type != PT_LOAD ||
		    svma < segment.svma || svma - segment.svma >= segment.file_bytes)
			continue;
		struct sw_bytes bytes;
		uint64_t skip = svma - segment.svma;
		if (!sw_bytes_has(elf->image, segment.off, segment.file_bytes)) {
			/* An image copied from memory may lack the segment's end. */
			if (segment.off >= elf->image.size)
				continue;
			segment.file_bytes = elf->image.size - segment.off;
		}
		if (sw_bytes_sub(elf->image, segment.off, segment.file_bytes, &bytes) &&
		    skip < bytes.size)
			return sw_bytes_sub(bytes, skip, bytes.size - skip, ret);
	}
	return false;
}

/* A note is namesz, descsz, type, then name and descriptor, each padded to 4 (gABI 4.1, "Note
 * Section"; Linux keeps 4 for 64-bit files too). */
static bool notes_build_id(struct sw_bytes notes, struct sw_bytes *ret)
{
	uint64_t at = 0;
	for (int i = 0; i < NOTES_MAX; i++) {
		uint32_t name_bytes, value_bytes, type;
		if (!sw_bytes_u32(notes, at, &name_bytes) ||
		    !sw_bytes_u32(notes, at + 4, &value_bytes) ||
		    !sw_bytes_u32(notes, at + 8, &type))
			return false;
		struct sw_bytes name, value;
		uint64_t name_off = at + 12;
		uint64_t value_off = name_off + align4(name_bytes);
		if (!sw_bytes_sub(notes, name_off, name_bytes, &name) ||
		    !sw_bytes_sub(notes, value_off, value_bytes, &value))
			return false;
		if (type == NT_GNU_BUILD_ID && name.size == sizeof(ELF_NOTE_GNU) &&
		    memcmp(name.data, ELF_NOTE_GNU, name.size) == 0 && value.size > 0) {
			*ret = value;
			return true;
		}
		at = value_off + align4(value_bytes);
	}
	return false;
}

bool sw_elf_build_id(const struct sw_elf *elf, struct sw_bytes *ret)
{
	struct sw_bytes notes;
	struct sw_elf_section section;
	/* Sections first: the segments of a separate debug file describe the original's layout. */
	for (uint32_t i = 1; i < elf->n_sections; i++)
		if (sw_elf_section(elf, i, &section) && section.type == SHT_NOTE &&
		    sw_elf_section_bytes(elf, &section, &notes) && notes_build_id(notes, ret))
			return true;
	struct sw_elf_segment segment;
	for (uint32_t i = 0; i < elf->n_segments; i++)
		if (sw_elf_segment(elf, i, &segment) && segment.type == PT_NOTE &&
		    sw_bytes_sub(elf->image, segment.off, segment.file_bytes, &notes) &&
		    notes_build_id(notes, ret))
			return true;
	return false;
}
