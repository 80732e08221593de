/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/v8/find.h"
#include "native/known_files.h"
#include "native/tls_symbol.h"
#include "parts.h"
#include "runtimes/v8/entry.h"
#include "runtimes/v8/numbers.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"

#include <snapwalk/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char slot_key; /* of what is kept with a module */

static const char isolate_name[] = "_ZN2v88internal18g_current_isolate_E";

enum { BUILTINS_MAX = 8192, BLOB_MAX = 64 << 20, WALKER_BYTES = 33 };

/* Names of files that are known to have V8 in them, and to keep what it publishes. */
static bool v8_file_probe(const struct sw_module *module)
{
	char version[64];
	const char *name =
		sw_module_kind(module) == SW_MODULE_ELF
			? sw_known_file_runtime(sw_module_path(module), version, sizeof(version))
			: NULL;
	return name != NULL && strcmp(name, "v8") == 0;
}

bool sw_v8_probe(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (v8_file_probe(snap->places[i].module))
			return true;
	return false;
}

/* ---- builtins ------------------------------------------------------------------------------ */

/* The symbols that are looked for in .symtab. */
struct wanted {
	uint64_t code_svma, data_svma, size_svma; /* 0: not there */
	uint64_t table_svma, table_data_svma;
	uint64_t sizes_svma, sizes_bytes;
	uint64_t walker_svma, wasm_svma, loop_svma;
	bool has_isolate;
	uint64_t isolate_svma; /* in a thread's copy */
	uint64_t isolate_key_svma;
};

/*
 * Names are compared where they lie: a large program has 100,000 symbols, of which nine are wanted. The length is known
 * when this is compiled only where it is inlined.
 */
__attribute__((always_inline)) static inline bool name_is(const struct sw_elf_table *table,
							  const Elf64_Sym *sym, const char *name)
{
	size_t length = strlen(name);
	return sw_bytes_has(table->strings, sym->st_name, length + 1) &&
	       table->strings.data[sym->st_name + length] == '\0' &&
	       memcmp(table->strings.data + sym->st_name, name, length) == 0;
}

static void mangled_take(const struct sw_elf_table *table, const Elf64_Sym *sym, struct wanted *w)
{
	if (name_is(table, sym, "_ZN2v88internal4wasm12_GLOBAL__N_117global_wasm_stateE"))
		w->wasm_svma = sym->st_value;
	else if (name_is(table, sym, isolate_name) && ELF64_ST_TYPE(sym->st_info) == STT_TLS) {
		w->has_isolate = true;
		w->isolate_svma = sym->st_value;
	} else if (name_is(table, sym, "_ZN2v88internal7Isolate12isolate_key_E")) {
		w->isolate_key_svma = sym->st_value;
	} else if (name_is(table, sym, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE")) {
		w->sizes_svma = sym->st_value;
		w->sizes_bytes = sym->st_size;
	}
}

static void plain_take(const struct sw_elf_table *table, const Elf64_Sym *sym, struct wanted *w)
{
	if (name_is(table, sym, "v8_Default_embedded_blob_code_"))
		w->code_svma = sym->st_value;
	else if (name_is(table, sym, "v8_Default_embedded_blob_code_data_"))
		w->data_svma = sym->st_value;
	else if (name_is(table, sym, "v8_Default_embedded_blob_code_size_"))
		w->size_svma = sym->st_value;
	else if (name_is(table, sym, "v8_Default_embedded_blob_data_"))
		w->table_svma = sym->st_value;
	else if (name_is(table, sym, "v8_Default_embedded_blob_data_data_"))
		w->table_data_svma = sym->st_value;
	else if (name_is(table, sym, "PushAllRegistersAndIterateStack"))
		w->walker_svma = sym->st_value;
	else if (name_is(table, sym, "default_loop_struct"))
		w->loop_svma = sym->st_value;
}

/* A defined symbol and the first character of its name. */
static bool symbol_read(const struct sw_elf_table *table, size_t i, Elf64_Sym *ret,
			uint8_t *ret_first)
{
	return sw_bytes_copy(table->symbols, i * sizeof(*ret), ret, sizeof(*ret)) &&
	       ret->st_shndx != SHN_UNDEF && ret->st_value != 0 &&
	       sw_bytes_u8(table->strings, ret->st_name, ret_first);
}

static int compare_builtins(const void *a, const void *b)
{
	const struct sw_v8_builtin *x = a, *y = b;
	return (x->off > y->off) - (x->off < y->off);
}

static int index_of(const struct sw_v8_program *p, const char *name)
{
	for (size_t i = 0; i < p->n_builtins; i++)
		if (strcmp(p->builtins[i].name, name) == 0)
			return (int) i;
	return -1;
}

static void deopts_fill(struct sw_v8_program *p)
{
	struct sw_bytes code;
	for (size_t i = 0; i < p->n_builtins && p->n_deopts < SW_V8_DEOPTS_MAX; i++) {
		const struct sw_v8_builtin *b = &p->builtins[i];
		if (!sw_begins_with(b->name, "DeoptimizationEntry_") ||
		    !sw_bytes_sub(p->blob, b->off, b->bytes, &code) ||
		    !sw_v8_deopt_read(code, &p->deopts[p->n_deopts]))
			continue;
		p->deopt_builtins[p->n_deopts++] = i;
	}
}

static const char *builtins_fill(struct sw_v8_program *p, const struct sw_elf_table *table,
				 uint64_t blob_svma)
{
	size_t n = table->symbols.size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < n && i < SW_ELF_SYMBOLS_MAX && p->n_builtins < BUILTINS_MAX; i++) {
		Elf64_Sym sym;
		const char *name;
		uint8_t first;
		if (!symbol_read(table, i, &sym, &first) || first != 'B' ||
		    !sw_bytes_str(table->strings, sym.st_name, &name) ||
		    !sw_begins_with(name, "Builtins_") || sym.st_value < blob_svma ||
		    sym.st_value - blob_svma >= p->blob.size ||
		    sym.st_size > p->blob.size - (sym.st_value - blob_svma))
			continue;
		name += strlen("Builtins_");
		p->builtins[p->n_builtins++] = (struct sw_v8_builtin){
			.off = (uint32_t) (sym.st_value - blob_svma),
			.bytes = (uint32_t) sym.st_size,
			.name = name,
			.interprets = sw_begins_with(name, "InterpreterEnt") ||
				      sw_begins_with(name, "BaselineOrInterpreterEnter") ||
				      sw_begins_with(name, "BaselineLeaveFrame"),
			.resumes = sw_v8_await_builtin_of(name) <= SW_V8_GENERATOR_YIELD,
			.handler = sw_ends_with(name, "Handler"),
			.runs_microtasks = strcmp(name, "RunMicrotasks") == 0,
		};
	}
	if (p->n_builtins == 0)
		return "names of builtins: the file is stripped";
	qsort(p->builtins, p->n_builtins, sizeof(*p->builtins), compare_builtins);
	p->prologue = index_of(p, "BaselineOutOfLinePrologue");
	p->wasm_prologue = index_of(p, "WasmLiftoffFrameSetup");
	p->wasm_lazy = index_of(p, "WasmCompileLazy");
	deopts_fill(p);
	return NULL;
}

/* Without it handlers of promises are functions like others. */
static void microtasks_find(struct sw_v8_program *p, const struct sw_elf_symbols *symbols,
			    const struct wanted *w)
{
	struct sw_v8_microtasks *m = &p->microtasks;
	struct sw_bytes code;
	int i = index_of(p, "RunMicrotasks");
	if (i < 0 ||
	    (!(w->has_isolate && sw_tls_of_program(symbols->elf, w->isolate_svma, &m->isolate)) &&
	     !sw_tls_find(symbols, isolate_name, &m->isolate)))
		return;
	if (!sw_bytes_sub(p->blob, p->builtins[i].off, p->builtins[i].bytes, &code) ||
	    !sw_v8_microtask_off(code, &m->off))
		m->off = 0;
}

/*
 * The builtins that call C++ code note their frame before: the first word that they write from rbp into the isolate. It is not
 * known where two of them differ.
 */
static void entry_find(struct sw_v8_program *p)
{
	uint32_t found = 0;
	for (size_t i = 0; i < p->n_builtins; i++) {
		const struct sw_v8_builtin *b = &p->builtins[i];
		struct sw_bytes code;
		uint32_t off;
		if (!sw_begins_with(b->name, "CEntry_Return") ||
		    !sw_bytes_sub(p->blob, b->off, b->bytes, &code))
			continue;
		if (!sw_v8_entry_off(code, &off) || (found != 0 && off != found))
			return;
		found = off;
	}
	p->entry_off = found;
}

static const char *blob_find(struct sw_v8_program *p, const struct sw_elf_symbols *symbols)
{
	const struct sw_elf *elf = symbols->elf;
	struct sw_elf_table table;
	struct sw_bytes bytes;
	struct wanted w = {0};
	uint32_t size;
	if (!sw_elf_table_typed(elf, SHT_SYMTAB, &table))
		return "names of builtins: the file is stripped";
	size_t n = table.symbols.size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < n && i < SW_ELF_SYMBOLS_MAX; i++) {
		Elf64_Sym sym;
		uint8_t first;
		if (!symbol_read(&table, i, &sym, &first))
			continue;
		if (first == '_')
			mangled_take(&table, &sym, &w);
		else if (first == 'v' || first == 'P' || first == 'd')
			plain_take(&table, &sym, &w);
	}
	uint64_t svma = w.data_svma != 0 ? w.data_svma : w.code_svma;
	if (svma == 0 || w.size_svma == 0 || !sw_elf_loaded(elf, w.size_svma, &bytes) ||
	    !sw_bytes_u32(bytes, 0, &size) || size == 0 || size > BLOB_MAX ||
	    !sw_elf_loaded(elf, svma, &bytes) || !sw_bytes_sub(bytes, 0, size, &p->blob))
		return "the code of its builtins";
	p->blob_off = (uint64_t) (p->blob.data - elf->image.data);
	p->wasm_state_svma = w.wasm_svma;
	p->loop_svma = w.loop_svma;
	if (w.sizes_svma != 0 && sw_elf_loaded(elf, w.sizes_svma, &bytes) &&
	    !sw_bytes_sub(bytes, 0, w.sizes_bytes, &p->sizes))
		p->sizes = (struct sw_bytes){0};
	if (w.walker_svma != 0 && sw_elf_loaded(elf, w.walker_svma, &bytes) &&
	    sw_bytes_sub(bytes, 0, WALKER_BYTES, &p->walker))
		p->walker_off = (uint64_t) (bytes.data - elf->image.data);
	p->builtins = calloc(BUILTINS_MAX, sizeof(*p->builtins));
	if (p->builtins == NULL)
		return "memory for the table of builtins";
	const char *missing = builtins_fill(p, &table, svma);
	microtasks_find(p, symbols, &w);
	if (p->microtasks.off == 0) /* the variable that leads to the isolate is not known */
		p->isolate_key_svma = w.isolate_key_svma;
	if (p->microtasks.off != 0 || p->isolate_key_svma != 0)
		entry_find(p);
	svma = w.table_data_svma != 0 ? w.table_data_svma : w.table_svma;
	if (missing == NULL && svma != 0 && sw_elf_loaded(elf, svma, &bytes))
		sw_v8_numbers_find(p, bytes);
	return missing;
}

static void version_fill(const struct sw_elf_symbols *symbols, struct sw_v8_program *p)
{
	static const char *const names[] = {"major", "minor", "build"};
	size_t length = 0;
	for (size_t i = 0; i < 3; i++) {
		char name[64];
		struct sw_elf_symbol symbol;
		struct sw_bytes bytes;
		uint32_t value;
		(void) snprintf(name, sizeof(name), "_ZN2v88internal7Version6%s_E", names[i]);
		if (!sw_elf_symbols_find(symbols, name, &symbol))
			return;
		if (!sw_elf_loaded(symbols->elf, symbol.svma, &bytes) ||
		    !sw_bytes_u32(bytes, 0, &value))
			value = 0;
		int n = snprintf(p->version + length, sizeof(p->version) - length, "%s%u",
				 i > 0 ? "." : "", value);
		length += n > 0 ? (size_t) n : 0;
	}
}

static void program_destroy(void *value)
{
	struct sw_v8_program *p = value;
	if (p != NULL)
		free(p->builtins);
	free(p);
}

static struct sw_v8_program *program_make(struct sw_module *module)
{
	struct sw_elf_symbols symbols;
	struct sw_v8_program *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	p->prologue = p->wasm_prologue = p->wasm_lazy = -1;
	p->missing = "its file";
	const struct sw_elf *elf = sw_module_elf(module);
	if (elf != NULL && elf->is_32bit) {
		p->missing = "it is a 32-bit program";
		return p;
	}
	if (!sw_elf_symbols_open(elf, &symbols))
		return p;
	version_fill(&symbols, p);
	if (!sw_v8_layout_fill(&symbols, &p->at, &p->missing))
		return p;
	p->missing = blob_find(p, &symbols);
	p->usable = p->missing == NULL;
	return p;
}

const struct sw_v8_program *sw_v8_find(const struct sw_snapshot *snap, struct sw_place **ret_place)
{
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_module *module = snap->places[i].module;
		if (!v8_file_probe(module))
			continue;
		void **slot = sw_slots_get(&module->slots, &slot_key, program_destroy);
		if (slot == NULL)
			return NULL;
		if (*slot == NULL)
			*slot = program_make(module);
		*ret_place = &snap->places[i];
		return *slot;
	}
	return NULL;
}

static bool file_off(const struct sw_snapshot *snap, uint64_t avma, uint64_t *ret)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	if (map == NULL || !(map->prot & SW_MAP_EXEC) || map->place < 0 ||
	    !v8_file_probe(snap->places[map->place].module))
		return false;
	return sw_map_file_off(snap, map, avma, ret);
}

bool sw_v8_is_walker(const struct sw_snapshot *snap, const struct sw_v8_program *p, uint64_t avma,
		     uint64_t *ret_off)
{
	uint64_t off;
	if (p->walker.size == 0 || !file_off(snap, avma, &off) || off < p->walker_off ||
	    off - p->walker_off >= p->walker.size)
		return false;
	*ret_off = off - p->walker_off;
	return true;
}

const struct sw_v8_builtin *sw_v8_builtin_at(const struct sw_snapshot *snap,
					     const struct sw_v8_program *p, uint64_t avma,
					     uint64_t *ret_off)
{
	uint64_t at;
	if (!file_off(snap, avma, &at) || at < p->blob_off || at - p->blob_off >= p->blob.size)
		return NULL;
	uint64_t off = at - p->blob_off;
	size_t low = 0, high = p->n_builtins;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->builtins[middle].off <= off)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || off - p->builtins[low - 1].off > p->builtins[low - 1].bytes)
		return NULL;
	*ret_off = off - p->builtins[low - 1].off;
	return &p->builtins[low - 1];
}

uint64_t sw_v8_wasm_state(const struct sw_snapshot *snap, const struct sw_v8_program *p,
			  struct sw_place *place)
{
	if (p->wasm_state_svma == 0 || !sw_place_resolve(place, snap))
		return 0;
	return p->wasm_state_svma + place->bias;
}

struct sw_v8_microtasks sw_v8_microtasks_of(const struct sw_snapshot *snap,
					    const struct sw_v8_program *p, struct sw_place *place)
{
	struct sw_v8_microtasks microtasks = p->microtasks;
	if (microtasks.off != 0 && sw_place_resolve(place, snap))
		microtasks.bias = place->bias;
	else
		microtasks.off = 0;
	return microtasks;
}

bool sw_v8_is_made(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	return map != NULL && (map->prot & SW_MAP_EXEC) && map->place < 0;
}
