/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_LAYOUT_H
#define SW_CPYTHON_LAYOUT_H

#include "memory.h"

#include <stdbool.h>
#include <stdint.h>

/* The way in which a Python frame and an activation of the interpreter's loop, which is native, are
 * matched. */
enum sw_cpython_pairing {
	SW_CPYTHON_BY_CONTENT, /* 3.8 to 3.10: one frame each; the loop holds the frame's address */
	SW_CPYTHON_BY_CFRAME,  /* 3.11, 3.12: a struct _PyCFrame of the loop's own native frame */
	SW_CPYTHON_BY_SHIM,    /* 3.13 on: a frame without code that lies in it */
};

enum { SW_CPYTHON_NONE = 0xffff }; /* the version has no such field */

/* Offsets in bytes. Offsets in the interpreter may be large, all others are below 4096. */
struct sw_cpython_layout {
	uint32_t runtime_head;           /* _PyRuntime.interpreters.head */
	uint32_t gil_holder, gil_locked; /* in _PyRuntime, or in what interp_gil leads to */
	uint32_t interp_next, interp_threads, interp_gil, interp_modules;
	uint16_t thread_next, thread_interp, thread_frame, thread_id, thread_number;
	uint16_t
		thread_bytes; /* of a thread state that are looked at; 0: frames are not copied at events */
	uint16_t
		thread_chunk; /* 3.11, 3.12: the data stack's last chunk; behind it, where that is used up to */
	uint16_t cframe_frame, cframe_previous;
	uint16_t frame_previous, frame_code, frame_instruction, frame_owner, frame_entry;
	uint16_t frame_locals; /* 3.11 on: variables, and the stack behind them */
	uint16_t frame_bytes;  /* that are looked at */
	uint16_t code_filename, code_name, code_qualname, code_lines, code_first_line;
	uint16_t code_instructions; /* 3.8 to 3.10: pointer to the object that has them */
	uint16_t code_traceable;    /* 3.11 on: index of the first instruction that counts */
	uint16_t code_version;      /* 3.12: no other one has this number */
	uint16_t code_bytes;        /* of a code object that are looked at */
	/* 3.11, 3.12: words that a frame of it has in the data stack, 32 bits; 3.11: those of its variables,
	 * and of its stack. */
	uint16_t code_frame_words, code_stack_words;
	uint16_t string_ascii, string_other;
	uint16_t type_keys;  /* of a class: the names of its instances' attributes */
	uint16_t owner_shim; /* from this owner on, a frame is of the interpreter itself */
	/* Builds without the GIL, from 3.14 on, may give each thread its own copy of the
	 * instructions: the number of that copy in a frame, and the table of copies in a code
	 * object. SW_CPYTHON_NONE: there is one copy. */
	uint16_t frame_copy, code_copies;
	uint8_t pairing;   /* enum sw_cpython_pairing */
	uint8_t head_more; /* by how much heads of objects are longer: without the GIL, else 0 */
	uint8_t minor;
};

/*
 * The layout of a version of which no structure says it, 3.8 to 3.12. False for others. They have not
 * changed within a minor version since its first release.
 */
bool sw_cpython_layout_of(unsigned minor, struct sw_cpython_layout *ret);

/*
 * From 3.13 on the runtime begins with its own offsets. False with *ret_missing when they are not as
 * they must be.
 */
bool sw_cpython_layout_read(struct sw_memory memory, uint64_t runtime_avma, unsigned minor,
			    struct sw_cpython_layout *ret, const char **ret_missing);

#endif
