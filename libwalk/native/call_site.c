/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/call_site.h"
#include "arch/arch.h"
#include "cfi/function.h"
#include "native/tail_jump.h"
#include "pe/cfi.h"
#include "pe/function.h"
#include "snapshot/bias.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

bool sw_is_executable(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	return map != NULL && (map->prot & SW_MAP_EXEC);
}

bool sw_is_end_of_mapping(const struct sw_snapshot *snap, uint64_t sp_avma, uint64_t cfa_avma)
{
	const struct sw_map *map = sw_snapshot_map(snap, sp_avma);
	return map != NULL && map->end_avma == cfa_avma && (map->prot & SW_MAP_WRITE) &&
	       map->path[0] == '\0';
}

bool sw_is_native_code(const struct sw_place *place)
{
	enum sw_module_kind kind = place != NULL ? sw_module_kind(place->module) : SW_MODULE_ANON;
	return kind == SW_MODULE_ELF || kind == SW_MODULE_VDSO;
}

static bool is_native_at(const struct sw_snapshot *snap, uint64_t avma)
{
	return sw_is_native_code(sw_snapshot_place(snap, avma));
}

static bool pe_code_at(const struct sw_snapshot *snap, const struct sw_place *place, uint64_t avma,
		       struct sw_pe_code *ret)
{
	/* Code and tables of images do not change: reading them is no mark on a frame. */
	struct sw_snapshot_memory memory = {.snap = snap};
	return place != NULL && place->resolved == 1 &&
	       sw_module_kind(place->module) == SW_MODULE_PE &&
	       sw_pe_code_at(sw_snapshot_memory(&memory), place, avma, ret);
}

/* PE32 images have no function tables, but where functions begin often stands in other ones. */
static bool pe32_start(const struct sw_place *place, uint64_t avma, uint64_t *ret_start_avma)
{
	struct sw_pe_cfi *cfi = sw_pe_cfi_get(place->module);
	uint64_t base = place->start_avma;
	uint32_t start, end;
	const char *section;
	if (cfi == NULL ||
	    !sw_pe_cfi_function(cfi, (uint32_t) (avma - base), &start, &end, &section))
		return false;
	*ret_start_avma = base + start;
	return true;
}

/* NULL: none, or not known where the file lies. */
static struct sw_elf_cfi *elf_cfi(const struct sw_place *place)
{
	return place != NULL && place->resolved == 1 ? sw_elf_cfi_get(place->module) : NULL;
}

static bool elf_start(const struct sw_place *place, uint64_t avma, uint64_t *ret_start_avma)
{
	struct sw_elf_cfi *cfi = elf_cfi(place);
	if (cfi == NULL || !sw_elf_function_start(cfi, avma - place->bias, ret_start_avma))
		return false;
	*ret_start_avma += place->bias;
	return true;
}

bool sw_function_ends(const struct sw_snapshot *snap, uint64_t avma, uint64_t next_avma)
{
	const struct sw_place *place = sw_snapshot_place(snap, avma);
	uint64_t start_avma, next_start_avma;
	if (place != NULL && sw_module_kind(place->module) == SW_MODULE_PE)
		return pe32_start(place, avma, &start_avma) &&
		       (!pe32_start(place, next_avma, &next_start_avma) ||
			next_start_avma != start_avma);
	/* By tables alone: a pass over all symbols for each call that is asked about would take seconds. */
	struct sw_elf_entry entry;
	struct sw_elf_cfi *cfi = elf_cfi(place);
	return cfi != NULL && sw_elf_entry_find(cfi, avma - place->bias, &entry) &&
	       next_avma - place->bias >= entry.end_svma;
}

static bool callee_start(struct sw_callee *callee)
{
	if (callee->tried)
		return callee->known;
	callee->tried = true;
	const struct sw_cursor *c = callee->cursor;
	const struct sw_place *place = c->place;
	struct sw_pe_code code;
	if (place != NULL && sw_module_kind(place->module) == SW_MODULE_PE &&
	    sw_memory_is_32bit(c->memory)) {
		callee->known = pe32_start(place, c->lookup_avma, &callee->start_avma);
		return callee->known;
	}
	if (pe_code_at(c->snap, place, c->lookup_avma, &code)) {
		callee->start_avma = code.start_avma;
		callee->known = code.has_entry;
		callee->about = !code.has_entry;
		return callee->known;
	}
	callee->known = elf_start(place, c->lookup_avma, &callee->start_avma);
	return callee->known;
}

/* A target inside the function is one of its other entries. */
static bool leads_to_callee(const struct sw_callee *callee, uint64_t target_avma)
{
	return target_avma >= callee->start_avma && target_avma <= callee->cursor->regs.pc_avma;
}

/* A jump as PLT entries are: true and the word that holds the target. */
static bool jump_slot(const struct sw_cursor *c, uint64_t avma, uint64_t *ret_slot_avma)
{
	uint32_t off;
	struct sw_elf_dynamic dynamic;
	if (sw_arch_jump_slot(c->memory, avma, ret_slot_avma))
		return true;
	if (!sw_arch_jump_got(c->memory, avma, &off))
		return false;
	struct sw_place *place = (struct sw_place *) sw_snapshot_place(c->snap, avma);
	struct sw_elf_cfi *cfi = place != NULL && sw_place_resolve(place, c->snap)
					 ? sw_elf_cfi_get(place->module)
					 : NULL;
	const struct sw_elf *elf = cfi != NULL ? sw_elf_cfi_elf(cfi) : NULL;
	if (elf == NULL || !sw_elf_dynamic(elf, &dynamic) || dynamic.got_svma == 0)
		return false;
	uint64_t got_avma = sw_elf_dynamic_avma(elf, place->bias, dynamic.got_svma);
	*ret_slot_avma = sw_memory_wrap(c->memory, got_avma + off);
	return true;
}

/* The call leads to code without an entry, as the frame's is, before it and with none between: one
 * of a few functions of assembly. Code that only jumps to another image has no entry either. */
static enum sw_call_site direct_to_about(const struct sw_callee *callee, uint64_t target_avma)
{
	uint64_t slot_avma;
	return leads_to_callee(callee, target_avma) &&
			       !jump_slot(callee->cursor, target_avma, &slot_avma)
		       ? SW_SITE_LIKELY
		       : SW_SITE_OTHER;
}

/* Where generated code begins is not known, but a call to a function of a file does not lead there. */
static enum sw_call_site direct_to_generated(const struct sw_callee *callee, uint64_t target_avma)
{
	const struct sw_cursor *c = callee->cursor;
	uint64_t slot_avma;
	bool generated = c->place == NULL || sw_module_kind(c->place->module) == SW_MODULE_ANON ||
			 sw_module_kind(c->place->module) == SW_MODULE_JIT;
	if (!generated || !is_native_at(c->snap, target_avma))
		return SW_SITE_POSSIBLE;
	if (jump_slot(c, target_avma, &slot_avma) &&
	    (!sw_memory_word(c->memory, slot_avma, &target_avma) ||
	     !is_native_at(c->snap, target_avma)))
		return SW_SITE_POSSIBLE;
	return SW_SITE_OTHER;
}

/* By jumps, which are no calls: of the function that was called nothing is left on the stack. */
static bool jumps_to_callee(struct sw_callee *callee, uint64_t target_avma)
{
	const struct sw_tail_jump to = {.memory = callee->cursor->memory,
					.start_avma = callee->start_avma,
					.pc_avma = callee->cursor->regs.pc_avma,
					.insns_left = &callee->insns_left};
	return sw_tail_jump_leads(&to, target_avma);
}

/* The distance from a function's entry to an address in it is limited by the caller of the
 * library. */
static enum sw_call_site range_check(const struct sw_callee *callee, enum sw_call_site site,
				     uint64_t target_avma)
{
	const struct sw_walk_options *o = callee->cursor->options;
	uint64_t pc = callee->cursor->regs.pc_avma;
	if (o == NULL || o->scan_range_bytes == 0)
		return site;
	if (target_avma > pc || pc - target_avma > o->scan_range_bytes)
		return SW_SITE_NONE;
	return site > SW_SITE_LIKELY ? site : SW_SITE_LIKELY;
}

static enum sw_call_site direct_check(struct sw_callee *callee, uint64_t target_avma)
{
	const struct sw_cursor *c = callee->cursor;
	if (target_avma == c->regs.pc_avma)
		return SW_SITE_VERIFIED; /* nothing of the function has run yet */
	if (!sw_is_executable(c->snap, target_avma))
		return SW_SITE_NONE;
	if (!callee_start(callee))
		return callee->about ? direct_to_about(callee, target_avma)
				     : direct_to_generated(callee, target_avma);
	if (leads_to_callee(callee, target_avma))
		return SW_SITE_VERIFIED;
	uint64_t slot_avma;
	if (jump_slot(c, target_avma, &slot_avma)) {
		if (!sw_memory_word(c->memory, slot_avma, &target_avma))
			return SW_SITE_POSSIBLE;
		if (leads_to_callee(callee, target_avma))
			return SW_SITE_VERIFIED;
	}
	return jumps_to_callee(callee, target_avma) ? SW_SITE_VERIFIED : SW_SITE_OTHER;
}

/* Through a word of the module, as calls of functions of other modules are without a PLT. It may have
 * held something else when the call was made. */
static bool slot_leads(struct sw_callee *callee, uint64_t return_avma)
{
	const struct sw_cursor *c = callee->cursor;
	uint64_t slot_avma, target_avma;
	return sw_arch_call_slot(c->memory, return_avma, &slot_avma) && callee_start(callee) &&
	       sw_memory_word(c->memory, slot_avma, &target_avma) &&
	       sw_is_executable(c->snap, target_avma) &&
	       (leads_to_callee(callee, target_avma) || jumps_to_callee(callee, target_avma));
}

static bool is_sigreturn(struct sw_memory memory, uint64_t avma)
{
	enum sw_known_code known = sw_arch_known_code(memory, avma, 0);
	return known == SW_CODE_SIGRETURN || known == SW_CODE_SIGRETURN_OLD;
}

enum sw_call_site sw_call_site_check(struct sw_callee *callee, uint64_t return_avma)
{
	const struct sw_cursor *c = callee->cursor;
	if (return_avma == 0 || !sw_is_executable(c->snap, return_avma))
		return SW_SITE_NONE;
	uint64_t target_avma;
	unsigned call = sw_arch_call_before(c->memory, return_avma, &target_avma);
	enum sw_call_site site = SW_SITE_NONE;
	if (call & SW_CALL_DIRECT)
		site = range_check(callee, direct_check(callee, target_avma), target_avma);
	if (site < SW_SITE_VERIFIED && (call & SW_CALL_INDIRECT) && slot_leads(callee, return_avma))
		return SW_SITE_VERIFIED;
	/* The kernel "calls" signal handlers: what they return to comes after no CALL. */
	if (site < SW_SITE_POSSIBLE &&
	    ((call & SW_CALL_INDIRECT) || is_sigreturn(c->memory, return_avma)))
		site = SW_SITE_POSSIBLE;
	return site;
}

bool sw_is_return_address(const struct sw_cursor *cursor, uint64_t word)
{
	struct sw_callee callee = sw_callee_of(cursor);
	return sw_call_site_check(&callee, word) != SW_SITE_NONE;
}

bool sw_is_called_near(const struct sw_cursor *c, uint64_t return_avma)
{
	enum { NEAR_BYTES = 4096 };
	uint64_t target_avma;
	return (sw_arch_call_before(c->memory, return_avma, &target_avma) & SW_CALL_DIRECT) &&
	       target_avma <= c->regs.pc_avma && c->regs.pc_avma - target_avma < NEAR_BYTES;
}
