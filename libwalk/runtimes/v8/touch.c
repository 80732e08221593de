/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads what the walk will read of objects, which move as soon as the process goes on: for each frame of JavaScript on a
 * stack its function and what leads from there to name, file and line; for each address of made code the Code it belongs to;
 * for an async function that goes on after an await those that await it. The words of a stack may be anything, so each is
 * taken for all that it may be.
 */
#include "runtimes/v8/touch.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "map.h"
#include "runtimes/v8/awaits.h"
#include "runtimes/v8/code.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/function.h"
#include "runtimes/v8/instructions/flow.h"
#include "runtimes/v8/loop.h"
#include "runtimes/v8/objects/positions.h"
#include "runtimes/v8/registers_x86_64.h"
#include "runtimes/v8/wasm.h"
#include "snapshot/bias.h"

#include <string.h>

enum {
	FRAMELESS_WORDS = 3, /* others are looked at with the word before them */
	PAGE_BYTES = 4096,
	FIRST_BYTES = 64, /* of code of WebAssembly: it sets up its frame there */
};

/* Memory up to where the last mapping ends: most words that are taken for addresses lead behind it. */
struct space {
	struct sw_memory memory;
	uint64_t end_avma;
};

struct touching {
	const struct sw_snapshot *snap;
	struct sw_v8_heap heap;
	const struct sw_v8_ranges *ranges;
	struct sw_v8_microtasks microtasks;
	uint64_t wasm_state_avma;
	struct sw_map64 seen; /* what was dealt with */
	size_t misses, n_promises;
	bool awaits; /* who awaits what threads run is asked for */
	/* The words of the stack of the thread that is looked at, from sp on. */
	struct sw_memory stacks;
	uint64_t *words;
	size_t n_words;
	uint64_t sp_avma, end_avma;
	/* For those who read: what they make of it is not used. */
	struct sw_v8_function function;
};

/* The kind as which an address was looked at: an address may be met first as the wrong kind. */
enum seen_as {
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

/* True on first sight of an address as this. */
static bool is_new(struct touching *t, uint64_t avma, enum seen_as as)
{
	enum { ABOVE_ADDRESSES = 56 };
	uint64_t key = avma ^ (uint64_t) as << ABOVE_ADDRESSES, value;
	if (sw_map64_get(&t->seen, key, &value))
		return false;
	(void) sw_map64_put(&t->seen, key, 0); /* else it is read again */
	return true;
}

static void bytes_touch(struct touching *t, uint64_t avma, uint64_t bytes)
{
	uint8_t page[PAGE_BYTES];
	for (uint64_t done = 0, n; done < bytes; done += n) {
		n = PAGE_BYTES - (avma + done) % PAGE_BYTES;
		if (n > bytes - done)
			n = bytes - done;
		if (!sw_memory_read(t->heap.memory, avma + done, page, (size_t) n))
			return; /* it is read later */
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool is_of_space(const struct space *s, uint64_t avma, size_t length)
{
	return avma < s->end_avma && length <= s->end_avma - avma;
}

static bool space_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct space *s = arg;
	return is_of_space(s, avma, length) && sw_memory_read(s->memory, avma, buffer, length);
}

/* The last mapping of a process is no further than its stack; the one behind it is the kernel's. */
static struct space space_of(const struct sw_snapshot *snap, struct sw_memory memory)
{
	struct space s = {.memory = memory};
	for (size_t i = 0; i < snap->n_maps; i++)
		if (snap->maps[i].end_avma <= INT64_MAX)
			s.end_avma = snap->maps[i].end_avma;
	return s;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Return addresses in a mapping of the builtins, which begins at from in the file. */
static void deopts_note(struct sw_v8_ranges *r, const struct sw_v8_program *p,
			const struct sw_map *m, uint64_t from)
{
	for (size_t i = 0; i < p->n_deopts && r->n_deopts < SW_V8_TOUCH_DEOPTS_MAX; i++) {
		uint64_t off = p->blob_off + p->builtins[p->deopt_builtins[i]].off +
			       p->deopts[i].compute_off;
		if (off < from || off - from >= m->end_avma - m->start_avma)
			continue;
		r->deopts[r->n_deopts] = p->deopts[i];
		r->deopt_avmas[r->n_deopts++] = m->start_avma + (off - from);
	}
}

/* The mappings stay as they were before the window. */
static void ranges_find(const struct sw_snapshot *snap, struct sw_v8_before *b)
{
	const struct sw_v8_program *p = b->program;
	struct sw_v8_ranges *r = &b->ranges;
	size_t n = 0;
	for (size_t i = 0; i < snap->n_maps; i++)
		n += (snap->maps[i].prot & SW_MAP_EXEC) != 0;
	r->all = sw_arena_calloc(&snap->priv->arena, n + 1, sizeof(r->all[0]));
	for (size_t i = 0; i < snap->n_maps && r->all != NULL; i++) {
		const struct sw_map *m = &snap->maps[i];
		uint64_t from, bytes = m->end_avma - m->start_avma;
		bool made = sw_v8_is_made(snap, m->start_avma);
		if (!(m->prot & SW_MAP_EXEC) ||
		    (!made && (m->place < 0 || snap->places[m->place].module != b->place->module ||
			       !sw_map_file_off(snap, m, m->start_avma, &from) ||
			       from + bytes <= p->blob_off || from >= p->blob_off + p->blob.size)))
			continue;
		r->all[r->n++] = (struct sw_v8_range){m->start_avma, m->end_avma, made};
		if (!made)
			deopts_note(r, p, m, from);
	}
}

static const struct sw_v8_range *range_at(const struct touching *t, uint64_t avma)
{
	const struct sw_v8_ranges *r = t->ranges;
	size_t low = 0, high = r->n;
	/* As most words of a stack. */
	if (high == 0 || avma < r->all[0].start_avma || avma >= r->all[high - 1].end_avma)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (avma >= r->all[middle].end_avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->n && avma >= r->all[low].start_avma ? &r->all[low] : NULL;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The data that lines need: line ends where V8 has them, else the source. */
static void script_touch(struct touching *t, uint64_t script)
{
	enum { SOURCE = 8, LINE_OFFSET = 24, LINE_ENDS = 56 };
	uint64_t ends, source, word, avma;
	uint32_t n;
	bool wide;
	if (!is_new(t, script, SEEN_SCRIPT) || !sw_v8_word(t->heap, script, LINE_ENDS, &ends) ||
	    !sw_v8_word(t->heap, script, SOURCE, &source) ||
	    !sw_v8_word(t->heap, script, LINE_OFFSET, &word))
		return;
	if (sw_v8_is_object(ends) && sw_v8_array(t->heap, ends, &avma, &n) && n > 0 &&
	    n <= SW_V8_TOUCH_ENDS_MAX / 8)
		bytes_touch(t, avma, 8 * (uint64_t) n);
	else if (sw_v8_characters(t->heap, source, &avma, &n, &wide) &&
		 n <= SW_V8_TOUCH_SOURCE_MAX / (wide ? 2 : 1))
		bytes_touch(t, avma, (uint64_t) n * (wide ? 2 : 1));
}

static void shared_touch(void *arg, uint64_t shared)
{
	struct touching *t = arg;
	uint64_t word;
	if (!is_new(t, shared, SEEN_SHARED) || !sw_v8_function_read(t->heap, shared, &t->function))
		return;
	(void) sw_v8_word(t->heap, shared, SW_V8_SHARED_DATA, &word); /* only read */
	if (t->function.script != 0)
		script_touch(t, t->function.script);
}

static void bytecode_touch(struct touching *t, uint64_t bytecode)
{
	if (is_new(t, bytecode, SEEN_BYTECODE) &&
	    sw_v8_has_type(t->heap, bytecode, t->heap.at->type_bytecode))
		/* As far as it goes: the whole table is read on the way to its end. */
		(void) sw_v8_bytecode_position(t->heap, bytecode, INT32_MAX);
}

/* With the bytecodes themselves. */
static void whole_bytecode_touch(void *arg, uint64_t bytecode)
{
	struct touching *t = arg;
	uint64_t length;
	bytecode_touch(t, bytecode);
	if (!is_new(t, bytecode, SEEN_WHOLE_BYTECODE) ||
	    !sw_v8_word(t->heap, bytecode, 8, &length) || !sw_v8_is_smi(length) ||
	    sw_v8_smi(length) < 0)
		return;
	uint64_t n = (uint64_t) sw_v8_smi(length) + 1; /* what reads it takes two bytes */
	bytes_touch(t, bytecode - 1 + (uint64_t) t->heap.at->bytecode_data,
		    n < SW_V8_TABLE_MAX ? n : SW_V8_TABLE_MAX);
}

/* ---- compiled code --------------------------------------------------------------------------- */

/* The instructions that lead to one that was interrupted, which may also lie behind it. */
static void instructions_touch(struct touching *t, uint64_t start_avma, uint64_t end_avma)
{
	uint64_t bytes = end_avma - start_avma;
	bytes_touch(t, start_avma, bytes < SW_V8_FLOW_BYTES ? bytes : SW_V8_FLOW_BYTES);
}

static bool wasm_touch(struct touching *t, uint64_t pc, bool exact)
{
	struct sw_v8_wasm_code code;
	uint8_t bytes[FIRST_BYTES];
	if (!sw_v8_wasm_find(t->heap, t->wasm_state_avma, pc - !exact, &code))
		return false;
	if (exact)
		instructions_touch(t, code.start_avma, code.end_avma);
	(void) sw_memory_read(t->heap.memory, code.start_avma, bytes,
			      sizeof(bytes)); /* only read */
	if (is_new(t, code.object, SEEN_WASM))
		sw_v8_wasm_touch(t->heap, &code);
	return true;
}

/* The objects that lead from a frame of WebAssembly to the name of its module. */
static void instance_touch(struct touching *t, uint64_t instance)
{
	enum { SCRIPT_NAME = 16 };
	uint64_t script, name;
	if (is_new(t, instance, SEEN_INSTANCE) && sw_v8_wasm_script(t->heap, instance, &script) &&
	    sw_v8_word(t->heap, script, SCRIPT_NAME, &name))
		(void) sw_v8_string(t->heap, name, t->function.file,
				    sizeof(t->function.file)); /* only read */
}

/*
 * C++ code has the addresses of pages of V8's heap on its stack. They begin with a header: no call returns
 * there. Not so where a page is made of several, for one object: the Code of such a return address is not read,
 * and its frame has no name. Nor in code of WebAssembly, which is no object.
 */
static bool is_page(uint64_t avma)
{
	return avma % SW_V8_TOUCH_PAGE_BYTES == 0;
}

static void code_touch(struct touching *t, uint64_t pc, bool exact, bool likely)
{
	bool far = likely && t->misses < SW_V8_TOUCH_MISSES_MAX;
	struct sw_v8_code code;
	if (!is_new(t, pc, SEEN_RETURN) || wasm_touch(t, pc, exact) || (!exact && is_page(pc)))
		return;
	if (!sw_v8_code_find_near(t->heap, pc + exact,
				  far ? SW_V8_TOUCH_CODE_FAR : SW_V8_TOUCH_CODE_NEAR, &code)) {
		t->misses += far;
		return;
	}
	if (exact)
		instructions_touch(t, code.start_avma, code.end_avma);
	const struct sw_v8_code_visitor visitor = {shared_touch, whole_bytecode_touch, t};
	if (code.kind >= SW_V8_BASELINE && is_new(t, code.object, SEEN_CODE))
		sw_v8_code_touch(t->heap, &code, &visitor);
}

/* ---- who awaits ------------------------------------------------------------------------------ */

/* A chain may have many promises that no function awaits. */
static void chain_touch(struct touching *t, struct sw_v8_await *await,
			struct sw_v8_await_chain *chain)
{
	do {
		if (await->shared != 0)
			shared_touch(t, await->shared);
		if (await->bytecode != 0)
			bytecode_touch(t, await->bytecode);
	} while (sw_v8_await_next(chain, await));
	t->n_promises += chain->n_promises;
}

static bool awaits_are_wanted(const struct touching *t)
{
	return t->awaits && t->n_promises < SW_V8_TOUCH_PROMISES_MAX;
}

/* The awaiters of the function that a builtin continues, if this is one. */
static void awaits_touch(struct touching *t, uint64_t function)
{
	struct sw_v8_await await;
	struct sw_v8_await_chain chain;
	if (awaits_are_wanted(t) && sw_v8_await_begin(t->heap, function, &await, &chain))
		chain_touch(t, &await, &chain);
}

/* The awaiters of the promise that a handler settles, if the thread runs one. */
static void job_touch(struct touching *t, const struct sw_thread *thread)
{
	struct sw_v8_await await;
	struct sw_v8_await_chain chain;
	uint64_t job, function;
	if (awaits_are_wanted(t) &&
	    sw_v8_microtask(&t->microtasks, t->heap.memory, thread->fs_base, &job) &&
	    sw_v8_await_job(t->heap, job, &function, &await, &chain))
		chain_touch(t, &await, &chain);
}

static void function_touch(struct touching *t, uint64_t function)
{
	uint64_t shared;
	if (!is_new(t, function, SEEN_FUNCTION) || !sw_v8_shared_of(t->heap, function, &shared))
		return;
	shared_touch(t, shared);
	awaits_touch(t, function);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The word at an address of a stack may be its caller's rbp. */
static bool is_chain(const struct touching *t, size_t i)
{
	uint64_t word = t->words[i], avma = t->sp_avma + 8 * i;
	return word > avma && word < t->end_avma && word % 8 == 0;
}

/* sw_memory_ops.read, of the words of the stack. */
static bool stack_word(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct touching *t = arg;
	if (avma < t->sp_avma || avma % 8 != 0 || length != 8 ||
	    (avma - t->sp_avma) / 8 >= t->n_words)
		return false;
	memcpy(buffer, &t->words[(avma - t->sp_avma) / 8], 8);
	return true;
}

/* The words of a frame that is given up, if word i is the return address of the builtin that called the C++ code which
 * makes new frames of it. */
static void deopt_touch(struct touching *t, size_t i)
{
	static const struct sw_memory_ops ops = {.read = stack_word};
	const struct sw_memory stack = {&ops, t};
	uint64_t object;
	for (size_t k = 0; k < t->ranges->n_deopts; k++)
		if (t->ranges->deopt_avmas[k] == t->words[i] &&
		    sw_v8_deopt_object(stack, t->sp_avma + 8 * (i + 1), &object))
			sw_v8_deopt_touch(&t->ranges->deopts[k], t->heap.memory, object);
}

/* Words i to i + 3 may be the function and the context of a frame, its caller's rbp, and a return address. Returns whether
 * they may be a frame of JavaScript. */
static bool words_touch(struct touching *t, size_t i)
{
	const uint64_t *words = t->words + i;
	const struct sw_v8_range *range = range_at(t, words[3]);
	bool chain = is_chain(t, i + 2);
	if (range != NULL && range->made)
		code_touch(t, words[3], false, chain);
	else if (range != NULL)
		deopt_touch(t, i + 3);
	if (!chain || !sw_v8_is_object(words[0]))
		return false;
	if (words[1] == 2 * (uint64_t) t->heap.at->frame_wasm)
		instance_touch(t, words[0]);
	if (!sw_v8_is_object(words[1]))
		return false;
	function_touch(t, words[0]);
	if (i >= 2 && sw_v8_is_object(words[-2]))
		bytecode_touch(t, words[-2]);
	return true;
}

static void top_touch(struct touching *t, const struct sw_thread *thread)
{
	const struct sw_v8_range *range = range_at(t, thread->regs.pc_avma);
	uint64_t function, instance;
	if (range == NULL)
		return;
	if (sw_regs_get(&thread->regs, SW_V8_REG_FUNCTION, &function) && sw_v8_is_object(function))
		function_touch(t, function);
	if (!range->made)
		return;
	code_touch(t, thread->regs.pc_avma, true, true);
	if (sw_regs_get(&thread->regs, SW_V8_REG_INSTANCE, &instance) && sw_v8_is_object(instance))
		instance_touch(t, instance);
}

/* Without a frame of its own the top has its return address among the first words. */
static void frameless_touch(struct touching *t, const struct sw_thread *thread)
{
	for (size_t i = 0; i < FRAMELESS_WORDS && i < t->n_words; i++) {
		const struct sw_v8_range *range = range_at(t, t->words[i]);
		if (range != NULL && range->made)
			code_touch(t, t->words[i], false,
				   range_at(t, thread->regs.pc_avma) != NULL);
	}
}

/* A builtin may have its return address in a register, or a register may say where it is. */
static void registers_touch(struct touching *t, const struct sw_thread *thread)
{
	const struct sw_v8_range *range = range_at(t, thread->regs.pc_avma);
	uint64_t value;
	if (range == NULL || range->made)
		return;
	for (uint8_t i = 0; i < SW_ARCH_RA; i++) {
		if (!sw_regs_get(&thread->regs, i, &value))
			continue;
		(void) stack_word(t, value, &value, sizeof(value)); /* or the word is elsewhere */
		range = range_at(t, value);
		if (range != NULL && range->made)
			code_touch(t, value, false, true);
	}
}

/* The part of a thread's stack that is looked at. False: none. */
static bool stack_of(const struct touching *t, const struct sw_thread *thread, uint64_t *ret_avma,
		     uint64_t *ret_end_avma)
{
	*ret_avma = thread->regs.sp_avma & -UINT64_C(8);
	const struct sw_map *map = *ret_avma != 0 ? sw_snapshot_map(t->snap, *ret_avma) : NULL;
	if (map == NULL)
		return false;
	*ret_end_avma = map->end_avma;
	if (*ret_end_avma - *ret_avma > SW_V8_TOUCH_STACK_BYTES)
		*ret_end_avma = *ret_avma + SW_V8_TOUCH_STACK_BYTES;
	return true;
}

static uint64_t page_end(uint64_t avma, uint64_t end_avma)
{
	uint64_t end = (avma | (PAGE_BYTES - 1)) + 1;
	return end < end_avma ? end : end_avma;
}

/* The pages of all stacks are fetched in one turn. */
static void stacks_fetch(const struct touching *t, const struct sw_thread *threads, size_t n)
{
	const struct sw_memory m = t->stacks;
	uint64_t at, end;
	uint8_t byte;
	if (m.ops->part == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		for (bool any = stack_of(t, &threads[i], &at, &end); any && at < end;
		     at = page_end(at, end)) {
			m.ops->part(m.arg);
			(void) sw_memory_look(m, at, &byte, 1); /* missed, or there */
		}
	(void) m.ops->fetch(m.arg); /* what does not come is not looked at */
}

static void thread_touch(struct touching *t, const struct sw_thread *thread)
{
	uint64_t at, end;
	bool any_frame = false;
	if (!stack_of(t, thread, &at, &end))
		return;
	t->sp_avma = at;
	t->end_avma = sw_snapshot_map(t->snap, at)->end_avma;
	for (uint64_t next; at < end; at = next) {
		next = page_end(at, end);
		if (!sw_memory_look(t->stacks, at, t->words + (at - t->sp_avma) / 8,
				    (size_t) (next - at)))
			break;
	}
	t->n_words = (size_t) (at - t->sp_avma) / 8;
	top_touch(t, thread);
	registers_touch(t, thread);
	frameless_touch(t, thread);
	for (size_t i = 0; i + 3 < t->n_words; i++)
		any_frame |= words_touch(t, i);
	if (any_frame)
		job_touch(t, thread);
}

static bool has_registers(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_threads; i++)
		if (snap->threads[i].regs.sp_avma != 0)
			return true;
	return false;
}

void sw_v8_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory)
{
	struct sw_v8_before *b = found;
	uint64_t words[SW_V8_TOUCH_STACK_BYTES / 8];
	static const struct sw_memory_ops ops = {.read = space_read};
	struct space space = space_of(snap, memory);
	struct sw_event_loop loop; /* only read */
	if (b->ranges.all == NULL)
		ranges_find(snap, b);
	struct touching t = {.snap = snap,
			     .heap = {&b->program->at, {&ops, &space}},
			     .ranges = &b->ranges,
			     .microtasks = sw_v8_microtasks_of(snap, b->program, b->place),
			     .wasm_state_avma = sw_v8_wasm_state(snap, b->program, b->place),
			     .awaits = snap->priv->awaits || snap->priv->tasks,
			     .stacks = memory,
			     .words = words};
	/* The rehearsal knows no registers. */
	bool rehearses = !has_registers(snap);
	const struct sw_thread *threads = rehearses ? b->seen : snap->threads;
	size_t n = rehearses ? b->n_seen : snap->n_threads;
	sw_v8_loop_read(memory, b->loop_avma, 0, &loop);
	stacks_fetch(&t, threads, n);
	for (size_t i = 0; i < n; i++)
		thread_touch(&t, &threads[i]);
	sw_map64_deinit(&t.seen);
}
