/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which file is the interpreter, and of what version. A program "python3.11" may have it in itself or
 * in libpython3.11.so, which other programs load, too.
 */
#include "runtimes/cpython/structures/find.h"
#include "cleanup.h"
#include "formats/elf_symbol.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { OLDEST = 8, NEWEST = 14, DEBUG_OFFSETS_FROM = 13, SECOND = 1 << 8 };

/* The minor version that a file's name says: "python3.11", "libpython3.7m.so.1.0"; of Python 2 and SECOND.
 * 0: none. */
static unsigned minor_probe(const struct sw_place *place)
{
	static const struct {
		const char *text;
		unsigned more;
	} stems[] = {{"libpython3.", 0},
		     {"python3.", 0},
		     {"libpython2.", SECOND},
		     {"python2.", SECOND}};
	const char *path = sw_module_path(place->module), *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	if (sw_module_kind(place->module) != SW_MODULE_ELF)
		return 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(stems); i++) {
		size_t length = strlen(stems[i].text);
		unsigned minor = 0;
		if (strncmp(name, stems[i].text, length) != 0)
			continue;
		for (size_t k = length; k < length + 2 && isdigit((unsigned char) name[k]); k++)
			minor = minor * 10 + (unsigned) (name[k] - '0');
		return minor | stems[i].more;
	}
	return 0;
}

bool sw_cpython_probe(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (minor_probe(&snap->places[i]) != 0)
			return true;
	return false;
}

/* From 3.11 on the file says its version: 0x030b02f0 is 3.11.2. */
static void version_find(const struct sw_elf_symbols *symbols, unsigned minor,
			 struct sw_cpython_at *ret)
{
	struct sw_elf_symbol symbol;
	struct sw_bytes bytes;
	uint32_t hex = 0;
	(void) snprintf(ret->version, sizeof(ret->version), "3.%u", minor); /* two digits fit */
	if (!sw_elf_symbols_find(symbols, "Py_Version", &symbol) ||
	    !sw_elf_loaded(symbols->elf, symbol.svma, &bytes) || !sw_bytes_u32(bytes, 0, &hex) ||
	    hex >> 16 != (3U << 8 | minor))
		return;
	(void) snprintf(ret->version, sizeof(ret->version), "3.%u.%u", minor,
			hex >> 8 & 0xff); /* fits */
}

static bool runtime_find(const struct sw_elf_symbols *symbols, uint64_t *ret)
{
	struct sw_elf_symbol symbol;
	struct sw_elf_section section;
	if (sw_elf_symbols_find(symbols, "_PyRuntime", &symbol))
		*ret = symbol.svma;
	else if (sw_elf_section_named(symbols->elf, ".PyRuntime", &section))
		*ret = section.svma;
	else
		return false;
	return true;
}

static bool layout_find(unsigned minor, struct sw_memory memory, struct sw_cpython_at *ret)
{
	if (minor < DEBUG_OFFSETS_FROM)
		return sw_cpython_layout_of(minor, &ret->layout);
	return sw_cpython_layout_read(memory, ret->runtime_avma, minor, &ret->layout,
				      &ret->missing);
}

static void look(const struct sw_snapshot *snap, struct sw_memory memory, unsigned minor,
		 struct sw_cpython_at *ret)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol type;
	uint64_t runtime;
	(void) snprintf(ret->version, sizeof(ret->version), "%u.%u", minor & SECOND ? 2U : 3U,
			minor & ~(unsigned) SECOND); /* fits */
	ret->missing = "its file";
	if (minor & SECOND) {
		ret->problem = "Python 2 is not read: its functions have no names";
		return;
	}
	if (!sw_elf_symbols_open(sw_module_elf(ret->place->module), &symbols))
		return;
	version_find(&symbols, minor, ret);
	if (minor < OLDEST)
		ret->problem = "versions before 3.8 are not read: its functions have no names";
	if (minor > NEWEST)
		ret->problem = "versions after 3.14 are not read: its functions have no names";
	if (ret->problem != NULL)
		return;
	ret->missing = "_PyRuntime";
	if (!runtime_find(&symbols, &runtime))
		return;
	ret->missing = "PyCode_Type";
	if (!sw_elf_symbols_find(&symbols, "PyCode_Type", &type))
		return;
	ret->missing = "where it was mapped";
	if (!sw_place_resolve(ret->place, snap))
		return;
	ret->runtime_avma = runtime + ret->place->bias;
	ret->code_type_avma = type.svma + ret->place->bias;
	if (!layout_find(minor, memory, ret))
		return;
	ret->missing = NULL;
	size_t n = strlen(ret->version); /* as its programs are called: python3.14t */
	if (ret->layout.head_more != 0 && n + 1 < sizeof(ret->version))
		memcpy(ret->version + n, "t", 2);
}

bool sw_cpython_find(const struct sw_snapshot *snap, struct sw_memory memory,
		     struct sw_cpython_at *ret)
{
	*ret = (struct sw_cpython_at){0};
	for (size_t i = 0; i < snap->n_places; i++) {
		unsigned minor = minor_probe(&snap->places[i]);
		struct sw_cpython_at at = {.place = &snap->places[i]};
		/* A file has a place for each of its mappings that are apart. */
		if (minor == 0 ||
		    (ret->place != NULL && ret->place->module == snap->places[i].module))
			continue;
		look(snap, memory, minor, &at);
		/* A program that has the library for it says nothing itself. */
		if (ret->place == NULL || at.runtime_avma != 0)
			*ret = at;
		if (at.missing == NULL)
			break;
	}
	return ret->place != NULL;
}
