/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/find.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "cfi/debug_frame.h"
#include "cfi/unlisted.h"
#include "formats/elf_handle.h"

#include <gelf.h>

struct sw_elf_cfi {
	const struct sw_elf *elf;    /* borrowed from the module */
	Elf *handle;                 /* owned, for libdw */
	Dwarf_CFI *eh;               /* owned; NULL: no .eh_frame that can be used */
	struct sw_cfi_section frame; /* the image, at the addresses that .eh_frame has */
	bool has_table;
	struct sw_cfi_table table;         /* .eh_frame_hdr's; else every entry was looked at */
	uint64_t frame_off, frame_end_off; /* of .eh_frame in frame; end 0: not known */
	bool unlisted_tried;
	struct sw_cfi_fdes unlisted; /* that the table does not have */
	bool debug_tried;
	struct sw_debug_frame *debug; /* owned; NULL: no .debug_frame */
	struct sw_bytes hdr;          /* the first PT_GNU_EH_FRAME; no bytes: none */
	uint64_t hdr_svma;
	struct sw_arena arena; /* rules */
	struct sw_map64 rules; /* svma -> rule's address, or enum sw_elf_row of a failure */
	struct sw_map64 starts;
	uint64_t managed_svma,
		managed_end_svma; /* see sw_elf_cfi_is_managed(); [x, x): there is none */
	bool unusable;            /* nothing above is set */
};

static const char slot_key; /* of what is kept with a module */

static void hdr_find(struct sw_elf_cfi *cfi)
{
	struct sw_elf_segment s;
	for (uint32_t i = 0; cfi->hdr.size == 0 && sw_elf_segment(cfi->elf, i, &s); i++)
		if (s.type == PT_GNU_EH_FRAME &&
		    sw_bytes_sub(cfi->elf->image, s.off, s.file_bytes, &cfi->hdr))
			cfi->hdr_svma = s.svma;
}

/* .eh_frame by the section headers; what they say of .eh_frame_hdr must agree with hdr, if any. By
 * libelf, as libdw will do: both must find the same section. */
static bool sections_agree(struct sw_elf_cfi *cfi, GElf_Shdr *ret_frame, bool *ret_found)
{
	size_t names;
	*ret_found = false;
	if (elf_getshdrstrndx(cfi->handle, &names) != 0)
		return true; /* none: libdw goes by the program headers, too */
	Elf_Scn *scn = NULL;
	for (size_t n = 0; n < SW_ELF_SECTIONS_MAX && (scn = elf_nextscn(cfi->handle, scn)) != NULL;
	     n++) {
		GElf_Shdr s;
		const char *name = gelf_getshdr(scn, &s) != NULL
					   ? elf_strptr(cfi->handle, names, s.sh_name)
					   : NULL;
		if (name == NULL || s.sh_type == SHT_NOBITS)
			continue;
		bool is_frame = strcmp(name, ".eh_frame") == 0;
		if (cfi->hdr.size > 0 && (is_frame || strcmp(name, ".eh_frame_hdr") == 0) &&
		    s.sh_addr - s.sh_offset != cfi->frame.svma)
			return false;
		if (is_frame) {
			*ret_frame = s;
			*ret_found = true;
		}
	}
	return true;
}

/*
 * Finds .eh_frame and how it is searched. libdw does that, too; but it must not be let at entries
 * that we have not looked at (see cfi/entry.h), so both must see the same bytes and choose the same
 * entry. False: there is none, or that is not certain.
 */
static bool frame_find(struct sw_elf_cfi *cfi)
{
	bool has_hdr = cfi->hdr.size > 0, found;
	uint64_t start_svma = 0;
	GElf_Shdr shdr = {0};
	cfi->frame.bytes = cfi->elf->image;
	if (has_hdr)
		cfi->frame.svma = cfi->hdr_svma - (uint64_t) (cfi->hdr.data - cfi->elf->image.data);
	if (!sections_agree(cfi, &shdr, &found) || (!has_hdr && !found))
		return false;
	if (has_hdr) {
		switch (sw_cfi_hdr_read(cfi->hdr, cfi->hdr_svma, &cfi->table, &start_svma)) {
		case SW_CFI_HDR_BAD: return false;
		case SW_CFI_HDR_TABLE:
			cfi->has_table = true;
			cfi->frame_off = start_svma - cfi->frame.svma;
			cfi->frame_end_off = found ? shdr.sh_offset + shdr.sh_size : 0;
			return sw_cfi_table_sorted(&cfi->table);
		case SW_CFI_HDR_NO_TABLE: break;
		}
	}
	if (found) {
		start_svma = shdr.sh_addr;
		cfi->frame.svma = shdr.sh_addr - shdr.sh_offset;
		if (!sw_bytes_has(cfi->elf->image, shdr.sh_offset, shdr.sh_size))
			return false;
		cfi->frame.bytes.size = (size_t) (shdr.sh_offset + shdr.sh_size);
	}
	return sw_cfi_section_sane(&cfi->frame, start_svma - cfi->frame.svma);
}

static void managed_find(struct sw_elf_cfi *cfi)
{
	struct sw_elf_section s;
	if (sw_elf_section_named(cfi->elf, "__managedcode", &s) &&
	    !__builtin_add_overflow(s.svma, s.size, &cfi->managed_end_svma))
		cfi->managed_svma = s.svma;
	else
		cfi->managed_end_svma = 0;
}

static struct sw_elf_cfi *elf_cfi_create(struct sw_module *module)
{
	struct sw_elf_cfi *cfi = calloc(1, sizeof(*cfi));
	if (cfi == NULL)
		return NULL;
	cfi->elf = sw_module_elf(module);
	cfi->unusable = cfi->elf == NULL ||
			cfi->elf->header.e_machine != (cfi->elf->is_32bit ? EM_386 : EM_X86_64);
	if (cfi->unusable)
		return cfi;
	cfi->frame.is_32bit = cfi->elf->is_32bit;
	cfi->handle = sw_elf_handle(cfi->elf->image);
	hdr_find(cfi);
	if (cfi->handle != NULL && frame_find(cfi))
		cfi->eh = dwarf_getcfi_elf(cfi->handle);
	managed_find(cfi);
	return cfi;
}

static void elf_cfi_destroy(void *slot)
{
	struct sw_elf_cfi *cfi = slot;
	if (cfi->eh != NULL)
		(void) dwarf_cfi_end(cfi->eh); /* fails only for NULL */
	if (cfi->handle != NULL)
		(void) elf_end(cfi->handle); /* returns a count, not an error */
	sw_debug_frame_close(cfi->debug);
	sw_cfi_fdes_deinit(&cfi->unlisted);
	sw_arena_deinit(&cfi->arena);
	sw_map64_deinit(&cfi->rules);
	sw_map64_deinit(&cfi->starts);
	free(cfi);
}

struct sw_elf_cfi *sw_elf_cfi_get(struct sw_module *module)
{
	void **slot = sw_slots_get(&module->slots, &slot_key, elf_cfi_destroy);
	if (slot == NULL)
		return NULL;
	if (*slot == NULL)
		*slot = elf_cfi_create(module);
	struct sw_elf_cfi *cfi = *slot;
	return cfi == NULL || cfi->unusable ? NULL : cfi;
}

bool sw_elf_cfi_is_managed(struct sw_elf_cfi *cfi, uint64_t svma)
{
	return svma >= cfi->managed_svma && svma < cfi->managed_end_svma;
}

const struct sw_elf *sw_elf_cfi_elf(struct sw_elf_cfi *cfi)
{
	return cfi->elf;
}

struct sw_map64 *sw_elf_cfi_starts(struct sw_elf_cfi *cfi)
{
	return &cfi->starts;
}

static bool image_read(void *arg, uint64_t svma, void *buffer, size_t length)
{
	const struct sw_elf_cfi *cfi = arg;
	struct sw_bytes bytes;
	return sw_elf_loaded(cfi->elf, svma, &bytes) && sw_bytes_copy(bytes, 0, buffer, length);
}

struct sw_memory sw_elf_cfi_memory(struct sw_elf_cfi *cfi)
{
	static const struct sw_memory_ops ops[2] = {{.read = image_read},
						    {.read = image_read, .is_32bit = true}};
	return (struct sw_memory){.ops = &ops[cfi->elf->is_32bit], .arg = cfi};
}

/* The offset of the entry for svma that the search table does not have. */
static bool unlisted_find(struct sw_elf_cfi *cfi, uint64_t svma, uint64_t *ret_off)
{
	if (!cfi->unlisted_tried) {
		const struct sw_cfi_frame frame = {.section = &cfi->frame,
						   .table = &cfi->table,
						   .off = cfi->frame_off,
						   .end_off = cfi->frame_end_off};
		cfi->unlisted_tried = true;
		(void) sw_cfi_unlisted(&frame, &cfi->unlisted); /* lost: as if there were none */
	}
	const struct sw_cfi_fde *fde = sw_cfi_fdes_find(&cfi->unlisted, svma);
	if (fde != NULL)
		*ret_off = fde->off;
	return fde != NULL;
}

/* The entry that the search table has. */
static enum sw_elf_row listed_entry(const struct sw_elf_cfi *cfi, uint64_t svma,
				    struct sw_cfi_entry *ret, uint64_t *ret_svma)
{
	if (!sw_cfi_table_find(&cfi->table, svma, ret_svma))
		return SW_ELF_ROW_NONE;
	if (sw_cfi_entry_read(&cfi->frame, *ret_svma - cfi->frame.svma, ret) != 1 || ret->is_cie ||
	    svma < ret->start_svma)
		return SW_ELF_ROW_BAD;
	return svma < ret->end_svma ? SW_ELF_ROW_FOUND : SW_ELF_ROW_NONE;
}

static enum sw_elf_row entry_find(struct sw_elf_cfi *cfi, uint64_t svma, struct sw_cfi_entry *ret,
				  uint64_t *ret_svma, bool *ret_listed)
{
	struct sw_cfi_entry entry;
	uint64_t entry_svma, off;
	if (!cfi->has_table || cfi->eh == NULL)
		return SW_ELF_ROW_NONE;
	enum sw_elf_row row = listed_entry(cfi, svma, &entry, &entry_svma);
	*ret_listed = row == SW_ELF_ROW_FOUND;
	if (row == SW_ELF_ROW_NONE && unlisted_find(cfi, svma, &off)) {
		entry_svma = cfi->frame.svma + off;
		row = sw_cfi_entry_read(&cfi->frame, off, &entry) == 1 ? SW_ELF_ROW_FOUND
								       : SW_ELF_ROW_BAD;
	}
	if (row != SW_ELF_ROW_FOUND)
		return row;
	*ret = entry;
	*ret_svma = entry_svma;
	return sw_cfi_entry_sane(&entry) ? SW_ELF_ROW_FOUND : SW_ELF_ROW_BAD;
}

enum sw_elf_row sw_elf_cfi_entry(struct sw_elf_cfi *cfi, uint64_t svma, struct sw_cfi_entry *ret,
				 uint64_t *ret_svma)
{
	bool listed;
	return entry_find(cfi, svma, ret, ret_svma, &listed);
}

static const struct sw_cfi_rule first_frame = {.ra_undefined = true};

static enum sw_elf_row row_of(int result)
{
	switch (result) {
	case 0: return SW_ELF_ROW_FOUND;
	case -SW_E_NOT_FOUND: return SW_ELF_ROW_NONE;
	case -SW_E_NOMEM: return SW_ELF_ROW_NOMEM;
	default: return SW_ELF_ROW_BAD;
	}
}

/* The row of one table for svma. A function that is only ever returned to, at its first
 * instruction, has one row: wherever svma is in it, it is a first frame. */
static enum sw_elf_row row_in(struct sw_elf_cfi *cfi, Dwarf_CFI *table, uint64_t svma,
			      const struct sw_cfi_rule **ret)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end;
	bool is_signal;
	if (table == NULL || dwarf_cfi_addrframe(table, svma, &frame) != 0)
		return SW_ELF_ROW_NONE;
	int r = sw_cfi_rule_compile(frame, cfi->elf->is_32bit, table != cfi->eh, &cfi->arena, ret);
	if (r == 0 && dwarf_frame_info(frame, &start, &end, &is_signal) >= 0 &&
	    end - start <= SW_ARCH_FIRST_MAX && !is_signal &&
	    sw_arch_is_first_insn(sw_elf_cfi_memory(cfi), start))
		*ret = &first_frame;
	free(frame); /* ours, says libdw.h */
	return row_of(r);
}

/* The row of .eh_frame for svma. */
static enum sw_elf_row row_in_eh(struct sw_elf_cfi *cfi, uint64_t svma,
				 const struct sw_cfi_rule **ret)
{
	struct sw_cfi_entry entry;
	uint64_t entry_svma;
	bool listed;
	if (!cfi->has_table)
		return row_in(cfi, cfi->eh, svma, ret);
	enum sw_elf_row row = entry_find(cfi, svma, &entry, &entry_svma, &listed);
	if (row != SW_ELF_ROW_FOUND)
		return row;
	if (listed)
		return row_in(cfi, cfi->eh, svma, ret);
	return row_of(
		sw_cfi_fde_rule(&cfi->frame, entry_svma - cfi->frame.svma, svma, &cfi->arena, ret));
}

static Dwarf_CFI *debug_table(struct sw_elf_cfi *cfi)
{
	if (!cfi->debug_tried) {
		cfi->debug_tried = true;
		cfi->debug = sw_debug_frame_open(cfi->elf);
	}
	return cfi->debug != NULL ? sw_debug_frame_cfi(cfi->debug) : NULL;
}

/*
 * Code known by its instructions goes before what the tables say of it, unless they say the same:
 * its tables are missing or wrong (musl's clone), or begin too late for pc - 1 (trampolines).
 */
static enum sw_elf_row row_make(struct sw_elf_cfi *cfi, uint64_t svma,
				const struct sw_cfi_rule **ret)
{
	enum sw_elf_row row = row_in_eh(cfi, svma, ret);
	if (row == SW_ELF_ROW_NONE)
		row = row_in(cfi, debug_table(cfi), svma, ret);
	if (row == SW_ELF_ROW_NOMEM ||
	    (row == SW_ELF_ROW_FOUND && ((*ret)->signal || (*ret)->ra_undefined)))
		return row;
	/* svma is either pc - 1 of a return address or pc. An exact pc at the last byte of a CALL
	 * does not occur, and a trampoline may be at its first instruction. */
	struct sw_memory code = sw_elf_cfi_memory(cfi);
	enum sw_known_code known = sw_arch_known_code(code, svma + 1, cfi->elf->header.e_entry);
	if (known == SW_CODE_UNKNOWN)
		known = sw_arch_known_code(code, svma, 0);
	if (known == SW_CODE_UNKNOWN && row == SW_ELF_ROW_NONE &&
	    sw_arch_is_entry_code(code, svma, cfi->elf->header.e_entry))
		known = SW_CODE_THREAD_START;
	switch (known) {
	case SW_CODE_THREAD_START: *ret = &first_frame; return SW_ELF_ROW_FOUND;
	case SW_CODE_SIGRETURN:
	case SW_CODE_SIGRETURN_OLD:
		return sw_cfi_rule_sigreturn(known, cfi->elf->is_32bit, &cfi->arena, ret) < 0
			       ? SW_ELF_ROW_NOMEM
			       : SW_ELF_ROW_FOUND;
	case SW_CODE_UNKNOWN: break;
	}
	return row;
}

enum sw_elf_row sw_elf_cfi_row(struct sw_elf_cfi *cfi, uint64_t svma,
			       const struct sw_cfi_rule **ret_rule)
{
	uint64_t value;
	if (sw_map64_get(&cfi->rules, svma, &value)) {
		if (value <= SW_ELF_ROW_NOMEM)
			return (enum sw_elf_row) value;
		*ret_rule = (const struct sw_cfi_rule *) (uintptr_t) value;
		return SW_ELF_ROW_FOUND;
	}
	if (cfi->rules.count >= SW_ELF_RULES_MAX) {
		sw_map64_deinit(&cfi->rules);
		sw_arena_deinit(&cfi->arena);
	}
	enum sw_elf_row row = row_make(cfi, svma, ret_rule);
	value = row == SW_ELF_ROW_FOUND ? (uintptr_t) *ret_rule : row;
	if (row != SW_ELF_ROW_NOMEM)
		(void) sw_map64_put(&cfi->rules, svma, value); /* lost: it is made again */
	return row;
}

static bool covers(Dwarf_CFI *table, uint64_t svma)
{
	Dwarf_Frame *frame = NULL;
	if (table == NULL || dwarf_cfi_addrframe(table, svma, &frame) != 0)
		return false;
	free(frame);
	return true;
}

const char *sw_elf_cfi_table(struct sw_elf_cfi *cfi, uint64_t svma)
{
	struct sw_cfi_entry entry;
	uint64_t entry_svma;
	if (cfi->has_table ? sw_elf_cfi_entry(cfi, svma, &entry, &entry_svma) != SW_ELF_ROW_NONE
			   : covers(cfi->eh, svma))
		return ".eh_frame";
	return covers(debug_table(cfi), svma) ? ".debug_frame" : NULL;
}
