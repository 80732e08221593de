/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby: files, versions, runs of frames, names and lines over made structures; native/tls. */
#include "ruby_world.h"
#include "runtimes/ruby/chain.h"
#include "runtimes/ruby/frames.h"
#include "runtimes/ruby/touch.h"
#include "runtimes/ruby/yjit.h"
#include "runtimes/ruby/yjit.h"
#include "test.h"

static struct ruby_world world;

static int setup(void **state)
{
	ruby_world_init(&world);
	return 0;
}

static int teardown(void **state)
{
	ruby_world_deinit(&world);
	return 0;
}

static const char *said(const struct sw_frame *frame)
{
	static struct sw_description d;
	static char text[8192];
	memset(&d, 0, sizeof(d));
	assert_int_equal(sw_ruby_names(&world.ruby, frame, &d), 1);
	(void) snprintf(text, sizeof(text), "%s %s:%u", d.function, d.file, d.line);
	return text;
}

TEST(test_files)
{
	static const char *const are[] = {"/usr/bin/ruby3.1", "/usr/local/bin/ruby", "ruby",
					  "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.7",
					  "/usr/local/lib/libruby.so.3.4"};
	static const char *const are_not[] = {"/usr/bin/rubygems", "/usr/lib/libruby-static.a",
					      "/usr/lib/libruby-3.1.sox", "/ruby/bin/irb", ""};
	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
		assert_true(sw_ruby_file_probe(are[i]));
	for (size_t i = 0; i < sizeof(are_not) / sizeof(*are_not); i++)
		assert_false(sw_ruby_file_probe(are_not[i]));
	assert_null(sw_ruby_layout_of(2, 7));
	assert_null(sw_ruby_layout_of(4, 0));
	assert_int_equal(sw_ruby_layout_of(3, 4)->body_succ, 136);
}

/* get_id_serial_entry() of Debian's libruby 3.1.7, with what lies between left out. */
TEST(test_symbols)
{
	uint8_t code[] = {
		0x85, 0xff,                               /* test edi, edi */
		0x39, 0x3d, 0x71, 0x9e, 0x1a, 0x00,       /* cmp [rip+0x1a9e71], edi */
		0x72, 0x5f,                               /* jb */
		0x48, 0x8b, 0x3d, 0x78, 0x9e, 0x1a, 0x00, /* mov rdi, [rip+0x1a9e78] */
	};
	struct sw_bytes b = {code, sizeof(code)};
	assert_int_equal(sw_ruby_symbols_in(b, 0x207347), 0x3b11c0);
	code[13]++; /* another variable */
	assert_int_equal(sw_ruby_symbols_in(b, 0x207347), 0);
	b.size = 12;
	assert_int_equal(sw_ruby_symbols_in(b, 0x207347), 0);
}

TEST_WITH(test_runs, setup, teardown)
{
	struct ruby_sink sink;
	assert_true(ruby_world_frames(&world, 0, true, 0, &sink));
	assert_int_equal(sink.n, 1);
	assert_string_equal(said(&sink.frames[0]), "leaf /srv/a.rb:1");
	assert_true(ruby_world_frames(&world, 1, true, 0, &sink));
	assert_int_equal(sink.n, 2);
	assert_string_equal(said(&sink.frames[0]), "times :0");
	assert_string_equal(said(&sink.frames[1]), "<main> /srv/a.rb:23");
	sw_ruby_chain_end(&world.ruby);
	assert_false(world.ruby.cut); /* the thread's first frame is no loss */
}

/* A run begins: its frame is there before its rb_vm_exec() is. r15 says what the one there executes. */
TEST_WITH(test_run_begins, setup, teardown)
{
	struct ruby_sink sink;
	assert_true(ruby_world_frames(&world, 0, false, RUBY_MAIN, &sink));
	assert_int_equal(sink.n, 0);
	assert_true(ruby_world_frames(&world, 1, true, 0, &sink));
	assert_int_equal(sink.n, 3);
	assert_string_equal(said(&sink.frames[2]), "<main> /srv/a.rb:23");
	sw_ruby_chain_end(&world.ruby);
	assert_false(world.ruby.cut);
}

TEST_WITH(test_left, setup, teardown)
{
	struct ruby_sink sink;
	assert_true(ruby_world_frames(&world, 0, true, 0, &sink));
	sw_ruby_chain_end(&world.ruby); /* the walk ended here */
	assert_true(world.ruby.cut);
}

/* A stack of more frames than are followed is told as a limit, not as memory that could not be read. */
TEST_WITH(test_more_than_followed, setup, teardown)
{
	enum { FRAMES = 0x800000, FRAME = 64 };
	for (size_t more = 0; more <= 1; more++) {
		const size_t n = SW_RUBY_FRAMES_MAX + more;
		uint8_t *frames = calloc(n, FRAME);
		assert_non_null(frames);
		for (size_t i = 0; i < n; i++)
			memcpy(frames + i * FRAME, world.data + (RUBY_LEAF - RUBY_WORLD), FRAME);
		const struct fake_region regions[] = {world.region, {FRAMES, frames, n * FRAME}};
		struct ruby_sink sink;
		world.fake.regions = regions;
		world.fake.n_regions = 2;
		ruby_world_u64(&world, RUBY_EC + SW_RUBY_EC_CFP, FRAMES);
		ruby_world_u64(&world, RUBY_EC + SW_RUBY_EC_STACK, FRAMES);
		ruby_world_u64(&world, RUBY_EC + SW_RUBY_EC_STACK_SIZE, n * FRAME / 8);
		world.ruby.chain.tid = 0;
		assert_true(ruby_world_frames(&world, 0, true, 0, &sink));
		assert_int_equal(world.ruby.chain.n, SW_RUBY_FRAMES_MAX);
		assert_false(world.ruby.chain.cut);
		if (more == 0) {
			assert_null(sink.sink.cut_why);
			assert_null(sw_snapshot_limit(&world.snap, 0));
		} else {
			assert_string_equal(
				sink.sink.cut_why,
				"Ruby has more frames there than the 8192 that are followed");
			assert_string_equal(
				sw_snapshot_limit(&world.snap, 0),
				"ruby: frames of a thread that has more than 8192 were left out");
		}
		world.fake.regions = &world.region;
		world.fake.n_regions = 1;
		free(frames);
	}
}

TEST_WITH(test_lines, setup, teardown)
{
	static const struct {
		unsigned at, line; /* pc is behind the instruction */
	} rows[] = {{0, 1}, {1, 1}, {4, 1}, {5, 2}, {54, 2}, {55, 2}, {60, 2}, {61, 3}, {100, 3}};
	struct sw_frame frame = {.cookie = RUBY_ISEQS};
	char wanted[64];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		frame.pc_avma = ruby_world_pc(0, rows[i].at);
		(void) snprintf(wanted, sizeof(wanted), "leaf /srv/a.rb:%u", rows[i].line);
		assert_string_equal(said(&frame), wanted);
	}
	frame.pc_avma = ruby_world_pc(0, 101);
	assert_string_equal(said(&frame), "leaf /srv/a.rb:0");
	frame.pc_avma = ruby_world_pc(0, 1) + 1;
	assert_string_equal(said(&frame), "leaf /srv/a.rb:0");
	frame.pc_avma = RUBY_ISEQS; /* not known where */
	assert_string_equal(said(&frame), "leaf /srv/a.rb:0");
}

TEST_WITH(test_names_hostile, setup, teardown)
{
	struct sw_frame frame = {.pc_avma = ruby_world_pc(0, 3), .cookie = RUBY_ISEQS};
	uint64_t label = RUBY_STRINGS + 0x80;
	ruby_world_u64(&world, label, SW_RUBY_STRING | SW_RUBY_USER1); /* not embedded */
	ruby_world_u64(&world, label + SW_RUBY_OBJECT_LENGTH, UINT64_MAX);
	assert_string_equal(said(&frame), "[Ruby method] :0");
	ruby_world_u64(&world, label + SW_RUBY_OBJECT_LENGTH, 4);
	ruby_world_u64(&world, label + SW_RUBY_STRING_TEXT, 0x10); /* nowhere */
	assert_string_equal(said(&frame), "[Ruby method] :0");
	ruby_world_u64(&world, RUBY_ISEQS, SW_RUBY_STRING); /* freed, and used again */
	assert_string_equal(said(&frame), "[Ruby method] :0");
	frame = (struct sw_frame){.pc_avma = RUBY_METHOD, .cookie = RUBY_METHOD | 1};
	assert_string_equal(said(&frame), "times :0");
	ruby_world_u64(&world, RUBY_METHOD + 0x80 + SW_RUBY_DEF_ID, UINT64_C(701) << 4);
	assert_string_equal(said(&frame), "[C method] :0");
	/* svar that leads to itself */
	ruby_world_u64(&world, RUBY_METHOD,
		       SW_RUBY_IMEMO | SW_RUBY_IMEMO_SVAR << SW_RUBY_IMEMO_SHIFT);
	ruby_world_u64(&world, RUBY_METHOD + SW_RUBY_SVAR_METHOD, RUBY_METHOD);
	assert_string_equal(said(&frame), "[C method] :0");
}

/* A name that has a NUL in it is none that Ruby made: it is not cut there. */
TEST_WITH(test_name_zero, setup, teardown)
{
	uint64_t label = RUBY_STRINGS + 0x80 + SW_RUBY_OBJECT_LENGTH; /* "leaf" */
	struct sw_ruby_name name;
	assert_true(sw_ruby_iseq_name(&world.ruby.vm, RUBY_ISEQS, 0, &name));
	assert_string_equal(name.label, "leaf");
	world.data[label + 2 - RUBY_WORLD] = '\0';
	assert_false(sw_ruby_iseq_name(&world.ruby.vm, RUBY_ISEQS, 0, &name));
}

/* ---- before and in the window ------------------------------------------------------------------ */

static int setup_touch(void **state)
{
	ruby_world_init(&world);
	world.thread.captured = true;
	world.snap.threads = &world.thread;
	world.snap.n_threads = 1;
	return 0;
}

TEST_WITH(test_touch, setup_touch, teardown)
{
	struct ruby_sink sink;
	ruby_world_touch(&world);
	assert_true(ruby_world_frames(&world, 0, true, 0, &sink));
	assert_int_equal(sink.n, 1);
	assert_string_equal(said(&sink.frames[0]), "leaf /srv/a.rb:1");
	assert_true(ruby_world_frames(&world, 1, true, 0, &sink));
	assert_int_equal(sink.n, 2);
	assert_string_equal(said(&sink.frames[0]), "times :0");
	assert_string_equal(said(&sink.frames[1]), "<main> /srv/a.rb:23");
	assert_false(world.ruby.cut);
}

/* Compiled code keeps no place in its frames: of each function all is read that its name needs. */
TEST_WITH(test_touch_no_places, setup_touch, teardown)
{
	struct sw_ruby_name name;
	ruby_world_u64(&world, RUBY_LEAF + SW_RUBY_FRAME_PC, 0);
	ruby_world_u64(&world, RUBY_MAIN + SW_RUBY_FRAME_PC, 0);
	ruby_world_touch(&world);
	assert_true(sw_ruby_iseq_name(&world.ruby.vm, RUBY_ISEQS, 0, &name));
	assert_string_equal(name.label, "leaf");
	assert_true(sw_ruby_iseq_name(&world.ruby.vm, RUBY_ISEQS + 0x800, 0, &name));
	assert_string_equal(name.label, "<main>");
}

/* A function that many threads execute is read once. */
TEST_WITH(test_touch_once, setup_touch, teardown)
{
	enum { MANY = 600 };
	static struct sw_thread threads[MANY];
	ruby_world_touch(&world);
	size_t n = world.n_reads;
	for (size_t i = 0; i < MANY; i++)
		threads[i] = world.thread;
	world.snap.threads = threads;
	world.snap.n_threads = MANY;
	ruby_world_touch(&world);
	assert_true(world.n_reads < MANY * n / 2);
}

/* Before the window no thread has a thread pointer: what they execute is found by the list of threads. */
TEST_WITH(test_touch_rehearsal, setup_touch, teardown)
{
	enum {
		VM = RUBY_WORLD + 0x2000,
		THREAD = VM + 0x100,
		HEAD = VM + 0x200,
		SLOT = VM + 0x300,
		NATIVE = VM + 0x380, /* rb_native_thread */
	};
	struct sw_map map = {.start_avma = RUBY_WORLD,
			     .end_avma = RUBY_WORLD + RUBY_WORLD_BYTES,
			     .prot = SW_MAP_READ | SW_MAP_WRITE,
			     .path = ""};
	world.snap.maps = &map;
	world.snap.n_maps = 1;
	world.thread.fs_base = 0;
	world.ruby.found.vm_svma = SLOT;
	ruby_world_touch(&world); /* nothing leads to a thread */
	assert_false(world.was_read[RUBY_LEAF - RUBY_WORLD]);
	ruby_world_u64(&world, SLOT, VM);
	ruby_world_u64(&world, VM + 40, THREAD);
	ruby_world_u64(&world, THREAD, HEAD); /* a ring: the list's head, and the thread itself */
	ruby_world_u64(&world, HEAD, THREAD);
	ruby_world_u64(&world, THREAD + 32, VM);
	ruby_world_u64(&world, THREAD + 40, RUBY_EC);
	ruby_world_touch(&world); /* the context does not lead back */
	assert_false(world.was_read[RUBY_LEAF - RUBY_WORLD]);
	ruby_world_u64(&world, RUBY_EC + SW_RUBY_EC_THREAD, THREAD);
	ruby_world_touch(&world);
	assert_true(world.was_read[RUBY_LEAF - RUBY_WORLD]);
	assert_true(world.was_read[RUBY_ISEQS - RUBY_WORLD]);
	assert_true(world.was_read[RUBY_METHOD - RUBY_WORLD]);
	assert_false(world.was_read[RUBY_SLOT - RUBY_WORLD]);
	/* The thread pointer, which the window begins with: in the thread, or in its native thread. */
	ruby_world_u64(&world, RUBY_FS, RUBY_FS);
	ruby_world_u64(&world, THREAD + 80, RUBY_FS);
	ruby_world_touch(&world);
	assert_true(world.was_read[RUBY_SLOT - RUBY_WORLD]);
	ruby_world_u64(&world, THREAD + 80, NATIVE);
	ruby_world_touch(&world);
	assert_false(world.was_read[RUBY_SLOT - RUBY_WORLD]);
	ruby_world_u64(&world, NATIVE + 8, RUBY_FS);
	ruby_world_touch(&world);
	assert_true(world.was_read[RUBY_SLOT - RUBY_WORLD]);
	assert_true(world.was_read[RUBY_LEAF - RUBY_WORLD]);
	ruby_world_u64(&world, THREAD + 32, VM + 8); /* of another VM */
	ruby_world_touch(&world);
	assert_false(world.was_read[RUBY_LEAF - RUBY_WORLD]);
	ruby_world_u64(&world, THREAD + 32, VM);
	ruby_world_u64(&world, HEAD, HEAD); /* a list that never comes back has a limit */
	ruby_world_touch(&world);
	assert_in_range(world.n_reads, 4096, 20 * 4096);
}

/* The code that tells whether a frame is being filled is read for the thread that was interrupted in it. */
TEST_WITH(test_touch_code, setup_touch, teardown)
{
	enum { AT = 0x2800 };
	static char path[] = "";
	struct sw_map code = {.start_avma = RUBY_WORLD,
			      .end_avma = RUBY_WORLD + RUBY_WORLD_BYTES,
			      .prot = SW_MAP_READ | SW_MAP_EXEC,
			      .path = path};
	world.thread.regs.pc_avma = RUBY_WORLD + AT;
	world.snap.maps = &code;
	world.snap.n_maps = 1;
	for (uint64_t inode = 0; inode < 2; inode++) {
		code.inode = inode; /* a file's code is read as it is later */
		ruby_world_touch(&world);
		assert_int_equal(world.was_read[AT - SW_RUBY_FILL_BYTES], inode == 0);
		assert_int_equal(world.was_read[AT + SW_RUBY_END_BYTES - 1], inode == 0);
	}
	world.snap.n_maps = 0;
}

TEST_WITH(test_stack_hostile, setup, teardown)
{
	struct sw_ruby_stack stack;
	const struct sw_ruby_vm *vm = &world.ruby.vm;
	assert_true(sw_ruby_stack_read(vm, RUBY_FS, &stack));
	assert_false(sw_ruby_stack_read(vm, 0, &stack));
	ruby_world_u64(&world, RUBY_EC + SW_RUBY_EC_CFP, RUBY_FRAMES + 8); /* not a frame's */
	assert_false(sw_ruby_stack_read(vm, RUBY_FS, &stack));
	ruby_world_u64(&world, RUBY_EC + SW_RUBY_EC_CFP, RUBY_FRAMES_END);
	assert_false(sw_ruby_stack_read(vm, RUBY_FS, &stack));
	ruby_world_u64(&world, RUBY_EC + SW_RUBY_EC_STACK_SIZE, UINT64_MAX);
	assert_false(sw_ruby_stack_read(vm, RUBY_FS, &stack));
}

/* As YJIT of 3.1.7 has made it: a method's frame is in the chain, but its iseq is not in it yet. */
TEST(test_yjit_fills)
{
	static const uint8_t code[] = {
		0x49, 0x83, 0xed, 0x40,                /* sub r13, 64 */
		0x4d, 0x89, 0x6c, 0x24, 0x10,          /* mov [r12+16], r13 */
		0x48, 0x8b, 0x4b, 0xf8,                /* mov rcx, [rbx-8] */
		0x49, 0x89, 0x4d, 0x18,                /* mov [r13+24], rcx */
		0x49, 0x89, 0x45, 0x08,                /* mov [r13+8], rax */
		0x49, 0xc7, 0x45, 0x28, 0,    0, 0, 0, /* mov qword [r13+40], 0 */
	};
	assert_false(sw_ruby_yjit_fills((struct sw_bytes){code, 8}));
	assert_true(sw_ruby_yjit_fills((struct sw_bytes){code, 9}));
	assert_true(sw_ruby_yjit_fills((struct sw_bytes){code, 21}));
	assert_false(sw_ruby_yjit_fills((struct sw_bytes){code, sizeof(code)}));
}

/* The number of registers that are saved at each instruction of a function of YJIT. */
TEST(test_yjit_saved)
{
	static const uint8_t entry[] = {0x1e, 0x1e, 0x1e, 0x1e, 0x1e, 0x41, 0x55, 0x41, 0x54, 0x53,
					0x49, 0x89, 0xfc, 0x49, 0x89, 0xf5, 0x49, 0x8b, 0x5d, 0x08},
			     leave[] = {0x5b, 0x41, 0x5c, 0x41, 0x5d, 0xc3, 0x00},
			     side[] = {0x5b, 0x41, 0x5c, 0x41, 0x5d, 0xb8, 0x34, 0, 0, 0, 0xc3},
			     twice[] = {0x5b, 0x41, 0x5d, 0xc3};
	const struct sw_bytes none = {0};
	static const int wanted[] = {0, -1, 1, -1, 2, 3, -1};
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(sw_ruby_yjit_saved((struct sw_bytes){entry + i, 5},
						    (struct sw_bytes){entry + 5 + i, 15 - i}),
				 wanted[i]);
	assert_int_equal(sw_ruby_yjit_saved(none, (struct sw_bytes){entry + 7, 13}), -1);
	static const int left[] = {3, 2, -1, 1, -1, 0};
	for (size_t i = 0; i < 6; i++)
		if (left[i] >= 0)
			assert_int_equal(sw_ruby_yjit_saved(none,
							    (struct sw_bytes){leave + i, 7 - i}),
					 left[i]);
	assert_int_equal(sw_ruby_yjit_saved(none, (struct sw_bytes){side, sizeof(side)}), 3);
	assert_int_equal(sw_ruby_yjit_saved(none, (struct sw_bytes){side + 5, 6}), 0);
	assert_int_equal(sw_ruby_yjit_saved(none, (struct sw_bytes){side + 5, 5}), -1); /* no ret */
	assert_int_equal(sw_ruby_yjit_saved(none, (struct sw_bytes){twice, 4}), -1);
}

/* While YJIT compiles, some pages of its memory cannot be executed. */
TEST_WITH(test_yjit_written, setup, teardown)
{
	static char none[] = "", heap[] = "[heap]";
	enum { X = SW_MAP_READ | SW_MAP_EXEC, W = SW_MAP_READ | SW_MAP_WRITE };
	struct sw_map maps[] = {
		{.start_avma = 0x100000, .end_avma = 0x101000, .prot = W, .path = none},
		{.start_avma = 0x200000, .end_avma = 0x204000, .prot = X, .path = none},
		{.start_avma = 0x204000, .end_avma = 0x205000, .prot = W, .path = none},
		{.start_avma = 0x205000, .end_avma = 0x208000, .prot = X, .path = none},
		{.start_avma = 0x208000, .end_avma = 0x209000, .prot = W, .path = heap},
		{.start_avma = 0x300000, .end_avma = 0x301000, .prot = X, .path = none},
		{.start_avma = 0x301000, .end_avma = 0x401000, .prot = W, .path = none},
		{.start_avma = 0x500000, .end_avma = 0x501000, .prot = SW_MAP_READ, .path = none},
		{.start_avma = 0x501000, .end_avma = 0x502000, .prot = X, .path = none},
		/* Mappings with little code on one side are no memory of YJIT. */
		{.start_avma = 0x600000, .end_avma = 0x604000, .prot = X, .path = none},
		{.start_avma = 0x604000, .end_avma = 0x605000, .prot = W, .path = none},
		{.start_avma = 0x700000, .end_avma = 0x701000, .prot = W, .path = none},
		{.start_avma = 0x701000, .end_avma = 0x704000, .prot = X, .path = none},
		/* The first and the last pages of it. */
		{.start_avma = 0x900000, .end_avma = 0x901000, .prot = W, .path = none},
		{.start_avma = 0x901000, .end_avma = 0xa01000, .prot = X, .path = none},
		{.start_avma = 0xa01000, .end_avma = 0xa02000, .prot = W, .path = none},
	};
	static const struct {
		uint64_t avma;
		bool code;
	} wanted[] = {
		{0x100010, false},                                       /* nothing of it is near */
		{0x200010, true},  {0x204010, true},  {0x208010, false}, /* the heap */
		{0x300010, true},  {0x301010, false},                    /* too large */
		{0x500010, false}, {0x501010, true},  {0x502010, false}, {0x604010, false},
		{0x700010, false}, {0x900010, true},  {0xa01010, true},
	};
	world.snap.maps = maps;
	world.snap.n_maps = sizeof(maps) / sizeof(*maps);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		assert_int_equal(sw_ruby_yjit_at(&world.ruby, wanted[i].avma), wanted[i].code);
	world.ruby.found.layout = NULL;
	assert_false(sw_ruby_yjit_at(&world.ruby, 0x200010));
	world.snap.maps = NULL;
	world.snap.n_maps = 0;
}

/* A library's variable: module 2 of the thread's vector. */
TEST_WITH(test_tls, setup, teardown)
{
	const struct sw_tls_variable variable = {.got_svma = RUBY_WORLD + 0x2000};
	const uint64_t dtv = RUBY_WORLD + 0x2100;
	struct sw_memory m = world.ruby.vm.memory;
	uint64_t avma;
	ruby_world_u64(&world, RUBY_WORLD + 0x2000, 2);
	ruby_world_u64(&world, RUBY_WORLD + 0x2008, 0x18);
	ruby_world_u64(&world, RUBY_FS + 8, dtv);
	ruby_world_u64(&world, dtv + 2 * 16, 0x7000);
	assert_true(sw_tls_address(&variable, m, 0, RUBY_FS, &avma));
	assert_int_equal(avma, 0x7018);
	ruby_world_u64(&world, dtv + 2 * 16, UINT64_MAX); /* not allocated */
	assert_false(sw_tls_address(&variable, m, 0, RUBY_FS, &avma));
	ruby_world_u64(&world, RUBY_WORLD + 0x2000, UINT64_MAX);
	assert_false(sw_tls_address(&variable, m, 0, RUBY_FS, &avma));
}
