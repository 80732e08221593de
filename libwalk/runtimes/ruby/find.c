/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/ruby/find.h"
#include "native/tls_symbol.h"
#include "runtimes/ruby/unexported.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum {
	CODE_BYTES = 160, /* of a function that are looked at */
	ID2STR_BYTES = 32,
};

static const char slot_key, exec_key; /* of what is kept with a module */

bool sw_ruby_file_probe(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	if (strncmp(name, "libruby", 7) == 0) {
		const char *so = strstr(name, ".so");
		return so != NULL && (so[3] == '\0' || so[3] == '.') &&
		       strspn(name + 7, "-0123456789.") >= (size_t) (so - name) - 7;
	}
	return strncmp(name, "ruby", 4) == 0 && name[4 + strspn(name + 4, "0123456789.")] == '\0';
}

bool sw_ruby_probe(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (sw_module_kind(snap->places[i].module) == SW_MODULE_ELF &&
		    sw_ruby_file_probe(sw_module_path(snap->places[i].module)))
			return true;
	return false;
}

/* Where "op reg, [rip + disp]" at off leads; the instruction is 3 + 4 or 2 + 4 bytes long. */
static uint64_t rip_target(struct sw_bytes code, uint64_t code_svma, uint64_t off, unsigned length)
{
	uint32_t displacement;
	if (!sw_bytes_u32(code, off + length - 4, &displacement))
		return 0;
	return code_svma + off + length + (uint64_t) (int64_t) (int32_t) displacement;
}

/*
 * get_id_serial_entry(): the number is compared with last_id, then ids is read, which lies 16 bytes
 * behind it (Ruby 3.1, symbol.h).
 *
 *	39 /r	cmp [rip + last_id], r32
 *	48 8b /r	mov r64, [rip + ids]
 */
uint64_t sw_ruby_symbols_in(struct sw_bytes code, uint64_t code_svma)
{
	uint64_t last = 0;
	for (uint64_t i = 0; i + 7 <= code.size && i < CODE_BYTES; i++) {
		const uint8_t *c = code.data + i;
		if ((c[0] == 0x39 || c[0] == 0x3b) && (c[1] & 0xc7) == 0x05)
			last = rip_target(code, code_svma, i, 6);
		else if (c[0] == 0x48 && c[1] == 0x8b && (c[2] & 0xc7) == 0x05 && last != 0 &&
			 rip_target(code, code_svma, i, 7) == last + SW_RUBY_SYMBOLS_IDS)
			return last;
	}
	return 0;
}

/* rb_id2str() calls, or jumps to, the function that has the code; it may have it itself. */
static uint64_t symbols_find(const struct sw_elf_symbols *symbols)
{
	struct sw_elf_symbol symbol;
	struct sw_bytes code, inner;
	if (!sw_elf_symbols_find(symbols, "rb_id2str", &symbol) ||
	    !sw_elf_loaded(symbols->elf, symbol.svma, &code))
		return 0;
	uint64_t found = sw_ruby_symbols_in(code, symbol.svma);
	for (uint64_t i = 0; found == 0 && i + 5 <= code.size && i < ID2STR_BYTES; i++) {
		if (code.data[i] != 0xe8 && code.data[i] != 0xe9)
			continue;
		uint64_t target = rip_target(code, symbol.svma, i, 5);
		if (sw_elf_loaded(symbols->elf, target, &inner))
			found = sw_ruby_symbols_in(inner, target);
	}
	return found;
}

/* int[3] */
static bool version_read(const struct sw_elf_symbols *symbols, struct sw_ruby_found *f)
{
	struct sw_elf_symbol symbol;
	struct sw_bytes bytes;
	const char *text;
	uint32_t major, minor;
	if (sw_elf_symbols_find(symbols, "ruby_version", &symbol) &&
	    sw_elf_loaded(symbols->elf, symbol.svma, &bytes) && sw_bytes_str(bytes, 0, &text) &&
	    strspn(text, "0123456789.") == strlen(text) && strlen(text) < sizeof(f->version))
		memcpy(f->version, text, strlen(text) + 1);
	if (!sw_elf_symbols_find(symbols, "ruby_api_version", &symbol) ||
	    !sw_elf_loaded(symbols->elf, symbol.svma, &bytes) || !sw_bytes_u32(bytes, 0, &major) ||
	    !sw_bytes_u32(bytes, 4, &minor))
		return false;
	f->layout = sw_ruby_layout_of(major, minor);
	return true;
}

/* All but place. */
static void module_look(const struct sw_elf_symbols *symbols, struct sw_ruby_found *f)
{
	if (!version_read(symbols, f)) {
		f->missing = "its version";
	} else if (f->layout != NULL && !sw_tls_find(symbols, "ruby_current_ec", &f->ec) &&
		   !sw_ruby_ec_find(symbols, &f->ec)) {
		f->layout = NULL;
		f->missing = "ruby_current_ec";
	} else {
		struct sw_elf_symbol vm;
		f->symbols_svma = symbols_find(symbols);
		if (sw_elf_symbols_find(symbols, "ruby_current_vm_ptr", &vm))
			f->vm_svma = vm.svma;
	}
}

/* The program "ruby" is most often but a caller of the library, which comes behind it. */
static bool place_look(const struct sw_snapshot *snap, struct sw_place *place,
		       struct sw_ruby_found *ret)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	*ret = (struct sw_ruby_found){.place = place};
	if (!sw_place_resolve(place, snap) ||
	    !sw_elf_symbols_open(sw_module_elf(place->module), &symbols)) {
		ret->missing = "its file";
		return false;
	}
	void **slot = sw_slots_get(&place->module->slots, &slot_key, free);
	if (slot != NULL && *slot != NULL) {
		*ret = *(const struct sw_ruby_found *) *slot;
		ret->place = place; /* the one of this snapshot */
		return true;
	}
	if (!sw_elf_symbols_find(&symbols, "ruby_version", &symbol)) {
		ret->missing = "ruby_version";
		return false;
	}
	module_look(&symbols, ret);
	struct sw_ruby_found *kept = slot != NULL ? malloc(sizeof(*kept)) : NULL;
	if (kept != NULL) {
		*kept = *ret;
		kept->place = NULL;
		*slot = kept;
	}
	return true;
}

bool sw_ruby_find(const struct sw_snapshot *snap, struct sw_ruby_found *ret)
{
	*ret = (struct sw_ruby_found){0};
	for (size_t i = 0; i < snap->n_places; i++)
		if (sw_module_kind(snap->places[i].module) == SW_MODULE_ELF &&
		    sw_ruby_file_probe(sw_module_path(snap->places[i].module)) &&
		    place_look(snap, &snap->places[i], ret))
			return true;
	return ret->place != NULL;
}

static bool exec_look(struct sw_module *module, struct sw_ruby_exec *e)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	if (!sw_elf_symbols_open(sw_module_elf(module), &symbols))
		return false;
	if (!sw_elf_symbols_find(&symbols, "rb_vm_exec", &symbol) || symbol.size == 0)
		return sw_ruby_vm_exec_find(&symbols, module, &e->start_svma, &e->end_svma);
	e->start_svma = symbol.svma;
	if (__builtin_add_overflow(symbol.svma, symbol.size, &e->end_svma))
		e->end_svma = symbol.svma;
	return true;
}

bool sw_ruby_exec_find(const struct sw_place *place, struct sw_ruby_exec *ret)
{
	void **slot = sw_slots_get(&place->module->slots, &exec_key, free);
	if (slot != NULL && *slot != NULL) {
		*ret = *(const struct sw_ruby_exec *) *slot;
		return ret->found;
	}
	*ret = (struct sw_ruby_exec){0};
	ret->found = exec_look(place->module, ret);
	struct sw_ruby_exec *kept = slot != NULL ? malloc(sizeof(*kept)) : NULL;
	if (kept != NULL) {
		*kept = *ret;
		*slot = kept;
	}
	return ret->found;
}
