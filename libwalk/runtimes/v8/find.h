/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_FIND_H
#define SW_V8_FIND_H

#include "runtimes/v8/v8.h"

/* As sw_runtime_ops.probe. */
bool sw_v8_probe(const struct sw_snapshot *snap);

/* The file with V8, and what is known of it: NULL when there is none, or there is no memory. */
const struct sw_v8_program *sw_v8_find(const struct sw_snapshot *snap, struct sw_place **ret_place);

/* The builtin at an address, of whatever mapping of the file; NULL: none. */
const struct sw_v8_builtin *sw_v8_builtin_at(const struct sw_snapshot *snap,
					     const struct sw_v8_program *program, uint64_t avma,
					     uint64_t *ret_off);

/* Whether an address is in program->walker, and where there. */
bool sw_v8_is_walker(const struct sw_snapshot *snap, const struct sw_v8_program *program,
		     uint64_t avma, uint64_t *ret_off);

/* Where the variable is that leads to code of WebAssembly; 0: it is not known. */
uint64_t sw_v8_wasm_state(const struct sw_snapshot *snap, const struct sw_v8_program *program,
			  struct sw_place *place);

/* Where it is said what runs of the queue of microtasks. */
struct sw_v8_microtasks sw_v8_microtasks_of(const struct sw_snapshot *snap,
					    const struct sw_v8_program *program,
					    struct sw_place *place);

/* Whether an address is in memory that has code of no file. */
bool sw_v8_is_made(const struct sw_snapshot *snap, uint64_t avma);

#endif
