/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Objects move as soon as the process goes on, so what names need is copied: for each frame of JavaScript
 * on a stack its function and what leads from there to name, file and line; for each address of made code
 * the Code it belongs to; for an async function that goes on after an await those that await it. That is done by those who read it afterwards, over a memory that copies what
 * they look at, in blocks.
 *
 * In the window: nothing is allocated, opened or parsed; the reads are bounded by what was set aside.
 */
#include "runtimes/v8/window.h"
#include "arch/arch.h"
#include "runtimes/v8/awaits.h"
#include "runtimes/v8/code.h"
#include "runtimes/v8/instructions/flow.h"
#include "runtimes/v8/function.h"
#include "runtimes/v8/objects/positions.h"
#include "runtimes/v8/wasm.h"
#include "snapshot/snapshot.h"
#include "runtimes/v8/registers_x86_64.h"

#include <snapwalk/clock.h>
#include <string.h>

static const char no_space[] = "there was no space to copy all that leads to them";
static const char far_stack[] = "of a stack 256 KiB and 512 frames are looked at";

enum { FRAMELESS_WORDS = 3 }; /* others are looked at with the word before them */

/* ---- memory that is copied ------------------------------------------------------------------- */

static struct sw_v8_heap window_heap(struct sw_v8_window *w)
{
	return (struct sw_v8_heap){&w->at, sw_copied_blocks_memory(&w->blocks)};
}

/* The kind as which an address was looked at: the words of a stack may be anything, and an address
 * may be met first as the wrong kind. */
enum seen_as {
	SEEN_BYTES,
	SEEN_RETURN,
	SEEN_CODE,
	SEEN_WASM,
	SEEN_FUNCTION,
	SEEN_SHARED,
	SEEN_SCRIPT,
	SEEN_BYTECODE,
	SEEN_WHOLE_BYTECODE,
	SEEN_INSTANCE,
};

/* True on first sight of an address as this; false also when there are too many. */
static bool is_new(struct sw_v8_window *w, uint64_t avma, enum seen_as as)
{
	enum { ABOVE_ADDRESSES = 56 };
	uint64_t key = avma ^ (uint64_t) as << ABOVE_ADDRESSES;
	size_t i = (size_t) sw_mix64(key) % SW_V8_WINDOW_SEEN_SLOTS;
	if (key == 0)
		return false;
	while (w->seen[i] != 0 && w->seen[i] != key)
		i = (i + 1) % SW_V8_WINDOW_SEEN_SLOTS;
	if (w->seen[i] == key)
		return false;
	if (w->n_seen >= SW_V8_WINDOW_SEEN_SLOTS / 2) {
		w->short_why = no_space;
		return false;
	}
	w->seen[i] = key;
	w->n_seen++;
	return true;
}

static bool is_late(void *arg)
{
	struct sw_v8_window *w = arg;
	bool late = sw_capture_is_late(w->capture);
	if (late)
		w->short_why = "there was no time to copy what leads to them";
	return late;
}

/* In one part, as it is long; when it cannot be, it is read later. */
static void long_copy(struct sw_v8_window *w, uint64_t avma, uint64_t bytes)
{
	const uint8_t *copy;
	if (bytes > 0 && is_new(w, avma, SEEN_BYTES))
		(void) sw_capture_copy(w->capture, avma, (size_t) bytes, &copy); /* else later */
}

static const struct sw_v8_range *range_at(const struct sw_v8_window *w, uint64_t avma)
{
	size_t low = 0, high = w->n_ranges;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (avma >= w->ranges[middle].end_avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->n_ranges && avma >= w->ranges[low].start_avma ? &w->ranges[low] : NULL;
}

/* ---- in the window ----------------------------------------------------------------------------- */

/* The data that lines need: line ends where V8 has them, else the source. */
static void script_copy(struct sw_v8_window *w, uint64_t script)
{
	enum { SOURCE = 8, LINE_OFFSET = 24, LINE_ENDS = 56 };
	struct sw_v8_heap heap = window_heap(w);
	uint64_t ends, source, word, avma;
	uint32_t n;
	bool wide;
	if (!is_new(w, script, SEEN_SCRIPT) || !sw_v8_word(heap, script, LINE_ENDS, &ends) ||
	    !sw_v8_word(heap, script, SOURCE, &source) ||
	    !sw_v8_word(heap, script, LINE_OFFSET, &word))
		return;
	if (sw_v8_is_object(ends) && sw_v8_array(heap, ends, &avma, &n) && n > 0 &&
	    n <= SW_V8_WINDOW_ENDS_MAX / 8)
		long_copy(w, avma, 8 * (uint64_t) n);
	else if (sw_v8_characters(heap, source, &avma, &n, &wide) &&
		 n <= SW_V8_WINDOW_SOURCE_MAX / (wide ? 2 : 1))
		long_copy(w, avma, (uint64_t) n * (wide ? 2 : 1));
}

static void shared_copy(void *arg, uint64_t shared)
{
	struct sw_v8_window *w = arg;
	uint64_t word;
	if (!is_new(w, shared, SEEN_SHARED) ||
	    !sw_v8_function_read(window_heap(w), shared, &w->function))
		return;
	(void) sw_v8_word(window_heap(w), shared, SW_V8_SHARED_DATA, &word); /* only read */
	if (w->function.script != 0)
		script_copy(w, w->function.script);
}

static void bytecode_copy(struct sw_v8_window *w, uint64_t bytecode)
{
	if (is_new(w, bytecode, SEEN_BYTECODE) &&
	    sw_v8_has_type(window_heap(w), bytecode, w->at.type_bytecode))
		/* As far as it goes: the whole table is read on the way to its end. */
		(void) sw_v8_bytecode_position(window_heap(w), bytecode, INT32_MAX);
}

/* With the bytecodes themselves. */
static void whole_bytecode_copy(void *arg, uint64_t bytecode)
{
	struct sw_v8_window *w = arg;
	struct sw_v8_heap heap = window_heap(w);
	uint64_t length, avma = bytecode - 1 + (uint64_t) w->at.bytecode_data;
	uint8_t byte;
	bytecode_copy(w, bytecode);
	if (!is_new(w, bytecode, SEEN_WHOLE_BYTECODE) || !sw_v8_word(heap, bytecode, 8, &length) ||
	    !sw_v8_is_smi(length) || sw_v8_smi(length) < 0)
		return;
	uint64_t n = (uint64_t) sw_v8_smi(length) + 1; /* what reads it takes two bytes */
	for (uint64_t i = 0; i < n && i < SW_V8_TABLE_MAX && !is_late(w);
	     i += SW_V8_WINDOW_BLOCK_BYTES - (avma + i) % SW_V8_WINDOW_BLOCK_BYTES)
		(void) sw_memory_read(heap.memory, avma + i, &byte, 1); /* kept, or not */
}

static bool wasm_copy(struct sw_v8_window *w, uint64_t pc, bool exact)
{
	struct sw_v8_wasm_code code;
	uint8_t bytes[16]; /* what stands around the jump of a table */
	if (!sw_v8_wasm_find(window_heap(w), w->wasm_state_avma, pc - !exact, &code))
		return false;
	if (exact)
		long_copy(w, code.start_avma,
			  code.end_avma - code.start_avma < SW_V8_FLOW_BYTES
				  ? code.end_avma - code.start_avma
				  : SW_V8_FLOW_BYTES);
	(void) sw_memory_read(window_heap(w).memory, code.start_avma, bytes, sizeof(bytes));
	if (is_new(w, code.object, SEEN_WASM))
		sw_v8_wasm_touch(window_heap(w), &code);
	return true;
}

/* The objects that lead from a frame of WebAssembly to the name of its module. */
static void instance_copy(struct sw_v8_window *w, uint64_t instance)
{
	enum { SCRIPT_NAME = 16 };
	uint64_t script, name;
	if (is_new(w, instance, SEEN_INSTANCE) &&
	    sw_v8_wasm_script(window_heap(w), instance, &script) &&
	    sw_v8_word(window_heap(w), script, SCRIPT_NAME, &name))
		(void) sw_v8_string(window_heap(w), name, w->function.file,
				    sizeof(w->function.file)); /* only read */
}

/*
 * C++ code has the addresses of pages of V8's heap on its stack. They begin with a header: no call returns
 * there. Not so where a page is made of several, for one object: the Code of such a return address is not copied,
 * and its frame has no name. Nor in code of WebAssembly, which is no object.
 */
static bool is_page(uint64_t avma)
{
	return avma % SW_V8_WINDOW_PAGE_BYTES == 0;
}

static void code_copy(struct sw_v8_window *w, uint64_t pc, bool exact, bool likely)
{
	bool far = likely && w->misses < SW_V8_WINDOW_MISSES_MAX;
	struct sw_v8_code code;
	if (!is_new(w, pc, SEEN_RETURN) || is_late(w) || wasm_copy(w, pc, exact) ||
	    (!exact && is_page(pc)))
		return;
	if (!sw_v8_code_find_near(window_heap(w), pc + exact,
				  far ? SW_V8_WINDOW_CODE_FAR : SW_V8_WINDOW_CODE_NEAR, &code)) {
		w->misses += far;
		return;
	}
	if (exact) /* what leads to pc may lie behind it */
		long_copy(w, code.start_avma,
			  code.end_avma - code.start_avma < SW_V8_FLOW_BYTES
				  ? code.end_avma - code.start_avma
				  : SW_V8_FLOW_BYTES);
	const struct sw_v8_code_visitor visitor = {shared_copy, whole_bytecode_copy, is_late, w};
	if (code.kind >= SW_V8_BASELINE && is_new(w, code.object, SEEN_CODE))
		sw_v8_code_touch(window_heap(w), &code, &visitor);
}

/* A chain may have many promises that no function awaits. */
static bool awaits_are_enough(void *arg)
{
	struct sw_v8_window *w = arg;
	if (w->n_promises >= SW_V8_WINDOW_PROMISES_MAX) {
		w->short_why = no_space;
		return true;
	}
	w->n_promises++;
	return is_late(w);
}

static void chain_copy(struct sw_v8_window *w, struct sw_v8_await *await,
		       struct sw_v8_await_chain *chain)
{
	chain->is_enough = awaits_are_enough;
	chain->arg = w;
	do {
		if (await->shared != 0)
			shared_copy(w, await->shared);
		if (await->bytecode != 0)
			bytecode_copy(w, await->bytecode);
		if (w->n_awaits == SW_V8_WINDOW_AWAITS_MAX)
			w->short_why = no_space;
	} while (w->n_awaits++ < SW_V8_WINDOW_AWAITS_MAX && sw_v8_await_next(chain, await));
}

/* The awaiters of the function that a builtin continues, if this is one. */
static void awaits_copy(struct sw_v8_window *w, uint64_t function)
{
	struct sw_v8_await await;
	struct sw_v8_await_chain chain;
	if (w->awaits && sw_v8_await_begin(window_heap(w), function, &await, &chain))
		chain_copy(w, &await, &chain);
}

/* The awaiters of the promise that a handler settles, if the thread runs one. */
static void job_copy(struct sw_v8_window *w, const struct sw_thread *t)
{
	struct sw_v8_await await;
	struct sw_v8_await_chain chain;
	uint64_t job, function;
	if (w->awaits && sw_v8_microtask(&w->microtasks, window_heap(w).memory, t->fs_base, &job) &&
	    sw_v8_await_job(window_heap(w), job, &function, &await, &chain))
		chain_copy(w, &await, &chain);
}

static void function_copy(struct sw_v8_window *w, uint64_t function)
{
	uint64_t shared;
	if (!is_new(w, function, SEEN_FUNCTION) ||
	    !sw_v8_shared_of(window_heap(w), function, &shared))
		return;
	shared_copy(w, shared);
	awaits_copy(w, function);
}

/* The word at an address of a stack may be its caller's rbp. */
static bool is_chain(uint64_t word, uint64_t avma, uint64_t end_avma)
{
	return word > avma && word < end_avma && word % 8 == 0;
}

/* A word of a stack with the next one may be [rbp] and [rbp + 8]. */
static bool is_frame(const uint64_t *words, uint64_t avma, uint64_t end_avma)
{
	return is_chain(words[2], avma, end_avma) && sw_v8_is_object(words[0]) &&
	       sw_v8_is_object(words[1]);
}

static bool stack_word(void *arg, uint64_t avma, void *buf, size_t n)
{
	struct sw_v8_window *w = arg;
	return sw_capture_read(w->capture, avma, buf, n);
}

/* The words of a frame that is given up, if the word at avma is the return address of the builtin
 * that called the C++ code which makes new frames of it. */
static void deopt_copy(struct sw_v8_window *w, uint64_t word, uint64_t avma)
{
	static const struct sw_memory_ops ops = {.read = stack_word};
	const struct sw_memory stack = {&ops, w};
	uint64_t object;
	for (size_t i = 0; i < w->n_deopts; i++)
		if (w->deopt_avmas[i] == word && sw_v8_deopt_object(stack, avma + 8, &object))
			sw_v8_deopt_touch(&w->deopts[i], window_heap(w).memory, object);
}

/* Looks at the words of one part of a stack; two before belong to the part before it. */
static void words_look(struct sw_v8_window *w, const uint64_t *words, size_t n, uint64_t avma,
		       uint64_t end_avma, size_t *n_frames)
{
	for (size_t i = 0; i + 3 < n && *n_frames < SW_V8_WINDOW_FRAMES_MAX; i++) {
		const struct sw_v8_range *range = range_at(w, words[i + 3]);
		if (range != NULL && range->made)
			code_copy(w, words[i + 3], false,
				  is_chain(words[i + 2], avma + 8 * (i + 2), end_avma));
		else if (range != NULL)
			deopt_copy(w, words[i + 3], avma + 8 * (i + 3));
		if (words[i + 1] == 2 * (uint64_t) w->at.frame_wasm && sw_v8_is_object(words[i]) &&
		    is_chain(words[i + 2], avma + 8 * (i + 2), end_avma))
			instance_copy(w, words[i]);
		if (!is_frame(words + i, avma + 8 * (i + 2), end_avma))
			continue;
		function_copy(w, words[i]);
		++*n_frames;
		if (i >= 2 && sw_v8_is_object(words[i - 2]))
			bytecode_copy(w, words[i - 2]);
	}
}

static void top_copy(struct sw_v8_window *w, const struct sw_thread *t)
{
	const struct sw_v8_range *range = range_at(w, t->regs.pc_avma);
	uint64_t rdi, rsi;
	if (range == NULL)
		return;
	if (sw_regs_get(&t->regs, SW_V8_REG_FUNCTION, &rdi) && sw_v8_is_object(rdi))
		function_copy(w, rdi);
	if (!range->made)
		return;
	code_copy(w, t->regs.pc_avma, true, true);
	if (sw_regs_get(&t->regs, SW_V8_REG_INSTANCE, &rsi) && sw_v8_is_object(rsi))
		instance_copy(w, rsi);
}

/* Without a frame of its own the top has its return address among the first words. */
static void frameless_look(struct sw_v8_window *w, const struct sw_thread *t, const uint64_t *words,
			   size_t n)
{
	for (size_t i = 0; i < FRAMELESS_WORDS && i < n; i++) {
		const struct sw_v8_range *range = range_at(w, words[i]);
		if (range != NULL && range->made)
			code_copy(w, words[i], false, range_at(w, t->regs.pc_avma) != NULL);
	}
}

/* A builtin may have its return address in a register, or a register may say where it is. */
static void registers_look(struct sw_v8_window *w, const struct sw_thread *t)
{
	const struct sw_v8_range *range = range_at(w, t->regs.pc_avma);
	uint64_t value, word;
	if (range == NULL || range->made)
		return;
	for (uint8_t i = 0; i < SW_ARCH_RA; i++) {
		if (!sw_regs_get(&t->regs, i, &value))
			continue;
		if (value >= t->regs.sp_avma &&
		    value - t->regs.sp_avma < SW_V8_WINDOW_STACK_BYTES && value % 8 == 0 &&
		    sw_capture_read(w->capture, value, &word, sizeof(word)))
			value = word;
		range = range_at(w, value);
		if (range != NULL && range->made)
			code_copy(w, value, false, true);
	}
}

static void thread_copy(struct sw_v8_window *w, const struct sw_thread *t)
{
	enum { OVERLAP = 8 }; /* words of a frame that are looked at together */
	uint64_t sp = t->regs.sp_avma & -UINT64_C(8);
	const struct sw_map *map = sw_snapshot_map(w->capture->snap, sp);
	size_t n_frames = 0;
	if (map == NULL || t->regs.sp_avma == 0)
		return;
	top_copy(w, t);
	registers_look(w, t);
	for (uint64_t at = sp; at < map->end_avma && at - sp < SW_V8_WINDOW_STACK_BYTES;
	     at += SW_V8_WINDOW_CHUNK_BYTES - 8 * OVERLAP) {
		uint64_t bytes = map->end_avma - at < SW_V8_WINDOW_CHUNK_BYTES
					 ? map->end_avma - at
					 : SW_V8_WINDOW_CHUNK_BYTES;
		if (!sw_capture_read(w->capture, at, w->stack, (size_t) bytes))
			return;
		if (at == sp)
			frameless_look(w, t, w->stack, (size_t) bytes / 8);
		words_look(w, w->stack, (size_t) bytes / 8, at, map->end_avma, &n_frames);
	}
	if (w->short_why == NULL &&
	    (n_frames == SW_V8_WINDOW_FRAMES_MAX || map->end_avma - sp > SW_V8_WINDOW_STACK_BYTES))
		w->short_why = far_stack;
	if (n_frames > 0)
		job_copy(w, t);
}

static void loop_read(struct sw_capture *capture, struct sw_v8_loop *loop)
{
	struct sw_capture_read reads[] = {
		{.avma = loop->avma + SW_V8_LOOP_TIME, .buffer = &loop->time_ms, .bytes = 8},
		{.avma = loop->avma + SW_V8_LOOP_REQUESTS, .buffer = &loop->requests, .bytes = 4},
	};
	loop->now_ns = 0;
	if (loop->avma == 0)
		return;
	sw_capture_read_many(capture, reads, 2);
	if (reads[0].ok && reads[1].ok)
		loop->now_ns = sw_clock_ns();
}

int sw_v8_in_window(struct sw_capture *capture)
{
	struct sw_v8_window *w = *capture->found;
	if (w == NULL)
		return 0;
	/* The window may be repeated. */
	sw_copied_blocks_begin(&w->blocks, capture);
	memset(w->seen, 0, sizeof(w->seen));
	w->n_seen = w->misses = w->n_awaits = w->n_promises = 0;
	w->short_why = NULL;
	w->capture = capture;
	for (size_t i = 0; i < capture->snap->n_threads; i++)
		thread_copy(w, &capture->snap->threads[i]);
	loop_read(capture, &w->loop);
	if (w->blocks.n >= w->blocks.max)
		w->short_why = no_space;
	return 0;
}
