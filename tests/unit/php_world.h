/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PHP_WORLD_H
#define PHP_WORLD_H

#include "fake.h"
#include "runtimes/php/php.h"
#include "unwind/runtime.h"

/*
 * A small PHP 8.2 in one array, stopped in leaf():
 *
 *	leaf(), A::{closure}()		run by execute_ex(), whose r14 is leaf()'s call
 *	array_map(), {main}		run by the execute_ex() before it
 *
 * It serves a request of FastCGI: GET /cart/7?id=7 by /srv/a.php.
 */
enum {
	PHP_WORLD = 0x200000, /* address of the array */
	PHP_WORLD_BYTES = 0x6000,
	PHP_GLOBALS = PHP_WORLD + 0x100,
	PHP_CALLS = PHP_WORLD + 0x400, /* zend_execute_data, 0x100 for each */
	PHP_LEAF = PHP_CALLS,
	PHP_CLOSURE = PHP_CALLS + 0x100,
	PHP_MAP = PHP_CALLS + 0x200,
	PHP_MAIN = PHP_CALLS + 0x300,
	PHP_FUNCTIONS = PHP_WORLD + 0x800, /* zend_function, 0x100 for each, in the same order */
	PHP_OPCODES = PHP_WORLD + 0xc00,   /* zend_op[4], 0x80 for each function */
	PHP_STRINGS = PHP_WORLD + 0x1000,  /* 0x80 for each */
	PHP_CLASS = PHP_WORLD + 0x1800,
	PHP_STACK = PHP_WORLD + 0x1c00, /* native: a frame is 0x40 bytes, its slot of r14 at 8 */
	PHP_SAPI = PHP_WORLD + 0x2000,
	PHP_FCGI = PHP_WORLD + 0x2400,
	PHP_BUCKETS = PHP_WORLD + 0x4900,  /* fcgi_hash_bucket, 0x40 for each */
	PHP_CSTRINGS = PHP_WORLD + 0x4a00, /* method, SCRIPT_NAME, query, path, name, REQUEST_URI */
	PHP_CODE = 0x400000,               /* execute_ex() */
};

struct php_world {
	uint8_t data[PHP_WORLD_BYTES];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_place place;
	struct sw_thread thread;
	struct sw_snapshot_priv priv;
	struct sw_snapshot snap;
	struct sw_php php;
	uint64_t pc_avma; /* of the innermost frame */
};

void php_world_init(struct php_world *w);
void php_world_deinit(struct php_world *w);
void php_world_u64(struct php_world *w, uint64_t avma, uint64_t value);
void php_world_u32(struct php_world *w, uint64_t avma, uint32_t value);

/* Frames that were added. */
struct php_sink {
	struct sw_frame_sink sink;
	struct sw_frame frames[64];
	size_t n;
};

/* Asks for the calls on frame i of execute_ex(), 0 the innermost, whose r14 and r15 are these. */
bool php_world_frames(struct php_world *w, size_t i, uint64_t fp, uint64_t ip,
		      struct php_sink *ret);

#endif
