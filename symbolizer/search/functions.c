/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All functions that the symbol tables of a module name, for who looks for an address by its name. */
#include "debugfile.h"
#include "cleanup.h"
#include "dwarf/deadline.h"
#include "errors.h"
#include "symbolizer.h"
#include "symtab.h"

#include <string.h>

enum {
	FUNCTIONS_MAX = 64 << 20, /* symbols of one table */
	NAME_MAX_BYTES = 1 << 16,
	DEADLINE_EVERY = 1 << 16, /* symbols */
};

struct listing {
	int64_t deadline_ns;
	void (*each)(void *arg, const struct sw_function_symbol *symbol);
	void *arg;
};

/* "name@VERSION", "name@@VERSION": the table of the linker has the version in the name. */
static void version_cut(char *name)
{
	char *at = strchr(name + 1, '@');
	if (at != NULL)
		*at = '\0';
}

static bool symbol_list(const struct listing *l, const struct sw_symtab *table,
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

static size_t table_list(const struct listing *l, const struct sw_symtab *table, char *name)
{
	Elf64_Sym symbol;
	size_t n = 0;
	for (uint64_t i = 1; i < FUNCTIONS_MAX && sw_elf_symbol_read(&table->table, i, &symbol);
	     i++) {
		if (i % DEADLINE_EVERY == 0 && sw_deadline_passed(l->deadline_ns))
			break;
		n += symbol_list(l, table, &symbol, name);
	}
	return n;
}

int sw_symbolizer_functions(struct sw_symbolizer *s, struct sw_module *module,
			    const struct sw_symbolize_options *o,
			    void (*each)(void *arg, const struct sw_function_symbol *symbol),
			    void *arg, size_t *ret_n, struct sw_error *err)
{
	const struct listing listing = {.deadline_ns = o->deadline_ns, .each = each, .arg = arg};
	struct sw_unit *unit = sw_symbolizer_unit(s, module);
	sw_cleanup(sw_free_p) char *name = malloc(NAME_MAX_BYTES + 1);
	struct sw_symtab table;
	size_t n = 0;
	if (unit == NULL || name == NULL)
		return sw_fail_nomem(err);
	const struct sw_elf *elf = sw_unit_elf(unit);
	if (elf != NULL && sw_symtab_find(elf, SHT_SYMTAB, SW_SOURCE_SYMTAB, &table))
		n += table_list(&listing, &table, name);
	if (elf != NULL && sw_symtab_find(elf, SHT_DYNSYM, SW_SOURCE_DYNSYM, &table))
		n += table_list(&listing, &table, name);
	const struct sw_debugfile *file =
		elf != NULL ? sw_unit_debugfile(unit, sw_context_local(s->ctx),
						o->debug_dir != NULL ? o->debug_dir : SW_DEBUG_DIR)
			    : NULL;
	if (file != NULL && sw_symtab_find(&file->elf, SHT_SYMTAB, SW_SOURCE_DEBUGFILE, &table))
		n += table_list(&listing, &table, name);
	*ret_n = n;
	return 0;
}
