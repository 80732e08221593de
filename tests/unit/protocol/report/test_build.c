/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk/names.h"
#include "fake.h"
#include "report/distinct.h"
#include "stack_id.h"
#include "cleanup.h"
#include "walk/walker.h"
#include "test.h"

#include <time.h>

enum {
	EXE_AVMA = 0x400000,
	LIB_AVMA = 0x7f000000,
	ANON_AVMA = 0x50000000,
	BYTES = 0x10000,
	WALKS_MAX = 8,
};

/* A snapshot of one program, one library without known load address, one anonymous place; walks
 * are added by hand. */
struct scene {
	struct sw_snapshot *snap;
	struct sw_place *exe, *lib, *anon;
	struct sw_walk walks[WALKS_MAX];
	struct sw_walks all;
	struct sw_report *report;
};

static void scene_init(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->snap = fake_snapshot_create();
	s->exe = fake_snapshot_module(s->snap, SW_MODULE_ELF, "/bin/x", EXE_AVMA, EXE_AVMA,
				      EXE_AVMA + BYTES, NULL, 0);
	s->anon = fake_snapshot_module(s->snap, SW_MODULE_ANON, "", 0, ANON_AVMA, ANON_AVMA + BYTES,
				       NULL, 0);
	s->lib = fake_snapshot_module(s->snap, SW_MODULE_ELF, "/lib/y.so", 0, LIB_AVMA,
				      LIB_AVMA + BYTES, NULL, 0);
	s->lib->resolved = -1;
	s->all = (struct sw_walks){.snap = s->snap, .walks = s->walks};
}

static void scene_deinit(struct scene *s)
{
	sw_report_destroy(s->report);
	fake_snapshot_destroy(s->snap);
}

static struct sw_thread *add_thread(struct scene *s, pid_t tid)
{
	static const uint64_t words[1];
	return fake_snapshot_stack(s->snap, tid, EXE_AVMA, words, 1);
}

static void add_walk(struct scene *s, pid_t tid, struct sw_frame *frames, size_t n_frames,
		     enum sw_end end, const char *why)
{
	assert_true(s->all.n_walks < WALKS_MAX);
	s->walks[s->all.n_walks++] = (struct sw_walk){.thread = add_thread(s, tid),
						      .frames = frames,
						      .n_frames = n_frames,
						      .end = end,
						      .why = why};
}

static struct sw_report *build(struct scene *s)
{
	sw_report_destroy(s->report);
	assert_int_equal(sw_report_build(&s->all, NULL, NULL, &s->report, NULL), 0);
	return s->report;
}

static struct sw_frame frame(const struct scene *s, const struct sw_place *place, uint64_t pc)
{
	return (struct sw_frame){.pc_avma = pc,
				 .sp_avma = 0x1000,
				 .place = place,
				 .by = "context",
				 .kind = sw_place_code_name(place),
				 .trust = SW_TRUST_CFI};
}

TEST(test_stacks)
{
	struct scene s;
	scene_init(&s);
	struct sw_frame a[2] = {frame(&s, s.exe, EXE_AVMA + 1), frame(&s, s.exe, EXE_AVMA + 2)};
	struct sw_frame b[2] = {frame(&s, s.exe, EXE_AVMA + 1), frame(&s, s.exe, EXE_AVMA + 2)};
	struct sw_frame c[1] = {frame(&s, s.lib, LIB_AVMA + 0x10)};
	b[1].sp_avma = 0x2000; /* where the stack lies makes no difference */
	add_walk(&s, 10, c, 1, SW_END_COMPLETE, NULL);
	add_walk(&s, 11, a, 2, SW_END_COMPLETE, NULL);
	add_walk(&s, 12, b, 2, SW_END_COMPLETE, NULL);
	add_walk(&s, 13, a, 1, SW_END_COMPLETE, NULL);
	struct sw_report *r = build(&s);

	assert_int_equal(r->n_stacks, 3);
	assert_int_equal(r->stacks[0].n_threads, 2); /* most threads first */
	assert_int_equal(r->stacks[0].threads[0], 1);
	assert_int_equal(r->stacks[0].threads[1], 2);
	assert_int_equal(r->stacks[1].threads[0], 0); /* then by tid */
	assert_int_equal(r->stacks[2].threads[0], 3);
	assert_int_equal(r->threads[0].stack, 1);
	assert_int_equal(r->threads[1].stack, 0);
	assert_int_equal(r->threads[2].stack, 0);
	assert_int_equal(r->threads[3].stack, 2);
	assert_string_equal(r->stacks[0].end, "complete");
	assert_null(r->stacks[0].why);
	assert_int_equal(r->stacks[0].n_frames, 2);
	assert_true(r->complete);
	assert_int_equal(r->n_warnings, 0);

	/* only modules that frames are in, by address */
	assert_int_equal(r->n_modules, 2);
	assert_string_equal(r->modules[0].path, "/bin/x");
	assert_string_equal(r->modules[0].format, "elf");
	assert_string_equal(r->modules[0].symbols, "none");
	assert_string_equal(r->modules[0].problem, "it has no image");
	assert_true(r->modules[0].start_avma == EXE_AVMA);
	assert_true(r->modules[0].end_avma == EXE_AVMA + BYTES);
	assert_null(r->modules[0].build_id);
	assert_string_equal(r->modules[1].path, "/lib/y.so");

	const struct sw_report_frame *f = &r->stacks[0].frames[1];
	assert_true(f->pc_avma == EXE_AVMA + 2);
	assert_int_equal(f->module, 0);
	assert_true(f->has_offset);
	assert_int_equal(f->offset, 2);
	assert_null(f->function);
	assert_string_equal(f->kind, "native");
	assert_string_equal(f->by, "context");
	assert_string_equal(f->trust, "cfi");
	assert_false(f->inlined || f->signal || f->live_read || f->may_miss);
	assert_false(r->stacks[1].frames[0].has_offset); /* its load address is not known */
	scene_deinit(&s);
}

/* Stacks that one reader must be able to tell apart are two. */
TEST(test_distinct)
{
	struct scene s;
	scene_init(&s);
	struct sw_frame frames[6];
	for (size_t i = 0; i < SW_ARRAY_SIZE(frames); i++)
		frames[i] = frame(&s, s.exe, EXE_AVMA + 1);
	frames[1].trust = SW_TRUST_SCAN;
	frames[2].by = "elf-cfi";
	frames[3].flags = SW_FRAME_MAY_MISS;
	frames[4] = frame(&s, NULL, EXE_AVMA + 1);
	for (size_t i = 0; i < 5; i++)
		add_walk(&s, (pid_t) (10 + i), &frames[i], 1, SW_END_COMPLETE, NULL);
	add_walk(&s, 20, &frames[5], 1, SW_END_MEMORY, "one");
	add_walk(&s, 21, &frames[5], 1, SW_END_MEMORY, "two");
	struct sw_report *r = build(&s);
	assert_int_equal(r->n_stacks, 7);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(r->threads[i].stack, i);
	assert_true(r->stacks[3].frames[0].may_miss);
	assert_int_equal(r->stacks[4].frames[0].module, -1);
	assert_string_equal(r->stacks[4].frames[0].kind, "unknown");
	assert_string_equal(r->stacks[6].why, "two");
	scene_deinit(&s);
}

TEST(test_flags_and_kinds)
{
	struct scene s;
	scene_init(&s);
	struct sw_place *vdso = fake_snapshot_module(s.snap, SW_MODULE_VDSO, "[vdso]", 0x7fff0000,
						     0x7fff0000, 0x7fff1000, NULL, 0);
	struct sw_frame frames[3] = {frame(&s, vdso, 0x7fff0010), frame(&s, s.anon, ANON_AVMA),
				     frame(&s, NULL, 0x10)};
	frames[0].flags = SW_FRAME_SIGNAL | SW_FRAME_EXACT_PC;
	frames[1].flags = SW_FRAME_LIVE_READ;
	add_walk(&s, 10, frames, 3, SW_END_COMPLETE, NULL);
	struct sw_report *r = build(&s);
	const struct sw_report_frame *f = r->stacks[0].frames;
	assert_string_equal(f[0].kind, "native");
	assert_true(f[0].signal && !f[0].live_read && !f[0].may_miss);
	assert_string_equal(f[1].kind, "unknown");
	assert_true(f[1].live_read && !f[1].signal);
	assert_string_equal(r->modules[f[0].module].format, "vdso");
	assert_string_equal(r->modules[f[1].module].format, "anon");
	scene_deinit(&s);
}

static uint64_t id_by_hand(const struct sw_stack_id_frame *frames, size_t n)
{
	struct sw_text bytes = {0};
	for (size_t i = 0; i < n; i++)
		sw_stack_id_add(&bytes, &frames[i]);
	uint64_t id = sw_stack_id(&bytes);
	sw_text_deinit(&bytes);
	return id;
}

/* The id says what code runs: not where it is loaded, how it was found, or how the stack ended. */
TEST(test_ids)
{
	struct scene s;
	scene_init(&s);
	struct sw_frame frames[3] = {frame(&s, s.exe, EXE_AVMA + 0x123),
				     frame(&s, s.lib, LIB_AVMA + 0x10),
				     frame(&s, s.anon, ANON_AVMA + 5)};
	struct sw_frame guessed[3];
	memcpy(guessed, frames, sizeof(frames));
	guessed[1].trust = SW_TRUST_SCAN;
	add_walk(&s, 10, frames, 3, SW_END_COMPLETE, NULL);
	add_walk(&s, 11, guessed, 3, SW_END_MEMORY, "cut");
	struct sw_frame recursion[2] = {frames[0], frames[0]};
	add_walk(&s, 12, recursion, 2, SW_END_COMPLETE, NULL);
	add_walk(&s, 13, recursion, 1, SW_END_COMPLETE, NULL);
	struct sw_report *r = build(&s);
	const struct sw_stack_id_frame wanted[3] = {{.path = "/bin/x", .offset = 0x123},
						    {.path = "/lib/y.so", .offset = 0x10},
						    {.path = NULL}};
	assert_int_equal(r->n_stacks, 4);
	assert_true(r->stacks[0].id == id_by_hand(wanted, 3));
	assert_true(r->stacks[1].id == r->stacks[0].id);
	const struct sw_stack_id_frame twice[2] = {wanted[0], wanted[0]};
	assert_true(r->stacks[2].id == id_by_hand(twice, 2));
	assert_true(r->stacks[3].id == id_by_hand(twice, 1));
	scene_deinit(&s);
}

TEST(test_threads)
{
	struct scene s;
	scene_init(&s);
	struct sw_frame only[1] = {frame(&s, s.exe, EXE_AVMA + 1)};
	add_walk(&s, 10, only, 1, SW_END_COMPLETE, NULL);
	struct sw_thread *t = &s.snap->threads[0];
	t->syscall = 202;
	t->stop_ns = 1999;
	t->cpu_ns = 5;
	t->interrupted = true;
	strcpy(t->wchan, "futex_wait_queue");
	t = add_thread(&s, 11);
	*t = (struct sw_thread){.tid = 11,
				.comm = "gone",
				.state = 'D',
				.reason = SW_E_STOP_TIMEOUT,
				.wchan = "0",
				.syscall = 9999,
				.cpu_ns = -1,
				.stop_ns = -1};
	t = add_thread(&s, 12);
	*t = (struct sw_thread){
		.tid = 12, .state = 'S', .syscall = -1, .cpu_ns = -1, .stop_ns = -1};
	struct sw_report *r = build(&s);

	assert_int_equal(r->n_threads, 3);
	const struct sw_report_thread *got = r->threads;
	assert_int_equal(got[0].tid, 10);
	assert_string_equal(got[0].comm, "fake");
	assert_true(got[0].captured);
	assert_null(got[0].reason);
	assert_string_equal(got[0].syscall, "futex");
	assert_string_equal(got[0].wchan, "futex_wait_queue");
	assert_int_equal(got[0].stop_us, 1);
	assert_int_equal(got[0].cpu_ns, 5);
	assert_true(got[0].interrupted);

	assert_false(got[1].captured);
	assert_string_equal(got[1].reason, "stop_timeout");
	assert_string_equal(got[1].reason_text, "it did not stop in time");
	assert_string_equal(got[1].syscall, "syscall_9999");
	assert_null(got[1].wchan);
	assert_int_equal(got[1].stack, -1);
	assert_int_equal(got[1].cpu_ns, -1);
	assert_int_equal(got[1].stop_us, -1);

	assert_string_equal(got[2].reason, "not_requested");
	assert_null(got[2].syscall);
	assert_false(r->complete);
	scene_deinit(&s);
}

/* Threads that have no stack leave no gap; those that have one and are missing do. */
TEST(test_complete)
{
	static const struct {
		int reason;
		bool complete;
	} cases[] = {
		{0, true},
		{SW_E_ZOMBIE, true},
		{SW_E_EXITED, true},
		{SW_E_IO_WORKER, true},
		{SW_E_KERNEL_THREAD, true},
		{SW_E_STOP_TIMEOUT, false},
		{SW_E_TRACED, false},
		{SW_E_NOT_PERMITTED, false},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct scene s;
		scene_init(&s);
		struct sw_frame only[1] = {frame(&s, s.exe, EXE_AVMA + 1)};
		add_walk(&s, 10, only, 1, SW_END_COMPLETE, NULL);
		struct sw_thread *t = add_thread(&s, 11);
		t->captured = false;
		t->reason = cases[i].reason;
		assert_int_equal(build(&s)->complete, cases[i].complete);
		scene_deinit(&s);
	}
}

TEST(test_warnings)
{
	struct scene s;
	scene_init(&s);
	struct sw_frame frames[3] = {frame(&s, s.exe, EXE_AVMA + 1), frame(&s, s.exe, EXE_AVMA + 2),
				     frame(&s, s.exe, EXE_AVMA + 3)};
	for (pid_t tid = 10; tid < 15; tid++)
		add_walk(&s, tid, frames, 1, SW_END_NO_UNWIND_INFO, "no rule");
	add_walk(&s, 15, frames, 2, SW_END_NO_UNWIND_INFO, "another");
	add_walk(&s, 16, frames, 3, SW_END_FRAME_LIMIT, "too deep");
	sw_snapshot_warn(s.snap, SW_WARN_MODULE, 0, 0, "%s", "a file is gone");
	struct sw_report *r = build(&s);
	assert_false(r->complete);
	assert_int_equal(r->n_warnings, 3);
	assert_string_equal(r->warnings[0].code, sw_warning_name(SW_WARN_MODULE));
	assert_int_equal(r->warnings[0].tid, 0);
	assert_string_equal(r->warnings[0].message, "a file is gone");
	assert_string_equal(r->warnings[1].code, "frame_limit");
	assert_int_equal(r->warnings[1].tid, 16);
	assert_string_equal(r->warnings[1].message, "the stack of thread 16 ends early: too deep");
	assert_string_equal(r->warnings[2].code, "no_unwind_info");
	assert_int_equal(r->warnings[2].tid, 0);
	assert_string_equal(r->warnings[2].message,
			    "the stacks of 6 threads (10, 11, 12, 13, …) end early: no rule");
	scene_deinit(&s);
}

/* Names for which there was no time: the dump says so, and how many. */
TEST(test_unfinished_names)
{
	const struct sw_symbolize_options too_late = {.deadline_ns = 1};
	struct sw_symbolizer *symbolizer = NULL;
	struct sw_symbols *symbols = NULL;
	struct scene s;
	scene_init(&s);
	struct sw_frame only[1] = {frame(&s, s.exe, EXE_AVMA + 1)};
	add_walk(&s, 10, only, 1, SW_END_COMPLETE, NULL);
	assert_int_equal(sw_symbolizer_create(s.snap->ctx, &symbolizer, NULL), 0);
	assert_int_equal(sw_symbolize(symbolizer, &s.all, &too_late, &symbols, NULL), 0);
	assert_int_equal(symbols->n_unfinished, 1);
	assert_int_equal(sw_report_build(&s.all, symbols, NULL, &s.report, NULL), 0);
	assert_false(s.report->complete);
	assert_int_equal(s.report->n_warnings, 1);
	assert_string_equal(s.report->warnings[0].code, sw_warning_name(SW_WARN_TIMEOUT));
	sw_symbols_destroy(symbols);
	sw_symbolizer_destroy(symbolizer);
	scene_deinit(&s);
}

TEST(test_warning_codes)
{
	static const struct {
		enum sw_warning_code code;
		bool complete;
	} cases[] = {
		{SW_WARN_STOP_TIMEOUT, false}, {SW_WARN_PARTIAL, false},
		{SW_WARN_TIMEOUT, false},      {SW_WARN_MODULE, true},
		{SW_WARN_MEMORY, true},        {SW_WARN_INTERRUPTED, true},
		{SW_WARN_STACK_LIMIT, true},   {SW_WARN_CAPTURE, true},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct scene s;
		scene_init(&s);
		struct sw_frame only[1] = {frame(&s, s.exe, EXE_AVMA + 1)};
		add_walk(&s, 10, only, 1, SW_END_COMPLETE, NULL);
		sw_snapshot_warn(s.snap, cases[i].code, 0, 0, "%s", "it is so");
		assert_int_equal(build(&s)->complete, cases[i].complete);
		scene_deinit(&s);
	}
}

/* A stack that was not copied in whole is worth a word only where its walk needed the rest, without its upper end, which is
 * copied as a range. Another thread with the same frames, on a stack of its own, says nothing of it. */
TEST(test_stack_limit)
{
	enum { COPIED = 0x7000, ROOT = COPIED + 0x800, OTHER = 0x100000 };
	static const uint8_t root[0x800];
	static const struct {
		uint64_t sp_avma;
		enum sw_end end;
		size_t n_warnings;
	} cases[] = {
		{COPIED, SW_END_COMPLETE, 0},
		{COPIED + 8, SW_END_COMPLETE, 1},
		{ROOT, SW_END_COMPLETE, 1}, /* its return address lies below the range */
		{ROOT + 8, SW_END_COMPLETE, 0},
		{ROOT + 0x7f8, SW_END_COMPLETE, 0},    /* behind a range that lies in the other */
		{COPIED + 0x1000, SW_END_COMPLETE, 0}, /* another stack */
		{COPIED, SW_END_STACK_LIMIT, 2},       /* and that it ends early */
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct scene s;
		scene_init(&s);
		struct sw_frame other[1] = {frame(&s, s.exe, EXE_AVMA + 1)}, only[1] = {other[0]};
		other[0].sp_avma = OTHER;
		only[0].sp_avma = cases[i].sp_avma;
		only[0].flags |= SW_FRAME_LIVE_READ; /* of its code */
		other[0].flags = only[0].flags;
		add_walk(&s, 9, other, 1,
			 cases[i].end == SW_END_COMPLETE ? SW_END_COMPLETE : SW_END_TIMEOUT, NULL);
		add_walk(&s, 10, only, 1, cases[i].end, NULL);
		struct sw_thread *thread = &s.snap->threads[1];
		thread->stack_avma = COPIED - 0x1000;
		thread->stack_bytes = 0x1000;
		thread->stack_end_avma = COPIED + 0x1000;
		fake_snapshot_range(s.snap, COPIED - 0x2000, root, 8);
		fake_snapshot_range(s.snap, ROOT, root, sizeof(root));
		fake_snapshot_range(s.snap, ROOT + 0x100, root, 8);
		sw_snapshot_warn(s.snap, SW_WARN_STACK_LIMIT, 10, SW_E_LIMIT, "%s", "it is so");
		assert_int_equal(build(&s)->n_warnings,
				 cases[i].n_warnings + (cases[i].end != SW_END_COMPLETE));
		scene_deinit(&s);
	}
}

/* The runtimes that were recognised, and what a runtime says of its threads; trouble with it leaves
 * no gap. */
TEST(test_runtimes)
{
	struct scene s;
	scene_init(&s);
	struct sw_frame only[1] = {frame(&s, s.exe, EXE_AVMA + 1)};
	add_walk(&s, 10, only, 1, SW_END_COMPLETE, NULL);
	add_walk(&s, 11, only, 1, SW_END_COMPLETE, NULL);
	add_walk(&s, 12, only, 1, SW_END_COMPLETE, NULL);
	const struct sw_thread_info notes[] = {
		{.runtime = "clr", .id = 0, .name = "Main", .mode = "cooperative"},
		{.runtime = "clr", .id = -5, .role = "gc"},
	};
	s.walks[1].info = &notes[0];
	s.walks[2].info = &notes[1];
	struct sw_runtime runtimes[] = {
		{.name = "clr", .version = "10.0.0", .where = "/lib/libcoreclr.so", .entries = -1},
		{.name = "gdb-jit", .entries = 0, .problem = "its list has a cycle"},
		{.name = "wine",
		 .version = "8.0",
		 .where = "/ntdll.so",
		 .entries = -1,
		 .problem = "no TEB"},
		{.name = "perf-map", .where = "/tmp/perf-1.map", .entries = 12},
	};
	s.all.runtimes = runtimes;
	s.all.n_runtimes = SW_ARRAY_SIZE(runtimes);
	struct sw_report *r = build(&s);
	assert_int_equal(r->process.n_runtimes, 2);
	assert_string_equal(r->process.runtimes[0].name, "clr");
	assert_string_equal(r->process.runtimes[0].version, "10.0.0");
	assert_string_equal(r->process.runtimes[0].where, "/lib/libcoreclr.so");
	assert_string_equal(r->process.runtimes[1].name, "wine");
	assert_int_equal(r->process.n_registries, 2);
	assert_string_equal(r->process.registries[0].name, "gdb-jit");
	assert_null(r->process.registries[0].where);
	assert_int_equal(r->process.registries[0].entries, 0);
	assert_string_equal(r->process.registries[1].where, "/tmp/perf-1.map");
	assert_int_equal(r->process.registries[1].entries, 12);

	assert_null(r->threads[0].managed);
	assert_string_equal(r->threads[1].managed->runtime, "clr");
	assert_int_equal(r->threads[1].managed->id, 0);
	assert_string_equal(r->threads[1].managed->name, "Main");
	assert_string_equal(r->threads[1].managed->mode, "cooperative");
	assert_null(r->threads[1].managed->role);
	assert_int_equal(r->threads[2].managed->id, -1);
	assert_null(r->threads[2].managed->name);
	assert_string_equal(r->threads[2].managed->role, "gc");
	assert_int_equal(r->n_stacks, 1); /* that they are other threads makes no other stack */

	assert_true(r->complete);
	assert_int_equal(r->n_warnings, 2);
	assert_string_equal(r->warnings[0].code, "runtime");
	assert_int_equal(r->warnings[0].tid, 0);
	assert_string_equal(r->warnings[0].message, "gdb-jit: its list has a cycle");
	assert_string_equal(r->warnings[1].message, "wine 8.0 in /ntdll.so: no TEB");
	scene_deinit(&s);
}

/* The runtime's word on a wait counts more than the call behind it; on a running thread it does not
 * count. */
TEST(test_runtime_waits)
{
	struct scene s;
	scene_init(&s);
	struct sw_frame only[1] = {frame(&s, s.exe, EXE_AVMA + 1)};
	for (pid_t tid = 10; tid < 14; tid++)
		add_walk(&s, tid, only, 1, SW_END_COMPLETE, NULL);
	const struct sw_runtime_wait waits[] = {
		{.kind = "java_monitor", .address_avma = 0x7000, .target = "p.A", .owner_tid = 12},
		{.kind = "java_lock", .target = "p.B", .owner_tid = 11},
		{.kind = "java_wait"},
	};
	for (size_t i = 0; i < 4; i++) {
		struct sw_thread *t = &s.snap->threads[i];
		t->state = i == 3 ? 'R' : 'S';
		t->syscall = 202; /* futex */
		t->captured = t->stayed = true;
		t->regs.val[5] = 0x9000;            /* rdi: the word */
		t->regs.known |= 1u << 5 | 1u << 4; /* rsi: FUTEX_WAIT */
		if (i > 0)
			s.walks[i].wait = &waits[i - 1];
	}
	struct sw_report *r = build(&s);
	const struct sw_report_thread *t = r->threads;
	assert_string_equal(t[0].blocked_on->kind, "futex");
	assert_string_equal(t[1].blocked_on->kind, "java_monitor");
	assert_string_equal(t[1].blocked_on->target, "p.A");
	assert_string_equal(t[1].blocked_on->trust, "runtime");
	assert_true(t[1].blocked_on->has_address);
	assert_int_equal(t[1].blocked_on->address_avma, 0x7000);
	assert_int_equal(t[1].blocked_on->owner_tid, 12);
	assert_int_equal(t[1].blocked_on->owner_pid, r->process.pid);
	assert_string_equal(t[2].blocked_on->kind, "java_lock");
	assert_false(t[2].blocked_on->has_address);
	assert_null(t[3].blocked_on);
	assert_int_equal(r->n_deadlocks, 1);
	assert_int_equal(r->deadlocks[0].n, 2);
	/* A cycle in a process that ran meanwhile is a deadlock only if its threads did not run. */
	for (unsigned stayed = 0; stayed < 4; stayed++) {
		s.snap->threads[1].stayed = stayed & 1;
		s.snap->threads[2].stayed = stayed & 2;
		s.snap->threads[1].since_ns = s.snap->threads[2].since_ns = INT64_MAX;
		r = build(&s);
		assert_int_equal(r->threads[1].blocked_on->owner_tid, 12);
		assert_int_equal(r->n_deadlocks, stayed == 3);
	}
	/* Threads that ran, too, when they were read together with the data of their runtime. */
	for (uint32_t instant = 0; instant < 3; instant++) {
		s.snap->threads[1].stayed = s.snap->threads[2].stayed = false;
		s.snap->threads[1].instant = s.snap->threads[2].instant = instant;
		r = build(&s);
		assert_int_equal(r->n_deadlocks, instant == SW_INSTANT_OF_RUNTIMES);
	}
	scene_deinit(&s);
}

/* A thread that waits with a time limit goes on: 11 and 12 wait for one another, the first one with that argument. */
TEST(test_limited_waits)
{
	static const struct {
		const char *kind;
		int64_t syscall;
		unsigned reg;
		uint64_t timeout;
		bool found;
	} cases[] = {
		{"java_lock", 202, 10, 0, true},
		{"java_lock", 202, 10, 0x7000, false},
		{"thread", 202, 10, 0x7000, false},
		{"python_lock", 202, 10, 0x7000, false},
		{"java_lock", SW_SYSCALL_I386 + 240, 4, 0x7000, false},
		{"java_lock", SW_SYSCALL_I386 + 240, 10, 0x7000, true},
		{"java_lock", SW_SYSCALL_I386 + 422, 4, 0x7000, false},
		{"java_lock", 202, 4, 0x7000, true}, /* the operation */
		/* the runtime's own limit, after which it calls again */
		{"python_gil", 202, 10, 0x7000, true},
		{"java_monitor", 202, 10, 0x7000, true},
		{"ruby_gvl", 202, 10, 0x7000, true},
		{"ruby_mutex", 202, 10, 0x7000, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene s;
		scene_init(&s);
		struct sw_frame only[1] = {frame(&s, s.exe, EXE_AVMA + 1)};
		for (pid_t tid = 10; tid < 13; tid++)
			add_walk(&s, tid, only, 1, SW_END_COMPLETE, NULL);
		const struct sw_runtime_wait waits[] = {{.kind = cases[i].kind, .owner_tid = 12},
							{.kind = "java_lock", .owner_tid = 11}};
		for (size_t k = 0; k < 2; k++) {
			struct sw_thread *t = &s.snap->threads[1 + k];
			t->state = 'S';
			t->syscall = 202;
			t->captured = t->stayed = true;
			s.walks[1 + k].wait = &waits[k];
		}
		s.snap->threads[1].syscall = cases[i].syscall;
		s.snap->threads[1].regs.val[cases[i].reg] = cases[i].timeout;
		s.snap->threads[1].regs.known |= 1u << cases[i].reg;
		const struct sw_report *r = build(&s);
		assert_int_equal(r->threads[1].blocked_on->owner_tid, 12);
		assert_int_equal(r->n_deadlocks, cases[i].found);
		scene_deinit(&s);
	}
}

TEST(test_process)
{
	struct scene s;
	scene_init(&s);
	s.snap->time_ns = INT64_C(1795170950084579123);
	s.snap->process = (struct sw_process){.pid = 4242,
					      .ppid = 7,
					      .uid = 1000,
					      .starttime = 998877,
					      .uptime_ms = 81234,
					      .elf_class = 64,
					      .comm = "server",
					      .exe = "",
					      .cgroup = "/system.slice/x.service"};
	s.snap->times = (struct sw_times){.attach_ns = 300999,
					  .stopped_ns = 850000,
					  .longest_thread_ns = 840000,
					  .copy_ns = 90000,
					  .take_ns = 2000000};
	s.snap->interrupted_calls = 2;
	s.all.walk_ns = 900000;
	struct sw_report *r = build(&s);
	static const char prefix[] = "20261120T103550.084579-4242-";
	assert_memory_equal(r->id, prefix, sizeof(prefix) - 1);
	assert_int_equal(strlen(r->id), sizeof(prefix) - 1 + 8);
	assert_true(r->time_ns == INT64_C(1795170950084579123));
	assert_int_equal(r->seq, 0);
	assert_null(r->reason);
	assert_int_equal(r->process.pid, 4242);
	assert_int_equal(r->process.ppid, 7);
	assert_int_equal(r->process.uid, 1000);
	assert_int_equal(r->process.starttime, 998877);
	assert_int_equal(r->process.uptime_ms, 81234);
	assert_string_equal(r->process.comm, "server");
	assert_null(r->process.exe);
	assert_string_equal(r->process.unit, "x.service");
	assert_null(r->process.container);
	assert_int_equal(r->timings.attach_us, 300);
	assert_int_equal(r->timings.stopped_us, 850);
	assert_int_equal(r->timings.longest_thread_stop_us, 840);
	assert_int_equal(r->timings.copy_us, 90);
	assert_int_equal(r->timings.unwind_us, 900);
	assert_int_equal(r->timings.symbolize_us, 0);
	assert_int_equal(r->timings.total_us, 2900);
	assert_int_equal(r->timings.interrupted_calls, 2);
	assert_int_equal(r->n_stacks, 0);
	assert_true(r->complete);

	char first[64];
	(void) snprintf(first, sizeof(first), "%s", r->id); /* fits */
	assert_string_not_equal(build(&s)->id, first);
	scene_deinit(&s);
}

TEST(test_options)
{
	struct scene s;
	scene_init(&s);
	struct timespec now;
	(void) clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	struct sw_report_options options = {.reason = "alert",
					    .seq = 9,
					    .begin_ns = now.tv_sec * INT64_C(1000000000) +
							now.tv_nsec - 5000000};
	assert_int_equal(sw_report_build(&s.all, NULL, &options, &s.report, NULL), 0);
	assert_string_equal(s.report->reason, "alert");
	assert_int_equal(s.report->seq, 9);
	assert_true(s.report->timings.total_us >= 5000);
	scene_deinit(&s);
}

/* Nothing in a report points into what it was made from. */
TEST(test_outlives)
{
	struct scene s;
	scene_init(&s);
	struct sw_frame only[1] = {frame(&s, s.exe, EXE_AVMA + 1)};
	char why[] = "words";
	add_walk(&s, 10, only, 1, SW_END_MEMORY, why);
	struct sw_report *r = build(&s);
	s.report = NULL;
	fake_snapshot_destroy(s.snap);
	memset(why, 'x', sizeof(why) - 1);
	char *text;
	size_t size;
	assert_int_equal(sw_report_json(r, &text, &size, NULL), 0);
	assert_non_null(strstr(text, "\"why\":\"words\""));
	assert_non_null(strstr(text, "\"path\":\"/bin/x\""));
	assert_non_null(strstr(text, "\"comm\":\"fake\""));
	free(text);
	sw_report_destroy(r);
}

/* A warning about many threads is said once, with the name of the system call. */
TEST(test_warnings_grouped)
{
	struct scene s;
	char messages[6][192];
	struct sw_warning warnings[7];
	scene_init(&s);
	for (pid_t tid = 1; tid <= 6; tid++) {
		struct sw_thread *t = add_thread(&s, tid);
		t->syscall = tid == 6 ? 35 : 232; /* nanosleep, epoll_wait */
		(void) snprintf(messages[tid - 1], sizeof(messages[0]),
				"thread %d (%s): its system call %ld returns EINTR because of "
				"the stop",
				(int) tid, t->comm, (long) t->syscall);
		warnings[tid - 1] = (struct sw_warning){.code = SW_WARN_INTERRUPTED,
							.tid = tid,
							.message = messages[tid - 1]};
	}
	warnings[6] = (struct sw_warning){.code = SW_WARN_MEMORY, .message = "of the process"};
	s.snap->warnings = warnings;
	s.snap->n_warnings = 7;
	const struct sw_report *r = build(&s);
	assert_int_equal(r->n_warnings, 3);
	assert_string_equal(r->warnings[0].message, "of the process");
	assert_string_equal(r->warnings[1].message,
			    "5 threads (1, 2, 3, 4, …): epoll_wait returns EINTR because of the "
			    "stop");
	assert_string_equal(r->warnings[1].code, "interrupted_call");
	assert_int_equal(r->warnings[1].tid, 0);
	assert_int_equal(r->warnings[2].tid, 6);
	assert_non_null(strstr(r->warnings[2].message, "): nanosleep returns EINTR because"));
	s.snap->warnings = NULL;
	s.snap->n_warnings = 0;
	scene_deinit(&s);
}
