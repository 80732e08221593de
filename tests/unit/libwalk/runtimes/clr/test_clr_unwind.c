/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unwind.c, hijack_x86_64.c, restore_x86_64.c and threads.c. */
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/tasks/all_tasks.h"
#include "runtimes/clr/unwind.h"
#include "arch/arch.h"
#include "runtimes/clr/threads.h"
#include "clr_world.h"
#include "walk_case.h"
#include "snapshot/read.h"
#include "test.h"

enum {
	STORE_VARIABLE = 0x7100, /* in WORLD_DATA */
	STORE = 0x7200,
	THREAD = 0x7400,
	HIJACK = 0x98, /* in a Thread */
	METHOD = 0x100,
	CALLER = 0x200,
	RETURN = CALLER + 0x10,
	STUB = 0x400,
	STUB_WITH_CODE = 0x480,
	DEAD_THREAD = 0x7700, /* in WORLD_DATA */
	BARRIER = 0x3000,
	PLAIN_LEAF = 0x20, /* in PLAIN */
	RESTORE = 0x44,    /* in native_code, behind OnHijackTripThread() */
	FRAMED = 0x5a,
};

#define BIAS         UINT64_C(0x550000000000)
#define TRIP         (BIAS + IMAGE_CODE)
#define OTHER        UINT64_C(0x7d0000000000) /* native code that is not the runtime's */
#define OTHER_RETURN (OTHER + 16)
#define PLAIN        UINT64_C(0x7c0000000000) /* executable memory without a name */
#define PE           UINT64_C(0x7b0000000000) /* an image for Windows */
#define SP           (UINT64_C(0) + FAKE_STACK_AVMA + FAKE_STACK_BYTES)

/* OnHijackTripThread() of .NET 10.0.12; .NET 8 and 9 do not push rcx and make space for 0x28. Behind it what
 * ClrRestoreNonvolatileContextWorker() has. */
static const uint8_t native_code[] = {
	0x50,                               /* 00 push %rax: space for the address */
	0x55, 0x53, 0x41, 0x57, 0x41, 0x56, /* 01 push %rbp, %rbx, %r15, %r14 */
	0x41, 0x55, 0x41, 0x54,             /* 07 push %r13, %r12 */
	0x51, 0x52, 0x50,                   /* 0b push %rcx, %rdx, %rax */
	0x48, 0x89, 0xe7,                   /* 0e mov %rsp,%rdi */
	0x48, 0x8d, 0x64, 0x24, 0xe0,       /* 11 lea -0x20(%rsp),%rsp */
	0x66, 0x0f, 0x7f, 0x04, 0x24,       /* 16 movdqa %xmm0,(%rsp) */
	0x66, 0x0f, 0x7f, 0x4c, 0x24, 0x10, /* 1b movdqa %xmm1,0x10(%rsp) */
	0xe8, 0x00, 0x01, 0x00, 0x00,       /* 21 call OnHijackWorker */
	0x66, 0x0f, 0x6f, 0x04, 0x24,       /* 26 movdqa (%rsp),%xmm0 */
	0x66, 0x0f, 0x6f, 0x4c, 0x24, 0x10, /* 2b movdqa 0x10(%rsp),%xmm1 */
	0x48, 0x8d, 0x64, 0x24, 0x20,       /* 31 lea 0x20(%rsp),%rsp */
	0x58, 0x5a, 0x59,                   /* 36 pop %rax, %rdx, %rcx */
	0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, /* 39 pop %r12, %r13, %r14 */
	0x41, 0x5f, 0x5b, 0x5d,             /* 3f pop %r15, %rbx, %rbp */
	0xc3,                               /* 43 ret */

	0x55,                                     /* 44 push %rbp */
	0x49, 0x89, 0xfa,                         /* 45 mov %rdi,%r10 */
	0x49, 0x8b, 0xaa, 0xa0, 0x00, 0x00, 0x00, /* 48 mov 0xa0(%r10),%rbp */
	0x49, 0x8b, 0xa2, 0x98, 0x00, 0x00, 0x00, /* 4f mov 0x98(%r10),%rsp */
	0xff, 0xe0,                               /* 56 jmp *%rax */
	0x5d,                                     /* 58 pop %rbp */
	0xc3,                                     /* 59 ret */
	/* A function whose frame pointer is right. */
	0x55, 0x90, 0x5d, 0xc3, /* 5a push %rbp; nop; pop %rbp; ret */
};

/* push %rbp; sub $0x20,%rsp; ...; add $0x20,%rsp; pop %rbp; ret */
static const uint8_t method_code[] = {0x55, 0x48, 0x83, 0xec, 0x20, 0x90, 0x90,
				      0x90, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3};
static const uint8_t method_unwind[] = {0x19, 0x05, 0x02, 0x00, 0x05, 0x32, 0x01, 0x50};
static const uint8_t call[] = {0xe8, 0, 0, 0, 0};

/* As of a resolve stub of .NET 10; jne to the second way, which pops, too. */
static const uint8_t stub_code[] = {
	0x52,                   /* 00 push %rdx */
	0x4c, 0x8b, 0x17,       /* 01 mov (%rdi),%r10 */
	0x75, 0x04,             /* 04 jne 0a */
	0x5a,                   /* 06 pop %rdx */
	0xff, 0x60, 0x10,       /* 07 jmp *0x10(%rax) */
	0x5a,                   /* 0a pop %rdx */
	0xeb, 0x02,             /* 0b jmp 0f */
	0x50, 0x90,             /* 0d */
	0xff, 0xe0,             /* 0f jmp *%rax */
	0xe8, 0,    0,    0, 0, /* 11 call */
	0xc3,                   /* 16 */
};

static const struct image_fde fdes[] = {
	{.start = 0, .end = RESTORE, IMAGE_ROWS(0x41, 0x0e, 16)},
	/* Behind one byte a CFA of rbp + 0, with rbp 16 below it; of rbp + 16. */
	{.start = RESTORE, .end = FRAMED, IMAGE_ROWS(0x41, 0x0e, 16, 0x86, 2, 0x0c, 6, 0)},
	{.start = FRAMED, .end = FRAMED + 4, IMAGE_ROWS(0x41, 0x0e, 16, 0x86, 2, 0x0c, 6, 16)}};
static const struct image_parts parts = {.code = native_code,
					 .n_code = sizeof(native_code),
					 .fdes = fdes,
					 .n_fdes = 3};

struct scene {
	struct clr_world world;
	struct sw_snapshot *snap;
	struct sw_clr clr;
	uint8_t *range_data; /* the snapshot's copy of WORLD_DATA */
	struct walk_cursor w;
	struct sw_stepped ret;
};

static struct scene s;

/* The headers of a PE image for that machine, as far as they are looked at. */
static void headers_make(uint8_t *to, uint16_t machine)
{
	enum { LFANEW = 0x80, OPTIONAL = LFANEW + 24 };
	const uint32_t lfanew = LFANEW, optional_bytes = 240, magic = 0x20b, bytes = FAKE_PAGE;
	memcpy(to, "MZ", 2);
	memcpy(to + 0x3c, &lfanew, 4);
	memcpy(to + LFANEW, "PE\0", 4);
	memcpy(to + LFANEW + 4, &machine, 2);
	memcpy(to + LFANEW + 20, &optional_bytes, 2);
	memcpy(to + OPTIONAL, &magic, 2);
	memcpy(to + OPTIONAL + 56, &bytes, 4);
}

/* A thread at pc with that stack; hijacked_slot 0: no Thread knows of a replaced address. */
static void scene_make(uint64_t pc, bool exact_pc, const uint64_t *stack, size_t n,
		       uint64_t hijacked_slot)
{
	static const struct sw_pe_function method[] = {{METHOD, METHOD + 14, 0x180}};
	static const struct sw_pe_function caller[] = {{CALLER, CALLER + 0x40, 0x180}};
	struct clr_world *world = &s.world;
	clr_world_init(world, 2);
	world->runtime.at.store_avma = WORLD_DATA + STORE_VARIABLE;
	clr_world_u64(world, WORLD_DATA + STORE_VARIABLE, WORLD_DATA + STORE);
	clr_world_u64(world, WORLD_DATA + STORE + world->runtime.at.store_first,
		      WORLD_DATA + THREAD + world->runtime.at.thread_next);
	clr_world_u64(world, WORLD_DATA + THREAD + HIJACK, WORLD_CODE + RETURN);
	clr_world_u64(world, WORLD_DATA + THREAD + HIJACK + 8, hijacked_slot);
	clr_world_method(world, METHOD, 14, 0xaa0, method, 1);
	clr_world_method(world, CALLER, 0x40, 0xbb0, caller, 1);
	clr_world_stub(world, STUB, 0x40, 7);
	clr_world_stub(world, STUB_WITH_CODE, 0x40, 7);
	clr_world_bytes(world, WORLD_CODE + STUB_WITH_CODE, stub_code, sizeof(stub_code));
	clr_world_bytes(world, WORLD_CODE + METHOD, method_code, sizeof(method_code));
	clr_world_bytes(world, WORLD_CODE + 0x180, method_unwind, sizeof(method_unwind));
	clr_world_bytes(world, WORLD_CODE + RETURN - sizeof(call), call, sizeof(call));

	headers_make(world->image, 0x8664 ^ 0x7b79);
	static uint8_t windows[0x400];
	headers_make(windows, 0x8664);

	s.snap = fake_snapshot_create();
	walk_module(s.snap, BIAS, &parts);
	(void) fake_snapshot_module(s.snap, SW_MODULE_ANON, "/memfd:doublemapper", 0, WORLD_CODE,
				    WORLD_CODE + WORLD_CODE_BYTES, NULL, 0);
	(void) fake_snapshot_module(s.snap, SW_MODULE_PE, "/app/R2R.dll", 0, WORLD_IMAGE,
				    WORLD_IMAGE + WORLD_IMAGE_BYTES, NULL, 0);
	(void) fake_snapshot_module(s.snap, SW_MODULE_PE, "/app/windows.dll", 0, PE, PE + FAKE_PAGE,
				    NULL, 0);
	fake_snapshot_range(s.snap, PE, windows, sizeof(windows));
	fake_snapshot_range(s.snap, WORLD_IMAGE, world->image, sizeof(world->image));
	fake_snapshot_range(s.snap, WORLD_DATA, world->data, sizeof(world->data));
	fake_snapshot_range(s.snap, WORLD_CODE, world->code, sizeof(world->code));
	fake_snapshot_map(s.snap, OTHER, OTHER + FAKE_PAGE, "r-xp", "/lib/other.so");
	fake_snapshot_map(s.snap, PLAIN, PLAIN + FAKE_PAGE, "rwxp", "");
	static const uint8_t other_code[32] = {[11] = 0xe8};
	fake_snapshot_range(s.snap, OTHER, other_code, sizeof(other_code));
	struct sw_thread *thread = fake_snapshot_stack(s.snap, 1, pc, stack, n);
	for (unsigned r = 0; r < SW_ARCH_RA; r++)
		if (r != SW_ARCH_SP)
			sw_regs_set(&thread->regs, r, 0x1000 + r);
	fake_snapshot_finish(s.snap);

	for (size_t i = 0; i < s.snap->n_ranges; i++)
		if (s.snap->ranges[i].start_avma == WORLD_DATA)
			s.range_data = (uint8_t *) (uintptr_t) s.snap->ranges[i].data;

	s.clr = (struct sw_clr){.snap = s.snap, .source = {.snap = s.snap}, .n_runtimes = 1};
	s.clr.memory = sw_snapshot_memory(&s.clr.source);
	s.clr.runtimes[0] = world->runtime;
	for (size_t i = 0; i < s.snap->n_places; i++)
		if (sw_module_kind(s.snap->places[i].module) == SW_MODULE_ELF)
			s.clr.runtimes[0].place = &s.snap->places[i];
	walk_cursor_init(&s.w, s.snap, &s.snap->threads[0], exact_pc);
	memset(&s.ret, 0, sizeof(s.ret));
}

static void scene_end(void)
{
	sw_clr_all_tasks_destroy(s.clr.tasks);
	sw_clr_names_destroy(s.clr.names);
	sw_map64_deinit(&s.clr.by_pc);
	sw_map64_deinit(&s.clr.rules);
	sw_map64_deinit(&s.clr.hijacks);
	sw_map64_deinit(&s.clr.replaced);
	sw_arena_deinit(&s.clr.arena);
	fake_snapshot_destroy(s.snap);
}

static enum sw_step step(void)
{
	return sw_clr_step(&s.clr, &s.w.cursor, &s.ret);
}

/* Memory of the cursor that remembers if an address was read. */
struct watched {
	struct sw_memory memory;
	uint64_t avma;
	bool read;
};

static bool watched_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct watched *w = arg;
	w->read |= avma == w->avma;
	return sw_memory_read(w->memory, avma, buffer, length);
}

/* Step once; returns whether the step has read that address by the cursor's memory, which counts
 * live reads. */
static bool step_reads(uint64_t avma)
{
	static const struct sw_memory_ops ops = {.read = watched_read};
	struct watched watched = {.memory = s.w.cursor.memory, .avma = avma};
	s.w.cursor.memory = (struct sw_memory){&ops, &watched};
	assert_int_equal(step(), SW_STEP_OK);
	s.w.cursor.memory = watched.memory;
	return watched.read;
}

static void caller_is(uint64_t pc, uint64_t sp)
{
	assert_int_equal(s.ret.regs.pc_avma, pc);
	assert_int_equal(s.ret.regs.sp_avma, sp);
}

/* ---- methods -------------------------------------------------------------------------------- */

TEST(test_method)
{
	static const uint64_t stack[] = {0, 0, 0, 0, 0xbb, WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 48);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0xbb);
	assert_false(s.ret.weak);
	/* Again, by the rule that was kept. */
	memset(&s.ret, 0, sizeof(s.ret));
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 48);
	assert_int_equal(s.clr.rules.count, 1);
	scene_end();
}

/* Interrupted behind the push, and before the last instruction. */
TEST(test_method_exact)
{
	static const uint64_t pushed[] = {0xbb, WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + METHOD + 1, true, pushed, 2, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 16);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0xbb);
	scene_end();

	static const uint64_t popped[] = {WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + METHOD + 13, true, popped, 1, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 8);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0x1000 + SW_X86_64_RBP);
	scene_end();
}

/* Code that may be freed meanwhile is not believed to be as it was; other code is. */
TEST(test_method_collectible)
{
	static const uint64_t stack[] = {0, 0, 0, 0, 0xbb, WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, 0);
	assert_false(step_reads(WORLD_CODE + METHOD - 8));
	scene_end();
	scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, 0);
	uint32_t flags = 3; /* a code heap, collectible */
	memcpy(s.range_data + WORLD_JIT_SECTION + 16, &flags, sizeof(flags));
	assert_true(step_reads(WORLD_CODE + METHOD - 8));
	caller_is(WORLD_CODE + RETURN, SP + 48);
	scene_end();
}

TEST(test_method_bad)
{
	static const uint64_t stack[] = {0, 0, 0};
	scene_make(WORLD_CODE + METHOD + 6, false, stack, 3, 0);
	assert_int_equal(step(), SW_STEP_FAIL);
	assert_int_equal(s.ret.end, SW_END_MEMORY);
	scene_end();
}

/* ---- code without tables -------------------------------------------------------------------- */

TEST(test_stub)
{
	static const uint64_t top[] = {WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + STUB + 3, true, top, 1, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 8);
	assert_false(s.ret.weak);
	scene_end();

	/* The stub has pushed something; a number is no return address, nor is code without a
	 * call. */
	static const uint64_t pushed[] = {17, WORLD_CODE + METHOD + 2, WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + STUB + 3, true, pushed, 3, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 24);
	assert_true(s.ret.weak);
	scene_end();

	/* Native code calls stubs, too: it is not left out for managed code further up. */
	static const uint64_t native[] = {OTHER_RETURN, 1, WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + STUB + 3, true, native, 3, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(OTHER_RETURN, SP + 8);
	assert_false(s.ret.weak);
	scene_end();

	/* Four words at most; and no stub calls anything. */
	static const uint64_t far[] = {1, 2, 3, 4, WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + STUB + 3, true, far, 5, 0);
	assert_int_equal(step(), SW_STEP_DECLINE);
	scene_end();
	scene_make(WORLD_CODE + STUB + 3, false, top, 1, 0);
	assert_int_equal(step(), SW_STEP_DECLINE);
	scene_end();
}

/* The instructions of a stub say where the return address is, whatever else looks like one. */
TEST(test_stub_instructions)
{
	static const struct {
		unsigned at, depth;
	} cases[] = {{0x00, 0}, {0x01, 1}, {0x06, 1}, {0x07, 0},
		     {0x0a, 1}, {0x0b, 0}, {0x11, 0}, {0x16, 0}};
	/* Native code has called it; what the stub has pushed looks like a return address, too. */
	static const uint64_t stack[] = {WORLD_CODE + RETURN, OTHER_RETURN};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		scene_make(WORLD_CODE + STUB_WITH_CODE + cases[i].at, true, stack, 2, 0);
		assert_int_equal(step(), SW_STEP_OK);
		caller_is(stack[cases[i].depth], SP + 8 * (cases[i].depth + 1));
		assert_false(s.ret.weak);
		scene_end();
	}
	/* Where they do not say it, or it is none, the words are looked at as they come. */
	static const uint64_t below[] = {1, 2, WORLD_CODE + RETURN};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		scene_make(WORLD_CODE + STUB_WITH_CODE + cases[i].at, true, below, 3, 0);
		assert_int_equal(step(), SW_STEP_OK);
		caller_is(WORLD_CODE + RETURN, SP + 24);
		assert_true(s.ret.weak);
		scene_end();
	}
}

TEST(test_write_barrier)
{
	static const uint64_t stack[] = {WORLD_CODE + RETURN}, pushed[] = {1, WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + BARRIER, true, stack, 1, 0);
	assert_true(sw_clr_is_helper(&s.clr, &s.w.cursor));
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 8);
	scene_end();
	scene_make(WORLD_CODE + BARRIER, true, pushed, 2, 0);
	assert_int_equal(step(), SW_STEP_DECLINE);
	scene_end();
	scene_make(WORLD_CODE + BARRIER, false, stack, 1, 0);
	assert_int_equal(step(), SW_STEP_DECLINE);
	scene_end();
}

/* Without the runtime's own mapping such code lies in memory like any other: it is the runtime's when
 * managed code or the runtime has called it. */
TEST(test_helper_unnamed)
{
	static const uint64_t stack[] = {WORLD_CODE + RETURN}, pushed[] = {1, WORLD_CODE + RETURN},
			      other[] = {OTHER_RETURN}, stub[] = {WORLD_CODE + STUB + 8},
			      tripped[] = {TRIP};
	static const struct {
		const uint64_t *stack;
		size_t n;
		bool exact, is;
	} cases[] = {{stack, 1, true, true}, {pushed, 2, true, false}, {other, 1, true, false},
		     {stub, 1, true, false}, {stack, 1, false, false}, {tripped, 1, true, true}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		scene_make(PLAIN + PLAIN_LEAF, cases[i].exact, cases[i].stack, cases[i].n, SP);
		assert_false(s.clr.double_mapped);
		assert_int_equal(sw_clr_is_helper(&s.clr, &s.w.cursor), cases[i].is);
		assert_int_equal(step(), cases[i].is ? SW_STEP_OK : SW_STEP_DECLINE);
		if (cases[i].is)
			caller_is(WORLD_CODE + RETURN, SP + 8);
		scene_end();
	}
	scene_make(PLAIN + PLAIN_LEAF, true, stack, 1, 0);
	s.clr.double_mapped = true;
	assert_false(sw_clr_is_helper(&s.clr, &s.w.cursor));
	assert_true(sw_clr_is_double_mapped(s.snap));
	scene_end();
}

/* ---- a runtime that could not be read --------------------------------------------------------- */

TEST(test_unread)
{
	static const char managed[] =
		"managed code of a .NET runtime that could not be read: see the warning";
	static const char perhaps[] = "code made at run time, and the .NET runtime, whose it may "
				      "be, could not be read: see the warning";
	static const uint64_t stack[] = {WORLD_CODE + RETURN};
	/* An address that would be a helper of a runtime that is read may as well be the middle of
	 * a method. */
	static const struct {
		uint64_t pc;
		bool exact;
		const char *why; /* NULL: others are asked, and nothing is said */
	} cases[] = {{WORLD_CODE + BARRIER, true, perhaps}, {WORLD_CODE + METHOD, false, perhaps},
		     {PLAIN + PLAIN_LEAF, true, NULL},      {PE + 0x500, false, NULL},
		     {WORLD_IMAGE + 0x500, false, managed}, {WORLD_IMAGE + 0x500, true, managed}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int usable = 0; usable < 2; usable++) {
			scene_make(cases[i].pc, cases[i].exact, stack, 1, 0);
			s.clr.runtimes[0].usable = usable;
			if (!usable) {
				assert_false(sw_clr_is_helper(&s.clr, &s.w.cursor));
				assert_int_equal(step(), cases[i].why != NULL ? SW_STEP_FAIL
									      : SW_STEP_DECLINE);
			}
			if (!usable && cases[i].why != NULL) {
				assert_int_equal(s.ret.end, SW_END_NO_UNWIND_INFO);
				assert_string_equal(s.ret.why, cases[i].why);
			}
			if (usable)
				assert_null(sw_clr_unread_why(&s.clr, s.w.cursor.place));
			scene_end();
		}
}

/* ---- replaced return addresses -------------------------------------------------------------- */

TEST(test_pending)
{
	static const uint64_t stack[] = {0, 0, 0, 0, 0xbb, TRIP};
	scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, SP + 40);
	assert_true(step_reads(WORLD_DATA + THREAD + HIJACK));
	caller_is(WORLD_CODE + RETURN, SP + 48);
	scene_end();

	/* Another thread's slot: the address cannot be told, and none is made up. */
	scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, SP + 48);
	assert_int_equal(step(), SW_STEP_FAIL);
	assert_int_equal(s.ret.end, SW_END_BAD_UNWIND_INFO);
	assert_string_equal(s.ret.why, "the runtime has replaced the return address, and where it "
				       "was kept is not known");
	scene_end();

	/* In a stub, too. */
	static const uint64_t top[] = {TRIP};
	scene_make(WORLD_CODE + STUB, true, top, 1, SP);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 8);
	scene_end();
}

/* A thread that has ended is still listed, and its stack is another thread's by now. */
TEST(test_pending_after_dead)
{
	static const uint64_t stack[] = {0, 0, 0, 0, 0xbb, TRIP};
	static const uint32_t states[] = {0x800, 0x80000000};
	for (size_t i = 0; i < 2; i++) {
		scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, SP + 40);
		const struct sw_clr_layout *at = &s.clr.runtimes[0].at;
		uint8_t *dead = s.range_data + DEAD_THREAD;
		const uint64_t pair[] = {WORLD_CODE + RETURN + 8, SP + 40};
		const uint64_t first = WORLD_DATA + DEAD_THREAD + at->thread_next,
			       next = WORLD_DATA + THREAD + at->thread_next;
		memcpy(s.range_data + STORE + at->store_first, &first, sizeof(first));
		memcpy(dead + at->thread_next, &next, sizeof(next));
		memcpy(dead + HIJACK, pair, sizeof(pair));
		memcpy(dead + at->thread_state, &states[i], sizeof(states[i]));
		assert_int_equal(step(), SW_STEP_OK);
		caller_is(WORLD_CODE + RETURN, SP + 48);
		scene_end();
	}
}

/* In the call: everything is pushed, the address has been put back. */
TEST(test_tripped)
{
	static const uint64_t stack[] = {0,
					 0,
					 0,
					 0, /* xmm0, xmm1 */
					 0xa,
					 0xd,
					 0xc, /* rax, rdx, rcx */
					 0x12,
					 0x13,
					 0x14,
					 0x15, /* r12 ... r15 */
					 0xb,
					 0xbb, /* rbx, rbp */
					 WORLD_CODE + RETURN};
	scene_make(TRIP + 0x26, false, stack, 14, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 14 * 8);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBX), 0xb);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0xbb);
	assert_int_equal(walk_reg(&s.ret.regs, 12), 0x12);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_R15), 0x15);
	assert_false(s.ret.other_stack);
	/* The slot holds what rax was: the worker has not begun. */
	scene_end();
	uint64_t early[14];
	memcpy(early, stack, sizeof(early));
	early[13] = 5;
	scene_make(TRIP + 0x26, false, early, 14, SP + 13 * 8);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 14 * 8);
	scene_end();
	scene_make(TRIP + 0x26, false, early, 14, 0);
	assert_int_equal(step(), SW_STEP_FAIL);
	scene_end();
}

/* Interrupted anywhere else in the function. */
TEST(test_tripped_exact)
{
	/* Nothing is pushed: the slot is below sp. */
	static const uint64_t none[] = {0, 0};
	scene_make(TRIP, true, none, 2, SP - 8);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP);
	assert_true(s.ret.other_stack);
	scene_end();

	/* Two pushes. */
	static const uint64_t two[] = {0xbb, 5};
	scene_make(TRIP + 2, true, two, 2, SP + 8);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 16);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0xbb);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBX), 0x1000 + SW_X86_64_RBX);
	scene_end();

	/* All but rbx and rbp are popped; then only the return is left. */
	static const uint64_t late[] = {0xb, 0xbb, WORLD_CODE + RETURN};
	scene_make(TRIP + 0x41, true, late, 3, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 24);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBX), 0xb);
	assert_int_equal(walk_reg(&s.ret.regs, 12), 0x1000 + 12);
	scene_end();
	static const uint64_t last[] = {WORLD_CODE + RETURN};
	scene_make(TRIP + 0x43, true, last, 1, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP + 8);
	scene_end();

	/* Between two instructions of it there is none. */
	scene_make(TRIP + 4, true, two, 2, SP + 8);
	assert_int_equal(step(), SW_STEP_DECLINE);
	scene_end();
}

/* A hijacked method has ended in a jump to native code, which returns to the function's start. */
TEST(test_returned_to)
{
	static const uint64_t stack[] = {1, 2};
	scene_make(TRIP, false, stack, 2, SP - 8);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(WORLD_CODE + RETURN, SP);
	assert_true(s.ret.other_stack);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBX), 0x1000 + SW_X86_64_RBX);
	scene_end();
}

/* ---- the end of the handling of an exception ------------------------------------------------- */

/* Registers but rbp may be the method's by then. */
TEST(test_restoring)
{
	static const uint64_t pushed[] = {0xbb, OTHER_RETURN};
	static const unsigned at[] = {0x45, 0x48, 0x4f, 0x58};
	for (size_t i = 0; i < SW_ARRAY_SIZE(at); i++) {
		scene_make(TRIP + at[i], true, pushed, 2, 0);
		assert_int_equal(step(), SW_STEP_OK);
		caller_is(OTHER_RETURN, SP + 16);
		assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0xbb);
		uint64_t value;
		assert_false(sw_regs_get(&s.ret.regs, SW_X86_64_RBX, &value));
		assert_int_equal(s.ret.flags, 0);
		scene_end();
	}

	static const uint64_t popped[] = {OTHER_RETURN};
	scene_make(TRIP + 0x59, true, popped, 1, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(OTHER_RETURN, SP + 8);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0x1000 + SW_X86_64_RBP);
	scene_end();
}

/* Before the jump all registers are the method's, and nothing is on the stack. */
TEST(test_restored)
{
	static const uint64_t stack[] = {1};
	scene_make(TRIP + 0x56, true, stack, 1, 0);
	assert_int_equal(step(), SW_STEP_OK);
	caller_is(0x1000 + SW_X86_64_RAX, SP);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_RBP), 0x1000 + SW_X86_64_RBP);
	assert_int_equal(walk_reg(&s.ret.regs, SW_X86_64_R15), 0x1000 + SW_X86_64_R15);
	assert_int_equal(s.ret.flags, SW_FRAME_EXACT_PC);
	scene_end();
}

/* The tables are right before the push, and of any other function; what is pushed may be missing; nothing returns there. */
TEST(test_not_restoring)
{
	static const uint64_t stack[] = {0xbb, OTHER_RETURN};
	static const unsigned at[] = {0x44, 0x5a, 0x5b};
	for (size_t i = 0; i < SW_ARRAY_SIZE(at); i++) {
		scene_make(TRIP + at[i], true, stack, 2, 0);
		assert_int_equal(step(), SW_STEP_DECLINE);
		scene_end();
	}
	scene_make(TRIP + 0x4f, false, stack, 2, 0);
	assert_int_equal(step(), SW_STEP_DECLINE);
	scene_end();
	scene_make(TRIP + 0x4f, true, stack, 1, 0);
	assert_int_equal(step(), SW_STEP_FAIL);
	assert_int_equal(s.ret.end, SW_END_MEMORY);
	scene_end();
}

TEST(test_no_runtime)
{
	static const uint64_t stack[] = {0, 0, 0, 0, 0xbb, WORLD_CODE + RETURN};
	scene_make(WORLD_CODE + METHOD + 6, false, stack, 6, 0);
	s.clr.n_runtimes = 0;
	assert_int_equal(step(), SW_STEP_DECLINE);
	scene_end();
}

/* A list of Threads that leads back to itself. */
TEST(test_threads_circle)
{
	static const uint64_t stack[] = {0};
	const uint64_t *threads;
	scene_make(TRIP, true, stack, 1, 0);
	assert_int_equal(sw_clr_threads_get(&s.clr, &threads), 1);
	assert_int_equal(threads[0], WORLD_DATA + THREAD);
	scene_end();
	scene_make(TRIP, true, stack, 1, 0);
	uint64_t link = WORLD_DATA + THREAD + s.clr.runtimes[0].at.thread_next;
	memcpy(s.range_data + (link - WORLD_DATA), &link, sizeof(link));
	assert_in_range(sw_clr_threads_get(&s.clr, &threads), 1, SW_CLR_THREADS_MAX);
	scene_end();
}
