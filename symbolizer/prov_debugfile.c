/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names from the .symtab of a separate debug file. */
#include "debugfile.h"
#include "providers.h"
#include "symtab.h"

static int debugfile_names(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
			   const struct sw_request *request)
{
	(void) slot; /* the unit keeps the file: lines need it, too */
	struct sw_symtab table;
	if (sw_wants_settled(wants, n))
		return 0;
	const struct sw_debugfile *file = sw_unit_debugfile(unit, request->debug_dir);
	if (file != NULL && sw_symtab_find(&file->elf, SHT_SYMTAB, SW_SOURCE_DEBUGFILE, &table))
		(void) sw_symtab_scan(&table, wants, n, request->deadline_ns);
	return 0;
}

const struct sw_provider_ops sw_prov_debugfile = {
	.name = "debugfile",
	.kinds = 1 << SW_MODULE_ELF,
	.names = debugfile_names,
};
