/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit.h"

const struct sw_elf *sw_unit_elf(struct sw_unit *unit)
{
	if (!unit->elf_tried) {
		unit->elf_tried = true;
		struct sw_bytes image = {0};
		image.data = sw_module_image(unit->module, &image.size);
		unit->is_elf = sw_elf_init(&unit->elf, image);
	}
	return unit->is_elf ? &unit->elf : NULL;
}

const struct sw_pe_file *sw_unit_pe(struct sw_unit *unit)
{
	if (!unit->pe_tried) {
		unit->pe_tried = true;
		struct sw_bytes image = {0};
		image.data = sw_module_image(unit->module, &image.size);
		unit->is_pe = sw_pe_file_init(&unit->pe, image);
	}
	return unit->is_pe ? &unit->pe : NULL;
}
