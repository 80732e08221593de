/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/php/find.h"
#include "formats/elf_symbol.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char slot_key; /* of what is kept with a module */

bool sw_php_file_probe(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	bool library = strncmp(name, "libphp", 6) == 0;
	if (!library && strncmp(name, "php", 3) != 0)
		return false;
	name += library ? 6 : 3;
	if (!library && (strncmp(name, "-fpm", 4) == 0 || strncmp(name, "-cgi", 4) == 0))
		name += 4;
	name += strspn(name, "0123456789.");
	/* "libphp8.2.so": its dot was taken for one of the version. */
	return strcmp(name, library ? "so" : "") == 0;
}

bool sw_php_probe(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (sw_module_kind(snap->places[i].module) == SW_MODULE_ELF &&
		    sw_php_file_probe(sw_module_path(snap->places[i].module)))
			return true;
	return false;
}

bool sw_php_version_scan(const void *bytes, size_t size, char *ret, size_t ret_size)
{
	static const char before[] = "X-Powered-By: PHP/";
	const char *at = memmem(bytes, size, before, sizeof(before) - 1);
	if (at == NULL)
		return false;
	at += sizeof(before) - 1;
	size -= (size_t) (at - (const char *) bytes);
	size_t n = 0;
	while (n < size && n + 1 < ret_size && (isdigit((unsigned char) at[n]) || at[n] == '.'))
		n++;
	memcpy(ret, at, n);
	ret[n] = '\0';
	return n > 0;
}

static void version_find(const struct sw_elf *elf, char *ret, size_t size)
{
	struct sw_elf_segment s;
	struct sw_bytes bytes;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && !(s.flags & (PF_W | PF_X)) &&
		    sw_bytes_sub(elf->image, s.off, s.file_bytes, &bytes) &&
		    sw_php_version_scan(bytes.data, bytes.size, ret, size))
			return;
	ret[0] = '\0';
}

/*
 * The offset from fs in tsrm_get_ls_cache(), which reads a thread's variable of the program:
 *
 *	[f3 0f 1e fa]			endbr64
 *	64 48 8b 04 25 xx xx xx xx	mov rax, fs:[offset]
 *	c3				ret
 */
static bool thread_offset_read(const struct sw_elf_symbols *symbols, int64_t *ret)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa},
			     load[] = {0x64, 0x48, 0x8b, 0x04, 0x25};
	struct sw_elf_symbol symbol;
	struct sw_bytes code;
	uint8_t start[5], end;
	uint32_t offset;
	if (!sw_elf_symbols_find(symbols, "tsrm_get_ls_cache", &symbol) ||
	    !sw_elf_loaded(symbols->elf, symbol.svma, &code))
		return false;
	if (code.size > 4 && memcmp(code.data, endbr64, sizeof(endbr64)) == 0)
		(void) sw_bytes_sub(code, 4, code.size - 4, &code); /* fits */
	if (!sw_bytes_copy(code, 0, start, sizeof(start)) ||
	    memcmp(start, load, sizeof(load)) != 0 || !sw_bytes_u32(code, 5, &offset) ||
	    !sw_bytes_u8(code, 9, &end) || end != 0xc3)
		return false;
	*ret = (int32_t) offset;
	return true;
}

/* All but place. */
static void module_look(struct sw_module *module, struct sw_php_found *f)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	uint64_t end;
	unsigned major, minor;
	if (!sw_elf_symbols_open(sw_module_elf(module), &symbols)) {
		f->missing = "its file";
		return;
	}
	version_find(symbols.elf, f->version, sizeof(f->version));
	if (sw_elf_symbols_find(&symbols, "executor_globals", &symbol)) {
		f->globals_svma = symbol.svma;
	} else if (sw_elf_symbols_find(&symbols, "executor_globals_offset", &symbol)) {
		f->threads = true;
		f->globals_svma = symbol.svma;
	} else {
		f->missing = "executor_globals";
		return;
	}
	if (sw_elf_symbols_find(&symbols, f->threads ? "sapi_globals_offset" : "sapi_globals",
				&symbol))
		f->sapi_svma = symbol.svma;
	if (sw_elf_symbols_find(&symbols, "zend_generator_resume", &symbol) &&
	    !__builtin_add_overflow(symbol.svma, symbol.size, &end)) {
		f->resume_svma = symbol.svma;
		f->resume_end_svma = end;
	}
	if (f->threads && !thread_offset_read(&symbols, &f->thread_offset)) {
		f->missing = "where its threads keep their globals";
		return;
	}
	if (sscanf(f->version, "%u.%u", &major, &minor) != 2)
		f->missing = "its version";
	else
		f->layout = sw_php_layout_of(major, minor);
}

bool sw_php_find(const struct sw_snapshot *snap, struct sw_php_found *ret)
{
	struct sw_place *place = NULL;
	for (size_t i = 0; i < snap->n_places && place == NULL; i++)
		if (sw_module_kind(snap->places[i].module) == SW_MODULE_ELF &&
		    sw_php_file_probe(sw_module_path(snap->places[i].module)))
			place = &snap->places[i];
	*ret = (struct sw_php_found){.place = place};
	if (place == NULL)
		return false;
	if (!sw_place_resolve(place, snap)) {
		ret->missing = "its file";
		return true;
	}
	void **slot = sw_slots_get(&place->module->slots, &slot_key, free);
	if (slot != NULL && *slot != NULL) {
		*ret = *(const struct sw_php_found *) *slot;
		ret->place = place; /* the one of this snapshot */
		return true;
	}
	module_look(place->module, ret);
	struct sw_php_found *kept = slot != NULL ? malloc(sizeof(*kept)) : NULL;
	if (kept != NULL) {
		*kept = *ret;
		kept->place = NULL;
		*slot = kept;
	}
	return true;
}
