/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_file.h"

enum { NOTES_MAX = 4096, DYNAMIC_MAX = 4096 };

bool sw_elf_header_fits(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
}

/* ---- 32-bit files, whose fields are the same but for their sizes and some of the order --------- */

static bool header32_read(struct sw_memory memory, uint64_t base, Elf64_Ehdr *ret)
{
	Elf32_Ehdr h;
	if (!sw_memory_read(memory, base, &h, sizeof(h)) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS32 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_386)
		return false;
	*ret = (Elf64_Ehdr){.e_type = h.e_type,
			    .e_machine = h.e_machine,
			    .e_version = h.e_version,
			    .e_entry = h.e_entry,
			    .e_phoff = h.e_phoff,
			    .e_shoff = h.e_shoff,
			    .e_flags = h.e_flags,
			    .e_ehsize = h.e_ehsize,
			    .e_phentsize = h.e_phentsize,
			    .e_phnum = h.e_phnum,
			    .e_shentsize = h.e_shentsize,
			    .e_shnum = h.e_shnum,
			    .e_shstrndx = h.e_shstrndx};
	memcpy(ret->e_ident, h.e_ident, sizeof(ret->e_ident));
	return true;
}

static bool section_read(const struct sw_elf *elf, uint32_t index, Elf64_Shdr *ret)
{
	Elf32_Shdr s;
	uint64_t at = elf->header.e_shoff;
	if (!elf->is_32bit)
		return sw_bytes_copy(elf->image, at + index * sizeof(*ret), ret, sizeof(*ret));
	if (!sw_bytes_copy(elf->image, at + index * sizeof(s), &s, sizeof(s)))
		return false;
	*ret = (Elf64_Shdr){.sh_name = s.sh_name,
			    .sh_type = s.sh_type,
			    .sh_flags = s.sh_flags,
			    .sh_addr = s.sh_addr,
			    .sh_offset = s.sh_offset,
			    .sh_size = s.sh_size,
			    .sh_link = s.sh_link,
			    .sh_info = s.sh_info,
			    .sh_addralign = s.sh_addralign,
			    .sh_entsize = s.sh_entsize};
	return true;
}

static bool segment_read(struct sw_memory memory, uint64_t at, bool is_32bit, Elf64_Phdr *ret)
{
	Elf32_Phdr p;
	if (!is_32bit)
		return sw_memory_read(memory, at, ret, sizeof(*ret));
	if (!sw_memory_read(memory, at, &p, sizeof(p)))
		return false;
	*ret = (Elf64_Phdr){.p_type = p.p_type,
			    .p_flags = p.p_flags,
			    .p_offset = p.p_offset,
			    .p_vaddr = p.p_vaddr,
			    .p_paddr = p.p_paddr,
			    .p_filesz = p.p_filesz,
			    .p_memsz = p.p_memsz,
			    .p_align = p.p_align};
	return true;
}

bool sw_elf_symbol_read(const struct sw_elf_table *table, uint64_t index, Elf64_Sym *ret)
{
	Elf32_Sym s;
	if (!table->is_32bit)
		return index <= table->symbols.size / sizeof(*ret) &&
		       sw_bytes_copy(table->symbols, index * sizeof(*ret), ret, sizeof(*ret));
	if (index > table->symbols.size / sizeof(s) ||
	    !sw_bytes_copy(table->symbols, index * sizeof(s), &s, sizeof(s)))
		return false;
	*ret = (Elf64_Sym){.st_name = s.st_name,
			   .st_info = s.st_info,
			   .st_other = s.st_other,
			   .st_shndx = s.st_shndx,
			   .st_value = s.st_value,
			   .st_size = s.st_size};
	return true;
}

static size_t section_bytes(const struct sw_elf *elf)
{
	return elf->is_32bit ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

size_t sw_elf_segment_bytes(const Elf64_Ehdr *header)
{
	return header->e_ident[EI_CLASS] == ELFCLASS32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
}

bool sw_elf_header(struct sw_memory memory, uint64_t base, Elf64_Ehdr *ret)
{
	Elf64_Ehdr header;
	if (!sw_memory_read(memory, base, &header, sizeof(header)) || !sw_elf_header_fits(&header))
		return header32_read(memory, base, ret);
	*ret = header;
	return true;
}

static bool image_read(void *arg, uint64_t off, void *buffer, size_t length)
{
	const struct sw_elf *elf = arg;
	return sw_bytes_copy(elf->image, off, buffer, length);
}

/* The image as memory, by offset. */
static struct sw_memory image_memory(const struct sw_elf *elf)
{
	static const struct sw_memory_ops ops = {.read = image_read};
	return (struct sw_memory){&ops, (void *) (uintptr_t) elf};
}

/* With more than 0xff00 sections their number and the index of the names move to section 0
 * (gABI 4.1, "ELF Header", e_shnum and e_shstrndx). */
static void sections_init(struct sw_elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	Elf64_Shdr first;
	if (header->e_shoff == 0 || header->e_shentsize != section_bytes(elf) ||
	    !section_read(elf, 0, &first))
		return;
	uint64_t n = header->e_shnum != 0 ? header->e_shnum : first.sh_size;
	uint32_t names = header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx : first.sh_link;
	if (n > SW_ELF_SECTIONS_MAX ||
	    !sw_bytes_has(elf->image, header->e_shoff, n * section_bytes(elf)))
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
	size_t segment_bytes = sw_elf_segment_bytes(header);
	if (header->e_phentsize != segment_bytes)
		return;
	elf->n_segments_said = header->e_phnum;
	if (header->e_phnum == PN_XNUM)
		elf->n_segments_said = section_read(elf, 0, &first) ? first.sh_info : UINT64_MAX;
	uint64_t held = header->e_phoff < elf->image.size
				? (elf->image.size - header->e_phoff) / segment_bytes
				: 0;
	if (held > elf->n_segments_said)
		held = elf->n_segments_said;
	elf->n_segments = held < UINT32_MAX ? (uint32_t) held : UINT32_MAX;
}

bool sw_elf_init_core(struct sw_elf *elf, struct sw_bytes image)
{
	*elf = (struct sw_elf){.image = image};
	if (!sw_elf_header(image_memory(elf), 0, &elf->header))
		return false;
	elf->is_32bit = elf->header.e_ident[EI_CLASS] == ELFCLASS32;
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
	(void) section_read(elf, index, &s); /* inside: looked at once */
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

/* A field of a header whose index is in range: one of the first two, which are as large in both. */
static uint32_t section_u32(const struct sw_elf *elf, uint32_t index, size_t field)
{
	uint32_t value = 0;
	(void) sw_bytes_u32(elf->image,
			    elf->header.e_shoff + (uint64_t) index * section_bytes(elf) + field,
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
	(void) segment_read(image_memory(elf),
			    elf->header.e_phoff +
				    (uint64_t) index * sw_elf_segment_bytes(&elf->header),
			    elf->is_32bit, &p); /* inside: counted so */
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
	if (!sw_elf_header(memory, base, &header) ||
	    header.e_phentsize != sw_elf_segment_bytes(&header) ||
	    __builtin_add_overflow(base, header.e_phoff, &at))
		return 0;
	bool is_32bit = header.e_ident[EI_CLASS] == ELFCLASS32;
	for (size_t n = 0; n < max; n++, at += header.e_phentsize) {
		Elf64_Phdr p;
		if (n == header.e_phnum || !segment_read(memory, at, is_32bit, &p))
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
	struct sw_elf_table table = {.is_32bit = elf->is_32bit};
	if (!sw_elf_section_typed(elf, type, &symbols) ||
	    symbols.entry_bytes != sw_elf_symbol_bytes(elf->is_32bit) ||
	    (symbols.flags & SHF_COMPRESSED) ||
	    !sw_elf_section_bytes(elf, &symbols, &table.symbols) ||
	    !sw_elf_section(elf, symbols.link, &strings) || strings.type != SHT_STRTAB ||
	    (strings.flags & SHF_COMPRESSED) ||
	    !sw_elf_section_bytes(elf, &strings, &table.strings))
		return false;
	*ret = table;
	return true;
}

static bool dynamic_read(struct sw_bytes bytes, size_t index, bool is_32bit, Elf64_Dyn *ret)
{
	Elf32_Dyn d;
	if (!is_32bit)
		return sw_bytes_copy(bytes, index * sizeof(*ret), ret, sizeof(*ret));
	if (!sw_bytes_copy(bytes, index * sizeof(d), &d, sizeof(d)))
		return false;
	*ret = (Elf64_Dyn){.d_tag = d.d_tag, .d_un.d_val = d.d_un.d_val};
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
	for (size_t i = 0;
	     i < DYNAMIC_MAX && dynamic_read(bytes, i, elf->is_32bit, &d) && d.d_tag != DT_NULL;
	     i++) {
		switch (d.d_tag) {
		case DT_SYMTAB: dynamic.symbols_svma = d.d_un.d_ptr; break;
		case DT_STRTAB: dynamic.strings_svma = d.d_un.d_ptr; break;
		case DT_STRSZ: dynamic.strings_bytes = d.d_un.d_val; break;
		case DT_GNU_HASH: dynamic.gnu_hash_svma = d.d_un.d_ptr; break;
		case DT_PLTGOT: dynamic.got_svma = d.d_un.d_ptr; break;
		}
	}
	*ret = dynamic;
	return true;
}

uint64_t sw_elf_dynamic_avma(const struct sw_elf *elf, uint64_t bias, uint64_t dynamic_svma)
{
	struct sw_elf_segment s;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && dynamic_svma >= s.svma &&
		    dynamic_svma - s.svma < s.memory_bytes)
			return bias + dynamic_svma;
	return dynamic_svma;
}
