/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ruby whose structures anybody wrote. The input is laid over a small one that is right, in pieces: u16
 * offset / 4 | u8 length | bytes. Then the frames on three of rb_vm_exec() are asked for and
 * named. Code that is recognised is looked for in it, too.
 */
#include "ruby_world.h"

#include "bytes.h"
#include "runtimes/ruby/frames.h"
#include "runtimes/ruby/yjit.h"

#include <string.h>

enum { READS_MAX = 200000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void lay_over(struct ruby_world *w, const uint8_t *data, size_t size)
{
	struct sw_bytes b = {data, size}, piece;
	uint16_t offset;
	uint8_t length;
	for (uint64_t at = 0; sw_bytes_u16(b, at, &offset) && sw_bytes_u8(b, at + 2, &length);
	     at += 3 + length) {
		size_t to = (size_t) offset * 4 % sizeof(w->data);
		if (!sw_bytes_sub(b, at + 3, length, &piece))
			return;
		if (length > sizeof(w->data) - to)
			length = (uint8_t) (sizeof(w->data) - to);
		memcpy(w->data + to, piece.data, length);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ruby_world w;
	static struct sw_description d;
	static struct ruby_sink sink;
	struct sw_bytes code = {data, size};
	ruby_world_init(&w);
	lay_over(&w, data, size);
	for (size_t i = 0; i < 3; i++) {
		(void) ruby_world_frames(&w, i, i != 1, RUBY_MAIN, &sink);
		for (size_t k = 0; k < sink.n; k++)
			(void) sw_ruby_names(&w.ruby, &sink.frames[k], &d);
	}
	(void) sw_ruby_symbols_in(code, RUBY_CODE);
	(void) sw_ruby_yjit_fills(code);
	if (w.fake.reads > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	ruby_world_deinit(&w);
	return 0;
}
