/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpython_world.h"

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
	uint64_t avma = WORLD_STRINGS + 0x80 * (uint64_t) i;
	bool halves = w->c.at.layout.minor >= 14;
	cpython_world_u64(w, avma + 16, strlen(text));
	cpython_world_u64(w, avma + 32, halves ? (uint64_t) ASCII >> 2 << 16 : ASCII);
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
	cpython_world_u64(w, avma + 16, table.size);
	put(w, avma + 32, table.data, table.size);
	return avma;
}

static void code_put(struct cpython_world *w, unsigned i, const char *name)
{
	const struct sw_cpython_layout *l = &w->c.at.layout;
	uint64_t avma = cpython_world_code(i), string = string_put(w, i, name);
	uint32_t line = 10;
	cpython_world_u64(w, avma, 3);
	cpython_world_u64(w, avma + 8, WORLD_CODE_TYPE);
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

/* What a version from 3.13 on says of itself: the same as 3.13.0 but for the thread's frame. */
static void offsets_put(struct cpython_world *w, unsigned minor)
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
					 70,   64,         0,   0,   112, 120,   128,  136, 68,
					 0,    0,          0,   200, 0,   16,    8};
	if (minor == 13)
		put(w, WORLD_RUNTIME, of_13, sizeof(of_13));
	else
		put(w, WORLD_RUNTIME, of_14, sizeof(of_14));
	put(w, WORLD_RUNTIME, "xdebugpy", 8);
}

void cpython_world_init(struct cpython_world *w, unsigned minor)
{
	memset(w, 0, sizeof(*w));
	struct sw_cpython *c = &w->c;
	w->region = (struct fake_region){WORLD, w->data, sizeof(w->data)};
	w->fake = (struct fake_memory){.regions = &w->region, .n_regions = 1};
	w->module.kind = SW_MODULE_ELF;
	w->place.module = &w->module;
	c->snap = &w->snap;
	c->memory = c->copied = fake_memory(&w->fake);
	c->at.place = &w->place;
	c->at.runtime_avma = WORLD_RUNTIME;
	c->at.code_type_avma = WORLD_CODE_TYPE;
	if (minor >= 13) {
		offsets_put(w, minor);
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
 * A dictionary at avma, its keys at avma + 0x40: one key with its value. Of those of instances the values
 * are elsewhere.
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
	cpython_world_u64(w, avma + 32, avma + 0x40);
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
	cpython_world_u64(w, WORLD_INTERP + l->interp_modules, modules);
	dict_put(w, modules, string_put(w, 9, "threading"), module, true);
	cpython_world_u64(w, module + 16, globals);
	dict_put(w, globals, string_put(w, 7, "_active"), active, true);
	dict_put(w, active, number, object, false);
	cpython_world_u64(w, number + 16, l->minor >= 12 ? 2 << 3 : 2);
	put(w, number + 24, digits, sizeof(digits));
	/* A Thread; its attributes as its version has them. */
	cpython_world_u64(w, object + 8, type);
	cpython_world_u64(w, type + 32, 0x20);
	cpython_world_u64(w, type + 168,
			  l->minor >= 13   ? 1 << 4 | 1 << 2
			  : l->minor >= 11 ? 1 << 4
					   : 0);
	cpython_world_u64(w, type + 288, 0x10);
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
	if (l->minor == 13) {
		values = object + 0x20;
		w->data[values + 3 - WORLD] = 1; /* valid */
		values += 8;
	}
	keys_put(w, keys, name, 0, true);
	cpython_world_u64(w, values, worker);
}

void cpython_world_deinit(struct cpython_world *w)
{
	sw_map64_deinit(&w->c.by_spot);
	sw_map64_deinit(&w->c.named);
	sw_arena_deinit(&w->c.arena);
	free(w->c.threads);
	free(w->c.chain.frames);
	free(w->c.chain.groups);
	free(w->c.positions);
}
