/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/runtime.h"
#include "arch/arch.h"
#include "unwind/unwinder.h"
#include "walk_case.h"
#include "wine_case.h"
#include "test.h"

enum {
	UNIX_SP = WINE_FRAME - 0x100,    /* of a Unix function */
	DISPATCHER_SP = UNIX_SP + 8,     /* of the dispatcher that called it */
	WINDOWS_SP = 0x40008000,         /* of the Windows code that made the call */
	TOP_SP = WINE_WINDOWS_END - 0x28 /* of the thread's first function */
};

/* The end of every Windows stack here: the app's function was called by the thread's first one. */
static void windows_end(struct wine_case *w, uint64_t sp)
{
	wine_put(w, sp, wine_dll(WINE_START) + 0x10);
	wine_put(w, TOP_SP, 0);
}

/* A function that is called by the app's function, whose return address is at the top. */
#define LAST_FRAMES(sp)                                                            \
	{wine_dll(WINE_APP) + 8, TOP_SP - 8, "pe-unwind", "unwind_info", 0},       \
	{                                                                          \
		wine_dll(WINE_START) + 0x10, TOP_SP, "pe-unwind", "unwind_info", 0 \
	}

static void frame_put(struct wine_case *w, uint64_t frame, uint64_t rip, uint64_t rsp)
{
	wine_put(w, frame + FRAME_RIP, rip);
	wine_put(w, frame + FRAME_RSP, rsp);
}

/* The thread waits in a system call: the Windows frames come out of the syscall_frame. */
TEST(test_system_call)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	wine_put(w, UNIX_SP, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	frame_put(w, WINE_FRAME, wine_dll(WINE_THUNK), TOP_SP - 16);
	wine_put(w, TOP_SP - 16, wine_dll(WINE_APP) + 8);
	windows_end(w, TOP_SP - 8);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	walk_is(snap, NULL,
		FRAMES({wine_so(WINE_FUNCTION), UNIX_SP, "context", "context", SW_FRAME_EXACT_PC},
		       {wine_so(WINE_SYSCALL_DISPATCHER) + 8, DISPATCHER_SP, "elf-cfi", "cfi", 0},
		       {wine_dll(WINE_THUNK), TOP_SP - 16, "wine", "runtime", SW_FRAME_EXACT_PC},
		       LAST_FRAMES()),
		SW_END_COMPLETE, NULL);
	free(w);
}

/* A program that looks for changes of ntdll.dll has mapped it again: the other one is what runs. */
TEST(test_copy_of_ntdll)
{
	struct wine_case *w = malloc(sizeof(*w));
	struct sw_walks *walks;
	wine_case_init(w);
	w->has_copy = true;
	wine_put(w, UNIX_SP, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	frame_put(w, WINE_FRAME, wine_dll(WINE_THUNK), TOP_SP - 16);
	wine_put(w, TOP_SP - 16, wine_dll(WINE_APP) + 8);
	windows_end(w, TOP_SP - 8);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_int_equal(walks->n_runtimes, 1);
	assert_string_equal(walks->runtimes[0].version, "8.0");
	assert_string_equal(walks->runtimes[0].problem, "");
	assert_int_equal(walks->walks[0].n_frames, 5);
	assert_int_equal(walks->walks[0].end, SW_END_COMPLETE);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(w);
}

/* A unix call's caller is a return address. */
TEST(test_unix_call)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	wine_put(w, UNIX_SP, wine_so(WINE_UNIX_DISPATCHER) + 8);
	frame_put(w, WINE_FRAME, wine_dll(WINE_APP) + 8, TOP_SP - 8);
	windows_end(w, TOP_SP - 8);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	walk_is(snap, NULL,
		FRAMES({wine_so(WINE_FUNCTION), UNIX_SP, "context", "context", SW_FRAME_EXACT_PC},
		       {wine_so(WINE_UNIX_DISPATCHER) + 8, DISPATCHER_SP, "elf-cfi", "cfi", 0},
		       {wine_dll(WINE_APP) + 8, TOP_SP - 8, "wine", "runtime", 0},
		       {wine_dll(WINE_START) + 0x10, TOP_SP, "pe-unwind", "unwind_info", 0}),
		SW_END_COMPLETE, NULL);
	free(w);
}

/* Windows code runs: what is left in the syscall_frame is of a call that has returned. */
TEST(test_stale_frame)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	frame_put(w, WINE_FRAME, wine_dll(WINE_THUNK), WINDOWS_SP);
	windows_end(w, TOP_SP - 8);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_dll(WINE_APP) + 8, TOP_SP - 8);
	walk_is(snap, NULL,
		FRAMES({wine_dll(WINE_APP) + 8, TOP_SP - 8, "context", "context",
			SW_FRAME_EXACT_PC},
		       {wine_dll(WINE_START) + 0x10, TOP_SP, "pe-unwind", "unwind_info", 0}),
		SW_END_COMPLETE, NULL);
	free(w);
}

/* At its first and last instructions the dispatcher is still, or again, on the Windows stack. */
TEST(test_dispatcher_edge)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	wine_put(w, TOP_SP - 24, wine_dll(WINE_THUNK));
	wine_put(w, TOP_SP - 16, wine_dll(WINE_APP) + 8);
	windows_end(w, TOP_SP - 8);
	struct sw_snapshot *snap =
		wine_case_snapshot(w, wine_so(WINE_SYSCALL_DISPATCHER), TOP_SP - 24);
	walk_is(snap, NULL,
		FRAMES({wine_so(WINE_SYSCALL_DISPATCHER), TOP_SP - 24, "context", "context",
			SW_FRAME_EXACT_PC},
		       {wine_dll(WINE_THUNK), TOP_SP - 16, "wine", "runtime", SW_FRAME_EXACT_PC},
		       LAST_FRAMES()),
		SW_END_COMPLETE, NULL);
	free(w);
}

/* About to leave: sp is inside the frame, no longer below it. */
TEST(test_dispatcher_leaving)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	frame_put(w, WINE_FRAME, wine_dll(WINE_THUNK), TOP_SP - 16);
	wine_put(w, TOP_SP - 16, wine_dll(WINE_APP) + 8);
	windows_end(w, TOP_SP - 8);
	uint64_t sp = WINE_FRAME + 0x70;
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_SYSCALL_DISPATCHER) + 8, sp);
	walk_is(snap, NULL,
		FRAMES({wine_so(WINE_SYSCALL_DISPATCHER) + 8, sp, "context", "context",
			SW_FRAME_EXACT_PC},
		       {wine_dll(WINE_THUNK), TOP_SP - 16, "wine", "runtime", SW_FRAME_EXACT_PC},
		       LAST_FRAMES()),
		SW_END_COMPLETE, NULL);
	free(w);
}

/*
 * Unix code called back: app <- dispatcher(outer frame) <- Unix function <- [callback] <-
 * KiUserCallbackDispatcher <- app, which waits in a system call of the inner frame.
 */
static void callback_put(struct wine_case *w, bool is_10)
{
	enum { INNER = WINE_FRAME - 0x2000, RBP = INNER + 0x500 };
	wine_put(w, WINE_TEB + TEB_SYSCALL_FRAME, INNER);
	wine_put(w, INNER + FRAME_PREV, WINE_FRAME);
	wine_put(w, INNER - 0x80, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	frame_put(w, INNER, wine_dll(WINE_THUNK), WINDOWS_SP);
	wine_put(w, WINDOWS_SP, wine_dll(WINE_APP) + 8);
	wine_put(w, WINDOWS_SP + 8, wine_dll(WINE_CALLBACK) + 0x10);
	wine_put(w, INNER + FRAME_CFA, is_10 ? RBP + 16 : WINE_NTDLL);
	wine_put(w, INNER + FRAME_RBP_8, is_10 ? 0 : RBP);
	wine_put(w, RBP, 0x1234); /* the caller's rbp */
	wine_put(w, RBP + 8, wine_so(WINE_FUNCTION) + 4);
	wine_put(w, RBP - 8, 0x5678);    /* rbx */
	wine_put(w, RBP - 0x28, 0x9abc); /* Wine 8: r13; 10: r15 */
	wine_put(w, RBP + 16, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	frame_put(w, WINE_FRAME, wine_dll(WINE_THUNK), TOP_SP - 16);
	wine_put(w, TOP_SP - 16, wine_dll(WINE_APP) + 8);
	windows_end(w, TOP_SP - 8);
}

static void callback_is(bool is_10)
{
	enum { INNER = WINE_FRAME - 0x2000, SP = INNER - 0x80, RBP = INNER + 0x500 };
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	callback_put(w, is_10);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), SP);
	walk_is(snap, NULL,
		FRAMES({wine_so(WINE_FUNCTION), SP, "context", "context", SW_FRAME_EXACT_PC},
		       {wine_so(WINE_SYSCALL_DISPATCHER) + 8, SP + 8, "elf-cfi", "cfi", 0},
		       {wine_dll(WINE_THUNK), WINDOWS_SP, "wine", "runtime", SW_FRAME_EXACT_PC},
		       {wine_dll(WINE_APP) + 8, WINDOWS_SP + 8, "pe-unwind", "unwind_info", 0},
		       {wine_dll(WINE_CALLBACK) + 0x10, WINDOWS_SP + 16, "pe-unwind", "unwind_info",
			0},
		       {wine_so(WINE_FUNCTION) + 4, RBP + 16, "wine", "runtime", 0},
		       {wine_so(WINE_SYSCALL_DISPATCHER) + 8, RBP + 24, "elf-cfi", "cfi", 0},
		       {wine_dll(WINE_THUNK), TOP_SP - 16, "wine", "runtime", SW_FRAME_EXACT_PC},
		       LAST_FRAMES()),
		SW_END_COMPLETE, NULL);
	free(w);
}

TEST(test_callback_8)
{
	callback_is(false);
}

TEST(test_callback_10)
{
	callback_is(true);
}

/* The callback runs Windows code and has made no call yet: the inner frame is only made. */
TEST(test_callback_running)
{
	struct wine_case *w = malloc(sizeof(*w));
	enum { RBP = WINE_FRAME - 0x2000 + 0x500 };
	wine_case_init(w);
	callback_put(w, true);
	frame_put(w, WINE_FRAME - 0x2000, 0xdead, 0xdead);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_dll(WINE_APP) + 8, WINDOWS_SP + 8);
	walk_is(snap, NULL,
		FRAMES({wine_dll(WINE_APP) + 8, WINDOWS_SP + 8, "context", "context",
			SW_FRAME_EXACT_PC},
		       {wine_dll(WINE_CALLBACK) + 0x10, WINDOWS_SP + 16, "pe-unwind", "unwind_info",
			0},
		       {wine_so(WINE_FUNCTION) + 4, RBP + 16, "wine", "runtime", 0},
		       {wine_so(WINE_SYSCALL_DISPATCHER) + 8, RBP + 24, "elf-cfi", "cfi", 0},
		       {wine_dll(WINE_THUNK), TOP_SP - 16, "wine", "runtime", SW_FRAME_EXACT_PC},
		       LAST_FRAMES()),
		SW_END_COMPLETE, NULL);
	free(w);
}

/* Windows that make windows: callbacks in callbacks, as many as Wine allows and more. */
TEST(test_callbacks_nested)
{
	enum { N = 100, APART = 0x180, RBP = 0x120, FRAMES_EACH = 5, FRAMES_LAST = 4 };
	uint64_t frame = WINE_FRAME, windows = TOP_SP - 16;
	struct wine_case *w = malloc(sizeof(*w));
	struct sw_walks *walks;
	wine_case_init(w);
	frame_put(w, frame, wine_dll(WINE_THUNK), windows);
	wine_put(w, windows, wine_dll(WINE_APP) + 8);
	windows_end(w, TOP_SP - 8);
	for (size_t i = 0; i < N; i++) {
		wine_put(w, frame - APART + FRAME_PREV, frame);
		frame -= APART;
		windows -= 0x20;
		wine_put(w, frame + FRAME_CFA, frame + RBP + 16);
		wine_put(w, frame + RBP + 8, wine_so(WINE_FUNCTION) + 4);
		wine_put(w, frame + RBP + 16, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
		frame_put(w, frame, wine_dll(WINE_THUNK), windows);
		wine_put(w, windows, wine_dll(WINE_APP) + 8);
		wine_put(w, windows + 8, wine_dll(WINE_CALLBACK) + 0x10);
	}
	wine_put(w, WINE_TEB + TEB_SYSCALL_FRAME, frame);
	wine_put(w, frame - 0x80, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), frame - 0x80);
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	const struct sw_walk *walk = &walks->walks[0];
	assert_null(walk->why);
	assert_int_equal(walk->end, SW_END_COMPLETE);
	assert_int_equal(walk->n_frames, 1 + N * FRAMES_EACH + FRAMES_LAST);
	assert_int_equal(walk->frames[walk->n_frames - 1].sp_avma, TOP_SP);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(w);
}

/* Nobody can have called back: said, not passed over. */
TEST(test_callback_none)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	struct sw_snapshot *snap =
		wine_case_snapshot(w, wine_dll(WINE_CALLBACK) + 0x10, WINDOWS_SP);
	walk_is(snap, NULL,
		FRAMES({wine_dll(WINE_CALLBACK) + 0x10, WINDOWS_SP, "context", "context",
			SW_FRAME_EXACT_PC}),
		SW_END_BAD_UNWIND_INFO, "no system call is there that could have called back");
	free(w);
}

/* An exception, an APC of Wine 8 and of Wine 10: the interrupted registers are in a CONTEXT. */
static void context_is(uint64_t dispatcher, uint64_t context_off)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	uint64_t context = WINDOWS_SP + context_off;
	wine_put(w, context + 0x30, 0x10000f);
	wine_put(w, context + 0x38, 0x33);
	wine_put(w, context + 0x98, TOP_SP - 8);
	wine_put(w, context + 0xf8, wine_dll(WINE_APP));
	windows_end(w, TOP_SP - 8);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_dll(dispatcher) + 0x10, WINDOWS_SP);
	walk_is(snap, NULL,
		FRAMES({wine_dll(dispatcher) + 0x10, WINDOWS_SP, "context", "context",
			SW_FRAME_EXACT_PC | SW_FRAME_SIGNAL},
		       {wine_dll(WINE_APP), TOP_SP - 8, "wine", "runtime", SW_FRAME_EXACT_PC},
		       {wine_dll(WINE_START) + 0x10, TOP_SP, "pe-unwind", "unwind_info", 0}),
		SW_END_COMPLETE, NULL);
	free(w);
}

TEST(test_context)
{
	context_is(WINE_EXCEPTION, 0);
	context_is(WINE_APC, 0);
	context_is(WINE_APC, 0x30);
	context_is(WINE_APC, 0x38);
}

/* A call through a wild pointer: what was interrupted is no code. */
TEST(test_context_wild)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	wine_put(w, WINDOWS_SP + 0x30, 0x10000f);
	wine_put(w, WINDOWS_SP + 0x38, 0x33);
	wine_put(w, WINDOWS_SP + 0x98, TOP_SP - 8);
	wine_put(w, WINDOWS_SP + 0xf8, 0);
	struct sw_snapshot *snap =
		wine_case_snapshot(w, wine_dll(WINE_EXCEPTION) + 0x10, WINDOWS_SP);
	walk_is(snap, &(struct sw_walk_options){.mode = SW_WALK_TABLES},
		FRAMES({wine_dll(WINE_EXCEPTION) + 0x10, WINDOWS_SP, "context", "context",
			SW_FRAME_EXACT_PC | SW_FRAME_SIGNAL},
		       {0, TOP_SP - 8, "wine", "runtime", SW_FRAME_EXACT_PC}),
		SW_END_NO_UNWIND_INFO, "code that belongs to no module");
	free(w);
}

/* A thread that loads its DLLs: nothing has called the loader. */
TEST(test_loader)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_dll(WINE_LOADER) + 8, WINDOWS_SP);
	walk_is(snap, NULL,
		FRAMES({wine_dll(WINE_LOADER) + 8, WINDOWS_SP, "context", "context",
			SW_FRAME_EXACT_PC}),
		SW_END_COMPLETE, NULL);
	free(w);
}

/* Behind the loader: the stack is being cleared, and then the first CONTEXT is below it. */
TEST(test_thread_start)
{
	static const uint64_t context = WINE_WINDOWS_END - 0x30 - 0x4d0;
	const struct {
		uint64_t rbx, sp;
		enum sw_end end;
		const char *why;
	} cases[] = {
		{context, context - 0x20, SW_END_COMPLETE, NULL},
		{context - 16, context - 0x20, SW_END_BAD_UNWIND_INFO,
		 "the return address is 0, which proves no end"},
		{context, context - 0x28, SW_END_BAD_UNWIND_INFO,
		 "the return address is 0, which proves no end"},
	};
	struct wine_case *w = malloc(sizeof(*w));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t pc = wine_dll(WINE_APP) + 8, sp = cases[i].sp;
		wine_case_init(w);
		struct sw_snapshot *snap = wine_case_snapshot(w, pc, sp);
		sw_regs_set(&snap->threads[0].regs, SW_X86_64_RBX, cases[i].rbx);
		walk_is(snap, NULL, FRAMES({pc, sp, "context", "context", SW_FRAME_EXACT_PC}),
			cases[i].end, cases[i].why);
	}
	free(w);
}

/* A thread's start in Unix code, with sp at the frame that it has just got. */
TEST(test_unix_start)
{
	enum { SP = WINE_FRAME - 8, KEPT = WINE_FRAME + 0x400 };
	struct wine_case *w = malloc(sizeof(*w));
	for (int is_10 = 0; is_10 < 2; is_10++) {
		wine_case_init(w);
		wine_put(w, SP, wine_so(WINE_FUNCTION) + 2);
		/* Wine 8: behind seven registers; Wine 10: above rbp. */
		uint64_t kept = is_10 ? KEPT + 8 : KEPT + 0x38;
		wine_put(w, WINE_TEB + TEB_EXIT_FRAME, is_10 ? 0x7777 : KEPT);
		wine_put(w, kept, wine_so(WINE_FUNCTION) + 4);
		wine_put(w, kept + 8, 0);
		struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), SP);
		snap->threads[0].fs_base = 0x7777;
		sw_regs_set(&snap->threads[0].regs, SW_X86_64_RBP, is_10 ? KEPT : 0);
		walk_is(snap, &(struct sw_walk_options){.mode = SW_WALK_TABLES},
			FRAMES({wine_so(WINE_FUNCTION), SP, "context", "context",
				SW_FRAME_EXACT_PC},
			       {wine_so(WINE_FUNCTION) + 2, WINE_FRAME, "elf-cfi", "cfi", 0},
			       {wine_so(WINE_FUNCTION) + 4, kept + 8, "wine", "runtime", 0}),
			SW_END_BAD_UNWIND_INFO, "the return address is 0, which proves no end");
	}
	free(w);
}

/* About to call back: the frame pointer is right, the call frame information is not. */
TEST(test_calls_back)
{
	enum { RBP = WINE_FRAME - 0x500 };
	struct wine_case *w = malloc(sizeof(*w));
	for (int is_10 = 0; is_10 < 2; is_10++) {
		wine_case_init(w);
		wine_put(w, WINE_TEB + TEB_EXIT_FRAME, is_10 ? 0x7777 : 0x8888);
		wine_put(w, RBP, 0x1111);
		wine_put(w, RBP + 8, wine_so(WINE_FUNCTION) + 4);
		wine_put(w, RBP - (is_10 ? 0x10 : 0x20), 0x2222);
		uint64_t pc = wine_so(WINE_CALLS_BACK) + 8, sp = WINE_FRAME - 0x1000;
		struct sw_snapshot *snap = wine_case_snapshot(w, pc, sp);
		struct sw_thread *t = &snap->threads[0];
		t->fs_base = 0x7777;
		sw_regs_set(&t->regs, SW_X86_64_RBP, RBP);
		sw_regs_set(&t->regs, SW_X86_64_R12, 0x3333);
		sw_regs_set(&t->regs, SW_X86_64_R13, 0x4444); /* not saved yet */
		fake_snapshot_finish(snap);
		const struct sw_runtime_ops *ops = &sw_runtime_wine;
		struct walk_cursor cursor;
		struct sw_stepped stepped = {0};
		void *wine;
		assert_int_equal(ops->open(snap, NULL, &wine), 0);
		walk_cursor_init(&cursor, snap, t, true);
		assert_int_equal(ops->step(wine, &cursor.cursor, &stepped), SW_STEP_OK);
		assert_int_equal(stepped.regs.pc_avma, wine_so(WINE_FUNCTION) + 4);
		assert_int_equal(stepped.regs.sp_avma, RBP + 16);
		assert_int_equal(walk_reg(&stepped.regs, SW_X86_64_RBP), 0x1111);
		assert_int_equal(walk_reg(&stepped.regs, SW_X86_64_R12), 0x2222);
		assert_int_equal(walk_reg(&stepped.regs, SW_X86_64_R13), 0x4444);
		assert_int_equal(stepped.flags, 0);
		/* A thread that has no TEB yet, in a function of Wine 10 that does the same. */
		struct sw_thread begun = *t;
		begun.gs_base = 0;
		stepped = (struct sw_stepped){0};
		walk_cursor_init(&cursor, snap, &begun, true);
		assert_int_equal(ops->step(wine, &cursor.cursor, &stepped), SW_STEP_OK);
		assert_int_equal(walk_reg(&stepped.regs, SW_X86_64_R12), is_10 ? 0x2222 : 0);
		ops->close(wine);
		fake_snapshot_destroy(snap);
	}
	free(w);
}

/* A syscall_frame that cannot be read, and one that leads to itself. */
TEST(test_hostile_frame)
{
	struct wine_case *w = malloc(sizeof(*w));
	uint64_t low = WINE_UNIX + 0x1000;
	wine_case_init(w);
	wine_put(w, UNIX_SP, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	wine_put(w, WINE_TEB + TEB_SYSCALL_FRAME, low);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	walk_is(snap, NULL,
		FRAMES({wine_so(WINE_FUNCTION), UNIX_SP, "context", "context", SW_FRAME_EXACT_PC},
		       {wine_so(WINE_SYSCALL_DISPATCHER) + 8, DISPATCHER_SP, "elf-cfi", "cfi", 0}),
		SW_END_MEMORY, "registers that Wine saved could not be read");

	wine_case_init(w);
	wine_put(w, UNIX_SP, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	wine_put(w, WINE_TEB + TEB_SYSCALL_FRAME, WINE_FRAME - 0x1000);
	wine_put(w, WINE_FRAME - 0x1000 + FRAME_PREV, WINE_FRAME - 0x1000);
	snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	walk_is(snap, NULL,
		FRAMES({wine_so(WINE_FUNCTION), UNIX_SP, "context", "context", SW_FRAME_EXACT_PC},
		       {wine_so(WINE_SYSCALL_DISPATCHER) + 8, DISPATCHER_SP, "elf-cfi", "cfi", 0}),
		SW_END_BAD_UNWIND_INFO, "no frame of a system call encloses the dispatcher's");
	free(w);
}

/* The texts on the process and on the thread, and the names of the dispatchers. */
TEST(test_told)
{
	struct wine_case *w = malloc(sizeof(*w));
	struct sw_walks *walks;
	struct sw_description d;
	wine_case_init(w);
	wine_put(w, UNIX_SP, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	frame_put(w, WINE_FRAME, wine_dll(WINE_THUNK), TOP_SP - 16);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_int_equal(walks->n_runtimes, 1);
	assert_string_equal(walks->runtimes[0].name, "wine");
	assert_string_equal(walks->runtimes[0].version, "8.0");
	assert_string_equal(walks->runtimes[0].where, "/wine/x86_64-windows/ntdll.dll");
	assert_string_equal(walks->runtimes[0].problem, "");
	assert_int_equal(walks->runtimes[0].entries, -1);
	const struct sw_thread_info *note = walks->walks[0].info;
	assert_non_null(note);
	assert_string_equal(note->runtime, "wine");
	assert_int_equal(note->id, 0x24);
	const struct sw_frame *dispatcher = &walks->walks[0].frames[1];
	assert_string_equal(dispatcher->kind, "native");
	assert_int_equal(sw_walk_describe(walks, dispatcher, &d), 1);
	assert_string_equal(d.function, "__wine_syscall_dispatcher");
	assert_int_equal(d.start_avma, wine_so(WINE_SYSCALL_DISPATCHER));
	assert_int_equal(sw_walk_describe(walks, &walks->walks[0].frames[0], &d), 0);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(w);
}

/* Exports that do not say where one side enters the other: a problem that is told. */
static void problem_is(const struct wine_case *made, const char *problem)
{
	struct wine_case *w = malloc(sizeof(*w));
	struct sw_walks *walks;
	wine_case_init(w);
	w->no_dispatchers = made->no_dispatchers;
	w->no_callbacks = made->no_callbacks;
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_int_equal(walks->n_runtimes, 1);
	assert_string_equal(walks->runtimes[0].problem, problem);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(w);
}

TEST(test_missing_exports)
{
	static const struct wine_case no_dispatchers = {.no_dispatchers = true},
				      no_callbacks = {.no_callbacks = true};
	problem_is(&no_dispatchers, "ntdll.dll does not say where system calls and unix calls go");
	problem_is(&no_callbacks,
		   "ntdll.dll does not say where callbacks, exceptions and APCs enter it");
}

/* A walk by the dispatcher's call frame information alone is no whole stack. */
TEST(test_unknown_dispatcher)
{
	struct wine_case *w = malloc(sizeof(*w));
	wine_case_init(w);
	w->no_dispatchers = true;
	wine_put(w, UNIX_SP, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	wine_put(w, DISPATCHER_SP, wine_so(WINE_FUNCTION) + 8);
	wine_put(w, DISPATCHER_SP + 16, DISPATCHER_SP + 8);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	walk_is(snap, NULL,
		FRAMES({wine_so(WINE_FUNCTION), UNIX_SP, "context", "context", SW_FRAME_EXACT_PC},
		       {wine_so(WINE_SYSCALL_DISPATCHER) + 8, DISPATCHER_SP, "elf-cfi", "cfi", 0}),
		SW_END_BAD_UNWIND_INFO, "what called Wine's dispatcher is not known: see runtimes");
	free(w);
}

/* A Wine that keeps its frames elsewhere: this is told, and no stack ends before Windows. */
TEST(test_unknown_teb)
{
	struct wine_case *w = malloc(sizeof(*w));
	struct sw_walks *walks;
	wine_case_init(w);
	wine_put(w, WINE_TEB + TEB_SYSCALL_FRAME, 0);
	wine_put(w, UNIX_SP, wine_so(WINE_SYSCALL_DISPATCHER) + 8);
	wine_put(w, DISPATCHER_SP, wine_so(WINE_FUNCTION) + 8);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_string_equal(walks->runtimes[0].problem,
			    "its threads' TEBs are not as Wine 8 to 10 lay them out");
	assert_int_equal(walks->walks[0].n_frames, 2);
	assert_int_equal(walks->walks[0].end, SW_END_BAD_UNWIND_INFO);
	assert_string_equal(walks->walks[0].why, "the thread's TEB is not fit for use");
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(w);
}

/* No thread has a TEB: another program that maps a DLL of this name. */
TEST(test_no_wine)
{
	struct wine_case *w = malloc(sizeof(*w));
	struct sw_walks *walks;
	wine_case_init(w);
	wine_put(w, WINE_TEB + 0x30, 0);
	struct sw_snapshot *snap = wine_case_snapshot(w, wine_so(WINE_FUNCTION), UNIX_SP);
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_int_equal(walks->n_runtimes, 0);
	assert_null(walks->walks[0].info);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(w);
}
