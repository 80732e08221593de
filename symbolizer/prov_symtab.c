/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names from symbol tables: the module's .symtab when it was not stripped, that of its separate debug file, and
 * .dynsym as what is left.
 */
#include "prov_symtab.h"
#include "debugfile.h"
#include "errors.h"
#include "symtab.h"

#include <stdlib.h>

/* The index of a provider's table of this unit, where the table is asked often. */
static int table_names(const struct sw_symtab *table, void **slot, struct sw_want *wants, size_t n,
		       const struct sw_request *request)
{
	if (*slot == NULL)
		*slot = calloc(1, sizeof(struct sw_symtab_index));
	if (*slot == NULL)
		return -SW_E_NOMEM;
	(void) sw_symtab_look_up(table, *slot, wants, n, request);
	return 0;
}

static void index_forget(void *slot)
{
	sw_symtab_index_deinit(slot);
	free(slot);
}

static int symtab_names(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
			const struct sw_request *request)
{
	const struct sw_elf *elf = sw_unit_elf(unit);
	struct sw_symtab table;
	if (elf != NULL && sw_symtab_find(elf, SHT_SYMTAB, SW_SOURCE_SYMTAB, &table))
		return table_names(&table, slot, wants, n, request);
	return 0;
}

static int debugfile_names(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
			   const struct sw_request *request)
{
	struct sw_symtab table;
	if (sw_wants_settled(wants, n))
		return 0;
	const struct sw_debugfile *file = sw_unit_debugfile(unit, request);
	if (file != NULL && sw_symtab_find(&file->elf, SHT_SYMTAB, SW_SOURCE_DEBUGFILE, &table))
		return table_names(&table, slot, wants, n, request);
	return 0;
}

static int dynsym_names(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
			const struct sw_request *request)
{
	const struct sw_elf *elf = sw_unit_elf(unit);
	struct sw_symtab table;
	if (elf == NULL || sw_wants_settled(wants, n))
		return 0;
	if (sw_symtab_find(elf, SHT_DYNSYM, SW_SOURCE_DYNSYM, &table) ||
	    (elf->n_sections == 0 &&
	     sw_symtab_find_dynamic(elf, unit->bias, SW_SOURCE_DYNSYM, &table)))
		return table_names(&table, slot, wants, n, request);
	return 0;
}

const struct sw_provider_ops sw_prov_symtab = {
	.name = "symtab",
	.kinds = 1 << SW_MODULE_ELF | 1 << SW_MODULE_VDSO,
	.names = symtab_names,
	.forget = index_forget,
};

const struct sw_provider_ops sw_prov_debugfile = {
	.name = "debugfile",
	.kinds = 1 << SW_MODULE_ELF,
	.names = debugfile_names,
	.forget = index_forget,
};

const struct sw_provider_ops sw_prov_dynsym = {
	.name = "dynsym",
	.kinds = 1 << SW_MODULE_ELF | 1 << SW_MODULE_VDSO,
	.names = dynsym_names,
	.forget = index_forget,
};
