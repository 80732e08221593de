/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All functions that the symbol tables of a module name, for who looks for an address by its name. */
#include "search/functions.h"
#include "debugfile.h"
#include "cleanup.h"
#include "dwarf/deadline.h"
#include "errors.h"
#include "provider.h"
#include "symbolizer.h"
#include "symtab.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	SYMBOLS_MAX = 64 << 20, /* of one table */
	NAME_MAX_BYTES = 1 << 16,
	DEADLINE_EVERY = 1 << 16, /* symbols */
};

/* "name@VERSION", "name@@VERSION": the table of the linker has the version in the name. */
static void version_cut(char *name)
{
	char *at = strchr(name + 1, '@');
	if (at != NULL)
		*at = '\0';
}

static bool symbol_list(const struct sw_function_listing *l, const struct sw_symtab *table,
			const Elf64_Sym *symbol, char *name)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	struct sw_bytes strings = table->table.strings;
	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_value == 0 || symbol->st_name >= strings.size)
		return false;
	size_t max = strings.size - symbol->st_name;
	const char *text = (const char *) strings.data + symbol->st_name;
	size_t length = strnlen(text, max < NAME_MAX_BYTES ? max : NAME_MAX_BYTES);
	if (length == 0 || length == max || length == NAME_MAX_BYTES)
		return false;
	memcpy(name, text, length);
	name[length] = '\0';
	version_cut(name);
	const struct sw_function_symbol found = {.name = name,
						 .svma = symbol->st_value,
						 .size = symbol->st_size,
						 .is_indirect = type == STT_GNU_IFUNC};
	l->each(l->arg, &found);
	return true;
}

int sw_function_table_list(const struct sw_function_listing *l, const struct sw_symtab *table,
			   size_t *n, struct sw_error *err)
{
	Elf64_Sym symbol;
	sw_cleanup(sw_free_p) char *name = malloc(NAME_MAX_BYTES + 1);
	if (name == NULL)
		return sw_fail_nomem(err);
	for (uint64_t i = 1; sw_elf_symbol_read(&table->table, i, &symbol); i++) {
		if (i > l->symbols_max)
			return sw_fail(err, SW_E_LIMIT,
				       "a table of its symbols has more than %" PRIu64
				       ", and is not searched",
				       l->symbols_max);
		if (i % DEADLINE_EVERY == 1 && sw_deadline_passed(l->deadline_ns))
			return sw_fail(err, SW_E_TIMEOUT,
				       "its symbols were not looked through in the time that there "
				       "was");
		*n += symbol_list(l, table, &symbol, name);
	}
	return 0;
}

int sw_symbolizer_functions(struct sw_symbolizer *s, struct sw_module *module,
			    const struct sw_symbolize_options *o,
			    void (*each)(void *arg, const struct sw_function_symbol *symbol),
			    void *arg, size_t *ret_n, struct sw_error *err)
{
	const struct sw_function_listing listing = {.deadline_ns = o->deadline_ns,
						    .symbols_max = SYMBOLS_MAX,
						    .each = each,
						    .arg = arg};
	const struct sw_request request = {
		.debug_dir = o->debug_dir != NULL ? o->debug_dir : SW_DEBUG_DIR,
		.local = sw_context_local(s->ctx),
		.search = s->search,
		.deadline_ns = o->deadline_ns,
		.options = o,
	};
	struct sw_unit *unit = sw_symbolizer_unit(s, module);
	struct sw_symtab table;
	size_t n = 0;
	int r = 0;
	if (unit == NULL)
		return sw_fail_nomem(err);
	const struct sw_elf *elf = sw_unit_elf(unit);
	if (elf != NULL && sw_symtab_find(elf, SHT_SYMTAB, SW_SOURCE_SYMTAB, &table))
		r = sw_function_table_list(&listing, &table, &n, err);
	if (r == 0 && elf != NULL && sw_symtab_find(elf, SHT_DYNSYM, SW_SOURCE_DYNSYM, &table))
		r = sw_function_table_list(&listing, &table, &n, err);
	const struct sw_debugfile *file =
		r == 0 && elf != NULL ? sw_unit_debugfile(unit, &request) : NULL;
	if (file != NULL && sw_symtab_find(&file->elf, SHT_SYMTAB, SW_SOURCE_DEBUGFILE, &table))
		r = sw_function_table_list(&listing, &table, &n, err);
	if (r == 0)
		*ret_n = n;
	return r;
}
