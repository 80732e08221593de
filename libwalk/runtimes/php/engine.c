/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: Zend/zend_vm_execute.skl, Zend/zend_vm_gen.php (r14 is FP, r15 IP, the "red zone" for the
 * JIT) and ext/opcache/jit/zend_jit_x86.dasc of PHP 8.2.
 */
#include "runtimes/php/engine.h"
#include "arch/arch.h"
#include "arch/insn.h"
#include "cfi/function.h"
#include "formats/elf_symbol.h"
#include "native/call_site.h"
#include "native/rule_step.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum {
	KIND_HYBRID = 4,
	START_BYTES = 128, /* of execute_ex() that are looked at */
	CODE_BYTES_MAX = 1 << 20,
	RETURN_BYTES = 64,   /* between where r14 is put back and "ret" */
	JUMPS_MAX = 1 << 14, /* out of it, that are looked at */
	FRAME_BYTES_MAX = 4096,
	FRAME_REGS_MAX = 17,
	POINTER_CFA = 16,       /* above a frame pointer */
	PUSHED_BYTES_MAX = 512, /* by generated code: arguments, registers at a trace's exit */
};

int32_t sw_php_fp_slot(struct sw_bytes code, uint32_t *ret_end)
{
	static const uint8_t store8[] = {0x4c, 0x89, 0x74, 0x24},
			     store32[] = {0x4c, 0x89, 0xb4, 0x24};
	size_t size = code.size < START_BYTES ? code.size : START_BYTES;
	for (size_t i = 0; i + 8 <= size; i++) {
		uint32_t slot;
		*ret_end = (uint32_t) i + 5;
		if (memcmp(code.data + i, store8, sizeof(store8)) == 0)
			return code.data[i + 4] < 0x80 ? code.data[i + 4] : -1;
		*ret_end = (uint32_t) i + 8;
		if (memcmp(code.data + i, store32, sizeof(store32)) == 0)
			return sw_bytes_u32(code, i + 4, &slot) && slot < FRAME_BYTES_MAX
				       ? (int32_t) slot
				       : -1;
	}
	return -1;
}

uint32_t sw_php_fp_below_rbp(struct sw_bytes code, uint32_t *ret_end)
{
	size_t size = code.size < START_BYTES ? code.size : START_BYTES;
	for (size_t i = 0; i + 7 <= size; i++) {
		uint32_t word;
		const uint8_t *c = code.data + i;
		if (c[0] != 0x4c || c[1] != 0x89)
			continue;
		*ret_end = (uint32_t) i + 4;
		if (c[2] == 0x75)
			return c[3] >= 0x80 ? 0x100u - c[3] : 0;
		*ret_end = (uint32_t) i + 7;
		if (c[2] == 0xb5)
			return sw_bytes_u32(code, i + 3, &word) && -word < FRAME_BYTES_MAX ? -word
											   : 0;
	}
	return 0;
}

uint32_t sw_php_fp_own(struct sw_bytes code, uint32_t start)
{
	static const uint8_t set[] = {0x49, 0x89, 0xfe};
	size_t size = code.size < START_BYTES ? code.size : START_BYTES;
	for (size_t i = start; i + sizeof(set) <= size; i++)
		if (memcmp(code.data + i, set, sizeof(set)) == 0)
			return (uint32_t) (i + sizeof(set));
	return start;
}

/* The size of the instructions up to and with the "ret" that code gets to, RETURN_BYTES at most; 0: it gets to none. */
static size_t up_to_return(struct sw_bytes code)
{
	struct sw_insn insn;
	for (size_t at = 0; at < RETURN_BYTES && at < code.size; at += insn.length) {
		if (!sw_arch_insn(false, code.data + at, code.size - at, at, &insn) ||
		    insn.op == SW_INSN_JUMP || insn.op == SW_INSN_JUMP_FAR ||
		    insn.op == SW_INSN_STOP)
			return 0;
		if (insn.op == SW_INSN_RETURN)
			return at + insn.length;
	}
	return 0;
}

bool sw_php_return_find(struct sw_bytes code, bool rbp, uint32_t slot, size_t *off,
			size_t *ret_start)
{
	uint32_t wanted = rbp ? -slot : slot;
	for (size_t i = *off; i + 4 <= code.size; i++) {
		const uint8_t *c = code.data + i;
		uint32_t word = 0;
		size_t at = rbp ? 3 : 4; /* of the displacement */
		if (c[0] != 0x4c || c[1] != 0x8b || (!rbp && c[3] != 0x24))
			continue;
		if (c[2] == (rbp ? 0x75 : 0x74) && i + at + 1 <= code.size) {
			word = (uint32_t) (int32_t) (int8_t) c[at];
			at += 1;
		} else if (c[2] == (rbp ? 0xb5 : 0xb4) && sw_bytes_u32(code, i + at, &word)) {
			at += 4;
		}
		if (at == (rbp ? 3U : 4U) || word != wanted)
			continue;
		size_t size = up_to_return((struct sw_bytes){c + at, code.size - i - at});
		if (size == 0)
			continue;
		*ret_start = i + at;
		*off = i + at + size;
		return true;
	}
	return false;
}

bool sw_php_jump_out(struct sw_bytes code, uint64_t code_svma, size_t *off, uint64_t *ret_svma)
{
	for (size_t i = *off; i + 6 <= code.size; i++) {
		const uint8_t *c = code.data + i;
		size_t op = c[0] == 0xe9 ? 1 : c[0] == 0x0f && (c[1] & 0xf0) == 0x80 ? 2 : 0;
		uint32_t displacement;
		if (op == 0 || !sw_bytes_u32(code, i + op, &displacement))
			continue;
		*ret_svma = code_svma + i + op + 4 + (uint64_t) (int64_t) (int32_t) displacement;
		if (*ret_svma - code_svma < code.size)
			continue;
		*off = i + 1;
		return true;
	}
	return false;
}

/* "mov eax, KIND" */
static bool kind_is_hybrid(const struct sw_elf_symbols *symbols)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct sw_elf_symbol symbol;
	struct sw_bytes code;
	uint8_t op;
	uint32_t kind;
	if (!sw_elf_symbols_find(symbols, "zend_vm_kind", &symbol) ||
	    !sw_elf_loaded(symbols->elf, symbol.svma, &code))
		return false;
	uint64_t at = code.size > 4 && memcmp(code.data, endbr64, sizeof(endbr64)) == 0 ? 4 : 0;
	return sw_bytes_u8(code, at, &op) && op == 0xb8 && sw_bytes_u32(code, at + 1, &kind) &&
	       kind == KIND_HYBRID;
}

/* CFA = rsp + bytes; 0: another rule, or none. */
static uint32_t frame_bytes_at(struct sw_elf_cfi *cfi, uint64_t svma)
{
	const struct sw_cfi_rule *rule;
	if (sw_elf_cfi_row(cfi, svma, &rule) != SW_ELF_ROW_FOUND || rule->cfa_expr != NULL ||
	    rule->cfa_reg != SW_ARCH_SP || rule->cfa_offset <= 0 ||
	    rule->cfa_offset > FRAME_BYTES_MAX)
		return 0;
	return (uint32_t) rule->cfa_offset;
}

/* How a frame is laid out whose CFA is that of its frame pointer. */
struct pointer_frame {
	uint8_t n_regs;
	struct sw_cfi_reg_rule regs[FRAME_REGS_MAX];
};

static bool pointer_frame_at(struct sw_elf_cfi *cfi, uint64_t svma, struct pointer_frame *ret)
{
	const struct sw_cfi_rule *rule;
	if (sw_elf_cfi_row(cfi, svma, &rule) != SW_ELF_ROW_FOUND || rule->cfa_expr != NULL ||
	    rule->cfa_reg != SW_ARCH_FP || rule->cfa_offset != POINTER_CFA ||
	    rule->n_regs > FRAME_REGS_MAX)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->n_regs = rule->n_regs;
	for (uint8_t i = 0; i < rule->n_regs; i++) {
		ret->regs[i].reg = rule->regs[i].reg;
		ret->regs[i].how = rule->regs[i].how;
		ret->regs[i].offset = rule->regs[i].offset;
	}
	return true;
}

/*
 * The part of execute_ex() that is rarely executed has an entry of its own, and no symbol: execute_ex() jumps
 * into it, its entry begins with the frame set up, and that is the same frame.
 */
static void cold_find(struct sw_php_engine *engine, struct sw_bytes code)
{
	struct pointer_frame own, other;
	struct sw_elf_entry entry = {0};
	uint64_t target;
	if (code.size > engine->end_svma - engine->start_svma)
		code.size = (size_t) (engine->end_svma - engine->start_svma);
	if (code.size > CODE_BYTES_MAX || !pointer_frame_at(engine->cfi, engine->body_svma, &own))
		return;
	for (size_t off = 0, n = 0; n < JUMPS_MAX; n++) {
		if (!sw_php_jump_out(code, engine->start_svma, &off, &target))
			return;
		if ((target >= entry.start_svma && target < entry.end_svma) ||
		    !sw_elf_entry_find(engine->cfi, target, &entry) ||
		    entry.start_svma == engine->start_svma ||
		    !pointer_frame_at(engine->cfi, entry.start_svma, &other) ||
		    memcmp(&own, &other, sizeof(own)) != 0)
			continue;
		engine->cold_start_svma = entry.start_svma;
		engine->cold_end_svma = entry.end_svma;
		return;
	}
}

/* Executable memory that is shared and no module's: the JIT's buffer is part of opcache's memory. */
static bool is_jit_map(const struct sw_map *map)
{
	return map != NULL && (map->prot & SW_MAP_EXEC) && (map->prot & SW_MAP_SHARED);
}

static bool is_opcache(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strncmp(slash != NULL ? slash + 1 : path, "opcache.so", 10) == 0; /* or deleted */
}

/* Shared memory of no file that has a name, as opcache's is: of mmap(2), shm_open(3) or shmget(2). */
static bool is_shared_memory(const struct sw_map *map)
{
	size_t length;
	return map != NULL && (map->prot & SW_MAP_WRITE) && (map->prot & SW_MAP_SHARED) &&
	       sw_map_path_deleted(map, &length);
}

/*
 * While it compiles, and while opcache keeps a script, the JIT makes its whole buffer writable and not executable,
 * which is one mapping with the rest of opcache's memory then: what called the compiler is in there. Without the JIT
 * there is the same mapping, with data alone. Source:
 * zend_jit_unprotect() of ext/opcache/jit/zend_jit.c, PHP 8.2, and zend_accel_script_persist().
 */
bool sw_php_jit_at(const struct sw_php_engine *engine, const struct sw_snapshot *snap,
		   uint64_t avma)
{
	if (!sw_php_jit_frames(engine) || (!engine->has_jit && !engine->opcache))
		return false;
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	return engine->has_jit ? is_jit_map(map) : is_shared_memory(map);
}

bool sw_php_jit_returns(const struct sw_php_engine *engine, const struct sw_snapshot *snap,
			struct sw_memory memory, uint64_t return_avma)
{
	uint64_t target;
	return sw_php_jit_at(engine, snap, return_avma - 1) &&
	       (engine->has_jit ||
		sw_arch_call_before(memory, return_avma, &target) != SW_CALL_NONE);
}

/* Where in execute_ex(), whose code this is, r14 is its caller's. */
static void fp_read(struct sw_php_engine *engine, struct sw_bytes code, uint32_t kept)
{
	bool rbp = engine->frame_bytes == 0;
	uint32_t slot =
		rbp ? engine->fp_below - POINTER_CFA : engine->frame_bytes - engine->fp_below;
	size_t off = 0, start;
	engine->fp_own_svma = engine->start_svma + sw_php_fp_own(code, kept);
	if (code.size > engine->end_svma - engine->start_svma)
		code.size = (size_t) (engine->end_svma - engine->start_svma);
	if (code.size > CODE_BYTES_MAX)
		code.size = CODE_BYTES_MAX;
	while (engine->n_returns < SW_PHP_RETURNS_MAX &&
	       sw_php_return_find(code, rbp, slot, &off, &start)) {
		size_t n = engine->n_returns++;
		engine->returns[n].start_svma = engine->start_svma + start;
		engine->returns[n].end_svma = engine->start_svma + off;
	}
}

void sw_php_engine_read(const struct sw_snapshot *snap, const struct sw_php_found *found,
			struct sw_php_engine *ret)
{
	struct sw_elf_symbols symbols;
	struct sw_elf_symbol symbol;
	struct sw_bytes code;
	*ret = (struct sw_php_engine){0};
	if (!sw_elf_symbols_open(sw_module_elf(found->place->module), &symbols) ||
	    !sw_elf_symbols_find(&symbols, "execute_ex", &symbol) || symbol.size == 0)
		return;
	ret->start_svma = symbol.svma;
	if (__builtin_add_overflow(symbol.svma, symbol.size, &ret->end_svma))
		ret->end_svma = symbol.svma;
	ret->cfi = sw_elf_cfi_get(found->place->module);
	ret->body_svma = symbol.svma + symbol.size / 2;
	if (ret->cfi != NULL) {
		struct pointer_frame frame;
		ret->frame_bytes = frame_bytes_at(ret->cfi, ret->body_svma);
		ret->frame_pointer = pointer_frame_at(ret->cfi, ret->body_svma, &frame);
	}
	if (ret->cfi != NULL && sw_elf_loaded(symbols.elf, symbol.svma, &code)) {
		uint32_t end, below_end;
		int32_t slot = sw_php_fp_slot(code, &end);
		uint32_t below = sw_php_fp_below_rbp(code, &below_end);
		if (slot >= 0 && (uint32_t) slot < ret->frame_bytes)
			ret->fp_below = ret->frame_bytes - (uint32_t) slot;
		else if (ret->frame_bytes == 0 && below != 0)
			ret->fp_below = POINTER_CFA + below;
		if (ret->fp_below != 0)
			fp_read(ret, code, ret->frame_bytes != 0 ? end : below_end);
		if (ret->frame_pointer)
			cold_find(ret, code);
	}
	ret->hybrid = kind_is_hybrid(&symbols);
	for (size_t i = 0; i < snap->n_places && !ret->opcache; i++)
		ret->opcache = sw_module_kind(snap->places[i].module) == SW_MODULE_ELF &&
			       is_opcache(sw_module_path(snap->places[i].module));
	for (size_t i = 0; i < snap->n_maps && !ret->has_jit; i++)
		ret->has_jit = is_jit_map(&snap->maps[i]);
}

bool sw_php_jit_frames(const struct sw_php_engine *engine)
{
	return engine->hybrid && (engine->frame_bytes != 0 || engine->frame_pointer);
}

bool sw_php_in_jit(const struct sw_php_engine *engine, const struct sw_cursor *cursor)
{
	const struct sw_place *place = cursor->place;
	return (place == NULL || sw_module_kind(place->module) != SW_MODULE_ELF) &&
	       sw_php_jit_at(engine, cursor->snap, cursor->lookup_avma);
}

/* Whether a call of execute_ex() may return to the address. */
static bool is_return(const struct sw_php_engine *engine, const struct sw_php_found *found,
		      const struct sw_cursor *cursor, uint64_t return_avma)
{
	struct sw_cursor in_start = *cursor; /* for a look at where the call leads */
	in_start.regs.pc_avma = engine->start_svma + found->place->bias;
	struct sw_callee callee = {.cursor = &in_start,
				   .tried = true,
				   .known = true,
				   .start_avma = in_start.regs.pc_avma};
	enum sw_call_site site = sw_call_site_check(&callee, return_avma);
	return site == SW_SITE_VERIFIED || site == SW_SITE_POSSIBLE;
}

/* The part of execute_ex() that is rarely executed has an entry of its own, and no symbol. The entry
 * begins with the frame set up, which that of no function does. */
static bool in_cold(const struct sw_php_engine *engine, const struct sw_php_found *found,
		    const struct sw_cursor *cursor, uint64_t caller_sp_avma)
{
	struct sw_elf_entry entry;
	uint64_t return_avma;
	uint64_t svma = cursor->lookup_avma - found->place->bias;
	return engine->cfi != NULL && engine->frame_bytes != 0 &&
	       caller_sp_avma - cursor->regs.sp_avma == engine->frame_bytes &&
	       sw_elf_entry_find(engine->cfi, svma, &entry) &&
	       entry.start_svma != engine->start_svma &&
	       frame_bytes_at(engine->cfi, entry.start_svma) == engine->frame_bytes &&
	       sw_memory_u64(cursor->memory, caller_sp_avma - SW_ARCH_WORD, &return_avma) &&
	       is_return(engine, found, cursor, return_avma);
}

bool sw_php_engine_has(const struct sw_php_engine *engine, const struct sw_php_found *found,
		       const struct sw_cursor *cursor, uint64_t caller_sp_avma)
{
	uint64_t svma = cursor->lookup_avma - found->place->bias;
	if (cursor->place != found->place)
		return sw_php_in_jit(engine, cursor);
	return (svma >= engine->start_svma && svma < engine->end_svma) ||
	       (svma >= engine->cold_start_svma && svma < engine->cold_end_svma) ||
	       in_cold(engine, found, cursor, caller_sp_avma);
}

/* Out of a frame whose CFA is cfa_avma, if a call of execute_ex() returns from it. */
static enum sw_step frame_leave(const struct sw_php_engine *engine,
				const struct sw_php_found *found, const struct sw_cursor *cursor,
				uint64_t cfa_avma, struct sw_stepped *ret)
{
	const struct sw_cfi_rule *rule;
	struct sw_cursor at = *cursor;
	uint64_t return_avma;
	if (!sw_memory_u64(cursor->memory, cfa_avma - SW_ARCH_WORD, &return_avma) ||
	    !is_return(engine, found, cursor, return_avma) ||
	    sw_elf_cfi_row(engine->cfi, engine->body_svma, &rule) != SW_ELF_ROW_FOUND)
		return SW_STEP_DECLINE;
	if (!engine->frame_pointer)
		at.regs.sp_avma = cfa_avma - engine->frame_bytes;
	return sw_step_by_cfi(rule, found->place->bias, &at, ret);
}

bool sw_php_engine_begins(const struct sw_php_engine *engine, const struct sw_php_found *found,
			  const struct sw_cursor *cursor)
{
	uint64_t svma = cursor->regs.pc_avma - found->place->bias;
	return cursor->exact_pc && cursor->place == found->place && svma >= engine->start_svma &&
	       svma < engine->fp_own_svma;
}

bool sw_php_engine_ends(const struct sw_php_engine *engine, const struct sw_php_found *found,
			const struct sw_cursor *cursor)
{
	uint64_t svma = cursor->regs.pc_avma - found->place->bias;
	if (!cursor->exact_pc || cursor->place != found->place)
		return false;
	for (size_t i = 0; i < engine->n_returns; i++)
		if (svma >= engine->returns[i].start_svma && svma < engine->returns[i].end_svma)
			return true;
	return false;
}

/*
 * Generated code that calls a function may have pushed something; the frame is where the return address
 * is one of a call of execute_ex(). A frame pointer says at once where that is: generated code leaves rbp alone.
 */
enum sw_step sw_php_engine_step(const struct sw_php_engine *engine,
				const struct sw_php_found *found, struct sw_cursor *cursor,
				struct sw_stepped *ret)
{
	uint64_t fp, sp = cursor->regs.sp_avma;
	enum sw_step step = SW_STEP_DECLINE;
	if (!sw_php_in_jit(engine, cursor))
		return SW_STEP_DECLINE;
	if (engine->frame_pointer)
		return sw_regs_get(&cursor->regs, SW_ARCH_FP, &fp) && fp > sp
			       ? frame_leave(engine, found, cursor, fp + POINTER_CFA, ret)
			       : SW_STEP_DECLINE;
	for (uint64_t pushed = 0; pushed <= PUSHED_BYTES_MAX && step == SW_STEP_DECLINE;
	     pushed += SW_ARCH_WORD)
		step = frame_leave(engine, found, cursor, sp + pushed + engine->frame_bytes, ret);
	return step;
}
