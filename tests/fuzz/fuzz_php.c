/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The structures of PHP, as anybody wrote them. The input is laid over a small program that is
 * right, in parts: u16 offset / 4 | u8 length | bytes. Then the calls on three frames of
 * execute_ex() are asked for and named, and the request that it serves is read; then the calls once
 * more, of a generator that is about to be resumed, and as those of a copy at an event. The words
 * of a file on itself are scanned, too.
 */
#include "fuzz.h"
#include "php_world.h"
#include "lay_over.h"

#include "arch/arch.h"
#include "bytes.h"
#include "runtimes/php/names.h"
#include "runtimes/php/request.h"

#include <string.h>

enum {
	/* The callers of each of SW_PHP_RESUMERS_MAX calls are followed twice, with a few reads for each. */
	READS_MAX = 2000000,
	GENERATOR = PHP_WORLD + 0x5000,
	CALL = GENERATOR + 0x400,
};

/* leaf() is a generator, from which another one yields, with its place holder. */
static void generators_put(struct php_world *w)
{
	uint64_t fake = GENERATOR + SW_PHP_GENERATOR_FAKE;
	php_world_u64(w, GENERATOR + SW_PHP_GENERATOR_PARENT, GENERATOR + 0x200);
	php_world_u64(w, GENERATOR + SW_PHP_GENERATOR_CALL, CALL);
	php_world_u64(w, GENERATOR + 0x200 + SW_PHP_GENERATOR_CALL, PHP_LEAF);
	php_world_u64(w, CALL + SW_PHP_ED_FUNC, PHP_FUNCTIONS);
	php_world_u64(w, fake + SW_PHP_ED_THIS, GENERATOR);
	php_world_u32(w, fake + SW_PHP_ED_INFO, SW_PHP_IS_OBJECT);
	php_world_u64(w, fake + SW_PHP_ED_PREV, PHP_CLOSURE);
	php_world_u64(w, PHP_LEAF + SW_PHP_ED_PREV, fake);
	php_world_u32(w, PHP_LEAF + SW_PHP_ED_INFO, SW_PHP_CALL_TOP | SW_PHP_CALL_GENERATOR);
	w->thread.regs = (struct sw_regs){.pc_avma = 0x7010};
	sw_regs_set(&w->thread.regs, SW_X86_64_RBX, GENERATOR + 0x200);
	sw_regs_set(&w->thread.regs, SW_X86_64_RBP, GENERATOR);
	sw_regs_set(&w->thread.regs, SW_X86_64_R13, PHP_CLOSURE);
	sw_regs_set(&w->thread.regs, SW_X86_64_R14, PHP_MAP);
}

static void calls_of_copy(struct php_world *w, struct php_sink *sink, struct sw_description *d)
{
	w->php.by_copies = true;
	w->php.later = w->php.memory;
	for (size_t i = 0; i < 3; i++) {
		(void) php_world_frames(w, i, PHP_LEAF, PHP_OPCODES, sink);
		for (size_t k = 0; k < sink->n; k++)
			(void) sw_php_copied_names(&w->php.copied, &sink->frames[k], d);
	}
	sw_php_copied_deinit(&w->php.copied);
	w->php.copied = (struct sw_php_copied){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct php_world w;
	static struct sw_description d;
	static struct php_sink sink;
	static struct sw_served served;
	char version[16];
	php_world_init(&w);
	generators_put(&w);
	lay_over(w.data, sizeof(w.data), data, size);
	for (size_t i = 0; i < 3; i++) {
		(void) php_world_frames(&w, i, PHP_LEAF, PHP_OPCODES, &sink);
		for (size_t k = 0; k < sink.n; k++)
			(void) sw_php_names(&w.php, &sink.frames[k], &d);
	}
	memset(&served, 0, sizeof(served));
	if (sw_php_request(&w.php, &w.thread, &served) &&
	    (strlen(served.uri) >= sizeof(served.uri) ||
	     strlen(served.script) >= sizeof(served.script)))
		__builtin_trap();
	w.php.found.resume_svma = 0x7000;
	w.php.found.resume_end_svma = 0x7100;
	sw_php_chain_read(&w.php, &w.thread);
	calls_of_copy(&w, &sink, &d);
	(void) sw_php_version_scan(data, size, version, sizeof(version));
	uint32_t end;
	(void) sw_php_fp_slot((struct sw_bytes){data, size}, &end);
	if (w.fake.reads > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	php_world_deinit(&w);
	return 0;
}
