/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ruby_world.h"
#include "arch/arch.h"
#include "runtimes/ruby/frames.h"
#include "runtimes/ruby/touch.h"

#include <stdlib.h>
#include <string.h>

static void put(struct ruby_world *w, uint64_t avma, const void *bytes, size_t n)
{
	memcpy(w->data + (avma - RUBY_WORLD), bytes, n);
}

void ruby_world_u64(struct ruby_world *w, uint64_t avma, uint64_t value)
{
	put(w, avma, &value, sizeof(value));
}

void ruby_world_u32(struct ruby_world *w, uint64_t avma, uint32_t value)
{
	put(w, avma, &value, sizeof(value));
}

uint64_t ruby_world_pc(unsigned f, unsigned i)
{
	return RUBY_ISEQS + 0x400 * f + 0x280 + UINT64_C(8) * i;
}

/* Embedded as in 3.1: up to 23 bytes. */
static uint64_t string_put(struct ruby_world *w, unsigned i, const char *text)
{
	uint64_t avma = RUBY_STRINGS + 0x80 * i;
	ruby_world_u64(w, avma, SW_RUBY_STRING | strlen(text) << SW_RUBY_STRING_LENGTH_SHIFT);
	put(w, avma + SW_RUBY_OBJECT_LENGTH, text, strlen(text));
	return avma;
}

/* 100 instructions; from 0 on line 10 * f + 1, from 4 on + 2, from 60 on + 3. */
static uint64_t iseq_put(struct ruby_world *w, unsigned f, const char *label)
{
	const struct sw_ruby_layout *at = w->ruby.found.layout;
	uint64_t iseq = RUBY_ISEQS + 0x400 * f, body = iseq + 0x100, succ = iseq + 0x200,
		 entries = iseq + 0x180, word = 0, low = 0;
	ruby_world_u64(w, iseq, SW_RUBY_IMEMO | SW_RUBY_IMEMO_ISEQ << SW_RUBY_IMEMO_SHIFT);
	ruby_world_u64(w, iseq + SW_RUBY_ISEQ_BODY, body);
	ruby_world_u32(w, body + SW_RUBY_BODY_SIZE, 100);
	ruby_world_u64(w, body + SW_RUBY_BODY_ENCODED, ruby_world_pc(f, 0));
	ruby_world_u64(w, body + SW_RUBY_BODY_PATH, RUBY_STRINGS);
	ruby_world_u64(w, body + SW_RUBY_BODY_LABEL, string_put(w, 1 + f, label));
	ruby_world_u64(w, body + at->body_insns, entries);
	ruby_world_u32(w, body + at->body_insns_size, 3);
	ruby_world_u64(w, body + at->body_succ, succ);
	for (unsigned i = 0; i < 3; i++)
		ruby_world_u32(w, entries + i * at->entry_bytes, 10 * f + i + 1);
	for (unsigned i = 0; i < 9; i++) {
		word |= UINT64_C(2) << (7 * i);
		low |= (i < 4 ? UINT64_C(1) : UINT64_C(2)) << (7 * i);
	}
	for (unsigned i = 0; i < 6; i++)
		ruby_world_u64(w, succ + UINT64_C(8) * i, i == 0 ? low : word);
	ruby_world_u32(w, succ + SW_RUBY_SUCC_BLOCKS, 2);                     /* before 54 */
	ruby_world_u64(w, succ + SW_RUBY_SUCC_BLOCKS + 16, UINT64_C(1) << 6); /* at 60 */
	return iseq;
}

static void frame_put(struct ruby_world *w, unsigned f, uint64_t pc, uint64_t iseq, uint64_t method,
		      uint64_t flags)
{
	uint64_t frame = RUBY_FRAMES + 64 * f, ep = RUBY_VALUES + 0x40 * (4 - f);
	ruby_world_u64(w, frame + SW_RUBY_FRAME_PC, pc);
	ruby_world_u64(w, frame + SW_RUBY_FRAME_SP, ep + 8);
	ruby_world_u64(w, frame + SW_RUBY_FRAME_ISEQ, iseq);
	ruby_world_u64(w, frame + SW_RUBY_FRAME_EP, ep);
	ruby_world_u64(w, ep - SW_RUBY_EP_BEFORE, method);
	ruby_world_u64(w, ep, flags);
}

/* The method "times", whose id is symbol 600: item 88 * 2 of the second array. */
static void method_put(struct ruby_world *w)
{
	uint64_t second = RUBY_IDS + 0x40, items = RUBY_IDS + 0x80;
	ruby_world_u64(w, RUBY_METHOD, SW_RUBY_IMEMO | SW_RUBY_IMEMO_METHOD << SW_RUBY_IMEMO_SHIFT);
	ruby_world_u64(w, RUBY_METHOD + SW_RUBY_METHOD_DEF, RUBY_METHOD + 0x80);
	ruby_world_u64(w, RUBY_METHOD + 0x80 + SW_RUBY_DEF_ID, 600 << 4 | 1);
	ruby_world_u32(w, RUBY_SYMBOLS + SW_RUBY_SYMBOLS_LAST, 700);
	ruby_world_u64(w, RUBY_SYMBOLS + SW_RUBY_SYMBOLS_IDS, RUBY_IDS);
	ruby_world_u64(w, RUBY_IDS,
		       SW_RUBY_ARRAY | SW_RUBY_USER1 | 2 << SW_RUBY_ARRAY_LENGTH_SHIFT);
	ruby_world_u64(w, RUBY_IDS + SW_RUBY_ARRAY_EMBEDDED + 8, second);
	ruby_world_u64(w, second, SW_RUBY_ARRAY);
	ruby_world_u64(w, second + SW_RUBY_OBJECT_LENGTH, 2 * 512);
	ruby_world_u64(w, second + SW_RUBY_ARRAY_ITEMS, items - 88 * 2 * 8);
	ruby_world_u64(w, items, string_put(w, 5, "times"));
}

static bool note(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct ruby_world *w = arg;
	w->n_reads++;
	if (!sw_memory_read(fake_memory(&w->fake), avma, buffer, length))
		return false;
	memset(w->was_read + (avma - RUBY_WORLD), true, length);
	return true;
}

static bool read_noted(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct ruby_world *w = arg;
	return sw_memory_read(fake_memory(&w->fake), avma, buffer, length) &&
	       memchr(w->was_read + (avma - RUBY_WORLD), false, length) == NULL;
}

void ruby_world_touch(struct ruby_world *w)
{
	static const struct sw_memory_ops notes = {.read = note}, noted = {.read = read_noted};
	struct sw_ruby_before before = {.found = w->ruby.found};
	memset(w->was_read, 0, sizeof(w->was_read));
	w->n_reads = 0;
	sw_ruby_touch(&w->snap, &before, (struct sw_memory){&notes, w});
	w->ruby.vm.memory = (struct sw_memory){&noted, w};
}

void ruby_world_init(struct ruby_world *w)
{
	memset(w, 0, sizeof(*w));
	w->region = (struct fake_region){RUBY_WORLD, w->data, sizeof(w->data)};
	w->fake = (struct fake_memory){.regions = &w->region, .n_regions = 1};
	w->snap.priv = &w->priv;
	w->thread.tid = 7;
	w->thread.fs_base = RUBY_FS;
	w->ruby.snap = &w->snap;
	w->ruby.vm = (struct sw_ruby_vm){.memory = fake_memory(&w->fake), .found = &w->ruby.found};
	w->ruby.found = (struct sw_ruby_found){.place = &w->place,
					       .layout = sw_ruby_layout_of(3, 1),
					       .version = "3.1.7",
					       .ec = {.kind = SW_TLS_PROGRAM, .offset = -8},
					       .symbols_svma = RUBY_SYMBOLS};
	w->ruby.exec = (struct sw_ruby_exec){true, RUBY_CODE, RUBY_CODE + 0x100};
	ruby_world_u64(w, RUBY_SLOT, RUBY_EC);
	ruby_world_u64(w, RUBY_EC + SW_RUBY_EC_STACK, RUBY_VALUES);
	ruby_world_u64(w, RUBY_EC + SW_RUBY_EC_STACK_SIZE, (RUBY_FRAMES_END - RUBY_VALUES) / 8);
	ruby_world_u64(w, RUBY_EC + SW_RUBY_EC_CFP, RUBY_FRAMES);
	string_put(w, 0, "/srv/a.rb");
	frame_put(w, 0, ruby_world_pc(0, 3), iseq_put(w, 0, "leaf"), 0, 0x11110023);
	frame_put(w, 1, 0, 0, RUBY_METHOD, 0x55550083);
	frame_put(w, 2, ruby_world_pc(2, 70), iseq_put(w, 2, "<main>"), 0, 0x77770023);
	frame_put(w, 3, ruby_world_pc(2, 70), RUBY_ISEQS + 0x800, 0, 0x79990823);
	method_put(w);
}

void ruby_world_deinit(struct ruby_world *w)
{
	free(w->ruby.chain.frames);
}

static bool frame_add(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	struct ruby_sink *s = (struct ruby_sink *) sink;
	if (s->n >= sizeof(s->frames) / sizeof(*s->frames))
		return false;
	s->frames[s->n++] = (struct sw_frame){.pc_avma = address_avma, .cookie = cookie};
	return true;
}

bool ruby_world_frames(struct ruby_world *w, size_t i, bool is_vm, uint64_t r15,
		       struct ruby_sink *ret)
{
	*ret = (struct ruby_sink){.sink.add = frame_add};
	struct sw_cursor c = {.snap = &w->snap,
			      .thread = &w->thread,
			      .memory = w->ruby.vm.memory,
			      .place = &w->place,
			      .lookup_avma = is_vm ? RUBY_CODE + 0x50 : RUBY_CODE + 0x500,
			      .depth = i + 1};
	if (r15 != 0)
		sw_regs_set(&c.regs, SW_X86_64_R15, r15);
	return sw_ruby_frames(&w->ruby, &c, 0, &ret->sink);
}
