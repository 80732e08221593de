/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "fake.h"
#include "runtimes/wine/replace.h"
#include "snapshot/read.h"
#include "test.h"

enum {
	FRAME = 0x30000000,
	CONTEXT = 0x40000000,
	STACK = 0x40001000, /* where the context's rsp points, or the old one */
	CODE = 0x50000000,  /* "call *%rax" before CODE + 10; "syscall; ret" */
	THUNK = CODE + 14,
	THERE = 0x50000200, /* the context's rip */
};

struct world {
	uint8_t context[0x100], code[16];
	uint64_t stack[2];
	struct sw_thread thread;
	struct sw_regs regs;
	bool not_copied;
};

static void put(struct world *w, size_t offset, uint64_t value, size_t bytes)
{
	memcpy(w->context + offset, &value, bytes);
}

/* rsp has been replaced already, rip not yet. */
static void world_make(struct world *w)
{
	memset(w, 0, sizeof(*w));
	put(w, 0x30, 0x10001f, 4); /* ContextFlags */
	put(w, 0x38, 0x33, 2);     /* SegCs */
	put(w, 0x90, 0xb, 8);      /* rbx */
	put(w, 0x98, STACK, 8);
	put(w, 0xf8, THERE, 8);
	memcpy(w->code + 8, "\xff\xd0", 2);
	memcpy(w->code + 12, "\x0f\x05\xc3", 3);
	sw_regs_set(&w->thread.regs, SW_X86_64_RBX, CONTEXT);
	sw_regs_set(&w->thread.regs, SW_X86_64_R12, FRAME);
	sw_regs_set(&w->thread.regs, SW_ARCH_RA, 0x60000000);
	sw_regs_set(&w->regs, SW_X86_64_RBX, 0xa);
	sw_regs_set(&w->regs, SW_ARCH_SP, STACK);
	sw_regs_set(&w->regs, SW_ARCH_RA, THUNK);
}

static bool replaced(struct world *w)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	fake_snapshot_range(snap, STACK, w->stack, sizeof(w->stack));
	fake_snapshot_range(snap, CODE, w->code, sizeof(w->code));
	if (!w->not_copied)
		fake_snapshot_range(snap, CONTEXT, w->context, sizeof(w->context));
	fake_snapshot_finish(snap);
	struct sw_snapshot_memory memory = {.snap = snap};
	const struct sw_cursor cursor = {.snap = snap,
					 .thread = &w->thread,
					 .memory = sw_snapshot_memory(&memory)};
	bool result = sw_wine_replaced(&cursor, FRAME, &w->regs);
	fake_snapshot_destroy(snap);
	return result;
}

TEST(test_half)
{
	struct world w;
	uint64_t rbx = 0;
	world_make(&w);
	assert_true(replaced(&w));
	assert_int_equal(w.regs.pc_avma, THERE);
	assert_int_equal(w.regs.sp_avma, STACK);
	assert_true(sw_regs_get(&w.regs, SW_X86_64_RBX, &rbx));
	assert_int_equal(rbx, 0xb);
}

static void not_replaced(struct world *w)
{
	assert_false(replaced(w));
	assert_int_equal(w->regs.val[SW_X86_64_RBX], 0xa);
}

/* Each of what has to be there is not. */
TEST(test_otherwise)
{
	struct world w;
	world_make(&w);
	w.stack[0] = CODE + 10; /* the thunk's own return address: rsp is still the old one */
	not_replaced(&w);
	world_make(&w);
	sw_regs_set(&w.thread.regs, SW_X86_64_R12, FRAME + 8);
	not_replaced(&w);
	world_make(&w);
	sw_regs_set(&w.thread.regs, SW_X86_64_RBX, CONTEXT + 0x500);
	not_replaced(&w);
	world_make(&w);
	w.thread.regs.known &= ~(UINT32_C(1) << SW_X86_64_RBX);
	not_replaced(&w);
	world_make(&w);
	put(&w, 0x98, STACK + 8, 8); /* of another thread, or not begun with */
	not_replaced(&w);
	world_make(&w);
	put(&w, 0xf8, THUNK, 8); /* done */
	not_replaced(&w);
	world_make(&w);
	put(&w, 0x30, 0x1f, 4);
	not_replaced(&w);
	world_make(&w);
	w.not_copied = true; /* read now, it may be anything */
	not_replaced(&w);
	world_make(&w);
	sw_regs_set(&w.regs, SW_ARCH_RA, CODE + 4); /* all replaced; the CONTEXT is used again */
	not_replaced(&w);
}
