/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_file.h"

enum { NOTES_MAX = 4096, DYNAMIC_MAX = 4096 };

bool sw_elf_header_fits(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
}

bool sw_elf_header(struct sw_memory memory, uint64_t base, Elf64_Ehdr *ret)
{
	Elf64_Ehdr header;
	if (!sw_memory_read(memory, base, &header, sizeof(header)) || !sw_elf_header_fits(&header))
		return false;
	*ret = header;
	return true;
}

/* With more than 0xff00 sections their number and the index of the names move to section 0
 * (gABI 4.1, "ELF Header", e_shnum and e_shstrndx). */
static void sections_init(struct sw_elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	Elf64_Shdr first;
	if (header->e_shoff == 0 || header->e_shentsize != sizeof(first) ||
	    !sw_bytes_copy(elf->image, header->e_shoff, &first, sizeof(first)))
		return;
	uint64_t n = header->e_shnum != 0 ? header->e_shnum : first.sh_size;
	uint32_t names = header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx : first.sh_link;
	if (n > SW_ELF_SECTIONS_MAX ||
	    !sw_bytes_has(elf->image, header->e_shoff, n * sizeof(Elf64_Shdr)))
		return;
	elf->n_sections = (uint32_t) n;
	struct sw_elf_section strings;
	if (sw_elf_section(elf, names, &strings) && strings.type == SHT_STRTAB)
		(void) sw_elf_section_bytes(elf, &strings, &elf->section_names); /* else none */
}

/* With 65535 or more their number is in section header 0, which the kernel writes at the very end of a
 * core file: one that is cut short has lost it (Linux v6.1, fs/binfmt_elf.c, fill_extnum_info()). */
static void segments_init(struct sw_elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	Elf64_Shdr first;
	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return;
	elf->n_segments_said = header->e_phnum;
	if (header->e_phnum == PN_XNUM)
		elf->n_segments_said =
			sw_bytes_copy(elf->image, header->e_shoff, &first, sizeof(first))
				? first.sh_info
				: UINT64_MAX;
	uint64_t held = header->e_phoff < elf->image.size
				? (elf->image.size - header->e_phoff) / sizeof(Elf64_Phdr)
				: 0;
	if (held > elf->n_segments_said)
		held = elf->n_segments_said;
	elf->n_segments = held < UINT32_MAX ? (uint32_t) held : UINT32_MAX;
}

bool sw_elf_init_core(struct sw_elf *elf, struct sw_bytes image)
{
	*elf = (struct sw_elf){.image = image};
	if (!sw_bytes_copy(image, 0, &elf->header, sizeof(elf->header)) ||
	    !sw_elf_header_fits(&elf->header))
		return false;
	sections_init(elf);
	segments_init(elf);
	return true;
}

bool sw_elf_init(struct sw_elf *elf, struct sw_bytes image)
{
	if (!sw_elf_init_core(elf, image))
		return false;
	if (elf->n_segments > SW_ELF_SEGMENTS_MAX)
		elf->n_segments = SW_ELF_SEGMENTS_MAX;
	return true;
}

/* ---- sections -------------------------------------------------------------------------------- */

bool sw_elf_section(const struct sw_elf *elf, uint32_t index, struct sw_elf_section *ret)
{
	Elf64_Shdr s;
	if (index >= elf->n_sections)
		return false;
	(void) sw_bytes_copy(elf->image, elf->header.e_shoff + (uint64_t) index * sizeof(s), &s,
			     sizeof(s)); /* inside: looked at once */
	*ret = (struct sw_elf_section){.index = index,
				       .name = "",
				       .type = s.sh_type,
				       .flags = s.sh_flags,
				       .svma = s.sh_addr,
				       .off = s.sh_offset,
				       .size = s.sh_size,
				       .link = s.sh_link,
				       .info = s.sh_info,
				       .align = s.sh_addralign,
				       .entry_bytes = s.sh_entsize};
	(void) sw_bytes_str(elf->section_names, s.sh_name, &ret->name); /* "" stays */
	return true;
}

/* A field of a header whose index is in range. */
static uint32_t section_u32(const struct sw_elf *elf, uint32_t index, size_t field)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(elf->image,
			    elf->header.e_shoff + (uint64_t) index * sizeof(Elf64_Shdr) + field,
			    &value); /* inside: looked at once */
	return value;
}

bool sw_elf_section_typed(const struct sw_elf *elf, uint32_t type, struct sw_elf_section *ret)
{
	struct sw_elf_section section;
	for (uint32_t i = 1; i < elf->n_sections; i++) {
		if (section_u32(elf, i, offsetof(Elf64_Shdr, sh_type)) == type &&
		    sw_elf_section(elf, i, &section) && section.size > 0) {
			*ret = section;
			return true;
		}
	}
	return false;
}

bool sw_elf_section_named(const struct sw_elf *elf, const char *name, struct sw_elf_section *ret)
{
	size_t bytes = strlen(name) + 1;
	for (uint32_t i = 1; i < elf->n_sections; i++) {
		uint32_t at = section_u32(elf, i, offsetof(Elf64_Shdr, sh_name));
		if (sw_bytes_has(elf->section_names, at, bytes) &&
		    memcmp(elf->section_names.data + at, name, bytes) == 0)
			return sw_elf_section(elf, i, ret);
	}
	return false;
}

bool sw_elf_section_bytes(const struct sw_elf *elf, const struct sw_elf_section *section,
			  struct sw_bytes *ret)
{
	return section->type != SHT_NOBITS && section->type != SHT_NULL &&
	       sw_bytes_sub(elf->image, section->off, section->size, ret);
}

/* ---- segments -------------------------------------------------------------------------------- */

static struct sw_elf_segment segment_of(const Elf64_Phdr *p)
{
	return (struct sw_elf_segment){.type = p->p_type,
				       .flags = p->p_flags,
				       .off = p->p_offset,
				       .svma = p->p_vaddr,
				       .file_bytes = p->p_filesz,
				       .memory_bytes = p->p_memsz,
				       .align = p->p_align};
}

bool sw_elf_segment(const struct sw_elf *elf, uint32_t index, struct sw_elf_segment *ret)
{
	Elf64_Phdr p;
	if (index >= elf->n_segments)
		return false;
	(void) sw_bytes_copy(elf->image, elf->header.e_phoff + (uint64_t) index * sizeof(p), &p,
			     sizeof(p)); /* inside: counted so */
	*ret = segment_of(&p);
	return true;
}

bool sw_elf_segment_typed(const struct sw_elf *elf, uint32_t type, struct sw_elf_segment *ret)
{
	struct sw_elf_segment segment;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &segment); i++) {
		if (segment.type == type) {
			*ret = segment;
			return true;
		}
	}
	return false;
}

size_t sw_elf_segments_read(struct sw_memory memory, uint64_t base, struct sw_elf_segment *ret,
			    size_t max)
{
	Elf64_Ehdr header;
	uint64_t at;
	if (!sw_elf_header(memory, base, &header) || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    __builtin_add_overflow(base, header.e_phoff, &at))
		return 0;
	for (size_t n = 0; n < max; n++, at += sizeof(Elf64_Phdr)) {
		Elf64_Phdr p;
		if (n == header.e_phnum || !sw_memory_read(memory, at, &p, sizeof(p)))
			return n;
		ret[n] = segment_of(&p);
	}
	return max;
}

bool sw_elf_loaded(const struct sw_elf *elf, uint64_t svma, struct sw_bytes *ret)
{
	struct sw_elf_segment s;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++) {
		uint64_t skip = svma - s.svma;
		if (s.type != PT_LOAD || svma < s.svma || skip >= s.file_bytes ||
		    s.off >= elf->image.size)
			continue;
		/* An image copied from memory may lack the segment's end. */
		if (s.file_bytes > elf->image.size - s.off)
			s.file_bytes = elf->image.size - s.off;
		if (skip < s.file_bytes)
			return sw_bytes_sub(elf->image, s.off + skip, s.file_bytes - skip, ret);
	}
	return false;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* gABI 4.1, "Note Section": Linux keeps 4 for 64-bit files, too; what is aligned to 8 (GNU property)
 * pads to 8. */
bool sw_elf_note(struct sw_bytes notes, uint64_t align, uint64_t *off, struct sw_elf_note *ret)
{
	uint32_t head[3]; /* bytes of the name, of the value; type */
	uint64_t mask = align == 8 ? 7 : 3;
	struct sw_elf_note note;
	if (!sw_bytes_copy(notes, *off, head, sizeof(head)))
		return false;
	uint64_t name_off = *off + sizeof(head);
	uint64_t value_off = (name_off + head[0] + mask) & ~mask;
	if (!sw_bytes_sub(notes, name_off, head[0], &note.name) ||
	    !sw_bytes_sub(notes, value_off, head[1], &note.value))
		return false;
	note.type = head[2];
	*off = (value_off + head[1] + mask) & ~mask;
	*ret = note;
	return true;
}

bool sw_elf_notes_build_id(struct sw_bytes notes, uint64_t align, struct sw_bytes *ret)
{
	struct sw_elf_note note;
	uint64_t off = 0;
	for (int i = 0; i < NOTES_MAX && sw_elf_note(notes, align, &off, &note); i++) {
		if (note.type == NT_GNU_BUILD_ID && note.name.size == sizeof(ELF_NOTE_GNU) &&
		    memcmp(note.name.data, ELF_NOTE_GNU, note.name.size) == 0 &&
		    note.value.size > 0) {
			*ret = note.value;
			return true;
		}
	}
	return false;
}

bool sw_elf_build_id(const struct sw_elf *elf, struct sw_bytes *ret)
{
	struct sw_bytes notes;
	struct sw_elf_section section;
	struct sw_elf_segment segment;
	/* Sections first: the segments of a separate debug file describe the original's layout. */
	for (uint32_t i = 1; i < elf->n_sections; i++)
		if (section_u32(elf, i, offsetof(Elf64_Shdr, sh_type)) == SHT_NOTE &&
		    sw_elf_section(elf, i, &section) &&
		    sw_elf_section_bytes(elf, &section, &notes) &&
		    sw_elf_notes_build_id(notes, section.align, ret))
			return true;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &segment); i++)
		if (segment.type == PT_NOTE &&
		    sw_bytes_sub(elf->image, segment.off, segment.file_bytes, &notes) &&
		    sw_elf_notes_build_id(notes, segment.align, ret))
			return true;
	return false;
}

/* ---- symbol tables --------------------------------------------------------------------------- */

bool sw_elf_table_typed(const struct sw_elf *elf, uint32_t type, struct sw_elf_table *ret)
{
	struct sw_elf_section symbols, strings;
	struct sw_elf_table table;
	if (!sw_elf_section_typed(elf, type, &symbols) ||
	    symbols.entry_bytes != sizeof(Elf64_Sym) || (symbols.flags & SHF_COMPRESSED) ||
	    !sw_elf_section_bytes(elf, &symbols, &table.symbols) ||
	    !sw_elf_section(elf, symbols.link, &strings) || strings.type != SHT_STRTAB ||
	    (strings.flags & SHF_COMPRESSED) ||
	    !sw_elf_section_bytes(elf, &strings, &table.strings))
		return false;
	*ret = table;
	return true;
}

bool sw_elf_dynamic(const struct sw_elf *elf, struct sw_elf_dynamic *ret)
{
	struct sw_elf_segment segment;
	struct sw_bytes bytes;
	struct sw_elf_dynamic dynamic = {0};
	Elf64_Dyn d;
	if (!sw_elf_segment_typed(elf, PT_DYNAMIC, &segment) ||
	    !sw_bytes_sub(elf->image, segment.off, segment.file_bytes, &bytes))
		return false;
	/* The last one of each counts. */
	for (size_t i = 0; i < DYNAMIC_MAX && sw_bytes_copy(bytes, i * sizeof(d), &d, sizeof(d)) &&
			   d.d_tag != DT_NULL;
	     i++) {
		switch (d.d_tag) {
		case DT_SYMTAB: dynamic.symbols_svma = d.d_un.d_ptr; break;
		case DT_STRTAB: dynamic.strings_svma = d.d_un.d_ptr; break;
		case DT_STRSZ: dynamic.strings_bytes = d.d_un.d_val; break;
		case DT_GNU_HASH: dynamic.gnu_hash_svma = d.d_un.d_ptr; break;
		}
	}
	*ret = dynamic;
	return true;
}
