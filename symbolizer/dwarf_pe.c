/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * DWARF in a PE file (gcc and clang for Windows, Wine's own DLLs). libdw takes nothing but ELF, so an
 * ELF file is made of it, in which the sections are where they are:
 *
 *	region:  | ELF header, then the file from byte 64 on, copy on write |
 *		 | section headers, their names | a page of zeros |
 */
#include "cleanup.h"
#include "dwarf_file.h"
#include "elf_handle.h"

#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE_BYTES = 4096 };

/* As for ELF files: all that lines and inlined calls need. */
static const char *const wanted_names[] = {
	".debug_info",     ".debug_abbrev", ".debug_line",    ".debug_str",  ".debug_line_str",
	".debug_rnglists", ".debug_ranges", ".debug_aranges", ".debug_addr", ".debug_str_offsets",
};
enum { WANTED_INFO = 0, WANTED_ABBREV = 1, WANTED_ARANGES = 7, N_WANTED = 10 };
_Static_assert(SW_ARRAY_SIZE(wanted_names) == N_WANTED, "the number is that of the names");

/* What is written behind the file: one page. */
struct tables {
	Elf64_Shdr sections[N_WANTED + 2]; /* the empty one, those wanted, the names */
	char names[256];
};
_Static_assert(sizeof(struct tables) <= PAGE_BYTES, "there is one page for them");

struct plan {
	struct sw_bytes sections[N_WANTED]; /* size 0: the file lacks it */
	size_t tables_off;
};

static bool plan_make(struct plan *plan, const struct sw_pe_file *pe)
{
	*plan = (struct plan){.tables_off = (pe->image.size + PAGE_BYTES - 1) &
					    ~(size_t) (PAGE_BYTES - 1)};
	for (size_t k = 0; k < N_WANTED; k++) {
		const struct sw_pe_section *s = sw_pe_file_section_named(pe, wanted_names[k]);
		if (s != NULL)
			(void) sw_pe_file_section_bytes(pe, s, &plan->sections[k]); /* cut: none */
	}
	return plan->sections[WANTED_INFO].size > 0 && plan->sections[WANTED_ABBREV].size > 0;
}

static bool region_map(struct sw_dwarf_file *file, int fd, const struct sw_pe_file *pe,
		       const struct plan *plan)
{
	struct stat st;
	size_t bytes = plan->tables_off + 2 * PAGE_BYTES;
	if (fstat(fd, &st) < 0 || (uint64_t) st.st_size != pe->image.size)
		return false;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	file->region = p;
	file->region_bytes = bytes;
	return mmap(p, pe->image.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == p;
}

static Elf64_Word name_add(struct tables *tables, size_t *used, const char *name)
{
	size_t at = *used, bytes = strlen(name) + 1;
	if (bytes > sizeof(tables->names) - at)
		return 0; /* the names are ours and fit */
	memcpy(tables->names + at, name, bytes);
	*used += bytes;
	return (Elf64_Word) at;
}

static void tables_write(struct sw_dwarf_file *file, const struct sw_pe_file *pe,
			 const struct plan *plan)
{
	struct tables tables = {0};
	size_t used = 1, n = 1;
	for (size_t k = 0; k < N_WANTED; k++) {
		if (plan->sections[k].size == 0)
			continue;
		size_t off = (size_t) (plan->sections[k].data - pe->image.data);
		tables.sections[n++] =
			(Elf64_Shdr){.sh_name = name_add(&tables, &used, wanted_names[k]),
				     .sh_type = SHT_PROGBITS,
				     .sh_offset = off,
				     .sh_size = plan->sections[k].size,
				     .sh_addralign = 1};
		if (k == WANTED_ARANGES)
			file->aranges =
				(struct sw_bytes){file->region + off, plan->sections[k].size};
	}
	tables.sections[n] =
		(Elf64_Shdr){.sh_name = name_add(&tables, &used, ".shstrtab"),
			     .sh_type = SHT_STRTAB,
			     .sh_offset = plan->tables_off + offsetof(struct tables, names),
			     .sh_size = sizeof(tables.names),
			     .sh_addralign = 1};
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_EXEC,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_shoff = plan->tables_off,
				   .e_ehsize = sizeof(Elf64_Ehdr),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = (Elf64_Half) (n + 1),
				   .e_shstrndx = (Elf64_Half) n};
	memcpy(file->region, &header, sizeof(header)); /* over the DOS header, of the same size */
	memcpy(file->region + plan->tables_off, &tables, sizeof(tables));
}

enum sw_dwarf_open sw_dwarf_pe_open(struct sw_dwarf_file *file, int fd, const struct sw_pe_file *pe)
{
	struct plan plan;
	*file = (struct sw_dwarf_file){.base = pe->headers.preferred_avma};
	if (fd < 0 || !plan_make(&plan, pe))
		return SW_DWARF_NONE;
	if (region_map(file, fd, pe, &plan)) {
		tables_write(file, pe, &plan);
		file->elf = sw_elf_handle((struct sw_bytes){file->region, file->region_bytes});
		if (file->elf != NULL)
			file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	}
	if (file->dwarf != NULL)
		return SW_DWARF_OPENED;
	sw_dwarf_file_close(file);
	return SW_DWARF_NONE;
}
