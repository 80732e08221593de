/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpython_world.h"
#include "runtimes/cpython/runtime.h"
#include "runtimes/cpython/all_tasks.h"

#include <stdlib.h>
#include <string.h>

enum { LOCATION_TWO_UNITS = 1, ASCII = 1 << 2 | 1 << 5 | 1 << 6 };

static void put(struct cpython_world *w, uint64_t avma, const void *bytes, size_t n)
{
	memcpy(w->data + (avma - WORLD), bytes, n);
}

void cpython_world_u64(struct cpython_world *w, uint64_t avma, uint64_t value)
{
	put(w, avma, &value, sizeof(value));
}

static uint64_t string_put(struct cpython_world *w, unsigned i, const char *text)
{
	uint64_t avma = WORLD_STRINGS + 0x80 * (uint64_t) i, more = w->c.at.layout.head_more;
	bool byte = more != 0 && w->c.at.layout.minor >= 14;
	cpython_world_u64(w, avma + more + 16, strlen(text));
	cpython_world_u64(w, avma + more + 32, byte ? (uint64_t) ASCII >> 2 << 8 : ASCII);
	put(w, avma + w->c.at.layout.string_ascii, text, strlen(text));
	return avma;
}

/* Two units at line 10, then all others at line 12. */
static uint64_t lines_put(struct cpython_world *w)
{
	static const uint8_t locations[] = {
		0x80 | 10 << 3 | LOCATION_TWO_UNITS, 0, 0, 0x80 | 12 << 3 | 7, 0, 0};
	static const uint8_t ranges[] = {4, 0, 60, 2}, increments[] = {4, 2};
	uint64_t avma = WORLD_STRINGS + 0x600;
	unsigned minor = w->c.at.layout.minor;
	struct sw_bytes table = minor >= 11   ? (struct sw_bytes){locations, sizeof(locations)}
				: minor == 10 ? (struct sw_bytes){ranges, sizeof(ranges)}
					      : (struct sw_bytes){increments, sizeof(increments)};
	uint64_t more = w->c.at.layout.head_more;
	cpython_world_u64(w, avma + more + 16, table.size);
	put(w, avma + more + 32, table.data, table.size);
	return avma;
}

static void code_put(struct cpython_world *w, unsigned i, const char *name)
{
	const struct sw_cpython_layout *l = &w->c.at.layout;
	uint64_t avma = cpython_world_code(i), string = string_put(w, i, name);
	uint32_t line = 10;
	/* Without the GIL: a thread, and its references. */
	cpython_world_u64(w, avma, l->head_more != 0 ? WORLD_ID : 3);
	if (l->head_more != 0)
		cpython_world_u64(w, avma + 8, UINT64_C(3) << 32);
	cpython_world_u64(w, avma + l->head_more + 8, WORLD_CODE_TYPE);
	if (l->code_copies != SW_CPYTHON_NONE) {
		uint64_t copies = cpython_world_copies(i);
		cpython_world_u64(w, avma + l->code_copies, copies);
		cpython_world_u64(w, copies, 2);
		cpython_world_u64(w, copies + 8, avma + l->code_instructions);
		cpython_world_u64(w, copies + 16, copies + 0x20);
	}
	if (l->pairing == SW_CPYTHON_BY_CONTENT)
		cpython_world_u64(w, avma + l->code_instructions, WORLD_STRINGS + 0x700);
	else
		cpython_world_u64(w, avma + l->code_qualname, string);
	cpython_world_u64(w, avma + l->code_name, string);
	cpython_world_u64(w, avma + l->code_filename, WORLD_STRINGS + 0x400);
	cpython_world_u64(w, avma + l->code_lines, WORLD_STRINGS + 0x600);
	put(w, avma + l->code_first_line, &line, sizeof(line));
}

static void frame_put(struct cpython_world *w, unsigned i, uint64_t previous)
{
	const struct sw_cpython_layout *l = &w->c.at.layout;
	uint64_t avma = cpython_world_frame(i), code = cpython_world_code(i);
	cpython_world_u64(w, avma + l->frame_previous, previous);
	cpython_world_u64(w, avma + l->frame_code, code);
	if (l->pairing == SW_CPYTHON_BY_CONTENT) {
		uint32_t index = l->minor == 10 ? WORLD_OFFSET / 2 : WORLD_OFFSET;
		put(w, avma + l->frame_instruction, &index, sizeof(index));
	} else {
		cpython_world_u64(w, avma + l->frame_instruction,
				  code + l->code_instructions + WORLD_OFFSET);
	}
	if (l->frame_copy != SW_CPYTHON_NONE && i == 1) { /* inner() executes a copy */
		w->data[avma + l->frame_copy - WORLD] = 1;
		cpython_world_u64(w, avma + l->frame_instruction,
				  cpython_world_copies(i) + 0x20 + WORLD_OFFSET);
	}
	if (l->frame_entry != SW_CPYTHON_NONE)
		w->data[avma + l->frame_entry - WORLD] = i != 0;
}

static void shim_put(struct cpython_world *w, uint64_t avma, uint64_t previous)
{
	const struct sw_cpython_layout *l = &w->c.at.layout;
	cpython_world_u64(w, avma + l->frame_previous, previous);
	w->data[avma + l->frame_owner - WORLD] = (uint8_t) l->owner_shim;
}

static void cframe_put(struct cpython_world *w, uint64_t avma, uint64_t frame, uint64_t previous)
{
	cpython_world_u64(w, avma + w->c.at.layout.cframe_frame, frame);
	cpython_world_u64(w, avma + w->c.at.layout.cframe_previous, previous);
}

static void frames_put(struct cpython_world *w)
{
	const struct sw_cpython_layout *l = &w->c.at.layout;
	bool shims = l->owner_shim != SW_CPYTHON_NONE && l->frame_owner != SW_CPYTHON_NONE;
	uint64_t leaf = cpython_world_frame(0), inner = cpython_world_frame(1),
		 outer = cpython_world_frame(2), root = WORLD_THREAD + 0x150;
	uint64_t first = leaf;
	if (l->pairing == SW_CPYTHON_BY_CONTENT) {
		frame_put(w, 0, outer);
		frame_put(w, 2, 0);
	} else {
		frame_put(w, 0, inner);
		frame_put(w, 1, shims ? WORLD_STACK + 0x40 : outer);
		frame_put(w, 2, shims ? WORLD_STACK + 0x140 : 0);
	}
	if (shims) {
		shim_put(w, WORLD_STACK + 0x40, outer);
		shim_put(w, WORLD_STACK + 0x140, 0);
	}
	if (l->pairing == SW_CPYTHON_BY_CFRAME) {
		first = WORLD_STACK + 0x10;
		cframe_put(w, first, leaf, WORLD_STACK + 0x110);
		cframe_put(w, WORLD_STACK + 0x110, outer, root);
		cframe_put(w, root, 0, 0);
	}
	cpython_world_u64(w, WORLD_THREAD + l->thread_frame, first);
}

/* The offsets that a version from 3.13 on publishes: the same as 3.13.0 but for the thread's
 * frame. */
static void offsets_put(struct cpython_world *w, unsigned minor, bool without_gil)
{
	static const uint64_t of_13[] = {0, 0x030d00f0, 0,  0,   0,    0x278, 0,   0,   0x60, 0x68,
					 0, 0,          0,  0,   0x10, 0,     0,   0,   0,    0,
					 0, 8,          16, 72,  152,  160,   232, 32,  80,   8,
					 0, 56,         72, 70,  0,    112,   120, 128, 136,  68,
					 0, 0,          0,  200, 16,   8};
	static const uint64_t of_14[] = {0,    0x030e00f0, 0,   0,   0,   0x278, 0,    0,   0x60,
					 0x68, 0,          0,   0,   0,   0,     0x10, 0,   0,
					 0,    0,          0,   0,   0,   0,     8,    16,  72,
					 152,  160,        232, 32,  80,  8,     0,    56,  72,
					 74,   64,         0,   0,   112, 120,   128,  136, 68,
					 0,    0,          0,   200, 0,   16,    8};
	/* By how much what is in code objects is further on without the GIL, from the first field on. */
	unsigned first = minor == 13 ? 35 : 40, type = minor == 13 ? 45 : 51;
	if (minor == 13)
		put(w, WORLD_RUNTIME, of_13, sizeof(of_13));
	else
		put(w, WORLD_RUNTIME, of_14, sizeof(of_14));
	put(w, WORLD_RUNTIME, "xdebugpy", 8);
	if (!without_gil)
		return;
	cpython_world_u64(w, WORLD_RUNTIME + 8 * WORLD_WITHOUT_GIL, 1);
	for (unsigned i = first; i <= type; i++) {
		uint64_t offset;
		memcpy(&offset, w->data + 8 * i, sizeof(offset));
		if (offset != 0 && i != type - 1)
			cpython_world_u64(w, WORLD_RUNTIME + 8 * i, offset + 16);
	}
	if (minor == 13)
		return;
	cpython_world_u64(w, WORLD_RUNTIME + 8 * 38, 72);  /* the number of a frame's copy */
	cpython_world_u64(w, WORLD_RUNTIME + 8 * 36, 78);  /* its owner */
	cpython_world_u64(w, WORLD_RUNTIME + 8 * 48, 232); /* instructions, and copies before */
	cpython_world_u64(w, WORLD_RUNTIME + 8 * 49, 224);
}

void cpython_world_init(struct cpython_world *w, unsigned minor)
{
	cpython_world_init_of(w, minor, false);
}

void cpython_world_init_of(struct cpython_world *w, unsigned minor, bool without_gil)
{
	memset(w, 0, sizeof(*w));
	struct sw_cpython *c = &w->c;
	w->region = (struct fake_region){WORLD, w->data, sizeof(w->data)};
	w->fake = (struct fake_memory){.regions = &w->region, .n_regions = 1};
	w->module.kind = SW_MODULE_ELF;
	w->place.module = &w->module;
	c->snap = &w->snap;
	w->snap.priv = &w->priv;
	c->memory = c->copied = fake_memory(&w->fake);
	c->at.place = &w->place;
	c->at.runtime_avma = WORLD_RUNTIME;
	c->at.code_type_avma = WORLD_CODE_TYPE;
	if (minor >= 13) {
		offsets_put(w, minor, without_gil);
		c->usable = sw_cpython_layout_read(c->memory, WORLD_RUNTIME, minor, &c->at.layout,
						   &c->at.missing);
	} else {
		c->usable = sw_cpython_layout_of(minor, &c->at.layout);
	}
	const struct sw_cpython_layout *l = &c->at.layout;
	cpython_world_u64(w, WORLD_RUNTIME + l->runtime_head, WORLD_INTERP);
	cpython_world_u64(w, WORLD_INTERP + l->interp_threads, WORLD_THREAD);
	cpython_world_u64(w, WORLD_THREAD + l->thread_interp, WORLD_INTERP);
	cpython_world_u64(w, WORLD_THREAD + l->thread_id, WORLD_ID);
	(void) string_put(w, 8, "/srv/app.py");
	(void) lines_put(w);
	code_put(w, 0, "leaf");
	code_put(w, 1, "inner");
	code_put(w, 2, "outer");
	frames_put(w);
}

/*
 * A dictionary at avma, its keys at avma + 0x40: one key with its value. The values of an
 * instance's dictionary are elsewhere.
 */
static void keys_put(struct cpython_world *w, uint64_t avma, uint64_t key, uint64_t value,
		     bool unicode)
{
	bool logarithms = w->c.at.layout.minor >= 11;
	uint64_t entry = avma + (logarithms ? 32 + 8 : 40 + 8);
	cpython_world_u64(w, avma + 8, logarithms ? 3 | 3 << 8 | (uint64_t) unicode << 16 : 8);
	cpython_world_u64(w, avma + (logarithms ? 24 : 32), 1);
	if (!logarithms || !unicode)
		entry += 8; /* the hash */
	cpython_world_u64(w, entry, key);
	cpython_world_u64(w, entry + 8, value);
}

static void dict_put(struct cpython_world *w, uint64_t avma, uint64_t key, uint64_t value,
		     bool unicode)
{
	cpython_world_u64(w, avma + w->c.at.layout.head_more + 32, avma + 0x40);
	keys_put(w, avma + 0x40, key, value, unicode);
}

void cpython_world_name_thread(struct cpython_world *w)
{
	const struct sw_cpython_layout *l = &w->c.at.layout;
	uint64_t o = WORLD_OBJECTS, modules = o, module = o + 0x100, globals = o + 0x200,
		 active = o + 0x300, number = o + 0x400, object = o + 0x480, type = o + 0x580,
		 keys = o + 0xa00, values = o + 0xb00, name = string_put(w, 10, "_name"),
		 worker = string_put(w, 11, "worker-1");
	uint32_t digits[] = {WORLD_ID & 0x3fffffff, WORLD_ID >> 30};
	uint64_t more = l->head_more;
	cpython_world_u64(w, WORLD_INTERP + l->interp_modules, modules);
	dict_put(w, modules, string_put(w, 9, "threading"), module, true);
	cpython_world_u64(w, module + more + 16, globals);
	dict_put(w, globals, string_put(w, 7, "_active"), active, true);
	dict_put(w, active, number, object, false);
	cpython_world_u64(w, number + more + 16, l->minor >= 12 ? 2 << 3 : 2);
	put(w, number + more + 24, digits, sizeof(digits));
	/* A Thread; its attributes as its version has them. */
	cpython_world_u64(w, object + more + 8, type);
	cpython_world_u64(w, type + more + 32, 0x20);
	cpython_world_u64(w, type + more + 168,
			  l->minor >= 13   ? 1 << 4 | 1 << 2
			  : l->minor >= 11 ? 1 << 4
					   : 0);
	cpython_world_u64(w, type + more + 288, 0x10);
	if (l->minor <= 10) {
		uint64_t dict = o + 0xc00;
		cpython_world_u64(w, object + 0x10, dict);
		cpython_world_u64(w, dict + 32, keys);
		cpython_world_u64(w, dict + 40, values);
	} else {
		cpython_world_u64(w, type + l->type_keys, keys);
	}
	if (l->minor == 11)
		cpython_world_u64(w, object - 32, values);
	if (l->minor == 12)
		cpython_world_u64(w, object - 24, values - 1);
	if (l->minor >= 13) {
		values = object + 0x20;
		w->data[values + 3 - WORLD] = 1; /* valid */
		values += 8;
	}
	keys_put(w, keys, name, 0, true);
	cpython_world_u64(w, values, worker);
}

uint64_t cpython_world_string(struct cpython_world *w, unsigned number, const char *text)
{
	enum { OTHERS = 16 }; /* what the world has itself comes before */
	return string_put(w, OTHERS + number, text);
}

void cpython_world_int(struct cpython_world *w, uint64_t avma, uint64_t value)
{
	uint64_t more = w->c.at.layout.head_more;
	uint32_t digits[] = {value & 0x3fffffff, (uint32_t) (value >> 30)};
	cpython_world_u64(w, avma + more + 16, w->c.at.layout.minor >= 12 ? 2 << 3 : 2);
	put(w, avma + more + 24, digits, sizeof(digits));
}

/* Where an object of this version has its values; a dictionary is made at dict. */
static uint64_t object_values(struct cpython_world *w, uint64_t avma, uint64_t type, uint64_t keys,
			      uint64_t dict)
{
	const struct sw_cpython_layout *l = &w->c.at.layout;
	uint64_t more = l->head_more, values = dict + 0x40;
	cpython_world_u64(w, avma + more + 8, type);
	cpython_world_u64(w, type + more + 32, 0x20);
	cpython_world_u64(w, type + more + 168,
			  l->minor >= 13   ? 1 << 4 | 1 << 2
			  : l->minor >= 11 ? 1 << 4
					   : 0);
	cpython_world_u64(w, type + more + 288, 0x10);
	if (l->minor <= 10) {
		cpython_world_u64(w, avma + 0x10, dict);
		cpython_world_u64(w, dict + 32, keys);
		cpython_world_u64(w, dict + 40, values);
		return values;
	}
	cpython_world_u64(w, type + l->type_keys, keys);
	if (l->minor == 11)
		cpython_world_u64(w, avma - 32, values);
	if (l->minor == 12)
		cpython_world_u64(w, avma - 24, values - 1);
	if (l->minor < 13)
		return values;
	w->data[avma + 0x20 + 3 - WORLD] = 1; /* valid */
	return avma + 0x28;
}

void cpython_world_object(struct cpython_world *w, uint64_t avma, uint64_t type,
			  const char *const *names, const uint64_t *values, unsigned n,
			  unsigned first_string)
{
	bool logarithms = w->c.at.layout.minor >= 11;
	/* Among what is not looked at of the type. */
	uint64_t keys = type + 0x180, dict = type + 0x280;
	uint64_t to = object_values(w, avma, type, keys, dict),
		 entry = keys + (logarithms ? 40 : 48);
	cpython_world_u64(w, keys + 8, logarithms ? 3 | 3 << 8 | UINT64_C(1) << 16 : 8);
	cpython_world_u64(w, keys + (logarithms ? 24 : 32), n);
	for (unsigned i = 0; i < n; i++, entry += logarithms ? 16 : 24) {
		uint64_t name = cpython_world_string(w, first_string + i, names[i]);
		cpython_world_u64(w, entry + (logarithms ? 0 : 8), name);
		cpython_world_u64(w, entry + (logarithms ? 8 : 16), 0);
		cpython_world_u64(w, to + UINT64_C(8) * i, values[i]);
	}
}

/* ---- tasks ------------------------------------------------------------------------------------ */

/* Offsets of a task: state, what it waits for, coroutine, name. */
static const unsigned *task_offsets(const struct cpython_world *w)
{
	static const unsigned offsets[][4] = {
		{72, 104, 112, 120}, {80, 144, 152, 160}, {88, 152, 160, 168},  {88, 128, 136, 144},
		{88, 128, 136, 144}, {96, 112, 120, 128}, {104, 120, 128, 136},
	};
	return offsets[w->c.at.layout.minor - 8];
}

/* The offsets that _asyncio of 3.14.10 publishes. */
static const uint64_t section[] = {0xa8, 0x88,  0x60,  0x6c,  0x6d,  0x80, 0x98,
				   0,    0x300, 0x3a8, 0x360, 0x368, 0x370};

static bool has_frame_objects(const struct cpython_world *w)
{
	return w->c.at.layout.minor <= 10;
}

static uint64_t coroutine_frame(const struct cpython_world *w, uint64_t coroutine)
{
	if (!has_frame_objects(w))
		return coroutine + (w->c.at.layout.minor == 11 ? 80 : 72);
	return coroutine == WORLD_OUTER   ? WORLD_OUTER_FRAME
	       : coroutine == WORLD_INNER ? WORLD_INNER_FRAME
					  : WORLD_TASKS + 0xd00;
}

uint64_t cpython_world_state(const struct cpython_world *w, uint64_t coroutine)
{
	uint64_t frame = coroutine_frame(w, coroutine);
	switch (w->c.at.layout.minor) {
	case 8:
	case 9: return frame + 116;
	case 10: return frame + 108;
	case 11: return coroutine + 75;
	default: return coroutine + 67;
	}
}

uint64_t cpython_world_awaited(const struct cpython_world *w, uint64_t coroutine)
{
	return coroutine_frame(w, coroutine) + (has_frame_objects(w)         ? 0x190 - 8
						: w->c.at.layout.minor >= 14 ? 80
									     : 72);
}

/* The next instruction in the code object with that number. */
static uint64_t next_of(const struct cpython_world *w, unsigned code)
{
	return has_frame_objects(w) ? WORLD_STRINGS + 0x700 + 32 + WORLD_OFFSET + 2
				    : cpython_world_code(code) + w->c.at.layout.code_instructions +
					      WORLD_OFFSET + 2;
}

uint64_t cpython_world_next(const struct cpython_world *w, uint64_t coroutine)
{
	return next_of(w, coroutine == WORLD_OUTER ? 2 : coroutine == WORLD_INNER ? 1 : 0);
}

uint64_t cpython_world_task_state(const struct cpython_world *w, uint64_t task)
{
	return task + task_offsets(w)[0];
}

static void coroutine_put(struct cpython_world *w, uint64_t avma, unsigned code, uint64_t awaited)
{
	const struct sw_cpython_layout *l = &w->c.at.layout;
	uint64_t frame = coroutine_frame(w, avma), top = frame + 0x190;
	bool created = awaited == 0;
	int8_t state = (int8_t) (!created ? -1 : l->minor >= 13 ? -3 : -2);
	int32_t depth = !created, index = created          ? -1
					  : l->minor == 10 ? WORLD_OFFSET / 2
							   : WORLD_OFFSET;
	static const uint8_t yield_from[] = {72, 0}, resume[] = {151, 3};
	cpython_world_u64(w, avma + 8, WORLD_CORO_TYPE);
	cpython_world_u64(w, frame + l->frame_code, cpython_world_code(code));
	if (has_frame_objects(w)) {
		cpython_world_u64(w, avma + 16, frame);
		put(w, frame + l->frame_instruction, &index, sizeof(index));
		cpython_world_u64(w, frame + 64, top - 8);
		if (l->minor == 10) {
			put(w, frame + 80, &depth, sizeof(depth));
			put(w, frame + 108, &state, 1);
		} else {
			cpython_world_u64(w, frame + 72, top);
		}
	} else {
		put(w, cpython_world_state(w, avma), &state, 1);
		w->data[frame + l->frame_owner - WORLD] = 1;
		if (l->minor >= 14)
			cpython_world_u64(w, frame + 64, frame + 80 + 8 * (uint64_t) depth);
		else
			put(w, frame + 64, &depth, sizeof(depth));
		cpython_world_u64(w, frame + l->frame_instruction,
				  cpython_world_code(code) + l->code_instructions +
					  (created ? -UINT64_C(2) : WORLD_OFFSET));
	}
	if (!created) {
		cpython_world_u64(w, cpython_world_awaited(w, avma), awaited);
		put(w, next_of(w, code), has_frame_objects(w) ? yield_from : resume, 2);
	}
}

void cpython_world_suspend(struct cpython_world *w, uint64_t coroutine, unsigned code,
			   uint64_t awaited)
{
	coroutine_put(w, coroutine, code, awaited);
}

uint64_t cpython_world_local(const struct cpython_world *w, uint64_t coroutine, unsigned n)
{
	unsigned locals = has_frame_objects(w) ? w->c.at.layout.minor == 10 ? 352 : 360
					       : w->c.at.layout.frame_locals;
	return coroutine_frame(w, coroutine) + locals + UINT64_C(8) * n;
}

static void name_put(struct cpython_world *w, uint64_t avma, const char *text)
{
	cpython_world_u64(w, avma + 8, WORLD_TASKS + 0xf20);
	cpython_world_u64(w, avma + 16, strlen(text));
	cpython_world_u64(w, avma + 32, ASCII);
	put(w, avma + w->c.at.layout.string_ascii, text, strlen(text));
}

static void task_put(struct cpython_world *w, uint64_t avma, uint64_t coroutine, uint64_t waits_for,
		     uint64_t name)
{
	const unsigned *offsets = task_offsets(w);
	cpython_world_u64(w, avma + 8, WORLD_TASKS + 0x900); /* a class that is derived */
	cpython_world_u64(w, avma + offsets[1], waits_for);
	cpython_world_u64(w, avma + offsets[2], coroutine);
	cpython_world_u64(w, avma + offsets[3], name);
}

/* The list of the thread has one task, that of threads which have ended the other. */
static void lists_put(struct cpython_world *w)
{
	const uint64_t heads[] = {WORLD_INTERP + 0x300, WORLD_THREAD + 0x370};
	const uint64_t nodes[] = {WORLD_TASK_FIRST + 0x98, WORLD_TASK_SECOND + 0x98};
	for (size_t i = 0; i < 2; i++) {
		cpython_world_u64(w, heads[i], nodes[i]);
		cpython_world_u64(w, heads[i] + 8, nodes[i]);
		cpython_world_u64(w, nodes[i], heads[i]);
		cpython_world_u64(w, nodes[i] + 8, heads[i]);
	}
}

void cpython_world_tasks(struct cpython_world *w)
{
	uint64_t t = WORLD_TASKS, number = t + 0x6e0;
	bool lists = w->c.at.layout.minor >= 14;
	w->asyncio = (struct sw_cpython_asyncio){
		.types = {.coroutine_avma = WORLD_CORO_TYPE,
			  .generator_avma = WORLD_GEN_TYPE,
			  .async_generator_avma = t + 0xf18,
			  .wrappers = {WORLD_WRAPPER_TYPE}},
		.string_avma = t + 0xf20,
		.int_avma = t + 0xf28,
		.none_avma = t + 0xf30,
		.at = &w->c.at,
		.sets = {{.avma = lists ? (uint64_t) WORLD_INTERP : (uint64_t) WORLD_TASK_SET,
			  .weak = !lists,
			  .lists = lists,
			  .task_avma = t + 0xb00,
			  .future_avma = t + 0xf38}},
		.n_sets = 1,
	};
	if (lists)
		(void) sw_cpython_task_layout_read(&w->c.at.layout,
						   (struct sw_bytes){(const uint8_t *) section,
								     sizeof(section)},
						   &w->asyncio.layout);
	else
		(void) sw_cpython_task_layout_of(&w->c.at.layout, &w->asyncio.layout);
	w->c.asyncio = &w->asyncio;
	coroutine_put(w, WORLD_OUTER, 2, WORLD_INNER);
	coroutine_put(w, WORLD_INNER, 1, WORLD_AWAITED);
	coroutine_put(w, t + 0xe00, 0, 0);
	cpython_world_u64(w, WORLD_AWAITED + 16, WORLD_TASK_SECOND);
	cpython_world_u64(w, t + 0x900 + 256, t + 0xb00); /* from the class of tasks */
	name_put(w, t + 0xa80, "first");
	name_put(w, t + 0xa40, "Task-7");
	cpython_world_u64(w, number + 8, t + 0xf28);
	cpython_world_u64(w, number + 16, 1 << 3);
	w->data[number + 24 - WORLD] = 7;
	task_put(w, WORLD_TASK_FIRST, WORLD_OUTER, WORLD_TASK_SECOND, t + 0xa80);
	task_put(w, WORLD_TASK_SECOND, t + 0xe00, t + 0xf30,
		 w->c.at.layout.minor >= 12 ? number : t + 0xa40);
	if (lists)
		lists_put(w);
	/* Slots: a reference, one that was taken out, two more references, of which one's task is gone. */
	cpython_world_u64(w, WORLD_TASK_SET + 24, 3);
	cpython_world_u64(w, WORLD_TASK_SET + 32, 7);
	cpython_world_u64(w, WORLD_TASK_SET + 40, WORLD_TASK_SET + 0x80);
	const uint64_t slots[] = {t + 0x680, 5, 1, UINT64_MAX, t + 0x6a0, 6, t + 0x6c0, 7};
	put(w, WORLD_TASK_SET + 0x80, slots, sizeof(slots));
	cpython_world_u64(w, t + 0x680 + 16, WORLD_TASK_FIRST);
	cpython_world_u64(w, t + 0x6a0 + 16, WORLD_TASK_SECOND);
	cpython_world_u64(w, t + 0x6c0 + 16, t + 0xf30);
}

static bool is_inside(uint64_t avma, size_t bytes)
{
	return avma >= WORLD && bytes <= WORLD_BYTES && avma - WORLD <= WORLD_BYTES - bytes;
}

/* As copier/pages.c: false: a page is to be fetched. */
static bool page_get(struct cpython_world *w, size_t page)
{
	if (w->gathers && !w->there[page]) {
		w->stuck = w->gathered[page] = true;
		return false;
	}
	w->n_turns += !w->there[page];
	w->there[page] = true;
	return true;
}

static bool peek(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct cpython_world *w = arg;
	if (w->gathers && w->stuck)
		return false;
	for (uint64_t at = avma; is_inside(avma, length) && at < avma + length; at++)
		if (!page_get(w, (size_t) (at - WORLD) / WORLD_PAGE))
			return false;
	return sw_memory_read(fake_memory(&w->fake), avma, buffer, length);
}

static bool note(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct cpython_world *w = arg;
	if (!peek(w, avma, buffer, length))
		return false;
	if (is_inside(avma, length))
		memset(w->was_read + (avma - WORLD), true, length);
	return true;
}

static bool part(void *arg)
{
	struct cpython_world *w = arg;
	bool whole = !w->gathers || !w->stuck;
	w->gathers = true;
	w->stuck = false;
	return whole;
}

static bool fetch(void *arg)
{
	struct cpython_world *w = arg;
	bool any = false;
	for (size_t i = 0; i < WORLD_PAGES; i++) {
		any |= w->gathered[i];
		w->there[i] |= w->gathered[i];
		w->gathered[i] = false;
	}
	w->gathers = false;
	w->n_turns += any;
	return any;
}

bool cpython_world_has(const struct cpython_world *w, uint64_t avma, size_t bytes)
{
	return is_inside(avma, bytes) && memchr(w->was_read + (avma - WORLD), false, bytes) == NULL;
}

static bool noted(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct cpython_world *w = arg;
	return cpython_world_has(w, avma, length) &&
	       sw_memory_read(fake_memory(&w->fake), avma, buffer, length);
}

void cpython_world_touch(struct cpython_world *w)
{
	static const struct sw_memory_ops notes = {.read = note,
						   .peek = peek,
						   .part = part,
						   .fetch = fetch},
					  has = {.read = noted};
	memset(w->was_read, false, sizeof(w->was_read));
	memset(w->there, false, sizeof(w->there));
	w->n_turns = 0;
	w->before.at = w->c.at;
	w->before.tasks = w->c.asyncio != NULL;
	w->before.asyncio = w->asyncio;
	sw_cpython_touch(&w->snap, &w->before, (struct sw_memory){&notes, w});
	w->c.copied = (struct sw_memory){&has, w};
}

void cpython_world_deinit(struct cpython_world *w)
{
	sw_cpython_touching_destroy(w->before.touching);
	sw_cpython_deinit(&w->c);
}
