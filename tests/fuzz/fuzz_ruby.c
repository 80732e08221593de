/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ruby whose structures anybody wrote. The input is laid over a small one that is right, in parts: u16
 * offset / 4 | u8 length | bytes. Then the frames on three of rb_vm_exec() are asked for and
 * named, and again as those of a copy at an event. Code that is recognised is looked for in it, too.
 */
#include "fuzz.h"
#include "ruby_world.h"
#include "lay_over.h"

#include "bytes.h"
#include "runtimes/ruby/fibers.h"
#include "runtimes/ruby/frames.h"
#include "runtimes/ruby/unexported.h"
#include "runtimes/ruby/yjit.h"

#include <string.h>

enum { READS_MAX = 200000 };

static void frames_of_copy(struct ruby_world *w, struct ruby_sink *sink, struct sw_description *d)
{
	w->ruby.by_copies = true;
	w->ruby.later = w->ruby.now = w->ruby.vm;
	for (size_t i = 0; i < 3; i++) {
		(void) ruby_world_frames(w, i, i != 1, RUBY_MAIN, sink);
		for (size_t k = 0; k < sink->n; k++)
			(void) sw_ruby_copied_names(&w->ruby.copied, &sink->frames[k], d);
	}
	sw_ruby_copied_deinit(&w->ruby.copied);
	w->ruby.copied = (struct sw_ruby_copied){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ruby_world w;
	static struct sw_description d;
	static struct ruby_sink sink;
	struct sw_bytes code = {data, size};
	ruby_world_init(&w);
	lay_over(w.data, sizeof(w.data), data, size);
	for (size_t i = 0; i < 3; i++) {
		(void) ruby_world_frames(&w, i, i != 1, RUBY_MAIN, &sink);
		for (size_t k = 0; k < sink.n; k++)
			(void) sw_ruby_names(&w.ruby, &sink.frames[k], &d);
	}
	frames_of_copy(&w, &sink, &d);
	struct sw_ruby_fiber fiber;
	(void) sw_ruby_fiber_at(&w.ruby.vm, RUBY_WORLD,
				RUBY_WORLD + SW_RUBY_FIBER_VALUES_BYTES + 0x1000, &fiber);
	(void) sw_ruby_symbols_in(code, RUBY_CODE);
	static const struct sw_elf no_file = {0};
	const struct sw_elf_symbols no_symbols = {.elf = &no_file};
	struct sw_tls_variable variable;
	(void) sw_ruby_ec_in(&no_symbols, code, RUBY_CODE, &variable);
	(void) sw_ruby_yjit_fills(code);
	(void) sw_ruby_yjit_saved(code, code);
	if (w.fake.reads > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	ruby_world_deinit(&w);
	return 0;
}
