/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "fake.h"
#include "runtimes/wine/frames_i386.h"
#include "runtimes/wine/steps.h"
#include "walk_case.h"
#include "test.h"

enum {
	WINDOWS = 0x400000, /* [WINDOWS, WINDOWS_END): the Windows stack */
	WINDOWS_END = 0x401000,
	UNIX = 0x500000,
	UNIX_END = UNIX + 0x100000,
	TEB_BLOCK = 0x7ffd0000,
	TEB = TEB_BLOCK + 0x2000,
	FRAME = UNIX + 0xc0,
	OUTER = UNIX + 0x500, /* the frame that encloses it */
	CFA = UNIX + 0x4a0,
};

struct world {
	uint8_t windows[0x1000], unix_stack[0x1000], teb[SW_WINE_TEB_BYTES];
	struct fake_region regions[3];
	struct fake_memory fake;
};

static void put(struct world *w, uint32_t avma, uint32_t value)
{
	for (size_t i = 0; i < 3; i++) {
		const struct fake_region *r = &w->regions[i];
		if (avma >= r->start_avma && avma + 4 <= r->start_avma + r->size) {
			memcpy((uint8_t *) (uintptr_t) r->bytes + (avma - r->start_avma), &value,
			       sizeof(value));
			return;
		}
	}
	fail_msg("0x%x is in no region", avma);
}

static struct sw_wine_teb world_make(struct world *w)
{
	struct sw_wine_teb teb;
	memset(w, 0, sizeof(*w));
	w->regions[0] = (struct fake_region){WINDOWS, w->windows, sizeof(w->windows)};
	w->regions[1] = (struct fake_region){UNIX, w->unix_stack, sizeof(w->unix_stack)};
	w->regions[2] = (struct fake_region){TEB, w->teb, sizeof(w->teb)};
	w->fake = (struct fake_memory){.regions = w->regions, .n_regions = 3};
	put(w, TEB + 0x04, WINDOWS_END);
	put(w, TEB + 0x08, WINDOWS);
	put(w, TEB + 0x18, TEB);
	put(w, TEB + 0x24, 0x24);
	put(w, TEB + 0x1f8, FRAME);
	put(w, TEB + 0x214, UNIX);
	assert_true(sw_wine_teb_read(fake_memory_32(&w->fake), TEB, &teb));
	return teb;
}

TEST(test_teb)
{
	struct world w;
	struct sw_wine_teb teb = world_make(&w);
	assert_true(teb.is_32bit);
	assert_int_equal(teb.thread_id, 0x24);
	assert_int_equal(teb.syscall_frame_avma, FRAME);
	assert_true(sw_wine_on_windows_stack(&teb, WINDOWS));
	assert_false(sw_wine_on_windows_stack(&teb, WINDOWS_END));
	assert_true(sw_wine_on_unix_stack(&teb, UNIX_END - 1));
	assert_true(sw_wine_on_signal_stack(&teb, TEB_BLOCK + 0x3800));
	assert_false(sw_wine_on_signal_stack(&teb, TEB_BLOCK + 0x10000));
	/* With words of 8 bytes nothing is found there. */
	assert_false(sw_wine_teb_read(fake_memory(&w.fake), TEB, &teb));
}

static void frame_put(struct world *w, uint32_t frame, uint32_t eip, uint32_t esp)
{
	put(w, frame + 0x08, eip);
	put(w, frame + 0x0c, esp);
	put(w, frame + 0x20, 0xb0);
	put(w, frame + 0x2c, 0xd1);
	put(w, frame + 0x30, 0x51);
	put(w, frame + 0x34, 0xb9);
}

TEST(test_syscall)
{
	struct world w;
	struct sw_wine_teb teb = world_make(&w);
	struct sw_memory memory = fake_memory_32(&w.fake);
	struct sw_regs regs;
	uint64_t frame, fault;
	frame_put(&w, FRAME, 0x7b001234, WINDOWS + 0x100);
	frame_put(&w, OUTER, 0x7b005678, WINDOWS + 0x800);
	put(&w, FRAME + 0x3c, OUTER);
	/* Which of them, sp tells. */
	assert_int_equal(sw_wine_syscall_frame(memory, &teb, FRAME - 0x20, &frame, &fault),
			 SW_WINE_OK);
	assert_int_equal(frame, FRAME);
	assert_int_equal(sw_wine_syscall_frame(memory, &teb, FRAME + 0x300, &frame, &fault),
			 SW_WINE_OK);
	assert_int_equal(frame, OUTER);
	assert_int_equal(sw_wine_syscall_frame(memory, &teb, OUTER + 0x300, &frame, &fault),
			 SW_WINE_NONE);
	assert_int_equal(sw_wine_syscall_regs(memory, FRAME, &regs, &fault), SW_WINE_OK);
	assert_int_equal(regs.pc_avma, 0x7b001234);
	assert_int_equal(regs.sp_avma, WINDOWS + 0x100);
	assert_int_equal(walk_reg(&regs, SW_X86_64_RBX), 0xb0);
	assert_int_equal(walk_reg(&regs, SW_X86_64_RDI), 0xd1);
	assert_int_equal(walk_reg(&regs, SW_X86_64_RSI), 0x51);
	assert_int_equal(walk_reg(&regs, SW_X86_64_RBP), 0xb9);
	assert_int_equal(sw_wine_syscall_regs(memory, UNIX_END, &regs, &fault), SW_WINE_UNREADABLE);
	assert_int_equal(fault, UNIX_END);
}

/* A system call's frame goes on behind the call that its thunk made; a unix call's sp is as when it was made, with
 * the arguments that the dispatcher takes. */
TEST(test_dispatcher)
{
	struct world world;
	const struct sw_thread thread = {0};
	struct sw_wine w = {.thread = &thread, .has_teb = true, .teb = world_make(&world)};
	struct sw_cursor c = {.memory = fake_memory_32(&world.fake), .thread = &thread};
	frame_put(&world, FRAME, 0x7b001234, WINDOWS + 0x100);
	sw_regs_set(&c.regs, SW_ARCH_SP, FRAME - 0x20);
	for (int i = 0; i < SW_WINE_CALLS; i++) {
		struct sw_stepped s = {0};
		assert_int_equal(sw_wine_dispatcher_step(&w, (enum sw_wine_call) i, &c, &s),
				 SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, 0x7b001234);
		assert_int_equal(s.regs.sp_avma, WINDOWS + (i == SW_WINE_SYSCALL ? 0x100 : 0xf0));
		assert_int_equal(s.flags, i == SW_WINE_SYSCALL ? SW_FRAME_EXACT_PC : 0);
		assert_true(s.other_stack);
	}
}

/* Put a CONTEXT at avma. */
static void context_put(struct world *w, uint32_t avma)
{
	put(w, avma, 0x10007);
	put(w, avma + 0x9c, 0xd1);
	put(w, avma + 0xb4, 0xb9);
	put(w, avma + 0xb8, 0x401234);
	put(w, avma + 0xbc, 0x23);
	put(w, avma + 0xc4, WINDOWS + 0xe00);
}

TEST(test_context)
{
	enum { SP = WINDOWS + 0x200 };
	/* KiUserApcDispatcher before and behind its first pop, KiUserExceptionDispatcher; KiUserApcDispatcher behind
	 * its call, and behind each argument that it pushes then. */
	static const uint32_t places[] = {SP + 0x14, SP + 0x10, SP + 0x58, SP + 4, SP + 8, SP + 12};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct world w;
		struct sw_regs regs;
		uint64_t fault;
		(void) world_make(&w);
		struct sw_memory memory = fake_memory_32(&w.fake);
		context_put(&w, places[i]);
		if (i == 2)
			put(&w, SP + 4, places[i]);
		assert_int_equal(sw_wine_context_regs(memory, SP, &regs, &fault), SW_WINE_OK);
		assert_int_equal(regs.pc_avma, 0x401234);
		assert_int_equal(regs.sp_avma, WINDOWS + 0xe00);
		assert_int_equal(walk_reg(&regs, SW_X86_64_RBP), 0xb9);
		put(&w, places[i] + 0xbc, 0x33);
		assert_int_equal(sw_wine_context_regs(memory, SP, &regs, &fault), SW_WINE_NONE);
	}
	/* KiUserApcDispatcher of Wine 8: through its first argument. */
	struct world w;
	struct sw_regs regs;
	uint64_t fault;
	(void) world_make(&w);
	context_put(&w, SP + 0x80);
	put(&w, SP, SP + 0x80);
	assert_int_equal(sw_wine_i386_argument_regs(fake_memory_32(&w.fake), SP, &regs, &fault),
			 SW_WINE_OK);
	assert_int_equal(regs.pc_avma, 0x401234);
	put(&w, SP, SP - 0x80); /* not above */
	assert_int_equal(sw_wine_i386_argument_regs(fake_memory_32(&w.fake), SP, &regs, &fault),
			 SW_WINE_NONE);
}

/* The caller of a callback: by the frame's CFA in Wine 9, by ebp behind the frame in Wine 8. */
TEST(test_callback)
{
	enum { EBP = CFA - 8 };
	for (int is_8 = 0; is_8 < 2; is_8++) {
		struct world w;
		struct sw_wine_teb teb = world_make(&w);
		struct sw_memory memory = fake_memory_32(&w.fake);
		struct sw_regs regs;
		uint64_t fault;
		frame_put(&w, OUTER, 0x7b005678, WINDOWS + 0x800);
		put(&w, FRAME + 0x3c, OUTER);
		put(&w, FRAME + 0x38, is_8 ? 0x7c001000 : CFA);
		put(&w, FRAME + 0x380, is_8 ? EBP : 0);
		put(&w, EBP - 0x0c, 0xd1);
		put(&w, EBP - 0x08, 0x51);
		put(&w, EBP - 0x04, 0xb0);
		put(&w, EBP, 0xb9);
		put(&w, EBP + 4, 0x7c123456);
		assert_int_equal(sw_wine_callback_regs(memory, &teb, WINDOWS + 0x700, &regs,
						       &fault),
				 SW_WINE_OK);
		assert_int_equal(regs.pc_avma, 0x7c123456);
		assert_int_equal(regs.sp_avma, CFA);
		assert_int_equal(walk_reg(&regs, SW_X86_64_RBX), 0xb0);
		assert_int_equal(walk_reg(&regs, SW_X86_64_RSI), 0x51);
		assert_int_equal(walk_reg(&regs, SW_X86_64_RDI), 0xd1);
		assert_int_equal(walk_reg(&regs, SW_X86_64_RBP), 0xb9);
		/* Above the call that called back nothing did. */
		assert_int_equal(sw_wine_callback_regs(memory, &teb, WINDOWS + 0x900, &regs,
						       &fault),
				 SW_WINE_NONE);
		put(&w, FRAME + 0x38, 0);
		put(&w, FRAME + 0x380, WINDOWS);
		assert_int_equal(sw_wine_callback_regs(memory, &teb, WINDOWS + 0x700, &regs,
						       &fault),
				 SW_WINE_NONE);
	}
}

/* The kernel's frame of a signal: uc_stack, and behind it the registers. */
TEST(test_signal)
{
	struct world w;
	struct sw_wine_teb teb = world_make(&w);
	uint32_t words[64] = {0};
	uint64_t sp;
	words[20] = TEB_BLOCK + 0x3800;
	words[22] = 0x10000 - 0x3800;
	words[23 + 7] = WINDOWS + 0x123c;
	assert_true(sw_wine_signal_sp((struct sw_bytes){(const uint8_t *) words, sizeof(words)},
				      &teb, &sp));
	assert_int_equal(sp, WINDOWS + 0x123c);
	words[22] = 0;
	assert_false(sw_wine_signal_sp((struct sw_bytes){(const uint8_t *) words, sizeof(words)},
				       &teb, &sp));
}

/* A core file without the segments of its threads, as gdb writes them. In a process, or with segments but no TEB,
 * it is no Wine. */
TEST(test_lost_tebs)
{
	static const uint64_t stack[1];
	for (int i = 0; i < 3; i++) {
		struct sw_wine_ntdll n;
		struct sw_snapshot *snap = fake_snapshot_create();
		snap->process.elf_class = 32;
		(void) fake_snapshot_module(snap, SW_MODULE_PE, "/w/ntdll.dll", 0x700000, 0x700000,
					    0x701000, NULL, 0);
		fake_snapshot_thread(snap, 1, 0x700010, 0x10000, stack, 1)->fs_base =
			i == 1 ? 0xf7d00000 : 0;
		fake_snapshot_finish(snap);
		snap->live = i == 2;
		assert_int_equal(sw_wine_ntdll_find(snap, &n), i == 0);
		if (i == 0)
			assert_string_equal(n.problem,
					    "the core file does not say where its threads' "
					    "TEBs are, as those of gdb do not");
		fake_snapshot_destroy(snap);
	}
}
