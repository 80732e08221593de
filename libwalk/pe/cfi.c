/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sources: LSB 5.0 core, §10.6.1 (.eh_frame); DWARF 5, §6.4.1 (.debug_frame). */
#include "pe/cfi.h"
#include "cfi/fde.h"
#include "cleanup.h"
#include "formats/pe_file.h"

#include <stdlib.h>

enum {
	SECTIONS = 2,
	RULES_MAX = 65536, /* when it is reached all are dropped and made anew */
	SECTION_MAX = 64 << 20,
};

/* In the order in which they are asked. The linker cuts a name to eight letters where it writes no string
 * table. */
static const struct {
	const char *name, *cut;
	bool debug_frame;
} kinds[SECTIONS] = {{".eh_frame", ".eh_fram", false}, {".debug_frame", ".debug_f", true}};

struct table {
	struct sw_cfi_section section; /* bytes are the module's image */
	struct sw_cfi_fdes fdes;       /* owned */
};

struct sw_pe_cfi {
	struct table tables[SECTIONS];
	uint64_t preferred_avma;
	struct sw_arena arena; /* rules */
	struct sw_map64 rules; /* rva -> rule's address, or enum sw_pe_row of a failure */
	bool unusable;
};

static const char slot_key; /* of what is kept with a module */

static bool section_find(const struct sw_pe_file *pe, size_t kind, struct sw_cfi_section *ret)
{
	const struct sw_pe_section *s = sw_pe_file_section_named(pe, kinds[kind].name);
	struct sw_bytes bytes;
	if (s == NULL)
		s = sw_pe_file_section_named(pe, kinds[kind].cut);
	if (s == NULL || !sw_pe_file_section_bytes(pe, s, &bytes) || bytes.size > SECTION_MAX)
		return false;
	*ret = (struct sw_cfi_section){.bytes = bytes,
				       .svma = pe->headers.preferred_avma + s->rva,
				       .debug_frame = kinds[kind].debug_frame,
				       .is_32bit = true};
	return true;
}

/* Only what lies in the image: an image that was copied from memory has been relocated, but where its
 * header says that it is. */
static int table_load(struct table *t, const struct sw_pe_file *pe, size_t kind)
{
	uint64_t start = pe->headers.preferred_avma, end = start + pe->headers.image_bytes;
	if (!section_find(pe, kind, &t->section))
		return 0;
	int r = sw_cfi_fdes_add(&t->fdes, &t->section, (uint32_t) kind);
	size_t n = 0;
	for (size_t i = 0; i < t->fdes.n; i++) {
		const struct sw_cfi_fde *fde = &t->fdes.fdes[i];
		if (fde->start_avma >= start && fde->end_avma <= end)
			t->fdes.fdes[n++] = *fde;
	}
	t->fdes.n = n;
	sw_cfi_fdes_sort(&t->fdes);
	return r;
}

static void pe_cfi_destroy(void *slot)
{
	struct sw_pe_cfi *cfi = slot;
	for (size_t i = 0; i < SECTIONS; i++)
		sw_cfi_fdes_deinit(&cfi->tables[i].fdes);
	sw_arena_deinit(&cfi->arena);
	sw_map64_deinit(&cfi->rules);
	free(cfi);
}

static struct sw_pe_cfi *pe_cfi_create(struct sw_module *module)
{
	struct sw_bytes image = {0};
	struct sw_pe_file pe;
	struct sw_pe_cfi *cfi = calloc(1, sizeof(*cfi));
	if (cfi == NULL)
		return NULL;
	image.data = sw_module_image(module, &image.size);
	cfi->unusable = sw_module_kind(module) != SW_MODULE_PE || image.data == NULL ||
			!sw_pe_file_init(&pe, image) || !pe.headers.is_32bit;
	if (cfi->unusable)
		return cfi;
	cfi->preferred_avma = pe.headers.preferred_avma;
	for (size_t i = 0; i < SECTIONS; i++) {
		if (table_load(&cfi->tables[i], &pe, i) == 0)
			continue;
		pe_cfi_destroy(cfi);
		return NULL;
	}
	return cfi;
}

struct sw_pe_cfi *sw_pe_cfi_get(struct sw_module *module)
{
	void **slot = sw_slots_get(&module->slots, &slot_key, pe_cfi_destroy);
	if (slot == NULL)
		return NULL;
	if (*slot == NULL)
		*slot = pe_cfi_create(module);
	struct sw_pe_cfi *cfi = *slot;
	return cfi == NULL || cfi->unusable ? NULL : cfi;
}

static enum sw_pe_row row_make(struct sw_pe_cfi *cfi, uint64_t svma, const struct sw_cfi_rule **ret)
{
	for (size_t i = 0; i < SECTIONS; i++) {
		const struct table *t = &cfi->tables[i];
		const struct sw_cfi_fde *fde = sw_cfi_fdes_find(&t->fdes, svma);
		if (fde == NULL)
			continue;
		switch (sw_cfi_fde_rule(&t->section, fde->off, svma, &cfi->arena, ret)) {
		case 0: return SW_PE_ROW_FOUND;
		case -SW_E_NOT_FOUND: break;
		case -SW_E_NOMEM: return SW_PE_ROW_NOMEM;
		default: return SW_PE_ROW_BAD;
		}
	}
	return SW_PE_ROW_NONE;
}

enum sw_pe_row sw_pe_cfi_row(struct sw_pe_cfi *cfi, uint32_t rva, const struct sw_cfi_rule **ret)
{
	uint64_t value;
	if (sw_map64_get(&cfi->rules, rva, &value)) {
		if (value <= SW_PE_ROW_NOMEM)
			return (enum sw_pe_row) value;
		*ret = (const struct sw_cfi_rule *) (uintptr_t) value;
		return SW_PE_ROW_FOUND;
	}
	if (cfi->rules.count >= RULES_MAX) {
		sw_map64_deinit(&cfi->rules);
		sw_arena_deinit(&cfi->arena);
	}
	enum sw_pe_row row = row_make(cfi, cfi->preferred_avma + rva, ret);
	value = row == SW_PE_ROW_FOUND ? (uintptr_t) *ret : row;
	if (row != SW_PE_ROW_NOMEM)
		(void) sw_map64_put(&cfi->rules, rva, value); /* lost: it is made again */
	return row;
}

uint64_t sw_pe_cfi_bias(const struct sw_pe_cfi *cfi, uint64_t base_avma)
{
	return base_avma - cfi->preferred_avma;
}

bool sw_pe_cfi_function(struct sw_pe_cfi *cfi, uint32_t rva, uint32_t *ret_start_rva,
			uint32_t *ret_end_rva, const char **ret_section)
{
	for (size_t i = 0; i < SECTIONS; i++) {
		const struct sw_cfi_fde *fde =
			sw_cfi_fdes_find(&cfi->tables[i].fdes, cfi->preferred_avma + rva);
		if (fde == NULL)
			continue;
		*ret_start_rva = (uint32_t) (fde->start_avma - cfi->preferred_avma);
		*ret_end_rva = (uint32_t) (fde->end_avma - cfi->preferred_avma);
		*ret_section = kinds[i].name;
		return true;
	}
	return false;
}
