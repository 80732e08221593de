/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/beam/find.h"
#include "cleanup.h"
#include "formats/elf_symbol.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <stddef.h>
#include <string.h>

enum { LOOKUP_BYTES = 64, RANGES_BYTES = 32 /* of code that are looked at */ };

/* erl_child_setup and others lie beside it. "erl -emu_flavor emu" starts the one without JIT. */
bool sw_beam_file_probe(const char *path)
{
	static const char *const names[] = {"beam.smp", "beam.jit.smp", "beam.emu.smp"};
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool is_machine(const struct sw_place *place)
{
	return sw_module_kind(place->module) == SW_MODULE_ELF &&
	       sw_beam_file_probe(sw_module_path(place->module));
}

static struct sw_place *machine_probe(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (is_machine(&snap->places[i]))
			return &snap->places[i];
	return NULL;
}

bool sw_beam_probe(const struct sw_snapshot *snap)
{
	return machine_probe(snap) != NULL;
}

static bool text_read(const struct sw_elf_symbols *symbols, const char *name, char *ret,
		      size_t size)
{
	struct sw_elf_symbol symbol;
	struct sw_bytes bytes;
	if (!sw_elf_symbols_find(symbols, name, &symbol) ||
	    !sw_elf_loaded(symbols->elf, symbol.svma, &bytes))
		return false;
	size_t n = strnlen((const char *) bytes.data, bytes.size < size ? bytes.size : size);
	if (n == size || n == bytes.size)
		return false;
	memcpy(ret, bytes.data, n + 1);
	return true;
}

/* The target of an instruction of 4 + 3 bytes that ends with a distance, which counts from the end
 * of the instruction; 0 if there is none. */
static uint64_t distance_target(struct sw_bytes code, size_t at, size_t length, uint64_t svma)
{
	uint32_t distance;
	if (!sw_bytes_u32(code, at + length - 4, &distance))
		return 0;
	return svma + at + length + (uint64_t) (int64_t) (int32_t) distance;
}

/*
 * The lists have no symbol. erts_lookup_function_info() calls first who looks there, and that begins with
 *
 *	44 8b 05 xx xx xx xx	mov r8d, [the_active_code_index]
 *	4c 8d 0d xx xx xx xx	lea r9, [lists]
 */
static bool ranges_find(const struct sw_elf_symbols *symbols, struct sw_beam_found *f)
{
	static const uint8_t lea[] = {0x4c, 0x8d, 0x0d};
	struct sw_elf_symbol symbol;
	struct sw_bytes code;
	uint64_t target = 0;
	if (!sw_elf_symbols_find(symbols, "erts_lookup_function_info", &symbol) ||
	    !sw_elf_loaded(symbols->elf, symbol.svma, &code))
		return false;
	for (size_t i = 0; i + 5 <= code.size && i < LOOKUP_BYTES && target == 0; i++)
		if (code.data[i] == 0xe8)
			target = distance_target(code, i, 5, symbol.svma);
	if (target == 0 || !sw_elf_loaded(symbols->elf, target, &code))
		return false;
	bool index = false;
	for (size_t i = 0; i + 7 <= code.size && i < RANGES_BYTES; i++) {
		uint64_t svma = distance_target(code, i, 7, target);
		if (code.data[i + 1] == 0x8b && svma == f->active_svma)
			index = true;
		if (!index || memcmp(code.data + i, lea, sizeof(lea)) != 0)
			continue;
		f->ranges_svma = svma;
		return true;
	}
	return false;
}

/* All but place. */
static void module_look(struct sw_module *module, struct sw_beam_found *f)
{
	const struct {
		const char *name;
		size_t at;
	} wanted[] = {
#define AT(member) offsetof(struct sw_beam_found, member)
		{"erts_aligned_scheduler_data", AT(schedulers_svma[SW_BEAM_NORMAL])},
		{"erts_aligned_dirty_cpu_scheduler_data", AT(schedulers_svma[SW_BEAM_DIRTY_CPU])},
		{"erts_aligned_dirty_io_scheduler_data", AT(schedulers_svma[SW_BEAM_DIRTY_IO])},
		{"erts_no_schedulers", AT(counts_svma[SW_BEAM_NORMAL])},
		{"erts_no_dirty_cpu_schedulers", AT(counts_svma[SW_BEAM_DIRTY_CPU])},
		{"erts_no_dirty_io_schedulers", AT(counts_svma[SW_BEAM_DIRTY_IO])},
		{"the_active_code_index", AT(active_svma)},
		{"beam_normal_exit", AT(exit_svma)},
		{"process_main", AT(process_main_svma)},
		{"erts_atom_table", AT(atoms_svma)},
#undef AT
	};
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	struct sw_bytes bytes;
	uint32_t jit = 0;
	if (!sw_elf_symbols_open(sw_module_elf(module), &symbols)) {
		f->missing = "its file";
		return;
	}
	if (!text_read(&symbols, "etp_otp_release", f->release, sizeof(f->release)) ||
	    !text_read(&symbols, "etp_erts_version", f->erts, sizeof(f->erts))) {
		f->missing = "its version";
		return;
	}
	if (!sw_elf_symbols_find(&symbols, "etp_beamasm", &symbol) ||
	    !sw_elf_loaded(symbols.elf, symbol.svma, &bytes) || !sw_bytes_u32(bytes, 0, &jit)) {
		f->missing = "whether it has a JIT";
		return;
	}
	f->interprets = jit == 0;
	if (f->interprets)
		return;
	for (size_t i = 0; i < SW_ARRAY_SIZE(wanted); i++) {
		if (!sw_elf_symbols_find(&symbols, wanted[i].name, &symbol)) {
			f->missing = wanted[i].name;
			return;
		}
		memcpy((char *) f + wanted[i].at, &symbol.svma, sizeof(symbol.svma));
	}
	if (sw_elf_symbols_find(&symbols, "erts_proc", &symbol))
		f->processes_svma = symbol.svma;
	if (!ranges_find(&symbols, f))
		f->missing = "the list of its code";
	else
		f->layout = sw_beam_layout_of(f->release, f->erts);
}

bool sw_beam_find(const struct sw_snapshot *snap, struct sw_beam_found *ret)
{
	struct sw_place *place = machine_probe(snap);
	*ret = (struct sw_beam_found){.place = place};
	if (place == NULL)
		return false;
	if (sw_place_resolve(place, snap))
		module_look(place->module, ret);
	else
		ret->missing = "its file";
	return true;
}

bool sw_beam_is_code(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	if (map == NULL || !(map->prot & SW_MAP_EXEC))
		return false;
	if (map->place < 0 || (size_t) map->place >= snap->n_places)
		return true;
	enum sw_module_kind kind = sw_module_kind(snap->places[map->place].module);
	return kind == SW_MODULE_JIT || kind == SW_MODULE_ANON;
}
