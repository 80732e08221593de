/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/php: files, versions, runs of calls, names and lines over made structures. */
#include "arch/arch.h"
#include "elf_make.h"
#include "php_world.h"
#include "runtimes/php/generators.h"
#include "runtimes/php/names.h"
#include "test.h"

static struct php_world world;

static int setup(void **state)
{
	php_world_init(&world);
	return 0;
}

static int teardown(void **state)
{
	php_world_deinit(&world);
	return 0;
}

/* "name:line", for a frame that was added. */
static const char *said(const struct sw_frame *frame)
{
	static struct sw_description d;
	static char text[8192];
	memset(&d, 0, sizeof(d));
	assert_int_equal(sw_php_names(&world.php, frame, &d), 1);
	(void) snprintf(text, sizeof(text), "%s %s:%u", d.function, d.file, d.line);
	return text;
}

TEST(test_files)
{
	static const char *const are[] = {"/usr/bin/php8.2",
					  "/usr/local/bin/php",
					  "php-fpm",
					  "/usr/sbin/php-fpm8.2",
					  "/usr/bin/php-cgi8.4",
					  "/usr/lib/apache2/modules/libphp8.2.so",
					  "/opt/libphp.so"};
	static const char *const are_not[] = {"/usr/bin/phpdoc",
					      "/usr/lib/libphp8.2.so.debug",
					      "/usr/bin/phpize8.2",
					      "/php/bin/x",
					      "libphp",
					      ""};
	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
		assert_true(sw_php_file_probe(are[i]));
	for (size_t i = 0; i < sizeof(are_not) / sizeof(*are_not); i++)
		assert_false(sw_php_file_probe(are_not[i]));
}

TEST(test_version)
{
	static const char text[] = "x\0X-Powered-By: PHP/8.2.36-1+deb12\0y";
	char version[16];
	assert_true(sw_php_version_scan(text, sizeof(text), version, sizeof(version)));
	assert_string_equal(version, "8.2.36");
	assert_true(sw_php_version_scan(text, 22, version, sizeof(version)));
	assert_string_equal(version, "8."); /* cut short */
	assert_false(sw_php_version_scan(text, 20, version, sizeof(version)));
	assert_false(sw_php_version_scan("", 0, version, sizeof(version)));
	assert_null(sw_php_layout_of(7, 4));
	assert_null(sw_php_layout_of(8, 5));
	assert_int_equal(sw_php_layout_of(8, 4)->op_filename, 168);
	/* Frames of generated code are execute_ex()'s, if that has one whose size or frame pointer is known. */
	struct sw_php_engine engine = {.has_jit = true, .hybrid = true, .frame_bytes = 0x40};
	assert_true(sw_php_jit_frames(&engine));
	engine.frame_bytes = 0;
	assert_false(sw_php_jit_frames(&engine));
	engine.frame_pointer = true;
	assert_true(sw_php_jit_frames(&engine));
	engine.hybrid = false;
	assert_false(sw_php_jit_frames(&engine));
}

/* Where zend_generator_resume() is, by a file that may say anything. */
TEST(test_resume_found)
{
	static const struct {
		uint64_t svma, bytes, start, end;
	} cases[] = {{0x1100, 0x80, 0x1100, 0x1180}, {0x1100, UINT64_MAX - 0x10, 0, 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		static struct elf_make elf;
		struct sw_snapshot *snap = fake_snapshot_create();
		struct sw_php_found found;
		elf_make_init(&elf);
		uint32_t text = elf_make_section(&elf, ".text", SHT_PROGBITS,
						 SHF_ALLOC | SHF_EXECINSTR, 0x1000, NULL, 0x1000);
		elf_make_symbol(&elf, "executor_globals", STB_GLOBAL, STT_OBJECT, (uint16_t) text,
				0x1000, 8);
		elf_make_symbol(&elf, "zend_generator_resume", STB_GLOBAL, STT_FUNC,
				(uint16_t) text, cases[i].svma, cases[i].bytes);
		elf_make_symtab(&elf, SHT_DYNSYM);
		elf_make_finish(&elf);
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/usr/bin/php8.2", 0x7000000,
					    0x7001000, 0x7002000, elf.bytes, elf.size);
		fake_snapshot_finish(snap);
		assert_true(sw_php_find(snap, &found));
		assert_int_equal(found.globals_svma, 0x1000);
		assert_int_equal(found.resume_svma, cases[i].start);
		assert_int_equal(found.resume_end_svma, cases[i].end);
		fake_snapshot_destroy(snap);
	}
}

/* As gcc 12.2 has made Debian's PHP 8.2.36. */
TEST(test_fp_slot)
{
	static const uint8_t code[] = {
		0x41, 0x55,                   /* push r13 */
		0x48, 0x83, 0xec, 0x78,       /* sub rsp, 0x78 */
		0x4c, 0x89, 0x74, 0x24, 0x48, /* mov [rsp+0x48], r14 */
		0x49, 0x89, 0xfe,             /* mov r14, rdi */
		0x4c, 0x89, 0x7c, 0x24, 0x40, /* mov [rsp+0x40], r15 */
	};
	uint32_t end = 0;
	assert_int_equal(sw_php_fp_slot((struct sw_bytes){code, sizeof(code)}, &end), 0x48);
	assert_int_equal(end, 11);
	assert_int_equal(sw_php_fp_slot((struct sw_bytes){code, 6}, &end), -1);
	assert_int_equal(sw_php_fp_slot((struct sw_bytes){NULL, 0}, &end), -1);
}

/* The same two: from behind "mov r14, ..." up to the ret. */
TEST(test_returns)
{
	static const uint8_t code[] = {
		0x4c, 0x8b, 0x74, 0x24, 0x40, /* mov r14, [rsp+0x40]: another slot */
		0xff, 0xd0,                   /* call rax */
		0x4c, 0x8b, 0x74, 0x24, 0x48, /* mov r14, [rsp+0x48] */
		0x4c, 0x8b, 0x7c, 0x24, 0x40, /* mov r15, [rsp+0x40] */
		0x48, 0x83, 0xc4, 0x78,       /* add rsp, 0x78 */
		0x41, 0x5d,                   /* pop r13 */
		0xc3,                         /* ret */
		0x4c, 0x8b, 0x74, 0x24, 0x48, /* mov r14, [rsp+0x48]: no ret follows */
	};
	static const uint8_t by_rbp[] = {
		0x4c, 0x8b, 0x75, 0xc8,             /* mov r14, [rbp-0x38] */
		0xc3,                               /* ret */
		0x4c, 0x8b, 0xb5, 0xc8, 0xff, 0xff, /* mov r14, [rbp-0x38] */
		0xff, 0x5d, 0xc3,                   /* pop rbp; ret */
		0x4c, 0x8b, 0x75,                   /* cut off */
	};
	static const uint8_t with_c3[] = {
		0x4c, 0x8b, 0x74, 0x24, 0x48, /* mov r14, [rsp+0x48] */
		0x48, 0x89, 0xc3,             /* mov rbx, rax: the byte of ret, but none */
		0xb8, 0xc3, 0x00, 0x00, 0x00, /* mov eax, 0xc3 */
		0x48, 0x83, 0xc4, 0x78,       /* add rsp, 0x78 */
		0xc3,                         /* ret */
		0x4c, 0x8b, 0x74, 0x24, 0x48, /* mov r14, [rsp+0x48] */
		0xeb, 0x10, 0xc3,             /* jmp; of something else: ret */
	};
	static const uint8_t begin[] = {0x4c, 0x89, 0x74, 0x24, 0x48, 0x90, 0x49, 0x89, 0xfe};
	struct sw_bytes e = {with_c3, sizeof(with_c3)};
	struct sw_bytes b = {code, sizeof(code)}, r = {by_rbp, sizeof(by_rbp)};
	size_t off = 0, start = 0;
	assert_true(sw_php_return_find(b, false, 0x48, &off, &start));
	assert_int_equal(start, 12);
	assert_int_equal(off, 24);
	assert_false(sw_php_return_find(b, false, 0x48, &off, &start));
	off = 0;
	assert_false(sw_php_return_find(b, true, 0x48, &off, &start));
	assert_true(sw_php_return_find(r, true, 0x38, &off, &start));
	assert_int_equal(start, 4);
	assert_int_equal(off, 5);
	assert_true(sw_php_return_find(r, true, 0x38, &off, &start));
	assert_int_equal(start, 12);
	assert_int_equal(off, 14);
	assert_false(sw_php_return_find(r, true, 0x38, &off, &start));
	off = 0;
	assert_true(sw_php_return_find(e, false, 0x48, &off, &start));
	assert_int_equal(start, 5);
	assert_int_equal(off, 18);
	assert_false(sw_php_return_find(e, false, 0x48, &off, &start));
	assert_int_equal(sw_php_fp_own((struct sw_bytes){begin, sizeof(begin)}, 5), 9);
	assert_int_equal(sw_php_fp_own((struct sw_bytes){begin, 8}, 5), 5);
}

/* As gcc 14.2 has made Debian's PHP 8.4. */
TEST(test_fp_below)
{
	static const uint8_t code[] = {
		0x48, 0x89, 0x45, 0xd8, /* mov [rbp-0x28], rax */
		0x31, 0xc0,             /* xor eax, eax */
		0x4c, 0x89, 0x75, 0xc8, /* mov [rbp-0x38], r14 */
		0x49, 0x89, 0xfe,       /* mov r14, rdi */
	};
	static const uint8_t far[] = {0x4c, 0x89, 0xb5, 0x00, 0xff, 0xff, 0xff};
	uint32_t end = 0;
	assert_int_equal(sw_php_fp_below_rbp((struct sw_bytes){code, sizeof(code)}, &end), 0x38);
	assert_int_equal(end, 10);
	assert_int_equal(sw_php_fp_below_rbp((struct sw_bytes){code, 8}, &end), 0);
	assert_int_equal(sw_php_fp_below_rbp((struct sw_bytes){far, sizeof(far)}, &end), 0x100);
	assert_int_equal(end, 7);
}

TEST(test_jump_out)
{
	static const uint8_t code[] = {
		0x0f, 0x84, 0x01, 0x00, 0x00, 0x00, /* je +1: within */
		0x90, 0xe9, 0x00, 0xf0, 0xff, 0xff, /* jmp -0x1000 */
		0x0f, 0x85, 0x00, 0x10, 0x00, 0x00, /* jne +0x1000 */
		0x90,
	};
	const struct sw_bytes b = {code, sizeof(code)};
	size_t off = 0;
	uint64_t to = 0;
	assert_true(sw_php_jump_out(b, 0x5000, &off, &to));
	assert_int_equal(to, 0x400c);
	assert_true(sw_php_jump_out(b, 0x5000, &off, &to));
	assert_int_equal(to, 0x6012);
	assert_false(sw_php_jump_out(b, 0x5000, &off, &to));
}

TEST_WITH(test_runs, setup, teardown)
{
	struct php_sink sink;
	uint64_t ip = PHP_OPCODES + SW_PHP_OP_BYTES; /* later than what was stored */
	assert_true(php_world_frames(&world, 0, PHP_LEAF, ip, &sink));
	assert_int_equal(sink.n, 2);
	assert_string_equal(said(&sink.frames[0]), "leaf /srv/a.php:1");
	assert_string_equal(said(&sink.frames[1]), "A::{closure} /srv/a.php:12");
	assert_true(php_world_frames(&world, 1, 0, 0, &sink));
	assert_int_equal(sink.n, 2);
	assert_string_equal(said(&sink.frames[0]), "array_map :0");
	assert_string_equal(said(&sink.frames[1]), "{main} /srv/a.php:32");
	assert_true(php_world_frames(&world, 2, 0, 0, &sink));
	assert_int_equal(sink.n, 0);
}

/* An instruction that is not one of the function's: its line is not known. */
TEST_WITH(test_line_unknown, setup, teardown)
{
	struct php_sink sink;
	static const uint64_t ips[] = {0, PHP_OPCODES + 8, PHP_OPCODES + 0x80, PHP_OPCODES - 32};
	for (size_t i = 0; i < sizeof(ips) / sizeof(*ips); i++) {
		assert_true(php_world_frames(&world, 0, PHP_LEAF, ips[i], &sink));
		assert_string_equal(said(&sink.frames[0]), "leaf /srv/a.php:0");
	}
	/* But if all of it is in one. */
	uint64_t line = PHP_FUNCTIONS + world.php.found.layout->op_line_start;
	php_world_u32(&world, line + 4, 5);
	php_world_u32(&world, line, 5);
	assert_string_equal(said(&sink.frames[0]), "leaf /srv/a.php:5");
}

/* leaf() has ended, or the next one begins: r14 is no call of the chain, and its caller has stored. */
TEST_WITH(test_between, setup, teardown)
{
	struct php_sink sink;
	uint64_t next = PHP_CALLS + 0x380; /* in the same run */
	php_world_u64(&world, next + SW_PHP_ED_PREV, PHP_LEAF);
	php_world_u32(&world, next + SW_PHP_ED_INFO, 0);
	assert_true(php_world_frames(&world, 0, next, PHP_OPCODES, &sink));
	assert_int_equal(sink.n, 2);
	assert_string_equal(said(&sink.frames[0]), "leaf /srv/a.php:2");
}

/* The only call of an execute_ex() has ended: its frame is there, and carries nothing. */
TEST_WITH(test_run_ended, setup, teardown)
{
	struct php_sink sink;
	php_world_u64(&world, PHP_GLOBALS + world.php.found.layout->current_execute_data, PHP_MAP);
	assert_true(php_world_frames(&world, 0, PHP_CLOSURE, 0, &sink));
	assert_int_equal(sink.n, 0);
	assert_true(php_world_frames(&world, 1, 0, 0, &sink));
	assert_int_equal(sink.n, 2);
	assert_string_equal(said(&sink.frames[1]), "{main} /srv/a.php:32");
}

/* At its first instructions execute_ex() has not kept r14 yet: what lies there is an earlier call's. */
TEST_WITH(test_first_instructions, setup, teardown)
{
	struct php_sink sink;
	uint64_t ended = PHP_CALLS + 0x380, c_code = 0x10;
	php_world_u64(&world, ended + SW_PHP_ED_PREV, PHP_CLOSURE);
	php_world_u32(&world, ended + SW_PHP_ED_INFO, SW_PHP_CALL_TOP);
	php_world_u32(&world, PHP_LEAF + SW_PHP_ED_INFO, SW_PHP_CALL_TOP);
	php_world_u64(&world, PHP_STACK + 8, ended);
	world.php.engine.fp_own_svma = PHP_CODE + 8;
	world.pc_avma = PHP_CODE + 4;
	/* r15 is the caller's: a line that leaf() may be at, but is not. */
	assert_true(php_world_frames(&world, 0, c_code, PHP_OPCODES + SW_PHP_OP_BYTES, &sink));
	assert_int_equal(sink.n, 1);
	assert_string_equal(said(&sink.frames[0]), "leaf /srv/a.php:2");
	assert_true(php_world_frames(&world, 1, 0, 0, &sink));
	assert_int_equal(sink.n, 1);
	assert_string_equal(said(&sink.frames[0]), "A::{closure} /srv/a.php:12");
}

/* At its last instructions r14 is its caller's again: this frame has no calls, and the caller has its own. */
TEST_WITH(test_last_instructions, setup, teardown)
{
	struct php_sink sink;
	php_world_u64(&world, PHP_GLOBALS + world.php.found.layout->current_execute_data, PHP_MAP);
	world.php.engine.returns[0].start_svma = PHP_CODE + 8;
	world.php.engine.returns[0].end_svma = PHP_CODE + 16;
	world.php.engine.n_returns = 1;
	world.pc_avma = PHP_CODE + 15;
	assert_true(php_world_frames(&world, 0, PHP_MAIN, 0, &sink));
	assert_int_equal(sink.n, 0);
	assert_true(php_world_frames(&world, 1, 0, 0, &sink));
	assert_int_equal(sink.n, 2);
	assert_string_equal(said(&sink.frames[1]), "{main} /srv/a.php:32");
	world.pc_avma = PHP_CODE + 16;
	assert_true(php_world_frames(&world, 0, PHP_MAIN, 0, &sink));
	assert_int_equal(sink.n, 2);
	/* The call that C code had there, though its caller is in the chain. */
	php_world_u64(&world, PHP_CLOSURE + SW_PHP_ED_PREV, PHP_MAP);
	world.pc_avma = PHP_CODE + 8;
	assert_true(php_world_frames(&world, 0, PHP_CLOSURE, 0, &sink));
	assert_true(php_world_frames(&world, 1, 0, 0, &sink));
	assert_int_equal(sink.n, 2);
	/* A generator that has yielded is still there: behind the yield, or at it. C code may have it in r14. */
	php_world_u64(&world, PHP_GLOBALS + world.php.found.layout->current_execute_data,
		      PHP_CLOSURE);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t code = PHP_OPCODES + 0x80 + i * SW_PHP_OP_BYTES + SW_PHP_OP_CODE;
		php_world_u64(&world, PHP_CLOSURE, PHP_OPCODES + 0x80 + SW_PHP_OP_BYTES);
		world.data[code - PHP_WORLD] = i == 0 ? SW_PHP_YIELD : SW_PHP_YIELD_FROM;
		assert_true(php_world_frames(&world, 0, PHP_CLOSURE, 0, &sink));
		assert_int_equal(sink.n, 1);
		assert_true(php_world_frames(&world, 1, 0, 0, &sink));
		assert_int_equal(sink.n, 2);
		world.data[code - PHP_WORLD] = 0;
	}
}

/* The value that C code had in r14 is no call: one that has been told, or one whose caller is none
 * of those that are left. */
TEST_WITH(test_not_kept, setup, teardown)
{
	struct php_sink sink;
	uint64_t other = PHP_CALLS + 0x380;
	static const uint64_t prevs[] = {0, PHP_LEAF};
	php_world_u32(&world, other + SW_PHP_ED_INFO, SW_PHP_CALL_TOP);
	for (size_t i = 0; i < sizeof(prevs) / sizeof(*prevs); i++) {
		php_world_u64(&world, other + SW_PHP_ED_PREV, prevs[i]);
		php_world_u64(&world, PHP_STACK + 8, other);
		assert_true(php_world_frames(&world, 0, PHP_LEAF, 0, &sink));
		assert_true(php_world_frames(&world, 1, 0, 0, &sink));
		assert_int_equal(sink.n, 2);
	}
	php_world_u64(&world, PHP_STACK + 8, PHP_LEAF);
	assert_true(php_world_frames(&world, 0, PHP_LEAF, 0, &sink));
	assert_true(php_world_frames(&world, 1, 0, 0, &sink));
	assert_int_equal(sink.n, 2);
}

/* C code is about to call execute_ex(): the run is there, its frame not yet. */
TEST_WITH(test_run_begins, setup, teardown)
{
	struct php_sink sink;
	assert_true(php_world_frames(&world, 0, PHP_MAIN, 0, &sink));
	assert_int_equal(sink.n, 4);
	assert_string_equal(said(&sink.frames[3]), "{main} /srv/a.php:32");
}

/* A callback that is an internal function needs no execute_ex(). */
TEST_WITH(test_internal_run, setup, teardown)
{
	struct php_sink sink;
	uint8_t type = SW_PHP_INTERNAL_FUNCTION;
	world.data[PHP_FUNCTIONS - PHP_WORLD] = type;
	world.data[PHP_FUNCTIONS + 0x100 - PHP_WORLD] = type;
	php_world_u32(&world, PHP_LEAF + SW_PHP_ED_INFO, SW_PHP_CALL_TOP);
	assert_true(php_world_frames(&world, 0, PHP_MAIN, 0, &sink));
	assert_int_equal(sink.n, 4);
	assert_string_equal(said(&sink.frames[3]), "{main} /srv/a.php:32");
}

TEST_WITH(test_circle, setup, teardown)
{
	struct php_sink sink;
	php_world_u64(&world, PHP_MAIN + SW_PHP_ED_PREV, PHP_LEAF);
	php_world_u32(&world, PHP_MAIN + SW_PHP_ED_INFO, 0);
	php_world_u32(&world, PHP_CLOSURE + SW_PHP_ED_INFO, 0);
	assert_true(php_world_frames(&world, 0, PHP_LEAF, 0, &sink));
	assert_int_equal(world.php.chain.n, SW_PHP_CHAIN_MAX);
	assert_false(world.php.cut); /* the limit has words of its own */
	assert_string_equal(sink.sink.cut_why,
			    "PHP has more calls there than the 8192 that are followed");
	assert_string_equal(sw_snapshot_limit(&world.snap, 0),
			    "php: calls of a thread that has more than 8192 were left out");
	assert_int_equal(sink.n, 64); /* as many as were taken */
}

/* A call whose function was not copied has no frame, and that is said. */
TEST_WITH(test_unread, setup, teardown)
{
	struct php_sink sink;
	assert_true(php_world_frames(&world, 0, PHP_LEAF, 0, &sink));
	assert_false(world.php.cut);
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_FUNC, 0x10); /* nowhere */
	world.php.chain.tid = 0;
	assert_true(php_world_frames(&world, 0, PHP_LEAF, 0, &sink));
	assert_true(world.php.cut);
}

/* The outer one yields from the middle one and that from leaf(), which alone has a call in the chain. */
TEST_WITH(test_generators, setup, teardown)
{
	enum {
		OUTER = PHP_WORLD + 0x5000,
		MIDDLE = OUTER + 0x200,
		LEAF = OUTER + 0x400,
		CALLS = OUTER + 0x600
	};
	static const uint64_t wanted[] = {PHP_LEAF,      OUTER + SW_PHP_GENERATOR_FAKE,
					  CALLS + 0x100, CALLS,
					  PHP_CLOSURE,   PHP_MAP,
					  PHP_MAIN};
	const struct sw_php_chain *c = &world.php.chain;
	uint64_t fake = OUTER + SW_PHP_GENERATOR_FAKE;
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, fake);
	php_world_u32(&world, PHP_LEAF + SW_PHP_ED_INFO, SW_PHP_CALL_TOP | SW_PHP_CALL_GENERATOR);
	php_world_u64(&world, fake + SW_PHP_ED_PREV, PHP_CLOSURE);
	php_world_u64(&world, fake + SW_PHP_ED_THIS, OUTER);
	php_world_u32(&world, fake + SW_PHP_ED_INFO, 0x300 | SW_PHP_IS_OBJECT);
	for (unsigned i = 0; i < 2; i++) {
		php_world_u64(&world, OUTER + 0x200 * i + SW_PHP_GENERATOR_PARENT,
			      OUTER + 0x200 * (i + 1));
		php_world_u64(&world, OUTER + 0x200 * i + SW_PHP_GENERATOR_CALL, CALLS + 0x100 * i);
		php_world_u64(&world, CALLS + 0x100 * i + SW_PHP_ED_FUNC, PHP_FUNCTIONS);
		php_world_u64(&world, CALLS + 0x100 * i + SW_PHP_ED_PREV, 0x10); /* of before */
		php_world_u32(&world, CALLS + 0x100 * i + SW_PHP_ED_INFO,
			      SW_PHP_CALL_TOP | SW_PHP_CALL_GENERATOR);
	}
	php_world_u64(&world, LEAF + SW_PHP_GENERATOR_CALL, PHP_LEAF);
	sw_php_chain_read(&world.php, &world.thread);
	assert_false(world.php.cut);
	assert_int_equal(c->n, sizeof(wanted) / sizeof(*wanted));
	for (size_t i = 0; i < c->n; i++)
		assert_int_equal(c->calls[i].avma, wanted[i]);
	assert_int_equal(sw_php_chain_run_end(c, 0), 0);
	assert_int_equal(sw_php_chain_run_end(c, 1), 4); /* no execute_ex() executes those two */
	/* A circle, and one that cannot be read. */
	php_world_u64(&world, MIDDLE + SW_PHP_GENERATOR_PARENT, OUTER);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 2 + SW_PHP_GENERATORS_MAX + 3);
	assert_true(world.php.cut);
	world.php.cut = false;
	php_world_u64(&world, MIDDLE + SW_PHP_GENERATOR_PARENT, 0x10);
	sw_php_chain_read(&world.php, &world.thread);
	assert_true(world.php.cut);
	/* leaf() goes on to one that cannot be read: the others are innermost first. */
	world.php.cut = false;
	php_world_u64(&world, MIDDLE + SW_PHP_GENERATOR_PARENT, LEAF);
	php_world_u64(&world, LEAF + SW_PHP_GENERATOR_PARENT, MIDDLE);
	php_world_u64(&world, LEAF + SW_PHP_GENERATOR_CALL, 0x10);
	sw_php_chain_read(&world.php, &world.thread);
	assert_true(world.php.cut);
	assert_int_equal(c->n, sizeof(wanted) / sizeof(*wanted));
	for (size_t i = 0; i < c->n; i++)
		assert_int_equal(c->calls[i].avma, wanted[i]);
	/* An address that is no place holder's place is none. */
	php_world_u64(&world, fake + SW_PHP_ED_THIS, OUTER + 8);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 5);
}

/* leaf() is a generator that zend_generator_resume() has not linked to its caller, which it has in a register. */
TEST_WITH(test_resumed, setup, teardown)
{
	const struct sw_php_chain *c = &world.php.chain;
	struct sw_regs *regs = &world.thread.regs;
	world.php.found.resume_svma = 0x7000;
	world.php.found.resume_end_svma = 0x7100;
	regs->pc_avma = 0x7010;
	php_world_u32(&world, PHP_LEAF + SW_PHP_ED_INFO, SW_PHP_CALL_TOP | SW_PHP_CALL_GENERATOR);
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, 0);
	sw_regs_set(regs, SW_X86_64_RBP, 0x10);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 1); /* nobody knows its caller */
	assert_true(world.php.cut);
	assert_true(c->missing);
	world.php.cut = false;
	sw_regs_set(regs, SW_X86_64_RBX, PHP_WORLD + 0x3000); /* no call */
	sw_regs_set(regs, SW_X86_64_R12, PHP_GLOBALS);
	sw_regs_set(regs, SW_X86_64_R13, PHP_CLOSURE);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 4);
	assert_int_equal(c->calls[1].avma, PHP_CLOSURE);
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, PHP_MAP); /* of before */
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 4);
	sw_regs_set(regs, SW_X86_64_R12, PHP_CLOSURE);
	sw_regs_set(regs, SW_X86_64_R13, PHP_MAP); /* linked, whatever else there is */
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 3);
	/* The generator is itself the one that resumes another one. */
	sw_regs_set(regs, SW_X86_64_R13, PHP_LEAF);
	sw_regs_set(regs, SW_X86_64_R14, PHP_CLOSURE);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 3);
	/* Elsewhere these registers say nothing, nor of other functions. */
	sw_regs_set(regs, SW_X86_64_R13, PHP_CLOSURE);
	regs->pc_avma = 0x7100;
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 3);
	regs->pc_avma = 0x7010;
	php_world_u32(&world, PHP_LEAF + SW_PHP_ED_INFO, 0);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 3);
	assert_false(world.php.cut);
	assert_false(c->missing);
}

/* The caller is the innermost of the calls in registers, whatever their order; if there is one such. */
TEST_WITH(test_resumed_order, setup, teardown)
{
	const struct sw_php_chain *c = &world.php.chain;
	struct sw_regs *regs = &world.thread.regs;
	uint64_t other = PHP_CALLS + 0x380;
	world.php.found.resume_svma = 0x7000;
	world.php.found.resume_end_svma = 0x7100;
	regs->pc_avma = 0x7010;
	php_world_u32(&world, PHP_LEAF + SW_PHP_ED_INFO, SW_PHP_CALL_TOP | SW_PHP_CALL_GENERATOR);
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, 0);
	sw_regs_set(regs, SW_X86_64_RBX, PHP_MAP);
	sw_regs_set(regs, SW_X86_64_R12, PHP_CLOSURE);
	sw_regs_set(regs, SW_X86_64_R13, PHP_MAIN);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 4);
	assert_int_equal(c->calls[1].avma, PHP_CLOSURE);
	assert_false(world.php.cut);
	assert_false(c->missing);
	php_world_u64(&world, other + SW_PHP_ED_FUNC, PHP_FUNCTIONS);
	php_world_u64(&world, other + SW_PHP_ED_PREV, PHP_MAIN);
	sw_regs_set(regs, SW_X86_64_R14, other);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 1);
	assert_true(world.php.cut);
	assert_true(c->missing);
}

/* A generator yields from leaf(), and is resumed by another call than before: it is in a register, too. */
TEST_WITH(test_resumed_delegating, setup, teardown)
{
	enum {
		OUTER = PHP_WORLD + 0x5000,
		LEAF = OUTER + 0x200,
		OTHER = OUTER + 0x400,
		CALL = OUTER + 0x600
	};
	/* The callers of leaf() and of the place holder of OUTER or OTHER. */
	static const uint64_t prevs[][2] = {
		{0, 0},
		{OUTER + SW_PHP_GENERATOR_FAKE, PHP_MAP}, /* not linked */
		{OUTER + SW_PHP_GENERATOR_FAKE, PHP_CLOSURE},
		{OTHER + SW_PHP_GENERATOR_FAKE,
		 PHP_CLOSURE},    /* it was resumed by way of another one */
		{PHP_CLOSURE, 0}, /* or without one */
	};
	const struct sw_php_chain *c = &world.php.chain;
	struct sw_regs *regs = &world.thread.regs;
	world.php.found.resume_svma = 0x7000;
	world.php.found.resume_end_svma = 0x7100;
	regs->pc_avma = 0x7010;
	sw_regs_set(regs, SW_X86_64_RBX, LEAF);
	sw_regs_set(regs, SW_X86_64_RBP, OUTER);
	sw_regs_set(regs, SW_X86_64_R13, PHP_CLOSURE);
	php_world_u32(&world, PHP_LEAF + SW_PHP_ED_INFO, SW_PHP_CALL_TOP | SW_PHP_CALL_GENERATOR);
	php_world_u64(&world, LEAF + SW_PHP_GENERATOR_CALL, PHP_LEAF);
	php_world_u64(&world, OUTER + SW_PHP_GENERATOR_CALL, CALL);
	php_world_u64(&world, OUTER + SW_PHP_GENERATOR_PARENT, LEAF);
	php_world_u64(&world, OTHER + SW_PHP_GENERATOR_CALL, CALL + 0x100);
	php_world_u64(&world, OTHER + SW_PHP_GENERATOR_PARENT, LEAF);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t fake = (i == 0 ? OUTER : OTHER) + SW_PHP_GENERATOR_FAKE;
		php_world_u64(&world, fake + SW_PHP_ED_THIS, i == 0 ? OUTER : OTHER);
		php_world_u32(&world, fake + SW_PHP_ED_INFO, 0x300 | SW_PHP_IS_OBJECT);
		php_world_u64(&world, CALL + 0x100 * i + SW_PHP_ED_FUNC, PHP_FUNCTIONS);
	}
	for (size_t i = 0; i < sizeof(prevs) / sizeof(*prevs); i++) {
		php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, prevs[i][0]);
		for (unsigned k = 0; k < 2; k++)
			php_world_u64(&world,
				      (k == 0 ? OUTER : OTHER) + SW_PHP_GENERATOR_FAKE +
					      SW_PHP_ED_PREV,
				      prevs[i][1]);
		sw_php_chain_read(&world.php, &world.thread);
		assert_false(world.php.cut);
		assert_false(c->missing);
		size_t n = c->n == 6 ? 2 : 1; /* with a place holder, or without */
		assert_int_equal(c->n, n + 4);
		assert_int_equal(c->calls[n].avma, CALL);
		assert_int_equal(c->calls[n + 1].avma, PHP_CLOSURE);
		assert_int_equal(sw_php_chain_run_end(c, n), n + 1);
	}
	/* The call of the one that yields cannot be read. */
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, 0);
	php_world_u64(&world, OUTER + SW_PHP_GENERATOR_CALL, 0x10);
	sw_php_chain_read(&world.php, &world.thread);
	assert_true(world.php.cut);
	assert_true(c->missing);
	world.php.cut = false;
	php_world_u64(&world, OUTER + SW_PHP_GENERATOR_CALL, CALL);
	/* Now nothing yields from leaf(). */
	sw_regs_set(regs, SW_X86_64_RBP, LEAF);
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, OUTER + SW_PHP_GENERATOR_FAKE);
	php_world_u64(&world, OUTER + SW_PHP_GENERATOR_FAKE + SW_PHP_ED_PREV, PHP_CLOSURE);
	sw_php_chain_read(&world.php, &world.thread);
	assert_int_equal(c->n, 4);
	assert_int_equal(c->calls[1].avma, PHP_CLOSURE);
	/* A circle is no proof that nothing does. */
	php_world_u64(&world, LEAF + SW_PHP_GENERATOR_PARENT, LEAF);
	sw_php_chain_read(&world.php, &world.thread);
	assert_true(world.php.cut);
	assert_true(c->missing);
}

/* While code is made all of opcache's memory is one mapping, which cannot be executed. */
TEST_WITH(test_jit_written, setup, teardown)
{
	static char zero[] = "/dev/zero (deleted)", file[] = "/srv/data", none[] = "";
	enum { W = SW_MAP_READ | SW_MAP_WRITE, X = SW_MAP_READ | SW_MAP_EXEC };
	struct sw_map maps[] = {
		{.start_avma = 0x100000,
		 .end_avma = 0x180000,
		 .prot = W | SW_MAP_SHARED,
		 .path = zero},
		{.start_avma = 0x180000,
		 .end_avma = 0x200000,
		 .prot = X | SW_MAP_SHARED,
		 .path = zero},
		{.start_avma = 0x300000,
		 .end_avma = 0x301000,
		 .prot = W | SW_MAP_SHARED,
		 .path = file},
		{.start_avma = 0x400000, .end_avma = 0x401000, .prot = W, .path = none},
	};
	uint8_t code[] = {0x90, 0x90, 0x90, 0xe8, 0x10, 0, 0, 0, 0x90, 0x90}; /* call */
	uint8_t data[16] = {0};
	struct fake_region regions[] = {{0x180010, code, sizeof(code)},
					{0x180100, data, sizeof(data)}};
	struct fake_memory fake = {.regions = regions, .n_regions = 2};
	struct sw_memory memory = fake_memory(&fake);
	struct sw_php_engine engine = {.has_jit = true,
				       .opcache = true,
				       .hybrid = true,
				       .frame_bytes = 0x40};
	world.snap.maps = maps;
	world.snap.n_maps = sizeof(maps) / sizeof(*maps);
	assert_true(sw_php_jit_at(&engine, &world.snap, 0x180010));
	assert_false(sw_php_jit_at(&engine, &world.snap, 0x100010)); /* the code is elsewhere */
	engine.has_jit = false;
	maps[1].prot = W | SW_MAP_SHARED;
	/* Behind a call; data, and what cannot be read, is no code. */
	assert_true(sw_php_jit_returns(&engine, &world.snap, memory, 0x180018));
	assert_false(sw_php_jit_returns(&engine, &world.snap, memory, 0x180019));
	assert_false(sw_php_jit_returns(&engine, &world.snap, memory, 0x180108));
	assert_false(sw_php_jit_returns(&engine, &world.snap, memory, 0x180200));
	engine.opcache = false;
	assert_false(sw_php_jit_returns(&engine, &world.snap, memory, 0x180018));
	engine.opcache = true;
	assert_true(sw_php_jit_at(&engine, &world.snap, 0x180010));
	assert_false(sw_php_jit_at(&engine, &world.snap, 0x300010));
	assert_false(sw_php_jit_at(&engine, &world.snap, 0x400010));
	assert_false(sw_php_jit_at(&engine, &world.snap, 0x500010));
	engine.hybrid = false;
	assert_false(sw_php_jit_at(&engine, &world.snap, 0x180010));
	world.snap.maps = NULL;
	world.snap.n_maps = 0;
}

TEST_WITH(test_names, setup, teardown)
{
	struct sw_frame frame = {.pc_avma = PHP_OPCODES, .cookie = PHP_FUNCTIONS};
	uint64_t class_name = PHP_STRINGS + 0x80;
	php_world_u64(&world, PHP_FUNCTIONS + SW_PHP_FUNC_SCOPE, PHP_CLASS);
	memcpy(world.data + class_name + SW_PHP_STRING_TEXT - PHP_WORLD, "class@anonymous\0/x", 18);
	php_world_u64(&world, class_name + SW_PHP_STRING_LENGTH, 18);
	assert_string_equal(said(&frame), "class@anonymous::leaf /srv/a.php:0");
	world.data[PHP_FUNCTIONS - PHP_WORLD] = SW_PHP_EVAL_CODE;
	assert_string_equal(said(&frame), "{eval} /srv/a.php:0");
	world.data[PHP_FUNCTIONS - PHP_WORLD] = SW_PHP_USER_FUNCTION;
	php_world_u64(&world, PHP_FUNCTIONS + SW_PHP_FUNC_NAME, 0);
	assert_string_equal(said(&frame), "{include} /srv/a.php:0");
	php_world_u64(&world, PHP_FUNCTIONS + SW_PHP_FUNC_NAME, 0x10); /* nowhere */
	assert_string_equal(said(&frame), "[PHP function] :0");
	php_world_u64(&world, PHP_FUNCTIONS + SW_PHP_FUNC_NAME, PHP_STRINGS);
	php_world_u64(&world, PHP_STRINGS + SW_PHP_STRING_LENGTH, UINT64_MAX);
	assert_string_equal(said(&frame), "[PHP function] :0");
}

/* Calls that could not be read are said with the frame that executes them; a function that could not is said elsewhere. */
TEST_WITH(test_calls_missing, setup, teardown)
{
	struct php_sink sink;
	assert_true(php_world_frames(&world, 0, PHP_LEAF, 0, &sink));
	assert_null(sink.sink.cut_why);
	php_world_u64(&world, PHP_MAIN + SW_PHP_ED_PREV, 0x10); /* nowhere */
	world.php.chain.tid = 0;
	assert_true(php_world_frames(&world, 0, PHP_LEAF, 0, &sink));
	assert_string_equal(sink.sink.cut_why, "not all of PHP's calls could be read");
	assert_null(sw_snapshot_limit(&world.snap, 0));
}
