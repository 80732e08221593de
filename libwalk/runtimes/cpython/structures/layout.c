/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The offsets in CPython's structures. Source: Include/internal/pycore_*.h,
 * Include/cpython/{code,pystate,frameobject}.h of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1 and
 * 3.13.0, by the debug information of their builds for x86-64; for 3.14
 * Include/internal/pycore_debug_offsets.h of 3.14.10. Offsets that it does not say are the same in
 * both kinds of builds of 3.13.5 and 3.14.10, but that the heads of objects of those without the
 * GIL (Py_GIL_DISABLED, Include/object.h) are 16 bytes longer:
 *
 *	references  type                                     type at 8
 *	thread  flags ...  references  references  type      type at 24
 */
#include "runtimes/cpython/structures/layout.h"
#include "cleanup.h"

#include <string.h>

/* 3.8 to 3.10 have one loop for each frame, and frames that are objects. */
#define WITH_FRAME_OBJECTS                                                                        \
	.runtime_head = 32, .interp_next = 0, .interp_threads = 8, .interp_gil = SW_CPYTHON_NONE, \
	.thread_next = 8, .thread_interp = 16, .thread_frame = 24, .thread_id = 176,              \
	.thread_number = 256, .thread_bytes = 264, .thread_chunk = SW_CPYTHON_NONE,               \
	.frame_previous = 24, .frame_code = 32, .frame_owner = SW_CPYTHON_NONE,                   \
	.frame_entry = SW_CPYTHON_NONE, .frame_bytes = 112, .code_filename = 104,                 \
	.code_name = 112, .code_qualname = SW_CPYTHON_NONE, .code_lines = 120,                    \
	.code_first_line = 40, .code_instructions = 48, .code_traceable = SW_CPYTHON_NONE,        \
	.code_version = SW_CPYTHON_NONE, .code_bytes = 128, .string_ascii = 48,                   \
	.code_frame_words = SW_CPYTHON_NONE, .code_stack_words = SW_CPYTHON_NONE,                 \
	.string_other = 72, .frame_copy = SW_CPYTHON_NONE, .code_copies = SW_CPYTHON_NONE,        \
	.pairing = SW_CPYTHON_BY_CONTENT

static const struct sw_cpython_layout layouts[] = {
	{WITH_FRAME_OBJECTS, .minor = 8, .frame_instruction = 104, .gil_holder = 0x488,
	 .gil_locked = 0x490, .interp_modules = 56, .type_keys = 872},
	{WITH_FRAME_OBJECTS, .minor = 9, .frame_instruction = 104, .gil_holder = 0x168,
	 .gil_locked = 0x170, .interp_modules = 856, .type_keys = 864},
	{WITH_FRAME_OBJECTS, .minor = 10, .frame_instruction = 96, .gil_holder = 0x168,
	 .gil_locked = 0x170, .interp_modules = 856, .type_keys = 872},
	{
		.minor = 11,
		.interp_modules = 888,
		.type_keys = 872,
		.pairing = SW_CPYTHON_BY_CFRAME,
		.runtime_head = 40,
		.gil_holder = 0x170,
		.gil_locked = 0x178,
		.interp_next = 0,
		.interp_threads = 16,
		.interp_gil = SW_CPYTHON_NONE,
		.thread_next = 8,
		.thread_interp = 16,
		.thread_frame = 56,
		.thread_id = 152,
		.thread_number = 240,
		.thread_bytes = 360,
		.thread_chunk = 296,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.frame_previous = 48,
		.frame_code = 32,
		.frame_instruction = 56,
		.frame_owner = 69,
		.frame_entry = 68,
		.frame_locals = 72,
		.frame_bytes = 72,
		.owner_shim = SW_CPYTHON_NONE,
		.code_filename = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
		.code_first_line = 72,
		.code_instructions = 184,
		.code_traceable = 168,
		.code_version = SW_CPYTHON_NONE,
		.code_bytes = 184,
		.code_frame_words = 76,
		.code_stack_words = 68,
		.string_ascii = 48,
		.string_other = 72,
		.frame_copy = SW_CPYTHON_NONE,
		.code_copies = SW_CPYTHON_NONE,
	},
	{
		.minor = 12,
		.interp_modules = 944,
		.type_keys = 880,
		.pairing = SW_CPYTHON_BY_CFRAME,
		.runtime_head = 40,
		.gil_holder = 8,
		.gil_locked = 16,
		.interp_next = 0,
		.interp_threads = 72,
		.interp_gil = 0x180,
		.thread_next = 8,
		.thread_interp = 16,
		.thread_frame = 56,
		.thread_id = 136,
		.thread_number = 224,
		.thread_bytes = 288,
		.thread_chunk = 232,
		.cframe_frame = 0,
		.cframe_previous = 8,
		.frame_previous = 8,
		.frame_code = 0,
		.frame_instruction = 56,
		.frame_owner = 70,
		.frame_entry = SW_CPYTHON_NONE,
		.frame_locals = 72,
		.frame_bytes = 72,
		.owner_shim = 3,
		.code_filename = 112,
		.code_name = 120,
		.code_qualname = 128,
		.code_lines = 136,
		.code_first_line = 68,
		.code_instructions = 192,
		.code_traceable = 176,
		.code_version = 92,
		.code_bytes = 192,
		.code_frame_words = 76,
		.code_stack_words = SW_CPYTHON_NONE,
		.string_ascii = 40,
		.string_other = 56,
		.frame_copy = SW_CPYTHON_NONE,
		.code_copies = SW_CPYTHON_NONE,
	},
};

bool sw_cpython_layout_of(unsigned minor, struct sw_cpython_layout *ret)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(layouts); i++) {
		if (layouts[i].minor != minor)
			continue;
		*ret = layouts[i];
		return true;
	}
	return false;
}

/* Indices of the 64-bit words of _Py_DebugOffsets. */
struct words {
	uint8_t runtime_head;
	uint8_t interp_next, interp_threads, interp_gil, interp_modules;
	uint8_t thread_next, thread_interp, thread_frame, thread_id;
	uint8_t frame_previous, frame_code, frame_instruction, frame_locals, frame_owner;
	uint8_t code_filename, code_name, code_qualname, code_lines, code_first_line;
	uint8_t code_instructions, code_copies;
	uint8_t object_type;
	uint8_t frame_copy;
};

enum {
	OFFSETS_WORDS = 64,
	WORD_VERSION = 1, /* after the cookie */
	WORD_FREE_THREADED = 2,
	HOLDER = 8, /* of struct _gil_runtime_state: after an unsigned long */
	LOCKED = 16,
	FAR = 1 << 20, /* no offset in an interpreter is that large */
	NEAR = 4096,
	TYPE = 8, /* of PyObject */
	TYPE_WITHOUT_GIL = 24,
	ENABLED_BYTES = 8, /* struct _gil_runtime_state begins with it, without the GIL */
};

static const struct words words_13 = {
	.runtime_head = 5,
	.interp_next = 8,
	.interp_threads = 9,
	.interp_gil = 14,
	.interp_modules = 11,
	.thread_next = 21,
	.thread_interp = 22,
	.thread_frame = 23,
	.thread_id = 24,
	.frame_previous = 29,
	.frame_code = 30,
	.frame_instruction = 31,
	.frame_locals = 32,
	.frame_owner = 33,
	.code_filename = 35,
	.code_name = 36,
	.code_qualname = 37,
	.code_lines = 38,
	.code_first_line = 39,
	.code_instructions = 43,
	.object_type = 45,
};

static const struct words words_14 = {
	.runtime_head = 5,
	.interp_next = 8,
	.interp_threads = 9,
	.interp_gil = 15,
	.interp_modules = 12,
	.thread_next = 24,
	.thread_interp = 25,
	.thread_frame = 26,
	.thread_id = 27,
	.frame_previous = 32,
	.frame_code = 33,
	.frame_instruction = 34,
	.frame_locals = 35,
	.frame_owner = 36,
	.code_filename = 40,
	.code_name = 41,
	.code_qualname = 42,
	.code_lines = 43,
	.code_first_line = 44,
	.code_instructions = 48,
	.code_copies = 49,
	.object_type = 51,
	.frame_copy = 38,
};

static bool near(uint64_t word, uint16_t *ret)
{
	*ret = (uint16_t) word;
	return word < NEAR;
}

static bool far(uint64_t word, uint32_t *ret)
{
	*ret = (uint32_t) word;
	return word < FAR;
}

static bool words_take(const uint64_t *w, const struct words *at, struct sw_cpython_layout *ret)
{
	return far(w[at->runtime_head], &ret->runtime_head) &&
	       far(w[at->interp_next], &ret->interp_next) &&
	       far(w[at->interp_threads], &ret->interp_threads) &&
	       far(w[at->interp_gil], &ret->interp_gil) &&
	       far(w[at->interp_modules], &ret->interp_modules) &&
	       near(w[at->thread_next], &ret->thread_next) &&
	       near(w[at->thread_interp], &ret->thread_interp) &&
	       near(w[at->thread_frame], &ret->thread_frame) &&
	       near(w[at->thread_id], &ret->thread_id) &&
	       near(w[at->frame_previous], &ret->frame_previous) &&
	       near(w[at->frame_code], &ret->frame_code) &&
	       near(w[at->frame_instruction], &ret->frame_instruction) &&
	       near(w[at->frame_locals], &ret->frame_locals) &&
	       near(w[at->frame_owner], &ret->frame_owner) &&
	       near(w[at->code_filename], &ret->code_filename) &&
	       near(w[at->code_name], &ret->code_name) &&
	       near(w[at->code_qualname], &ret->code_qualname) &&
	       near(w[at->code_lines], &ret->code_lines) &&
	       near(w[at->code_first_line], &ret->code_first_line) &&
	       near(w[at->code_instructions], &ret->code_instructions);
}

/* Each thread has its own copy of what it executes: Include/internal/pycore_code.h (_PyCodeArray). */
static bool copies_take(const uint64_t *w, const struct words *at, struct sw_cpython_layout *ret)
{
	return near(w[at->frame_copy], &ret->frame_copy) &&
	       near(w[at->code_copies], &ret->code_copies) && ret->code_copies >= 16 &&
	       ret->code_copies + 8 <= ret->code_instructions;
}

/* Offsets that the table of the interpreter does not give, in objects and in its lock. */
static void heads_set(uint8_t more, struct sw_cpython_layout *ret)
{
	ret->head_more = more;
	ret->string_ascii = 40 + more;
	ret->string_other = 56 + more;
	ret->type_keys = 880 + more;
	ret->gil_holder = HOLDER + (more != 0 ? ENABLED_BYTES : 0);
	ret->gil_locked = LOCKED + (more != 0 ? ENABLED_BYTES : 0);
}

static uint16_t larger(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

bool sw_cpython_layout_read(struct sw_memory memory, uint64_t runtime_avma, unsigned minor,
			    struct sw_cpython_layout *ret, const char **ret_missing)
{
	const struct words *at = minor == 13 ? &words_13 : &words_14;
	uint64_t w[OFFSETS_WORDS];
	*ret = (struct sw_cpython_layout){
		.minor = (uint8_t) minor,
		.pairing = SW_CPYTHON_BY_SHIM,
		.frame_copy = SW_CPYTHON_NONE,
		.code_copies = SW_CPYTHON_NONE,
		.thread_number = SW_CPYTHON_NONE,
		.thread_chunk = SW_CPYTHON_NONE,
		.frame_entry = SW_CPYTHON_NONE,
		.code_frame_words = SW_CPYTHON_NONE,
		.code_stack_words = SW_CPYTHON_NONE,
		.code_version = SW_CPYTHON_NONE,
		.owner_shim = 3,
	};
	*ret_missing = "its debug offsets";
	if (!sw_memory_read(memory, runtime_avma, w, sizeof(w)) || memcmp(w, "xdebugpy", 8) != 0 ||
	    w[WORD_VERSION] >> 16 != (3U << 8 | minor))
		return false;
	bool threaded = w[WORD_FREE_THREADED] != 0;
	if (w[WORD_FREE_THREADED] > 1 || !words_take(w, at, ret) ||
	    w[at->object_type] != (threaded ? TYPE_WITHOUT_GIL : TYPE) ||
	    (threaded && minor >= 14 && !copies_take(w, at, ret)))
		return false;
	heads_set(threaded ? TYPE_WITHOUT_GIL - TYPE : 0, ret);
	uint16_t copy = ret->frame_copy != SW_CPYTHON_NONE ? ret->frame_copy : 0;
	/* Copies of instructions would be one pointer further than a recipe goes. */
	if (ret->frame_copy == SW_CPYTHON_NONE)
		ret->thread_bytes = 8 + larger(larger(ret->thread_next, ret->thread_interp),
					       larger(ret->thread_frame, ret->thread_id));
	ret->frame_bytes = larger(larger(larger(ret->frame_previous, ret->frame_code), copy),
				  larger(ret->frame_instruction, ret->frame_owner)) +
			   8;
	/* Not said; the same since 3.11: a number, padding, and a pointer are before the instructions, and
	 * before their copies. */
	ret->code_bytes = ret->code_instructions;
	ret->code_traceable =
		(uint16_t) ((ret->code_copies != SW_CPYTHON_NONE ? ret->code_copies
								 : ret->code_instructions) -
			    16);
	*ret_missing = "the fields of its code objects";
	return ret->code_bytes >= 16 &&
	       larger(larger(ret->code_filename, ret->code_name),
		      larger(larger(ret->code_qualname, ret->code_lines), ret->code_first_line)) +
			       8 <=
		       ret->code_bytes;
}
