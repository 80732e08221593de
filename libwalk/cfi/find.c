/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/find.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "cfi/debug_frame.h"
#include "formats/elf_sections.h"

#include <gelf.h>

struct segment {
	uint64_t svma;
	struct sw_bytes bytes; /* borrowed from the module's image */
};

struct sw_elf_cfi {
	Elf *elf;                    /* borrowed from the module */
	struct sw_bytes image;       /* borrowed from the module */
	Dwarf_CFI *eh;               /* owned; NULL: no .eh_frame that can be used */
	struct sw_cfi_section frame; /* the image, at the addresses that .eh_frame has */
	bool has_table;
	struct sw_cfi_table table; /* .eh_frame_hdr's; else every entry was looked at */
	bool debug_tried;
	struct sw_debug_frame *debug; /* owned; NULL: no .debug_frame */
	uint64_t entry_svma;          /* 0: none */
	struct segment segments[SW_ELF_SEGMENTS_MAX];
	size_t n_segments;
	struct segment hdr;    /* the first PT_GNU_EH_FRAME; no bytes: none */
	struct sw_arena arena; /* rules */
	struct sw_map64 rules; /* svma -> rule's address, or enum sw_elf_row of a failure */
	struct sw_map64 starts;
	bool unusable; /* nothing above is set */
};

static const char slot_key; /* of what is kept with a module */

static bool is_ours(Elf *elf, GElf_Ehdr *ret)
{
	return elf != NULL && gelf_getehdr(elf, ret) != NULL &&
	       ret->e_ident[EI_CLASS] == ELFCLASS64 && ret->e_ident[EI_DATA] == ELFDATA2LSB &&
	       ret->e_machine == EM_X86_64;
}

static void load_segments(struct sw_elf_cfi *cfi)
{
	size_t n;
	if (elf_getphdrnum(cfi->elf, &n) != 0)
		return;
	if (n > SW_ELF_SEGMENTS_MAX)
		n = SW_ELF_SEGMENTS_MAX;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;
		struct segment s;
		if (gelf_getphdr(cfi->elf, (int) i, &phdr) == NULL)
			return;
		s.svma = phdr.p_vaddr;
		if (!sw_bytes_sub(cfi->image, phdr.p_offset, phdr.p_filesz, &s.bytes))
			continue;
		if (phdr.p_type == PT_LOAD)
			cfi->segments[cfi->n_segments++] = s;
		if (phdr.p_type == PT_GNU_EH_FRAME && cfi->hdr.bytes.size == 0)
			cfi->hdr = s;
	}
}

/* .eh_frame by the section headers; what they say of .eh_frame_hdr must agree with hdr, if any. */
static bool sections_agree(struct sw_elf_cfi *cfi, GElf_Shdr *ret_frame, bool *ret_found)
{
	struct sw_elf_sections s = {.elf = cfi->elf};
	size_t names;
	*ret_found = false;
	if (elf_getshdrstrndx(cfi->elf, &names) != 0)
		return true; /* none: libdw goes by the program headers, too */
	while (sw_elf_sections_next(&s)) {
		const char *name = elf_strptr(cfi->elf, names, s.shdr.sh_name);
		if (name == NULL || s.shdr.sh_type == SHT_NOBITS)
			continue;
		bool is_frame = strcmp(name, ".eh_frame") == 0;
		if (cfi->hdr.bytes.size > 0 && (is_frame || strcmp(name, ".eh_frame_hdr") == 0) &&
		    s.shdr.sh_addr - s.shdr.sh_offset != cfi->frame.svma)
			return false;
		if (is_frame) {
			*ret_frame = s.shdr;
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
	bool has_hdr = cfi->hdr.bytes.size > 0, found;
	uint64_t start_svma = 0;
	GElf_Shdr shdr;
	cfi->frame.bytes = cfi->image;
	if (has_hdr)
		cfi->frame.svma =
			cfi->hdr.svma - (uint64_t) (cfi->hdr.bytes.data - cfi->image.data);
	if (!sections_agree(cfi, &shdr, &found) || (!has_hdr && !found))
		return false;
	if (has_hdr) {
		switch (sw_cfi_hdr_read(cfi->hdr.bytes, cfi->hdr.svma, &cfi->table, &start_svma)) {
		case SW_CFI_HDR_BAD: return false;
		case SW_CFI_HDR_TABLE:
			cfi->has_table = true;
			return sw_cfi_table_sorted(&cfi->table);
		case SW_CFI_HDR_NO_TABLE: break;
		}
	}
	if (found) {
		start_svma = shdr.sh_addr;
		cfi->frame.svma = shdr.sh_addr - shdr.sh_offset;
		if (!sw_bytes_has(cfi->image, shdr.sh_offset, shdr.sh_size))
			return false;
		cfi->frame.bytes.size = (size_t) (shdr.sh_offset + shdr.sh_size);
	}
	return sw_cfi_section_sane(&cfi->frame, start_svma - cfi->frame.svma);
}

static struct sw_elf_cfi *elf_cfi_create(struct sw_module *module)
{
	struct sw_elf_cfi *cfi = calloc(1, sizeof(*cfi));
	if (cfi == NULL)
		return NULL;
	GElf_Ehdr ehdr;
	cfi->elf = sw_module_elf(module);
	cfi->unusable = !is_ours(cfi->elf, &ehdr);
	if (cfi->unusable)
		return cfi;
	cfi->image.data = sw_module_image(module, &cfi->image.size);
	cfi->entry_svma = ehdr.e_entry;
	load_segments(cfi);
	if (frame_find(cfi))
		cfi->eh = dwarf_getcfi_elf(cfi->elf);
	return cfi;
}

static void elf_cfi_destroy(void *slot)
{
	struct sw_elf_cfi *cfi = slot;
	if (cfi->eh != NULL)
		(void) dwarf_cfi_end(cfi->eh); /* fails only for NULL */
	sw_debug_frame_close(cfi->debug);
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

Elf *sw_elf_cfi_elf(struct sw_elf_cfi *cfi)
{
	return cfi->elf;
}

struct sw_map64 *sw_elf_cfi_starts(struct sw_elf_cfi *cfi)
{
	return &cfi->starts;
}

bool sw_elf_cfi_bytes(const struct sw_elf_cfi *cfi, uint64_t svma, struct sw_bytes *ret)
{
	for (size_t i = 0; i < cfi->n_segments; i++) {
		const struct segment *s = &cfi->segments[i];
		uint64_t at = svma - s->svma;
		if (svma >= s->svma && at < s->bytes.size)
			return sw_bytes_sub(s->bytes, at, s->bytes.size - at, ret);
	}
	return false;
}

static bool image_read(void *arg, uint64_t svma, void *buffer, size_t length)
{
	struct sw_bytes bytes;
	return sw_elf_cfi_bytes(arg, svma, &bytes) && sw_bytes_copy(bytes, 0, buffer, length);
}

struct sw_memory sw_elf_cfi_memory(struct sw_elf_cfi *cfi)
{
	static const struct sw_memory_ops ops = {.read = image_read};
	return (struct sw_memory){.ops = &ops, .arg = cfi};
}

enum sw_elf_row sw_elf_cfi_entry(const struct sw_elf_cfi *cfi, uint64_t svma,
				 struct sw_cfi_entry *ret, uint64_t *ret_svma)
{
	struct sw_cfi_entry entry;
	uint64_t entry_svma;
	if (!cfi->has_table || cfi->eh == NULL ||
	    !sw_cfi_table_find(&cfi->table, svma, &entry_svma))
		return SW_ELF_ROW_NONE;
	if (sw_cfi_entry_read(&cfi->frame, entry_svma - cfi->frame.svma, &entry) != 1 ||
	    entry.is_cie || svma < entry.start_svma)
		return SW_ELF_ROW_BAD;
	if (svma >= entry.end_svma)
		return SW_ELF_ROW_NONE;
	*ret = entry;
	*ret_svma = entry_svma;
	return sw_cfi_entry_sane(&entry) ? SW_ELF_ROW_FOUND : SW_ELF_ROW_BAD;
}

/* What one table says of svma. */
static enum sw_elf_row row_in(struct sw_elf_cfi *cfi, Dwarf_CFI *table, uint64_t svma,
			      const struct sw_cfi_rule **ret)
{
	Dwarf_Frame *frame = NULL;
	if (table == NULL || dwarf_cfi_addrframe(table, svma, &frame) != 0)
		return SW_ELF_ROW_NONE;
	int r = sw_cfi_rule_compile(frame, &cfi->arena, ret);
	free(frame); /* ours, says libdw.h */
	switch (r) {
	case 0: return SW_ELF_ROW_FOUND;
	case -SW_E_NOT_FOUND: return SW_ELF_ROW_NONE;
	case -SW_E_NOMEM: return SW_ELF_ROW_NOMEM;
	default: return SW_ELF_ROW_BAD;
	}
}

static Dwarf_CFI *debug_table(struct sw_elf_cfi *cfi)
{
	if (!cfi->debug_tried) {
		cfi->debug_tried = true;
		cfi->debug = sw_debug_frame_open(cfi->elf, cfi->image);
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
	static const struct sw_cfi_rule first_frame = {.ra_undefined = true};
	struct sw_cfi_entry entry;
	uint64_t entry_svma;
	enum sw_elf_row row = cfi->has_table ? sw_elf_cfi_entry(cfi, svma, &entry, &entry_svma)
					     : SW_ELF_ROW_FOUND;
	if (row == SW_ELF_ROW_FOUND)
		row = row_in(cfi, cfi->eh, svma, ret);
	if (row == SW_ELF_ROW_NONE)
		row = row_in(cfi, debug_table(cfi), svma, ret);
	if (row == SW_ELF_ROW_NOMEM ||
	    (row == SW_ELF_ROW_FOUND && ((*ret)->signal || (*ret)->ra_undefined)))
		return row;
	/* svma is either pc - 1 of a return address or pc. An exact pc at the last byte of a CALL
	 * does not occur, and a trampoline may be at its first instruction. */
	struct sw_memory code = sw_elf_cfi_memory(cfi);
	enum sw_known_code known = sw_arch_known_code(code, svma + 1, cfi->entry_svma);
	if (known == SW_CODE_UNKNOWN)
		known = sw_arch_known_code(code, svma, 0);
	switch (known) {
	case SW_CODE_THREAD_START: *ret = &first_frame; return SW_ELF_ROW_FOUND;
	case SW_CODE_SIGRETURN:
		return sw_cfi_rule_sigreturn(&cfi->arena, ret) < 0 ? SW_ELF_ROW_NOMEM
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
