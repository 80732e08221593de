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
#include "dwarf/plan.h"
#include "dwarf/tables.h"
#include "elf_handle.h"

#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE_BYTES = 4096 };

_Static_assert((int) SW_DWARF_TABLES_BYTES <= PAGE_BYTES, "there is one page for them");

struct plan {
	struct sw_bytes sections[SW_DWARF_SECTIONS]; /* size 0: the file lacks it */
	size_t tables_off;
};

static bool plan_make(struct plan *plan, const struct sw_pe_file *pe)
{
	*plan = (struct plan){.tables_off = (pe->image.size + PAGE_BYTES - 1) &
					    ~(size_t) (PAGE_BYTES - 1)};
	for (size_t k = 0; k < SW_DWARF_SECTIONS; k++) {
		const struct sw_pe_section *s =
			sw_pe_file_section_named(pe, sw_dwarf_section_names[k]);
		if (s != NULL)
			(void) sw_pe_file_section_bytes(pe, s, &plan->sections[k]); /* cut: none */
	}
	return plan->sections[SW_DWARF_INFO].size > 0 && plan->sections[SW_DWARF_ABBREV].size > 0;
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

/* The ELF header goes over the DOS header, which is of the same size. */
static void tables_write(struct sw_dwarf_file *file, const struct sw_pe_file *pe,
			 const struct plan *plan)
{
	struct sw_dwarf_section sections[SW_DWARF_SECTIONS] = {0};
	for (size_t k = 0; k < SW_DWARF_SECTIONS; k++) {
		struct sw_bytes bytes = plan->sections[k];
		if (bytes.size == 0)
			continue;
		sections[k] = (struct sw_dwarf_section){sw_dwarf_section_names[k],
							(uint64_t) (bytes.data - pe->image.data),
							bytes.size};
		if (k == SW_DWARF_ARANGES)
			file->aranges =
				(struct sw_bytes){file->region + sections[k].off, bytes.size};
	}
	sw_dwarf_tables_write(file->region, plan->tables_off, false, sections, SW_DWARF_SECTIONS);
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
