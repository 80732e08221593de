/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which modules are a CoreCLR: libcoreclr.so, or a program that has it linked in. They export
 * DotNetRuntimeContractDescriptor (.NET 9 and later) and g_dacTable, whose first entry is the
 * address of the range section map (src/coreclr/inc/dacvars.h; .NET 8 and 9 are read by it). A
 * CoreCLR for Windows is read by the descriptor alone: published/windows.c.
 */
#include "runtimes/clr/find.h"
#include "snapshot/snapshot.h"
#include "bytes.h"
#include "cleanup.h"
#include "runtimes/clr/code/clr.h"
#include "runtimes/clr/published/windows.h"
#include "formats/elf_symbol.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"

#include <ctype.h>
#include <string.h>

static const char slot_key; /* of what is kept with a module */

enum {
	VERSION_BYTES_MAX = 64 << 20, /* that are searched; libcoreclr.so of 10.0 has 320 KiB */
	RUNTIME_BYTES_MIN = 1 << 20,  /* in memory: every runtime has more than 6 MiB */
	FIXED_FIRST = 8, /* major versions whose layout is known without a descriptor */
	FIXED_LAST = 9,
	TYPES_VERSION =
		1,   /* of the contract that names follow: runtimes/clr/published/name_layout.c */
	DAC_MAP = 0, /* entries of g_dacTable */
	DAC_THREADS = 16,    /* .NET 8: ThreadStore::s_pThreadStore */
	DAC_SUSPENDER = 18,  /* .NET 8: g_pSuspensionThread */
	DAC_OBJECT = 40,     /* .NET 8: g_pObjectClass */
	DAC_SYNC_TABLE = 80, /* .NET 8: g_pSyncTable */
};

/* The exports of a module; those of an ELF file are kept in its slot. */
struct exports {
	bool has_contract, has_dac;
	uint64_t contract_svma, dac_svma;
};

/* NULL when there is no memory. */
static const struct exports *exports_get(struct sw_module *module)
{
	void **slot = sw_slots_get(&module->slots, &slot_key, free);
	if (slot == NULL || *slot != NULL)
		return slot != NULL ? *slot : NULL;
	struct exports *e = calloc(1, sizeof(*e));
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol contract, dac;
	if (e == NULL)
		return NULL;
	if (sw_elf_symbols_open(sw_module_elf(module), &symbols)) {
		e->has_contract =
			sw_elf_symbols_find(&symbols, "DotNetRuntimeContractDescriptor", &contract);
		e->contract_svma = e->has_contract ? contract.svma : 0;
		e->has_dac = sw_elf_symbols_find(&symbols, "g_dacTable", &dac);
		e->dac_svma = e->has_dac ? dac.svma : 0;
	}
	return *slot = e;
}

/* The same of a module for Windows, whose memory says it. */
static struct exports exports_pe(const struct sw_place *place, struct sw_memory memory)
{
	uint64_t contract_avma = sw_clr_pe_contract(memory, place->start_avma);
	return (struct exports){.has_contract = contract_avma != 0,
				.contract_svma = contract_avma - place->start_avma};
}

/* ---- its version -------------------------------------------------------------------------- */

static bool is_version(const char *s, size_t length)
{
	bool dot = false;
	for (size_t i = 0; i < length; i++) {
		dot |= s[i] == '.';
		if (s[i] == '/' || (i == 0 && !isdigit((unsigned char) s[i])))
			return false;
	}
	return dot;
}

/* A shared runtime lies in a directory that is named by its version. */
static bool version_of_path(const char *path, struct sw_text *text)
{
	const char *end = strrchr(path, '/');
	if (end == NULL)
		return false;
	const char *begin = end;
	while (begin > path && begin[-1] != '/')
		begin--;
	if (!is_version(begin, (size_t) (end - begin)))
		return false;
	sw_text_append(text, begin, (size_t) (end - begin));
	return true;
}

/* "@(#)Version 10.0.1226.42308 @Commit: ..." in the data of every build: eng/native/version. */
static bool version_of_image(struct sw_module *module, struct sw_text *text)
{
	static const char mark[] = "@(#)Version ";
	struct sw_bytes data;
	struct sw_elf_segment s;
	size_t searched = 0;
	const struct sw_elf *elf = sw_module_elf(module);
	for (uint32_t i = 0;
	     elf != NULL && searched < VERSION_BYTES_MAX && sw_elf_segment(elf, i, &s); i++) {
		if (s.type != PT_LOAD || !(s.flags & PF_W) ||
		    !sw_bytes_sub(elf->image, s.off, s.file_bytes, &data))
			continue;
		if (data.size > VERSION_BYTES_MAX - searched)
			data.size = VERSION_BYTES_MAX - searched;
		searched += data.size;
		const char *found = memmem(data.data, data.size, mark, sizeof(mark) - 1);
		if (found == NULL)
			continue;
		found += sizeof(mark) - 1;
		size_t left = data.size - (size_t) (found - (const char *) data.data), length = 0;
		while (length < left && length < 32 &&
		       (isdigit((unsigned char) found[length]) || found[length] == '.'))
			length++;
		sw_text_append(text, found, length);
		return length > 0;
	}
	return false;
}

static void version_find(struct sw_clr_runtime *r, struct sw_memory memory)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if ((version_of_path(sw_module_path(r->place->module), &text) ||
	     (r->is_windows ? sw_clr_pe_version(memory, r->place->start_avma, &text)
			    : version_of_image(r->place->module, &text))) &&
	    text.data != NULL)
		(void) snprintf(r->version, sizeof(r->version), "%s", text.data); /* cut to fit */
}

/* ---- how it is read ----------------------------------------------------------------------- */

static bool dac_read(const struct sw_clr_runtime *r, struct sw_memory memory,
		     const struct exports *e, unsigned i, uint64_t *ret)
{
	return e->has_dac && sw_memory_u64(memory, e->dac_svma + r->place->bias + 8 * i, ret) &&
	       *ret != 0;
}

/* Variables that .NET 9 and later describe in their contract, and .NET 8 only lists in
 * g_dacTable. */
static void variables_find(struct sw_clr_runtime *r, struct sw_memory memory,
			   const struct exports *e)
{
	/* Each stays 0 where it is not there. */
	(void) dac_read(r, memory, e, DAC_SYNC_TABLE, &r->at.sync_table_avma);
	(void) dac_read(r, memory, e, DAC_OBJECT, &r->at.object_table_avma);
	(void) dac_read(r, memory, e, DAC_SUSPENDER, &r->at.suspender_avma);
}

/* Without a description of how code is found: only where that is known all the same. */
static void fixed_use(struct sw_clr_runtime *r, struct sw_memory memory, const struct exports *e)
{
	uint64_t map_avma, threads_avma = 0;
	long major = strtol(r->version, NULL, 10);
	if (r->is_windows)
		(void) snprintf(r->problem, sizeof(r->problem),
				"it does not describe how its code is found; of those for Windows "
				".NET 10 is the first that does");
	else if (major < FIXED_FIRST || major > FIXED_LAST)
		(void) snprintf(
			r->problem, sizeof(r->problem),
			"it does not describe how its code is found, and is neither .NET 8 nor "
			"9");
	else if (!dac_read(r, memory, e, DAC_MAP, &map_avma))
		(void) snprintf(r->problem, sizeof(r->problem),
				"its table for debuggers could not be read");
	else {
		if (major == FIXED_FIRST)
			(void) dac_read(r, memory, e, DAC_THREADS, &threads_avma); /* stays 0 */
		r->at = sw_clr_layout_fixed(map_avma, threads_avma);
		r->at.fixed_version = (unsigned) major;
		if (major == FIXED_FIRST)
			variables_find(r, memory, e);
		if (r->contract.json.values != NULL)
			sw_clr_layout_threads(&r->contract, &r->at);
		r->usable = true;
	}
}

/* Parts of a usable runtime that cannot be read are named in its problem: they are noticed only
 * where they are missed. */
static void parts_check(struct sw_clr_runtime *r)
{
	uint64_t version;
	if (r->contract.json.values == NULL || !r->usable)
		return;
	if (r->at.store_avma == 0)
		(void) snprintf(
			r->problem, sizeof(r->problem),
			"it does not describe its threads in a way that is known; those that a "
			"garbage collection is stopping may be incomplete");
	else if (!sw_clr_version(&r->contract, "RuntimeTypeSystem", &version) ||
		 version != TYPES_VERSION)
		(void) snprintf(
			r->problem, sizeof(r->problem),
			"it does not describe its methods in a way that is known; they have no "
			"names");
}

static int runtime_read(struct sw_clr_runtime *r, struct sw_memory memory, const struct exports *e)
{
	uint64_t version;
	const char *why = "";
	version_find(r, memory);
	if (e->has_contract) {
		int code = sw_clr_contract_read(memory, e->contract_svma + r->place->bias,
						&r->contract, &why);
		if (code == -SW_E_NOMEM)
			return code;
		if (code < 0) {
			(void) snprintf(r->problem, sizeof(r->problem), "%s", why); /* fits */
			return 0;
		}
		if (sw_clr_version(&r->contract, "ExecutionManager", &version)) {
			r->usable = sw_clr_layout_resolve(&r->contract, &r->at, r->problem,
							  sizeof(r->problem));
			parts_check(r);
			return 0;
		}
	}
	fixed_use(r, memory, e);
	parts_check(r);
	return 0;
}

/* The program itself, or a file with the runtime's usual name; else, any file that is large enough. */
static bool is_candidate(const struct sw_snapshot *snap, const struct sw_place *place,
			 bool only_likely)
{
	if (sw_module_kind(place->module) == SW_MODULE_PE)
		return sw_clr_pe_is_candidate(place);
	if (sw_module_kind(place->module) != SW_MODULE_ELF)
		return false;
	const char *path = sw_module_path(place->module);
	const char *name = strrchr(path, '/');
	return strcmp(path, snap->process.exe) == 0 ||
	       strcmp(name != NULL ? name + 1 : path, "libcoreclr.so") == 0 ||
	       (!only_likely && place->end_avma - place->start_avma >= RUNTIME_BYTES_MIN);
}

/* Walks of copies of the kernel's are told of no such code, so that it is not looked for in tables. */
static bool has_made_code(const struct sw_snapshot *snap)
{
	return snap->priv->unpublished || sw_snapshot_has_made_code(snap);
}

bool sw_clr_probe(const struct sw_snapshot *snap)
{
	if (!has_made_code(snap))
		return false;
	for (size_t i = 0; i < snap->n_places; i++)
		if (is_candidate(snap, &snap->places[i], false))
			return true;
	return false;
}

int sw_clr_runtimes_find(const struct sw_snapshot *snap, struct sw_memory memory, bool only_likely,
			 struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX], size_t *ret_n)
{
	*ret_n = 0;
	/* The stubs that each runtime makes for itself are such code. */
	if (!has_made_code(snap))
		return 0;
	for (size_t i = 0; i < snap->n_places && *ret_n < SW_CLR_RUNTIMES_MAX; i++) {
		struct sw_place *place = &snap->places[i];
		if (!is_candidate(snap, place, only_likely))
			continue;
		bool is_windows = sw_module_kind(place->module) == SW_MODULE_PE;
		struct exports pe = is_windows ? exports_pe(place, memory) : (struct exports){0};
		const struct exports *e = is_windows ? &pe : exports_get(place->module);
		if (e == NULL)
			return -SW_E_NOMEM;
		if ((!e->has_contract && !e->has_dac) || !sw_place_resolve(place, snap))
			continue;
		struct sw_clr_runtime *r = &runtimes[*ret_n];
		*r = (struct sw_clr_runtime){.place = place, .is_windows = is_windows};
		int code = runtime_read(r, memory, e);
		if (code < 0)
			return code;
		++*ret_n;
	}
	return 0;
}

void sw_clr_runtimes_deinit(struct sw_clr_runtime *runtimes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sw_clr_contract_deinit(&runtimes[i].contract);
}
