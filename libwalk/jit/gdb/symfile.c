/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/gdb/symfile.h"
#include "cleanup.h"
#include "formats/elf_file.h"
#include "cfi/fde.h"
#include "jit/gdb/symfile_line.h"

enum { TABLES_MAX = 8, SYMBOLS_MAX = 1 << 20, RELAS_MAX = 1 << 20 };

/* Call frame information in one section. */
struct table {
	struct sw_cfi_section section;
	struct sw_cfi_fdes fdes; /* owned */
};

struct sw_jit_symfile {
	uint8_t *bytes;    /* owned; relocated in place */
	struct sw_elf elf; /* over bytes */
	bool relocatable;  /* ET_REL: symbols count from their section */
	struct sw_elf_table symtab;
	struct table tables[TABLES_MAX]; /* .eh_frame before .debug_frame */
	size_t n_tables;
	uint64_t text_avma; /* of the first code; 0: none */
	bool bad_tables;
	struct sw_jit_lines *lines; /* owned */
	bool lines_tried;
};

/* ---- headers --------------------------------------------------------------------------------- */

static bool is_code(uint64_t flags, uint64_t svma, uint64_t size, struct sw_jit_code *ret)
{
	if (!(flags & SHF_EXECINSTR) || svma == 0 || size == 0)
		return false;
	ret->start_avma = svma;
	return !__builtin_add_overflow(svma, size, &ret->end_avma);
}

/* A part of the file in memory, within the budget. */
static bool part_read(struct sw_memory memory, uint64_t avma, uint64_t size, uint64_t off,
		      void *buffer, size_t bytes, size_t *budget)
{
	uint64_t at;
	if (off > size || bytes > size - off || bytes > *budget ||
	    __builtin_add_overflow(avma, off, &at))
		return false;
	*budget -= bytes;
	return sw_memory_read(memory, at, buffer, bytes);
}

int sw_jit_symfile_codes(struct sw_memory memory, uint64_t avma, uint64_t size, size_t *budget,
			 bool (*each)(void *arg, struct sw_jit_code code), void *arg)
{
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdrs[16];
	struct sw_jit_code code;
	if (!part_read(memory, avma, size, 0, &ehdr, sizeof(ehdr), budget)) {
		/* Too small for a header: what is there is something else. */
		return size < sizeof(ehdr) ? 0 : -1;
	}
	if (!sw_elf_header_fits(&ehdr) || ehdr.e_machine != EM_X86_64)
		return 0;
	if (ehdr.e_shentsize != sizeof(shdrs[0]))
		return -1;
	for (size_t i = 0; i < ehdr.e_shnum && i < SW_JIT_SYMFILE_SECTIONS;) {
		size_t n = ehdr.e_shnum - i;
		if (n > SW_ARRAY_SIZE(shdrs))
			n = SW_ARRAY_SIZE(shdrs);
		if (!part_read(memory, avma, size, ehdr.e_shoff + i * sizeof(shdrs[0]), shdrs,
			       n * sizeof(shdrs[0]), budget))
			return -1;
		for (size_t k = 0; k < n; k++)
			if (is_code(shdrs[k].sh_flags, shdrs[k].sh_addr, shdrs[k].sh_size, &code) &&
			    !each(arg, code))
				return -1;
		i += n;
	}
	return 1;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static bool section_is_code(const struct sw_elf_section *s, struct sw_jit_code *ret)
{
	return is_code(s->flags, s->svma, s->size, ret);
}

static struct sw_bytes section_bytes(const struct sw_jit_symfile *f, const struct sw_elf_section *s)
{
	struct sw_bytes bytes = {0};
	(void) sw_elf_section_bytes(&f->elf, s, &bytes); /* else none */
	return bytes;
}

/* A symbol's address: in relocatable files it counts from its section. */
static bool symbol_avma(const struct sw_jit_symfile *f, const Elf64_Sym *sym, uint64_t *ret)
{
	struct sw_elf_section s;
	*ret = sym->st_value;
	if (sym->st_shndx == SHN_UNDEF)
		return false;
	if (!f->relocatable || sym->st_shndx >= SHN_LORESERVE)
		return true;
	if (!sw_elf_section(&f->elf, sym->st_shndx, &s))
		return false;
	/* Not everybody who writes a relocatable file sticks to that. */
	if (s.svma == 0 || sym->st_value < s.svma || sym->st_value - s.svma >= s.size)
		*ret += s.svma;
	return true;
}

/* Where a section with call frame information is taken to be: one that was not given an address
 * only refers to others, and those that it refers to must be near. */
static uint64_t table_avma(const struct sw_jit_symfile *f, const struct sw_elf_section *s)
{
	return s->svma != 0 ? s->svma : f->text_avma;
}

/* psABI 1.0, table 4.9. False when the value does not fit its place. */
static bool rela_apply(uint8_t *to, size_t space, uint32_t type, uint64_t value, uint64_t place)
{
	size_t bytes = 4;
	bool fits;
	switch (type) {
	case R_X86_64_NONE: return true;
	case R_X86_64_64:
		bytes = 8;
		fits = true;
		break;
	case R_X86_64_PC64:
		bytes = 8;
		fits = true;
		value -= place;
		break;
	case R_X86_64_32: fits = value <= UINT32_MAX; break;
	case R_X86_64_32S: fits = (int64_t) value == (int32_t) value; break;
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		value -= place;
		fits = (int64_t) value == (int32_t) value;
		break;
	default: return false;
	}
	if (!fits || bytes > space)
		return false;
	memcpy(to, &value, bytes); /* little-endian: see bytes.h */
	return true;
}

/* Applies what relocations a section has. False when one cannot be. */
static bool section_relocate(struct sw_jit_symfile *f, uint64_t index,
			     const struct sw_elf_section *target, uint64_t avma)
{
	struct sw_bytes to = section_bytes(f, target);
	for (uint32_t i = 0; i < f->elf.n_sections; i++) {
		struct sw_elf_section s, symbols;
		if (!sw_elf_section(&f->elf, i, &s) || s.type != SHT_RELA || s.info != index ||
		    !sw_elf_section(&f->elf, s.link, &symbols))
			continue;
		struct sw_bytes relas = section_bytes(f, &s), syms = section_bytes(f, &symbols);
		size_t n = relas.size / sizeof(Elf64_Rela);
		if (n > RELAS_MAX)
			return false;
		for (size_t k = 0; k < n; k++) {
			Elf64_Rela r;
			Elf64_Sym sym;
			uint64_t value;
			(void) sw_bytes_copy(relas, k * sizeof(r), &r, sizeof(r)); /* inside */
			if (!sw_bytes_copy(syms, ELF64_R_SYM(r.r_info) * sizeof(sym), &sym,
					   sizeof(sym)) ||
			    !symbol_avma(f, &sym, &value) || r.r_offset >= to.size)
				return false;
			/* The image is ours to write to. */
			uint8_t *at = (uint8_t *) (uintptr_t) to.data + r.r_offset;
			if (!rela_apply(at, to.size - (size_t) r.r_offset, ELF64_R_TYPE(r.r_info),
					value + (uint64_t) r.r_addend, avma + r.r_offset))
				return false;
		}
	}
	return true;
}

/* False when there is no memory. */
static bool table_add(struct sw_jit_symfile *f, const struct sw_cfi_section *section)
{
	struct table *t = &f->tables[f->n_tables++];
	t->section = *section;
	if (sw_cfi_fdes_add(&t->fdes, section, 0) < 0)
		return false;
	sw_cfi_fdes_sort(&t->fdes);
	f->bad_tables |= t->fdes.bad;
	return true;
}

/* False when there is no memory. */
static bool tables_find(struct sw_jit_symfile *f, const char *name, bool debug_frame)
{
	for (uint32_t i = 0; i < f->elf.n_sections && f->n_tables < TABLES_MAX; i++) {
		struct sw_elf_section s;
		if (!sw_elf_section(&f->elf, i, &s) || strcmp(s.name, name) != 0)
			continue;
		uint64_t avma = table_avma(f, &s);
		const struct sw_cfi_section section = {.bytes = section_bytes(f, &s),
						       .svma = avma,
						       .debug_frame = debug_frame,
						       .text_svma = f->text_avma};
		if (section.bytes.size == 0)
			continue;
		if ((s.flags & SHF_COMPRESSED) || !section_relocate(f, i, &s, avma))
			f->bad_tables = true;
		else if (!table_add(f, &section))
			return false;
	}
	return true;
}

static bool sections_open(struct sw_jit_symfile *f, struct sw_bytes image)
{
	struct sw_elf_section s;
	struct sw_jit_code code;
	if (!sw_elf_init(&f->elf, image) || f->elf.header.e_machine != EM_X86_64 ||
	    f->elf.n_sections == 0)
		return false;
	f->relocatable = f->elf.header.e_type == ET_REL;
	if (f->elf.n_sections > SW_JIT_SYMFILE_SECTIONS)
		f->elf.n_sections = SW_JIT_SYMFILE_SECTIONS;
	(void) sw_elf_table_typed(&f->elf, SHT_SYMTAB, &f->symtab); /* else no names */
	for (uint32_t i = 0; f->text_avma == 0 && sw_elf_section(&f->elf, i, &s); i++)
		if (section_is_code(&s, &code))
			f->text_avma = code.start_avma;
	return true;
}

struct sw_jit_symfile *sw_jit_symfile_open(uint8_t *bytes, size_t size)
{
	struct sw_jit_symfile *f = calloc(1, sizeof(*f));
	if (f == NULL) {
		free(bytes);
		return NULL;
	}
	f->bytes = bytes;
	if (!sections_open(f, (struct sw_bytes){bytes, size}) ||
	    !tables_find(f, ".eh_frame", false) || !tables_find(f, ".debug_frame", true)) {
		sw_jit_symfile_close(f);
		return NULL;
	}
	return f;
}

void sw_jit_symfile_close(struct sw_jit_symfile *file)
{
	if (file == NULL)
		return;
	sw_jit_lines_close(file->lines);
	for (size_t i = 0; i < file->n_tables; i++)
		sw_cfi_fdes_deinit(&file->tables[i].fdes);
	free(file->bytes);
	free(file);
}

bool sw_jit_symfile_covers(const struct sw_jit_symfile *file, uint64_t avma)
{
	for (size_t i = 0; i < file->elf.n_sections; i++) {
		struct sw_elf_section s;
		struct sw_jit_code code;
		if (sw_elf_section(&file->elf, i, &s) && section_is_code(&s, &code) &&
		    avma >= code.start_avma && avma < code.end_avma)
			return true;
	}
	return false;
}

int sw_jit_symfile_cfi(const struct sw_jit_symfile *file, uint64_t avma,
		       struct sw_cfi_section *ret_section, struct sw_cfi_fde *ret)
{
	for (size_t i = 0; i < file->n_tables; i++) {
		const struct sw_cfi_fde *fde = sw_cfi_fdes_find(&file->tables[i].fdes, avma);
		if (fde == NULL)
			continue;
		*ret_section = file->tables[i].section;
		*ret = *fde;
		return 1;
	}
	return file->bad_tables ? -1 : 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The symbol that covers avma, else the last one without a size before it in the same section. */
static bool symbol_find(const struct sw_jit_symfile *f, uint64_t avma, const char **ret_name,
			uint64_t *ret_start)
{
	bool found = false;
	*ret_start = 0;
	size_t n = f->symtab.symbols.size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
		Elf64_Sym sym;
		struct sw_elf_section s;
		uint64_t start;
		const char *name;
		(void) sw_bytes_copy(f->symtab.symbols, i * sizeof(sym), &sym,
				     sizeof(sym)); /* inside */
		unsigned type = ELF64_ST_TYPE(sym.st_info);
		if ((type != STT_FUNC && type != STT_NOTYPE) || !symbol_avma(f, &sym, &start) ||
		    avma < start || !sw_bytes_str(f->symtab.strings, sym.st_name, &name) ||
		    *name == '\0')
			continue;
		bool inside = sym.st_size != 0 ? avma - start < sym.st_size
					       : sw_elf_section(&f->elf, sym.st_shndx, &s) &&
							 avma - s.svma < s.size;
		if (!inside || (found && start < *ret_start))
			continue;
		*ret_name = name;
		*ret_start = start;
		found = true;
	}
	return found;
}

/* For lines, the debug sections are relocated, too: they have no address, and refer to code. */
static void lines_open(struct sw_jit_symfile *f)
{
	f->lines_tried = true;
	bool has_lines = false;
	for (uint32_t i = 0; i < f->elf.n_sections; i++) {
		struct sw_elf_section s;
		if (!sw_elf_section(&f->elf, i, &s) || strncmp(s.name, ".debug_", 7) != 0 ||
		    strcmp(s.name, ".debug_frame") == 0)
			continue;
		if ((s.flags & SHF_COMPRESSED) || !section_relocate(f, i, &s, s.svma))
			return;
		has_lines |= strcmp(s.name, ".debug_line") == 0;
	}
	if (has_lines)
		f->lines = sw_jit_lines_open(f->elf.image);
}

int sw_jit_symfile_describe(struct sw_jit_symfile *file, uint64_t avma, struct sw_description *ret)
{
	const char *name;
	uint64_t start;
	if (!symbol_find(file, avma, &name, &start))
		return 0;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", name); /* cut to fit */
	ret->start_avma = start;
	if (!file->lines_tried)
		lines_open(file);
	if (file->lines != NULL)
		sw_jit_lines_find(file->lines, avma, ret);
	return 1;
}
