/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which function a frame is in: by its JSFunction, of optimised code by its Code. All that leads to a name
 * was copied while nothing moved; nothing of it is read from the process later. Only sources, which are
 * long, may be: then what led to them is looked at again.
 */
#include "runtimes/v8/names.h"
#include "arch/arch.h"
#include "copies/texts.h"
#include "runtimes/v8/copied.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/frame.h"
#include "runtimes/v8/function.h"
#include "runtimes/v8/wire.h"
#include "snapshot/live.h"
#include "runtimes/v8/registers_x86_64.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FRAMES_MAX = 1 << 20, ENTRY_BYTES = 16 };

/* ---- what a frame executes ----------------------------------------------------------------- */

static bool is_same(const struct sw_v8_frame *a, const struct sw_v8_frame *b)
{
	return a->shared == b->shared && a->bytecode == b->bytecode && a->offset == b->offset &&
	       a->code.object == b->code.object && a->pc == b->pc && a->exact == b->exact &&
	       a->wasm.object == b->wasm.object && a->script == b->script &&
	       a->combinator == b->combinator && a->element == b->element &&
	       a->wrapper == b->wrapper && a->identity == b->identity && a->number == b->number;
}

uint64_t sw_v8_frame_keep(struct sw_v8 *v8, const struct sw_v8_frame *frame)
{
	uint64_t key = sw_mix64(frame->shared ^ sw_mix64(frame->bytecode)), kept;
	key = sw_mix64(key ^ sw_mix64((uint64_t) frame->offset ^ sw_mix64(frame->code.object)));
	key = sw_mix64(key ^ frame->pc ^ (uint64_t) frame->exact << 63);
	key = sw_mix64(key ^ sw_mix64(frame->wasm.object ^ sw_mix64(frame->script)));
	key = sw_mix64(key ^ frame->identity ^ sw_mix64(frame->number));
	key = sw_mix64(key ^ (uintptr_t) frame->combinator ^ (uint64_t) frame->element << 32);
	key = sw_mix64(key ^ (uintptr_t) frame->wrapper);
	if (sw_map64_get(&v8->by_frame, key, &kept) && kept <= v8->n_frames &&
	    is_same(&v8->frames[kept - 1], frame))
		return kept;
	struct sw_v8_frame *grown = v8->n_frames >= FRAMES_MAX
					    ? NULL
					    : sw_grow(v8->frames, v8->n_frames,
						      &v8->frames_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return 0;
	v8->frames = grown;
	v8->frames[v8->n_frames++] = *frame;
	(void) sw_map64_put(&v8->by_frame, key, v8->n_frames); /* lost: it gets another number */
	return v8->n_frames;
}

static bool interpreted_read(struct sw_v8 *v8, const struct sw_cursor *c, struct sw_v8_frame *ret)
{
	uint64_t offset;
	bool is_bytecode = sw_v8_frame_slot(c, SW_V8_SLOT_BYTECODE, &ret->bytecode) &&
			   sw_v8_has_type(v8->heap, ret->bytecode, v8->heap.at->type_bytecode);
	if ((!is_bytecode && !v8->by_copies) || !sw_v8_frame_shared(v8, c, &ret->shared))
		return false;
	ret->offset = -1;
	/* By copies the bytecodes may be gone or moved: the line is not known then. */
	if (v8->by_copies &&
	    (!is_bytecode || sw_v8_shared_bytecode(v8->heap, ret->shared) != ret->bytecode)) {
		ret->bytecode = 0;
		return true;
	}
	/* A handler that was interrupted has not said yet which bytecode it executes. */
	if (c->regs.sp_avma != v8->stale_sp && sw_v8_frame_slot(c, SW_V8_SLOT_OFFSET, &offset) &&
	    sw_v8_is_smi(offset) && sw_v8_smi(offset) >= v8->heap.at->bytecode_data - 1)
		ret->offset = sw_v8_smi(offset) - (v8->heap.at->bytecode_data - 1);
	return true;
}

/* A function that has been entered, and has no frame yet: its JSFunction is in a register, also of what it calls to
 * have one. */
static bool baseline_entered(struct sw_v8 *v8, const struct sw_cursor *c,
			     const struct sw_v8_code *code, uint64_t *ret)
{
	uint64_t function = 0, data;
	if (c->regs.sp_avma == v8->unset_sp)
		function = v8->unset_function;
	else if (!sw_regs_get(&c->regs, SW_V8_REG_FUNCTION, &function))
		return false;
	return sw_v8_function_shared(v8, function, ret) &&
	       sw_v8_word(v8->heap, *ret, SW_V8_SHARED_DATA, &data) && data == code->object;
}

/* [rbp - 8] has the type of a frame of WebAssembly, [rbp - 16] the instance that it belongs to; when it is
 * entered, that is in rsi. */
static bool wasm_read(struct sw_v8 *v8, const struct sw_cursor *c, const struct sw_v8_here *here,
		      struct sw_v8_frame *ret)
{
	uint64_t type, instance;
	if (here->wasm.kind != SW_V8_WASM_FUNCTION)
		return false;
	ret->wasm = here->wasm;
	bool known = here->state.place == SW_V8_PLACE_FRAME
			     ? sw_v8_frame_slot(c, SW_V8_SLOT_CONTEXT, &type) &&
				       type == 2 * (uint64_t) v8->heap.at->frame_wasm &&
				       sw_v8_frame_slot(c, SW_V8_SLOT_FUNCTION, &instance)
			     : c->exact_pc &&
				       c->regs.pc_avma - here->wasm.start_avma < ENTRY_BYTES &&
				       sw_regs_get(&c->regs, SW_V8_REG_INSTANCE, &instance);
	if (!known || !sw_v8_wasm_script(v8->heap, instance, &ret->script))
		ret->script = 0;
	return true;
}

/* By copies, code of Maglev and TurboFan: it must be that of the frame. */
static bool copied_read(struct sw_v8 *v8, const struct sw_cursor *c, const struct sw_v8_here *here,
			struct sw_v8_frame *ret)
{
	uint64_t function, shared;
	const struct sw_v8_known_code *k = sw_v8_known_code(v8, c->regs.pc_avma + c->exact_pc);
	bool known = here->state.place == SW_V8_PLACE_FRAME
			     ? sw_v8_frame_shared(v8, c, &shared)
			     : sw_regs_get(&c->regs, SW_V8_REG_FUNCTION, &function) &&
				       sw_v8_function_shared(v8, function, &shared);
	if (k == NULL || k->shared == 0)
		return false;
	ret->shared = k->shared;
	ret->number = k->number;
	return (known && shared == k->shared) || sw_v8_is_proven_code(v8, c, k);
}

static bool made_read(struct sw_v8 *v8, const struct sw_cursor *c, const struct sw_v8_here *here,
		      struct sw_v8_frame *ret)
{
	bool is_framed = here->state.place == SW_V8_PLACE_FRAME;
	if (here->has_wasm)
		return wasm_read(v8, c, here, ret);
	/* Code whose object was not copied may be anything: what was entered in the middle of a loop has the
	 * interpreter's frame still, with the bytecode that it left it at. */
	ret->offset = -1;
	if (!here->has_code)
		return is_framed && !here->is_walker && sw_v8_frame_shared(v8, c, &ret->shared);
	if (here->code.is_regexp) {
		ret->code = here->code;
		return true;
	}
	if (here->code.kind == SW_V8_OTHER_CODE)
		return is_framed && interpreted_read(v8, c, ret);
	ret->code = here->code;
	if (here->code.kind != SW_V8_BASELINE)
		return v8->by_copies ? copied_read(v8, c, here, ret)
				     : sw_v8_code_shared(v8->heap, &here->code, &ret->shared);
	return is_framed ? sw_v8_frame_shared(v8, c, &ret->shared)
			 : baseline_entered(v8, c, &here->code, &ret->shared);
}

/* The frame is one of JavaScript if it has a context and a function where other frames have their
 * type. */
static bool is_function_frame(const struct sw_cursor *c)
{
	uint64_t context, function;
	return sw_v8_frame_slot(c, SW_V8_SLOT_CONTEXT, &context) && sw_v8_is_object(context) &&
	       sw_v8_frame_slot(c, SW_V8_SLOT_FUNCTION, &function) && sw_v8_is_object(function);
}

/* The name of code that was made to call WebAssembly, or to be called from there; static. NULL: it is other code, or that is
 * not sure. */
static const char *wrapper_name(struct sw_v8 *v8, const struct sw_cursor *c)
{
	struct sw_v8_wasm_code wasm;
	uint64_t type;
	if (sw_v8_wasm_find(v8->heap, v8->wasm_state_avma, c->lookup_avma, &wasm))
		return wasm.kind == SW_V8_WASM_FUNCTION  ? NULL
		       : wasm.kind == SW_V8_WASM_WRAPPER ? "[WebAssembly to JavaScript]"
							 : "[WebAssembly jump table]";
	return sw_v8_frame_slot(c, SW_V8_SLOT_CONTEXT, &type) &&
			       type == 2 * (uint64_t) v8->heap.at->frame_js_to_wasm
		       ? "[JavaScript to WebAssembly]"
		       : NULL;
}

/* In 10.2 the way into WebAssembly has the frame of a function: it has no name, as a function that cannot be read is like it. */
static bool is_wrapper(struct sw_v8 *v8, const struct sw_cursor *c)
{
	struct sw_v8_code code;
	uint64_t shared;
	return wrapper_name(v8, c) != NULL ||
	       (sw_v8_code_find(v8->heap, c->regs.pc_avma + c->exact_pc, &code) &&
		code.kind == SW_V8_OTHER_CODE && sw_v8_frame_shared(v8, c, &shared));
}

bool sw_v8_is_internal(struct sw_v8 *v8, const struct sw_cursor *cursor)
{
	uint64_t off, shared;
	const struct sw_v8_builtin *b =
		sw_v8_builtin_at(v8->snap, v8->program, cursor->regs.pc_avma, &off);
	if (b == NULL)
		return sw_v8_is_made(v8->snap, cursor->lookup_avma) && is_wrapper(v8, cursor);
	/* Builtins that are functions of JavaScript are the program's calls, and so is what is interpreted: also a
	 * function that could not be read, as in the middle of a collection. */
	return b->handler || cursor->exact_pc ||
	       (b->interprets ? !is_function_frame(cursor)
			      : !sw_v8_frame_shared(v8, cursor, &shared));
}

/* ---- names --------------------------------------------------------------------------------- */

/* A source that is read now must be the one that was there then: nothing that leads to it has changed. */
static bool is_unchanged(struct sw_v8 *v8, uint64_t script)
{
	enum { WORDS = 3 }; /* map, source, name */
	uint64_t then[WORDS], now[WORDS], head_then[2], head_now[2];
	struct sw_memory live = sw_live_memory(v8->snap);
	return sw_memory_read(v8->heap.memory, script - 1, then, sizeof(then)) &&
	       sw_memory_read(live, script - 1, now, sizeof(now)) &&
	       memcmp(then, now, sizeof(now)) == 0 && sw_v8_is_object(then[1]) &&
	       sw_memory_read(v8->heap.memory, then[1] - 1, head_then, sizeof(head_then)) &&
	       sw_memory_read(live, then[1] - 1, head_now, sizeof(head_now)) &&
	       memcmp(head_then, head_now, sizeof(head_now)) == 0;
}

static uint32_t line_of(struct sw_v8 *v8, uint64_t script, int32_t position)
{
	uint32_t line = sw_v8_line(v8->heap, script, position);
	if (v8->by_copies) /* it is proven, or not, with all else that leads there */
		return line;
	if (line != 0 || !v8->snap->live || position < 0)
		return line;
	struct sw_snapshot_memory source = {.snap = v8->snap};
	struct sw_v8_heap heap = {v8->heap.at, sw_snapshot_memory(&source)};
	line = is_unchanged(v8, script) ? sw_v8_line(heap, script, position) : 0;
	return line != 0 && is_unchanged(v8, script) ? line : 0;
}

static int function_describe(struct sw_v8 *v8, const struct sw_v8_code *code,
			     const struct sw_v8_level *level, struct sw_description *ret)
{
	struct sw_v8_function function;
	if (!sw_v8_function_read(v8->heap, level->shared, &function)) {
		if (v8->by_copies)
			return -SW_E_NOT_FOUND; /* nothing is told of the frame */
		(void) snprintf(ret->function, sizeof(ret->function), "[JavaScript function]");
		return 1;
	}
	(void) snprintf(ret->function, sizeof(ret->function), "%s", function.name); /* fits */
	(void) snprintf(ret->file, sizeof(ret->file), "%s", function.file);
	if (function.script != 0)
		ret->line =
			line_of(v8, function.script, sw_v8_level_position(v8->heap, code, level));
	return 1;
}

/* ---- names of WebAssembly ------------------------------------------------------------------- */

/*
 * A module's bytes never change, and are there as long as its code is: that is looked at before and after.
 * Where the C++ library frees memory, it writes over the first two words.
 */
static bool is_there(struct sw_v8 *v8, const struct sw_v8_wasm_code *code, uint64_t ret_bytes[2])
{
	uint64_t words[2], bytes_avma;
	struct sw_snapshot_memory source = {.snap = v8->snap};
	struct sw_memory memory =
		v8->snap->live ? sw_live_memory(v8->snap) : sw_snapshot_memory(&source);
	return sw_memory_read(memory, code->object, words, sizeof(words)) &&
	       words[0] == code->module && words[1] == code->start_avma &&
	       sw_memory_u64(memory, code->module + (uint64_t) v8->heap.at->wasm.module_bytes,
			     &bytes_avma) &&
	       sw_memory_read(memory, bytes_avma, ret_bytes, 2 * sizeof(*ret_bytes));
}

static bool wasm_name(struct sw_v8 *v8, const struct sw_v8_wasm_code *code, uint32_t index,
		      char *ret, size_t size)
{
	uint64_t bytes[2], after[2];
	struct sw_snapshot_memory source = {.snap = v8->snap};
	return is_there(v8, code, bytes) &&
	       sw_v8_wire_name(sw_snapshot_memory(&source), bytes[0], bytes[1], index, ret, size) &&
	       is_there(v8, code, after) && memcmp(bytes, after, sizeof(bytes)) == 0;
}

/* As V8 itself does: where the script is from, the function's number, and where in the module's bytes. */
static void wasm_place(struct sw_v8 *v8, uint64_t script, const struct sw_v8_wasm_level *level,
		       char *ret, size_t size)
{
	enum { SCRIPT_NAME = 16 };
	uint64_t name;
	char url[512], offset[32] = "";
	if (script == 0 || !sw_v8_word(v8->heap, script, SCRIPT_NAME, &name) ||
	    !sw_v8_string(v8->heap, name, url, sizeof(url)))
		return;
	if (level->offset >= 0)
		(void) snprintf(offset, sizeof(offset), ":0x%" PRIx64, (uint64_t) level->offset);
	(void) snprintf(ret, size, "%s:wasm-function[%u]%s", url, level->index, offset); /* fits */
}

static int wasm_describe(struct sw_v8 *v8, const struct sw_v8_frame *f, size_t level,
			 struct sw_description *ret)
{
	struct sw_v8_wasm_level levels[SW_V8_WASM_INLINED_MAX] = {{f->wasm.index, -1}};
	bool certain;
	size_t n = f->exact ? 1 : sw_v8_wasm_levels(v8->heap, &f->wasm, f->pc, levels, &certain);
	if (level == SW_V8_OUTERMOST)
		level = n - 1;
	if (level >= n)
		return 0;
	if (level == n - 1)
		ret->start_avma = f->wasm.start_avma;
	if (!wasm_name(v8, &f->wasm, levels[level].index, ret->function, sizeof(ret->function)))
		(void) snprintf(ret->function, sizeof(ret->function), "wasm-function[%u]",
				levels[level].index); /* fits */
	wasm_place(v8, f->script, &levels[level], ret->file, sizeof(ret->file));
	return 1;
}

bool sw_v8_is_wrapper(const struct sw_v8 *v8, uint64_t cookie)
{
	return cookie != 0 && cookie <= v8->n_frames && v8->frames[cookie - 1].wrapper != NULL;
}

bool sw_v8_is_wasm(const struct sw_v8 *v8, uint64_t cookie)
{
	return cookie != 0 && cookie <= v8->n_frames && v8->frames[cookie - 1].wasm.object != 0;
}

/* The bytecode that an interpreted or baseline frame executes; false: it has none, or it is not known. */
static bool bytecode_at(struct sw_v8 *v8, const struct sw_v8_frame *f, uint64_t *ret_bytecode,
			int32_t *ret_offset)
{
	uint64_t bytecode = f->bytecode;
	int32_t offset = f->offset;
	if (f->code.kind == SW_V8_BASELINE)
		offset = sw_v8_baseline_offset(v8->heap, &f->code, f->pc + f->exact,
					       v8->program->sizes, &bytecode);
	if (bytecode == 0 || offset < 0)
		return false;
	*ret_bytecode = bytecode;
	*ret_offset = offset;
	return true;
}

/* The functions that a frame executes, innermost first; at least one. */
static size_t levels_of(struct sw_v8 *v8, const struct sw_v8_frame *frame,
			struct sw_v8_level ret[SW_V8_INLINED_MAX])
{
	uint64_t bytecode;
	int32_t offset;
	size_t n = 0;
	if (frame->code.kind >= SW_V8_MAGLEV && !frame->exact)
		n = sw_v8_code_levels(v8->heap, &frame->code, frame->pc, ret);
	if (n > 0)
		return n;
	ret[0] = (struct sw_v8_level){frame->shared, -1};
	if (bytecode_at(v8, frame, &bytecode, &offset))
		ret[0].position = sw_v8_bytecode_position(v8->heap, bytecode, offset);
	return 1;
}

/* As V8's own stacks have it. */
static int combinator_describe(const struct sw_v8_frame *f, size_t level,
			       struct sw_description *ret)
{
	if (level != 0 && level != SW_V8_OUTERMOST)
		return 0;
	if (f->element >= 0)
		(void) snprintf(ret->function, sizeof(ret->function), "%s (index %" PRId32 ")",
				f->combinator, f->element); /* fits */
	else
		(void) snprintf(ret->function, sizeof(ret->function), "%s", f->combinator);
	return 1;
}

static int wrapper_describe(const struct sw_v8_frame *f, size_t level, struct sw_description *ret)
{
	if (level != 0 && level != SW_V8_OUTERMOST)
		return 0;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", f->wrapper); /* fits */
	return 1;
}

/* The pattern from which the code was made is not said: it may be data. */
static int regexp_describe(const struct sw_v8_frame *f, size_t level, struct sw_description *ret)
{
	if (level != 0 && level != SW_V8_OUTERMOST)
		return 0;
	(void) snprintf(ret->function, sizeof(ret->function), "[RegExp]");
	ret->start_avma = f->code.start_avma;
	return 1;
}

static int frame_describe(struct sw_v8 *v8, const struct sw_v8_frame *f, size_t level,
			  struct sw_description *ret)
{
	struct sw_v8_level levels[SW_V8_INLINED_MAX];
	if (f->wasm.object != 0)
		return wasm_describe(v8, f, level, ret);
	if (f->wrapper != NULL)
		return wrapper_describe(f, level, ret);
	if (f->combinator != NULL)
		return combinator_describe(f, level, ret);
	if (f->code.is_regexp)
		return regexp_describe(f, level, ret);
	size_t n = levels_of(v8, f, levels);
	if (level == SW_V8_OUTERMOST)
		level = n - 1;
	if (level >= n)
		return 0;
	if (level == n - 1)
		ret->start_avma = f->code.start_avma;
	return function_describe(v8, &f->code, &levels[level], ret);
}

/* ---- by copies ------------------------------------------------------------------------------ */

/* The functions of a frame are told at once, as objects move. NULL: they could not be proven. */
static const struct sw_v8_told *tell(struct sw_v8 *v8, const struct sw_v8_frame *f)
{
	struct sw_v8_copies *c = v8->copies;
	struct sw_v8_told_level levels[SW_V8_INLINED_MAX];
	uint64_t start_avma = 0;
	size_t n = 0;
	for (; n < SW_V8_INLINED_MAX; n++) {
		struct sw_description d = {0};
		int r = frame_describe(v8, f, n, &d);
		if (r < 0)
			return NULL;
		if (r == 0)
			break;
		levels[n] = (struct sw_v8_told_level){
			.function = sw_copy_text_keep(&c->arena, &c->texts, d.function),
			.file = sw_copy_text_keep(&c->arena, &c->texts, d.file),
			.line = d.line};
		if (levels[n].function == NULL || levels[n].file == NULL)
			return NULL;
		start_avma = d.start_avma;
	}
	/* All that was read now must be of the function that the copy has. */
	if (f->shared != 0 && !sw_v8_is_still(v8, f->shared))
		return NULL;
	struct sw_v8_told *told =
		sw_arena_alloc(&c->arena, sizeof(*told) + n * sizeof(told->levels[0]));
	if (told == NULL)
		return NULL;
	told->start_avma = start_avma;
	told->n = n;
	memcpy(told->levels, levels, n * sizeof(levels[0]));
	return told;
}

static int told_describe(const struct sw_v8_told *told, size_t level, struct sw_description *ret)
{
	if (level == SW_V8_OUTERMOST)
		level = told->n - 1;
	if (level >= told->n)
		return 0;
	if (level == told->n - 1)
		ret->start_avma = told->start_avma;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", told->levels[level].function);
	(void) snprintf(ret->file, sizeof(ret->file), "%s",
			told->levels[level].file); /* these fit */
	ret->line = told->levels[level].line;
	return 1;
}

/* Whether a frame that is not known may be one of the program. */
static bool may_be_function(const struct sw_cursor *c, const struct sw_v8_here *here)
{
	if (here->builtin != NULL)
		return here->builtin->interprets && here->state.place == SW_V8_PLACE_FRAME &&
		       is_function_frame(c);
	return !here->is_walker && !here->has_wasm &&
	       (!here->has_code || here->code.is_regexp || here->code.kind != SW_V8_OTHER_CODE ||
		is_function_frame(c));
}

static bool copied_owns(struct sw_v8 *v8, const struct sw_cursor *c, const struct sw_v8_here *here,
			struct sw_v8_frame *frame, bool known, uint64_t *ret_cookie)
{
	uint64_t cookie = 0;
	bool doubtful = !known && may_be_function(c, here);
	v8->copies->doubtful_sp = v8->copies->doubtful_pc = 0;
	if (!known && !doubtful)
		return false;
	if (known && frame->shared != 0) {
		frame->identity = sw_v8_identity(v8, frame->shared);
		doubtful |= frame->identity == 0;
	}
	if (!doubtful)
		cookie = sw_v8_frame_keep(v8, frame);
	if (cookie != 0 && v8->frames[cookie - 1].told == NULL)
		v8->frames[cookie - 1].told = tell(v8, &v8->frames[cookie - 1]);
	if (cookie == 0 || v8->frames[cookie - 1].told == NULL) {
		v8->copies->doubtful_sp = c->regs.sp_avma;
		v8->copies->doubtful_pc = c->regs.pc_avma;
	}
	*ret_cookie = cookie;
	return true;
}

/* ---- what others call ----------------------------------------------------------------------- */

bool sw_v8_owns(struct sw_v8 *v8, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	struct sw_v8_here here;
	struct sw_v8_frame frame = {0};
	if (!sw_v8_frame_look(v8, cursor, &here))
		return false;
	bool known = here.builtin == NULL
			     ? made_read(v8, cursor, &here, &frame)
			     : here.builtin->interprets && here.state.place == SW_V8_PLACE_FRAME &&
				       interpreted_read(v8, cursor, &frame);
	/* Before its prologue it has its caller's frame. */
	if (!known && here.builtin == NULL && !here.is_walker &&
	    (here.has_wasm || here.state.place == SW_V8_PLACE_FRAME)) {
		frame = (struct sw_v8_frame){.wrapper = wrapper_name(v8, cursor)};
		known = frame.wrapper != NULL;
	}
	v8->any_unnamed |= !known && here.builtin == NULL && !here.is_walker &&
			   !(here.has_code && here.code.kind == SW_V8_OTHER_CODE);
	if (frame.code.object != 0 || frame.wasm.object != 0) {
		frame.pc = cursor->regs.pc_avma;
		frame.exact = cursor->exact_pc;
	}
	if (v8->by_copies)
		return copied_owns(v8, cursor, &here, &frame, known, ret_cookie);
	if (!known)
		return false;
	*ret_cookie = sw_v8_frame_keep(v8, &frame);
	return true;
}

bool sw_v8_is_doubtful(struct sw_v8 *v8, const struct sw_cursor *cursor)
{
	return v8->by_copies && v8->copies->doubtful_sp == cursor->regs.sp_avma &&
	       v8->copies->doubtful_pc == cursor->regs.pc_avma;
}

int sw_v8_describe(struct sw_v8 *v8, const struct sw_frame *frame, size_t level,
		   struct sw_description *ret)
{
	const struct sw_v8_frame *f = frame->cookie == 0 || frame->cookie > v8->n_frames
					      ? NULL
					      : &v8->frames[frame->cookie - 1];
	if (f == NULL || (v8->by_copies && f->told == NULL)) {
		(void) snprintf(ret->function, sizeof(ret->function), "[JavaScript function]");
		return level == 0 || level == SW_V8_OUTERMOST;
	}
	return v8->by_copies ? told_describe(f->told, level, ret)
			     : frame_describe(v8, f, level, ret);
}

/* ---- explain ------------------------------------------------------------------------------- */

void sw_v8_explain(struct sw_v8 *v8, uint64_t avma, struct sw_text *text)
{
	static const char *const kinds[] = {"made by V8 for itself", "compiled by Sparkplug",
					    "compiled by Maglev", "compiled by TurboFan"};
	struct sw_v8_code code;
	struct sw_v8_wasm_code wasm;
	struct sw_v8_function function;
	uint64_t off, shared;
	const struct sw_v8_builtin *b = sw_v8_builtin_at(v8->snap, v8->program, avma, &off);
	if (b != NULL) {
		sw_text_printf(text, "builtin %s+%" PRIu64 "%s\n", b->name, off,
			       b->handler ? ", of the interpreter" : "");
		return;
	}
	if (sw_v8_is_made(v8->snap, avma) &&
	    sw_v8_wasm_find(v8->heap, v8->wasm_state_avma, avma, &wasm)) {
		sw_text_printf(text, "WasmCode: 0x%" PRIx64 "-0x%" PRIx64 ", ", wasm.start_avma,
			       wasm.end_avma);
		if (wasm.kind == SW_V8_WASM_FUNCTION)
			sw_text_printf(text, "wasm-function[%u], compiled by %s\n", wasm.index,
				       wasm.liftoff ? "Liftoff" : "TurboFan");
		else
			sw_text_printf(text, "%s\n",
				       wasm.kind == SW_V8_WASM_JUMPS ? "a table of jumps"
								     : "a wrapper of a call");
		return;
	}
	if (!sw_v8_is_made(v8->snap, avma) || !sw_v8_code_find(v8->heap, avma + 1, &code)) {
		sw_text_printf(text, "no code of V8 that was copied\n");
		return;
	}
	sw_text_printf(text, "Code: 0x%" PRIx64 "-0x%" PRIx64 ", %s\n", code.start_avma,
		       code.end_avma,
		       code.is_regexp ? "compiled of a regular expression" : kinds[code.kind]);
	if (!sw_v8_code_shared(v8->heap, &code, &shared) ||
	    !sw_v8_function_read(v8->heap, shared, &function))
		return;
	sw_text_printf(text, "function %s%s%s%s\n", function.name,
		       function.file[0] != '\0' ? ", " : "", function.file,
		       sw_v8_code_has_inlined(v8->heap, &code) ? "; others were compiled into it"
							       : "");
}

void sw_v8_explain_frame(struct sw_v8 *v8, const struct sw_frame *frame, struct sw_text *text)
{
	static const char *const tiers[] = {"Ignition", "Sparkplug", "Maglev", "TurboFan"};
	struct sw_v8_level levels[SW_V8_INLINED_MAX];
	struct sw_description d;
	uint64_t bytecode, length;
	int32_t offset;
	if (frame->cookie == 0 || frame->cookie > v8->n_frames)
		return;
	const struct sw_v8_frame *f = &v8->frames[frame->cookie - 1];
	if (f->wasm.object != 0 || f->wrapper != NULL || f->combinator != NULL || f->code.is_regexp)
		return;
	if (f->code.object == 0 && f->bytecode == 0)
		sw_text_printf(text, "code that was not copied\n");
	else
		sw_text_printf(text, "executed by %s\n", tiers[f->code.kind]);
	if (f->code.object != 0)
		sw_text_printf(text, "code object 0x%" PRIx64 ", offset 0x%" PRIx64 "\n",
			       f->code.object - 1, f->pc - f->code.start_avma);
	if (bytecode_at(v8, f, &bytecode, &offset) && sw_v8_word(v8->heap, bytecode, 8, &length) &&
	    sw_v8_is_smi(length))
		sw_text_printf(text,
			       "bytecode array 0x%" PRIx64 ", offset %" PRId32 " of %" PRId32 "\n",
			       bytecode - 1, offset, sw_v8_smi(length));
	size_t n = levels_of(v8, f, levels);
	for (size_t i = 0; i < n; i++) {
		d = (struct sw_description){0};
		/* Without a name it says so. */
		(void) function_describe(v8, &f->code, &levels[i], &d);
		sw_text_printf(text, "function %s", d.function);
		if (d.line != 0)
			sw_text_printf(text, " at %s:%" PRIu32, d.file, d.line);
		else if (d.file[0] != '\0')
			sw_text_printf(text, " of %s", d.file);
		sw_text_printf(text, "%s\n", i + 1 < n ? ", inlined into" : "");
	}
}
