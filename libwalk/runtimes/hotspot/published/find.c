/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/hotspot/published/find.h"
#include "runtimes/hotspot/published/tables.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"

#include <string.h>

static const char slot_key; /* of what is kept with a module */

/* Whether a module is a VM of Java: its wire name, or NULL. "libjvm.so" is also the name of those that
 * are not HotSpot. */
static const char *vm_probe(const struct sw_place *place)
{
	const char *path = sw_module_path(place->module), *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	if (sw_module_kind(place->module) != SW_MODULE_ELF)
		return NULL;
	if (strcmp(name, "libjvm.so") == 0)
		return "hotspot";
	return strncmp(name, "libj9vm", 7) == 0 ? "openj9" : NULL;
}

bool sw_hotspot_probe(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (vm_probe(&snap->places[i]) != NULL)
			return true;
	return false;
}

static void ignore_row(void *arg, const struct sw_hotspot_row *row)
{
	(void) arg;
	(void) row;
}

static void tables_look(const struct sw_snapshot *snap, struct sw_memory memory,
			struct sw_hotspot_vm *vm)
{
	struct sw_hotspot_tables tables = {.memory = memory, .bias = vm->place->bias};
	if (!sw_elf_symbols_open(sw_module_elf(vm->place->module), &tables.symbols)) {
		vm->missing = "its file";
		return;
	}
	if (!sw_hotspot_tables_exported(&tables.symbols)) {
		vm->missing = "gHotSpotVMStructs";
		vm->name = "jvm";
		return;
	}
	void **slot = sw_slots_get(&vm->place->module->slots, &slot_key, free);
	if (slot != NULL && *slot != NULL) {
		vm->at = *(const struct sw_hotspot_layout *) *slot;
		vm->usable = true;
		/* Read all the same: a snapshot that is recorded must have them, too. */
		if (snap->live)
			(void) sw_hotspot_tables_each(&tables, ignore_row, NULL);
		return;
	}
	vm->usable = sw_hotspot_layout_fill(&tables, vm->place->bias, &vm->at, &vm->missing);
	struct sw_hotspot_layout *kept = vm->usable ? malloc(sizeof(*kept)) : NULL;
	if (kept != NULL && slot != NULL)
		*slot = memcpy(kept, &vm->at, sizeof(*kept));
	else
		free(kept);
}

bool sw_hotspot_find(const struct sw_snapshot *snap, struct sw_memory memory,
		     struct sw_hotspot_vm *ret)
{
	*ret = (struct sw_hotspot_vm){0};
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_place *place = &snap->places[i];
		const char *name = vm_probe(place);
		/* OpenJ9 has a libjvm.so, too, which only leads to it. */
		if (name == NULL || (ret->place != NULL && strcmp(name, "openj9") != 0))
			continue;
		*ret = (struct sw_hotspot_vm){.place = place, .name = name};
		if (strcmp(name, "openj9") == 0) {
			ret->missing = "gHotSpotVMStructs";
			return true;
		}
		if (sw_place_resolve(place, snap))
			tables_look(snap, memory, ret);
		else
			ret->missing = "where it was mapped";
	}
	return ret->place != NULL;
}

int sw_hotspot_version(const struct sw_hotspot_layout *at, uint64_t bias, struct sw_memory memory)
{
	uint32_t major = 0;
	(void) sw_memory_read(memory, bias + (uint64_t) at->version_major, &major,
			      sizeof(major)); /* stays 0 */
	/* The number is HotSpot's own in versions up to 8: 25 is that of 8, which has no such table
	 * of threads. */
	return major == 25 && at->list_threads == SW_HOTSPOT_NONE ? 8 : (int) major;
}
