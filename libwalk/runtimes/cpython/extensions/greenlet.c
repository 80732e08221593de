/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/cpython/extensions/greenlet.h"
#include "cleanup.h"
#include "formats/elf_symbol.h"
#include "snapshot/module.h"

#include <string.h>

/* "_greenlet.cpython-311-x86_64-linux-gnu.so": before 2.0 it has no such function. */
static bool is_greenlet(const struct sw_module *module)
{
	static const char name[] = "_greenlet.";
	const char *path = sw_module_path(module), *slash = strrchr(path, '/');
	return strncmp(slash != NULL ? slash + 1 : path, name, sizeof(name) - 1) == 0;
}

static bool function_find(struct sw_module *module, struct sw_elf_symbol *ret)
{
	/* UserGreenlet::inner_bootstrap(): greenlet 2.0.2 src/greenlet/greenlet.cpp, 3.2 TUserGreenlet.cpp. */
	static const char *const names[] = {
		"_ZN8greenlet12UserGreenlet15inner_bootstrapERNS_4refs14_OwnedGreenletI9_"
		"greenletXadL_"
		"ZNS1_15GreenletCheckerEPvEEEERNS1_14OwnedReferenceI7_objectXadL_ZNS1_"
		"11NoOpCheckerES4_"
		"EEEE",
		"_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object",
	};
	struct sw_elf_symbols symbols;
	if (!sw_elf_symbols_open(sw_module_elf(module), &symbols))
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (sw_elf_symbols_find(&symbols, names[i], ret))
			return true;
	return false;
}

void sw_greenlet_find(const struct sw_snapshot *snap, struct sw_greenlet *ret)
{
	struct sw_elf_symbol symbol;
	*ret = (struct sw_greenlet){0};
	for (size_t i = 0; i < snap->n_places; i++) {
		const struct sw_place *place = &snap->places[i];
		if (!is_greenlet(place->module) || !function_find(place->module, &symbol))
			continue;
		*ret = (struct sw_greenlet){place, symbol.svma, symbol.svma + symbol.size};
		return;
	}
}

enum sw_step sw_greenlet_step(const struct sw_greenlet *greenlet, const struct sw_cursor *cursor)
{
	if (greenlet->place == NULL || cursor->place != greenlet->place ||
	    cursor->place->resolved != 1)
		return SW_STEP_DECLINE;
	uint64_t svma = cursor->lookup_avma - cursor->place->bias;
	return svma >= greenlet->start_svma && svma < greenlet->end_svma ? SW_STEP_END
									 : SW_STEP_DECLINE;
}
