/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/tables.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

struct tables {
	Elf64_Shdr sections[SW_DWARF_TABLES_MAX + 2]; /* the empty one, and that of the names */
	char names[512];
};
static_assert(sizeof(struct tables) <= SW_DWARF_TABLES_BYTES, "what callers leave free");

static Elf64_Word name_add(struct tables *tables, size_t *used, const char *name)
{
	size_t at = *used, bytes = strlen(name) + 1;
	if (bytes > sizeof(tables->names) - at)
		return 0; /* the names are ours and fit */
	memcpy(tables->names + at, name, bytes);
	*used += bytes;
	return (Elf64_Word) at;
}

static void headers_put(uint8_t *region, uint64_t tables_off, const struct tables *tables, size_t n)
{
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_EXEC,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_shoff = tables_off,
				   .e_ehsize = sizeof(Elf64_Ehdr),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = (Elf64_Half) n,
				   .e_shstrndx = (Elf64_Half) (n - 1)};
	memcpy(region, &header, sizeof(header));
	memcpy(region + tables_off, tables->sections, n * sizeof(Elf64_Shdr));
}

/* Files for i386 may have a section right behind their header, which is shorter. */
static void headers32_put(uint8_t *region, uint64_t tables_off, const struct tables *tables,
			  size_t n)
{
	const Elf32_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					       ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_EXEC,
				   .e_machine = EM_386,
				   .e_version = EV_CURRENT,
				   .e_shoff = (Elf32_Off) tables_off,
				   .e_ehsize = sizeof(Elf32_Ehdr),
				   .e_shentsize = sizeof(Elf32_Shdr),
				   .e_shnum = (Elf32_Half) n,
				   .e_shstrndx = (Elf32_Half) (n - 1)};
	memcpy(region, &header, sizeof(header));
	for (size_t i = 0; i < n; i++) {
		const Elf64_Shdr *s = &tables->sections[i];
		const Elf32_Shdr section = {.sh_name = s->sh_name,
					    .sh_type = s->sh_type,
					    .sh_offset = (Elf32_Off) s->sh_offset,
					    .sh_size = (Elf32_Word) s->sh_size,
					    .sh_addralign = 1};
		memcpy(region + tables_off + i * sizeof(section), &section, sizeof(section));
	}
}

void sw_dwarf_tables_write(uint8_t *region, uint64_t tables_off, bool is_32bit,
			   const struct sw_dwarf_section *sections, size_t n_sections)
{
	struct tables tables = {0};
	size_t used = 1, n = 1;
	for (size_t k = 0; k < n_sections && n <= SW_DWARF_TABLES_MAX; k++)
		if (sections[k].name != NULL)
			tables.sections[n++] =
				(Elf64_Shdr){.sh_name = name_add(&tables, &used, sections[k].name),
					     .sh_type = SHT_PROGBITS,
					     .sh_offset = sections[k].off,
					     .sh_size = sections[k].bytes,
					     .sh_addralign = 1};
	tables.sections[n] = (Elf64_Shdr){.sh_name = name_add(&tables, &used, ".shstrtab"),
					  .sh_type = SHT_STRTAB,
					  .sh_offset = tables_off + offsetof(struct tables, names),
					  .sh_size = sizeof(tables.names),
					  .sh_addralign = 1};
	if (is_32bit)
		headers32_put(region, tables_off, &tables, n + 1);
	else
		headers_put(region, tables_off, &tables, n + 1);
	memcpy(region + tables_off + offsetof(struct tables, names), tables.names,
	       sizeof(tables.names));
}
