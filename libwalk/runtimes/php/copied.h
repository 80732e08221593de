/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_COPIED_H
#define SW_PHP_COPIED_H

#include "arena.h"
#include "map.h"
#include "memory.h"
#include "runtimes/php/layout.h"

#include <snapwalk/walk.h>

enum { SW_PHP_COPIED_SEEN = 64 /* power of two */ };

/* A function by what it is, wherever it lies: closures are made anew for each call, and scripts for each request. */
struct sw_php_copied_function {
	uint64_t identity;
	char *function, *file; /* the arena's; NULL: not known */
	uint32_t line_start, line_end;
	uint32_t *lines; /* the arena's, of each instruction; NULL: not known yet */
	uint32_t n_lines, tries;
};

struct sw_php_copied_position {
	uint32_t function, line;
};

/*
 * Functions of the copies that the kernel made of threads at events. All that names one is in the copy that it was met in, or is
 * read later and proven by the hash of its text, which the copy has; it stays for the copies after that.
 */
struct sw_php_copied {
	struct sw_arena arena;
	struct sw_php_copied_function *functions; /* owned */
	size_t n_functions, functions_capacity;
	struct sw_map64 by_identity;              /* -> index */
	struct sw_php_copied_position *positions; /* owned */
	size_t n_positions, positions_capacity;
	struct sw_map64 by_spot; /* -> index */
	/* The functions of one copy whose identity is known. */
	struct {
		uint64_t function_avma, index;
	} seen[SW_PHP_COPIED_SEEN];
};

struct sw_php_call;

/* The memories from which functions are read. */
struct sw_php_copied_source {
	struct sw_memory copied, later;
	const struct sw_php_layout *layout;
};

void sw_php_copied_deinit(struct sw_php_copied *copied);
/* Another copy comes. */
void sw_php_copied_begin(struct sw_php_copied *copied);
/* Whether there is space for what another copy may have. */
bool sw_php_copied_has_space(const struct sw_php_copied *copied);

/* The cookie of a call that is at an instruction, 0 if that is not known. 0: it has none. */
uint64_t sw_php_copied_cookie(struct sw_php_copied *copied, const struct sw_php_copied_source *from,
			      const struct sw_php_call *call, uint64_t opline_avma, bool outermost);

/* As sw_runtime_ops.names. */
int sw_php_copied_names(const struct sw_php_copied *copied, const struct sw_frame *frame,
			struct sw_description *ret);

/* As zend_inline_hash_func() of Zend/zend_string.h, PHP 8.0 to 8.4. */
uint64_t sw_php_string_hash(const char *text, size_t length);

#endif
