/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot: blobs, steps, scopes, names and lines over made structures. */
#include "elf_make.h"
#include "hotspot_world.h"
#include "arch/arch.h"
#include "runtimes/hotspot/structures/code.h"
#include "runtimes/hotspot/structures/method.h"
#include "runtimes/hotspot/names.h"
#include "runtimes/hotspot/runtime.h"
#include "runtimes/hotspot/structures/scopes.h"
#include "runtimes/hotspot/step.h"
#include "runtimes/hotspot/threads.h"
#include "test.h"

#include <sys/mman.h>

static struct hotspot_world world;

static int setup(void **state)
{
	hotspot_world_init(&world);
	return 0;
}

static int teardown(void **state)
{
	hotspot_world_deinit(&world);
	return 0;
}

TEST(test_unsigned5)
{
	static const uint8_t bytes[] = {191, 192, 1, 255, 255, 255, 255, 255};
	struct sw_bytes b = {bytes, sizeof(bytes)};
	uint64_t off = 0;
	uint32_t value;
	assert_true(sw_hotspot_unsigned5(b, &off, 0, &value));
	assert_int_equal(value, 191);
	assert_true(sw_hotspot_unsigned5(b, &off, 0, &value));
	assert_int_equal(value, 192 + 64);
	assert_int_equal(off, 3);
	off = 1;
	assert_true(sw_hotspot_unsigned5(b, &off, 1, &value));
	assert_int_equal(value, 191 + 0);
	off = 3; /* five bytes at most */
	assert_true(sw_hotspot_unsigned5(b, &off, 0, &value));
	assert_int_equal(off, 8);
	assert_false(sw_hotspot_unsigned5(b, &off, 0, &value));
}

TEST_WITH(test_blob, setup, teardown)
{
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(&world.h, WORLD_CALL);
	assert_non_null(b);
	assert_int_equal(b->kind, SW_HOTSPOT_COMPILED);
	assert_int_equal(b->avma, WORLD_BLOB);
	assert_int_equal(b->frame_bytes, 32);
	assert_int_equal(b->compile_id, 99);
	assert_null(sw_hotspot_blob_at(&world.h, WORLD_CODE - 1));      /* its header */
	assert_null(sw_hotspot_blob_at(&world.h, WORLD_HEAP + 0x2000)); /* free */
	assert_null(sw_hotspot_blob_at(&world.h, WORLD_HEAP - 1));
}

/* A segment map that leads back in front of the heap, and one that has no end. */
TEST_WITH(test_segments_hostile, setup, teardown)
{
	uint64_t block;
	const struct sw_hotspot_heap *heap = &world.h.cache.heaps[0];
	world.data[WORLD_SEGMAP - WORLD + 3] = 200;
	assert_false(sw_hotspot_block_find(heap, world.h.memory, WORLD_HEAP + 3 * 128, &block));
	world.data[WORLD_SEGMAP - WORLD + 3] = 3;
	assert_true(sw_hotspot_block_find(heap, world.h.memory, WORLD_HEAP + 3 * 128, &block));
	assert_int_equal(block, WORLD_BLOCK);
}

TEST_WITH(test_unused, setup, teardown)
{
	world.data[WORLD_BLOCK + 8 - WORLD] = 0;
	assert_null(sw_hotspot_blob_at(&world.h, WORLD_CALL));
}

TEST_WITH(test_scopes, setup, teardown)
{
	struct sw_hotspot_scope s[SW_HOTSPOT_SCOPES_MAX];
	bool exact;
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(&world.h, WORLD_CALL);
	assert_int_equal(sw_hotspot_scopes_at(&world.h, b, WORLD_CALL, s, &exact), 2);
	assert_true(exact);
	assert_int_equal(s[0].method_avma, WORLD_INNER);
	assert_int_equal(s[0].bci, 4);
	assert_int_equal(s[1].method_avma, WORLD_OUTER);
	assert_int_equal(s[1].bci, 1);
	/* In front of it no other place is known: the method alone is certain. */
	assert_int_equal(sw_hotspot_scopes_at(&world.h, b, WORLD_CALL - 1, s, &exact), 1);
	assert_false(exact);
	assert_int_equal(s[0].method_avma, WORLD_OUTER);
	/* Behind it, between inner() in outer() and outer() itself at the same place. */
	assert_int_equal(sw_hotspot_scopes_at(&world.h, b, WORLD_CALL + 1, s, &exact), 1);
	assert_int_equal(s[0].method_avma, WORLD_OUTER);
}

/* Where a method is entered, in front of its bytecode: the line of that, as the VM says it. */
TEST_WITH(test_line_of_entry, setup, teardown)
{
	const struct sw_hotspot_method *m = sw_hotspot_method_get(&world.h, WORLD_OUTER);
	assert_non_null(m);
	uint32_t line = sw_hotspot_method_line(&world.h, m, 0);
	assert_int_not_equal(line, 0);
	assert_int_equal(sw_hotspot_method_line(&world.h, m, SW_HOTSPOT_BCI_ENTRY), line);
	assert_int_equal(SW_HOTSPOT_BCI_ENTRY, -1); /* as scopes have it */
	assert_int_equal(sw_hotspot_method_line(&world.h, m, SW_HOTSPOT_BCI_NONE), 0);
}

/* Scopes whose senders lead in a circle: the method itself is all that is said. */
TEST_WITH(test_scopes_circle, setup, teardown)
{
	struct sw_hotspot_scope s[SW_HOTSPOT_SCOPES_MAX];
	bool exact;
	const struct sw_hotspot_blob *b = sw_hotspot_blob_at(&world.h, WORLD_CALL);
	world.data[WORLD_BLOB + 0x507 - WORLD] = 7;
	assert_int_equal(sw_hotspot_scopes_at(&world.h, b, WORLD_CALL, s, &exact), 1);
	assert_int_equal(s[0].method_avma, WORLD_OUTER);
	assert_int_equal(s[0].bci, SW_HOTSPOT_BCI_NONE);
}

TEST_WITH(test_describe, setup, teardown)
{
	static struct sw_description d;
	struct sw_frame frame = {.pc_avma = WORLD_CALL};
	memset(&d, 0, sizeof(d));
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 0, &d), 1);
	assert_string_equal(d.function, "p.A.inner");
	assert_string_equal(d.file, "A.java");
	assert_int_equal(d.line, 12);
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 1, &d), 1);
	assert_string_equal(d.function, "p.A.outer");
	assert_int_equal(d.line, 10);
	assert_int_equal(d.start_avma, WORLD_CODE);
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 2, &d), 0);
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, SW_HOTSPOT_OUTERMOST, &d), 1);
	assert_string_equal(d.function, "p.A.outer");
}

TEST_WITH(test_name_unread, setup, teardown)
{
	static struct sw_description d;
	struct sw_frame frame = {.pc_avma = WORLD_CALL};
	hotspot_world_u64(&world, WORLD_INNER + 8, 0x10); /* nowhere */
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 0, &d), 1);
	assert_string_equal(d.function, "[Java method]");
}

/* The process runs on, in our own memory: what is there now, when a name has been read. */
TEST_WITH(test_code_gone, setup, teardown)
{
	static const struct {
		uint64_t avma;
		uint8_t value;
		bool same;
	} changes[] = {
		{WORLD_BLOB + 0x10, 0, true},   /* nothing that says which method it is */
		{WORLD_BLOB + 52, 98, false},   /* compile id */
		{WORLD_BLOB + 41, 0x77, false}, /* Method */
		{WORLD_BLOCK + 8, 0, false},    /* in use */
	};
	static struct sw_description d;
	struct sw_frame frame = {.pc_avma = WORLD_CALL};
	struct sw_snapshot_priv priv = {.mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
	uint8_t *now = mmap((void *) (uintptr_t) WORLD, WORLD_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_int_equal((uintptr_t) now, WORLD);
	assert_true(priv.mem_fd >= 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		hotspot_world_deinit(&world);
		hotspot_world_init(&world);
		world.snap.live = true;
		world.snap.priv = &priv;
		memcpy(now, world.data, WORLD_BYTES);
		now[changes[i].avma - WORLD] = changes[i].value;
		assert_int_equal(sw_hotspot_describe(&world.h, &frame, 0, &d), 1);
		assert_string_equal(d.function, changes[i].same ? "p.A.inner" : "[Java method]");
		assert_int_equal(d.line, changes[i].same ? 12 : 0);
		/* Said once, for the frame. */
		assert_int_equal(sw_hotspot_describe(&world.h, &frame, 1, &d), changes[i].same);
		assert_int_equal(sw_hotspot_describe(&world.h, &frame, SW_HOTSPOT_OUTERMOST, &d),
				 1);
		assert_string_equal(d.function, changes[i].same ? "p.A.outer" : "[Java method]");
	}
	/* Freed when the innermost has been told: the methods that it was compiled into do not vanish. */
	hotspot_world_deinit(&world);
	hotspot_world_init(&world);
	world.snap.live = true;
	world.snap.priv = &priv;
	memcpy(now, world.data, WORLD_BYTES);
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 0, &d), 1);
	now[WORLD_BLOCK + 8 - WORLD] = 0;
	assert_int_equal(sw_hotspot_describe(&world.h, &frame, 1, &d), 1);
	assert_string_equal(d.function, "p.A.outer");
	assert_int_equal(d.line, 10);
	close(priv.mem_fd);
	munmap(now, WORLD_BYTES);
}

/* Step once from a stack at 0x8000 with the words given. */
static enum sw_step stepped_from(const uint64_t *words, size_t n, struct sw_cursor *c,
				 struct sw_stepped *ret)
{
	static struct fake_region regions[2];
	regions[0] = world.region;
	regions[1] = (struct fake_region){0x8000, words, n * 8};
	static struct fake_memory fake;
	fake = (struct fake_memory){.regions = regions, .n_regions = 2};
	c->memory = fake_memory(&fake);
	*ret = (struct sw_stepped){0};
	return sw_hotspot_step(&world.h, c, ret);
}

/* sp is at the first word. */
static enum sw_step stepped(const uint64_t *words, size_t n, uint64_t pc, struct sw_stepped *ret)
{
	struct sw_cursor c = {.regs = {.pc_avma = pc, .sp_avma = 0x8000}, .exact_pc = true};
	sw_regs_set(&c.regs, SW_ARCH_FP, 0x1111);
	return stepped_from(words, n, &c, ret);
}

TEST_WITH(test_step, setup, teardown)
{
	/* [cfa - 16] rbp, [cfa - 8] return address; cfa is 32 bytes up. */
	static const uint64_t words[] = {1, 2, 0x2222, WORLD_CALL};
	struct sw_stepped s;
	assert_int_equal(stepped(words, 4, WORLD_CODE + 0x80, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, WORLD_CALL);
	assert_int_equal(s.regs.sp_avma, 0x8020);
	assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
	assert_int_equal(s.regs.known & UINT32_C(1) << SW_X86_64_RBX, 0);
}

/* push %rbp has run, sub has not: 55 | 48 83 ec 10 (32 - 16). */
TEST_WITH(test_step_prologue, setup, teardown)
{
	static const uint8_t code[] = {0x55, 0x48, 0x83, 0xec, 0x10};
	static const uint64_t words[] = {0x2222, WORLD_CALL, 0, 0};
	struct sw_stepped s;
	hotspot_world_put(&world, WORLD_CODE, code, sizeof(code));
	assert_int_equal(stepped(words, 4, WORLD_CODE + 1, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, 0x8010);
	assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
	/* At its begin the return address is at sp, and rbp the caller's. */
	assert_int_equal(stepped(words + 1, 3, WORLD_CODE, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, 0x8008);
	assert_int_equal(s.regs.val[SW_ARCH_FP], 0x1111);
}

/*
 * A frame that is to be left for the interpreter: its callee returns to a handler, and where it went on has been put
 * into its slot. Where the handler is: as an address until 22, then as an offset from the header.
 */
TEST_WITH(test_step_deoptimised, setup, teardown)
{
	enum { HANDLER = WORLD_CODE + 0x1f0, OFFSET = 88, ORIG_PC = 56, IMMUTABLE = 96 };
	enum { SECOND = WORLD_CODE + 0x90 };
	static const uint64_t words[] = {1, 2, 0x2222, HANDLER, SECOND, WORLD_CALL, 7, 8};
	struct sw_stepped s;
	hotspot_world_u32(&world, WORLD_BLOB + ORIG_PC, 8);
	hotspot_world_u64(&world, WORLD_BLOB + OFFSET, HANDLER);
	assert_int_equal(stepped(words, 8, WORLD_CODE + 0x80, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, WORLD_CALL);
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	world.h.at.nmethod_deopt_begin = -1;
	world.h.at.nmethod_deopt_offset = OFFSET;
	world.h.at.nmethod_immutable = IMMUTABLE;
	hotspot_world_u32(&world, WORLD_BLOB + ORIG_PC, 0); /* small frames of C2 */
	hotspot_world_u32(&world, WORLD_BLOB + OFFSET, HANDLER - WORLD_BLOB);
	assert_int_equal(stepped(words, 8, WORLD_CODE + 0x80, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, SECOND);
	assert_int_equal(s.regs.sp_avma, 0x8020);
	/* A method that calls method handles has another handler for these calls. */
	for (int as_offset = 0; as_offset <= 1; as_offset++) {
		enum { HANDLES = HANDLER + 5, HANDLES_AT = 104 };
		static const uint64_t handles[] = {1, 2, 0x2222, HANDLES, SECOND, WORLD_CALL, 7, 8};
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
		world.h.at.nmethod_deopt_begin = as_offset ? -1 : OFFSET;
		world.h.at.nmethod_deopt_mh_begin = as_offset ? -1 : HANDLES_AT;
		world.h.at.nmethod_deopt_mh_offset = as_offset ? HANDLES_AT : -1;
		hotspot_world_u32(&world, WORLD_BLOB + ORIG_PC, 0);
		if (as_offset)
			hotspot_world_u32(&world, WORLD_BLOB + HANDLES_AT, HANDLES - WORLD_BLOB);
		else
			hotspot_world_u64(&world, WORLD_BLOB + HANDLES_AT, HANDLES);
		assert_int_equal(stepped(handles, 8, WORLD_CODE + 0x80, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, SECOND);
		/* others have none */
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
		world.h.at.nmethod_deopt_mh_offset = HANDLES_AT;
		hotspot_world_u32(&world, WORLD_BLOB + HANDLES_AT, UINT32_MAX);
		assert_int_equal(stepped(handles, 8, WORLD_CODE + 0x80, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, HANDLES);
	}
	/* where the slot is is not known: what lies at 0 is something else */
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	world.h.at.nmethod_orig_pc = SW_HOTSPOT_NONE;
	hotspot_world_u64(&world, WORLD_BLOB + OFFSET, HANDLER);
	assert_int_equal(stepped(words, 8, WORLD_CODE + 0x80, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, HANDLER);
}

/* ret: whatever the method's frame was. */
TEST_WITH(test_step_return, setup, teardown)
{
	static const uint64_t words[] = {WORLD_CALL, 0, 0, 0};
	struct sw_stepped s;
	hotspot_world_put(&world, WORLD_CODE + 0x80, "\xc3", 1);
	assert_int_equal(stepped(words, 4, WORLD_CODE + 0x80, &s), SW_STEP_OK);
	assert_int_equal(s.regs.sp_avma, 0x8008);
}

/*
 * C1's check of a subtype has its arguments on the stack, and array copies two words more; where the return address
 * would be without them one of another call has been left:
 *
 *	00 push %rdi; 01 push %rsi; 02 push %rdi; 03 movabs $1, %r10; 0d push %r10; 0f call far away (code cache or not)
 *	14 pop %rsi; 15 pop %rsi; 16 cmp $0, %esi; 19 jne 25; 1b pop %rsi; 1c pop %rdi; 1d add $0x10, %rsp; 21 pop %rbp
 *	22 ret
 */
TEST_WITH(test_step_pending, setup, teardown)
{
	static const uint8_t code[] = {0x57, 0x56, 0x57, 0x49, 0xba, 1,    0,    0,    0,
				       0,    0,    0,    0,    0x41, 0x52, 0xe8, 0,    0,
				       0x40, 0,    0x5e, 0x5e, 0x83, 0xfe, 0x00, 0x75, 0x0a,
				       0x5e, 0x5f, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
	static const struct {
		unsigned off, pushed;
		bool called;
	} places[] = {{0x00, 0, false}, {0x01, 1, false}, {0x02, 2, false}, {0x03, 3, false},
		      {0x0d, 3, false}, {0x0f, 4, false}, {0x14, 4, true},  {0x14, 4, false},
		      {0x15, 3, false}, {0x16, 2, false}, {0x1b, 2, false}, {0x1c, 1, false},
		      {0x1d, 0, false}};
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	hotspot_world_put(&world, WORLD_CALL - sizeof(call), call, sizeof(call));
	hotspot_world_put(&world, WORLD_CODE + 0x80, code, sizeof(code));
	for (size_t i = 0; i < SW_ARRAY_SIZE(places); i++) {
		/* Each word would do as a return address. */
		uint64_t words[12];
		struct sw_stepped s;
		for (size_t k = 0; k < SW_ARRAY_SIZE(words); k++)
			words[k] = WORLD_CALL;
		words[places[i].pushed + 2] = 0x2222;
		struct sw_cursor c = {.regs = {.pc_avma = WORLD_CODE + 0x80 + places[i].off,
					       .sp_avma = 0x8000},
				      .exact_pc = !places[i].called};
		assert_int_equal(stepped_from(words, 12, &c, &s), SW_STEP_OK);
		assert_int_equal(s.regs.sp_avma, 0x8000 + 8 * (places[i].pushed + 4));
		assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
	}
}

/*
 * The end of a native method's wrapper as 25 has it:
 *
 *	00 leave; testb $1, 0x28(%r15); je 1e; movabs $pc, %r10; mov %r10, 0x538(%r15); jmp poll
 *	1e cmpq $0, 8(%r15); jne 2a; ret; 2a jmp exception; 2f vzeroupper
 */
TEST_WITH(test_step_native_end, setup, teardown)
{
	static const uint8_t code[] = {0xc9, 0x41, 0xf6, 0x47, 0x28, 0x01, 0x74, 0x16, 0x49, 0xba,
				       0x76, 0xc7, 0xec, 0xa7, 0x57, 0x7f, 0x00, 0x00, 0x4d, 0x89,
				       0x97, 0x38, 0x05, 0x00, 0x00, 0xe9, 0xcd, 0xd3, 0xab, 0xff,
				       0x49, 0x83, 0x7f, 0x08, 0x00, 0x0f, 0x85, 0x01, 0x00, 0x00,
				       0x00, 0xc3, 0xe9, 0x3c, 0xc7, 0xa6, 0xff, 0xc5, 0xf8, 0x77};
	static const uint8_t gone[] = {1, 6, 8, 18, 25, 30, 35, 41, 42};
	static const uint64_t words[] = {WORLD_CALL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	struct sw_stepped s;
	hotspot_world_native(&world);
	hotspot_world_put(&world, WORLD_CODE + 0x80, code, sizeof(code));
	for (size_t i = 0; i < sizeof(gone); i++) {
		assert_int_equal(stepped(words, 12, WORLD_CODE + 0x80 + gone[i], &s), SW_STEP_OK);
		assert_int_equal(s.regs.sp_avma, 0x8008);
		assert_int_equal(s.regs.val[SW_ARCH_FP], 0x1111);
	}
	/* In front of it and behind, the frame is whole. */
	assert_int_equal(stepped(words, 12, WORLD_CODE + 0x80, &s), SW_STEP_FAIL);
	assert_int_equal(stepped(words, 12, WORLD_CODE + 0x80 + 47, &s), SW_STEP_FAIL);
}

/* As 17 has it: 00 leave; 01 cmpq $0, 8(%r15), with four bytes of 0; 09 jne 10; 0f ret; 10 jmp exception */
TEST_WITH(test_step_native_end_17, setup, teardown)
{
	static const uint8_t code[] = {0xc9, 0x49, 0x81, 0x7f, 0x08, 0,    0,
				       0,    0,    0x0f, 0x85, 0x01, 0,    0,
				       0,    0xc3, 0xe9, 0x93, 0x4c, 0xa6, 0xff};
	static const uint8_t gone[] = {1, 9, 15, 16};
	static const uint64_t words[] = {WORLD_CALL, 1, 2, WORLD_CALL, 4, 5, 6, 7, 8, 9, 10, 11};
	struct sw_stepped s;
	hotspot_world_native(&world);
	hotspot_world_put(&world, WORLD_CODE + 0x80, code, sizeof(code));
	for (size_t i = 0; i < sizeof(gone); i++) {
		assert_int_equal(stepped(words, 12, WORLD_CODE + 0x80 + gone[i], &s), SW_STEP_OK);
		assert_int_equal(s.regs.sp_avma, 0x8008);
	}
}

/*
 * The end of a stub that has saved all registers:
 *
 *	00 mov (%rsp), %r15; 04 vmovsd 0x58(%rsp), %xmm1; 0a mov 0x10(%rsp), %rbp; 0f mov 0x18(%rsp), %rax
 *	14 add $0x20, %rsp; 18 leave; 19 ret
 */
TEST_WITH(test_step_stub_end, setup, teardown)
{
	static const uint8_t code[] = {0x4c, 0x8b, 0x3c, 0x24, 0xc5, 0xfb, 0x10, 0x4c, 0x24,
				       0x58, 0x48, 0x8b, 0x6c, 0x24, 0x10, 0x48, 0x8b, 0x44,
				       0x24, 0x18, 0x48, 0x83, 0xc4, 0x20, 0xc9, 0xc3};
	/* 0x8000 registers; 0x8020 caller's rbp, return address */
	static const uint64_t words[] = {1, 2, 0x8020, 4, 0x2222, WORLD_CALL, 7, 8, 9};
	static const struct {
		unsigned off, sp;
	} places[] = {{0, 0x8000},  {4, 0x8000},  {10, 0x8000}, {15, 0x8000},
		      {20, 0x8000}, {24, 0x8020}, {25, 0x8028}};
	struct sw_stepped s;
	hotspot_world_stub(&world);
	hotspot_world_put(&world, WORLD_CODE + 0x80, code, sizeof(code));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sw_cursor c = {.regs = {.pc_avma = WORLD_CODE + 0x80 + places[i].off,
					       .sp_avma = places[i].sp},
				      .exact_pc = true};
		sw_regs_set(&c.regs, SW_ARCH_FP, i == 6 ? 0x2222 : i > 2 ? 0x8020 : 0x1111);
		assert_int_equal(stepped_from(words, 9, &c, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, WORLD_CALL);
		assert_int_equal(s.regs.sp_avma, 0x8030);
		assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
	}
}

/* The same without a frame of rbp's: 00 add $0x10, %rsp; 04 pop %r12; 06 pop %rbp; 07 ret */
TEST_WITH(test_step_stub_pops, setup, teardown)
{
	static const uint8_t code[] = {0x48, 0x83, 0xc4, 0x10, 0x41, 0x5c, 0x5d, 0xc3};
	static const uint64_t words[] = {1, 2, 3, 0x2222, WORLD_CALL, 6};
	static const uint64_t no_call[] = {1, 2, 3, 0x2222, 0x3333, 6};
	static const struct {
		unsigned off, sp;
	} places[] = {{0, 0x8000}, {4, 0x8010}, {6, 0x8018}, {7, 0x8020}};
	struct sw_stepped s;
	hotspot_world_stub(&world);
	hotspot_world_put(&world, WORLD_CODE + 0x80, code, sizeof(code));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sw_cursor c = {.regs = {.pc_avma = WORLD_CODE + 0x80 + places[i].off,
					       .sp_avma = places[i].sp},
				      .exact_pc = true};
		sw_regs_set(&c.regs, SW_ARCH_FP, i == 3 ? 0x2222 : 0x1111);
		assert_int_equal(stepped_from(words, 6, &c, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, WORLD_CALL);
		assert_int_equal(s.regs.sp_avma, 0x8028);
		assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
		/* The address to which it would return comes after no call: it is no end, or not of
		 * this frame. */
		assert_true(stepped_from(no_call, 6, &c, &s) != SW_STEP_OK ||
			    s.regs.pc_avma != 0x3333);
	}
}

/*
 * C1's stubs save all registers before their frame is whole: 00 push %rbp; 01 mov %rsp, %rbp; 04 sub $8, %rsp;
 * 08 mov %rax, 8(%rsp); 0d mov %rbp, (%rsp); 12 mov %r15, (%rsp); 16 sub $8, %rsp. Those for exceptions end
 * with: 1a leave; 1b pop %rcx; 1c jmp *%rcx
 */
TEST_WITH(test_step_stub_saves, setup, teardown)
{
	static const uint8_t code[] = {0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x08, 0x48, 0x89,
				       0x44, 0x24, 0x08, 0x48, 0x89, 0x6c, 0x24, 0x00, 0x4c, 0x89,
				       0x3c, 0x24, 0x48, 0x83, 0xec, 0x08, 0xc9, 0x59, 0xff, 0xe1};
	static const uint64_t words[] = {1, 0x2222, WORLD_CALL, 4, 5, 6, 7, 8};
	static const unsigned offs[] = {8, 13, 18, 22, 28};
	struct sw_stepped s;
	hotspot_world_stub(&world);
	hotspot_world_put(&world, WORLD_CODE, code, sizeof(code));
	for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
		bool jump = offs[i] == 28;
		struct sw_cursor c = {.regs = {.pc_avma = WORLD_CODE + offs[i],
					       .sp_avma = jump ? 0x8018 : 0x8000},
				      .exact_pc = true};
		sw_regs_set(&c.regs, SW_ARCH_FP, jump ? 0x2222 : 0x8008);
		sw_regs_set(&c.regs, SW_X86_64_RCX, WORLD_CALL);
		assert_int_equal(stepped_from(words, 8, &c, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, WORLD_CALL);
		assert_int_equal(s.regs.sp_avma, 0x8018);
		assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
	}
}

/* The barrier at the entry of methods: push $-1; push %rbp; mov %rsp, %rbp. */
TEST_WITH(test_step_entry_barrier, setup, teardown)
{
	static const uint64_t words[] = {7, 8, 0x2222, UINT64_MAX, WORLD_CALL, 3};
	struct sw_stepped s;
	struct sw_cursor c = {.regs = {.pc_avma = WORLD_CODE + 0x90, .sp_avma = 0x8000}};
	sw_regs_set(&c.regs, SW_ARCH_FP, 0x8010);
	hotspot_world_routines(&world);
	assert_int_equal(stepped_from(words, 6, &c, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, WORLD_CALL);
	assert_int_equal(s.regs.sp_avma, 0x8028);
	assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
}

/*
 * The begin of an interpreted frame: 00 pop %rax; 01 lea -8(%rsp,%rcx,8), %r14; 06 push %rax;
 * 07 push %rbp; 08 mov %rsp, %rbp; 0b push %r13; 0d
 */
TEST_WITH(test_step_interpreter_begin, setup, teardown)
{
	static const uint8_t code[] = {0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x50, 0x55,
				       0x48, 0x8b, 0xec, 0x41, 0x55, 0x90, 0x90, 0x90};
	static const uint64_t at_entry[] = {WORLD_CALL, 1, 2, 3};
	static const uint64_t popped[] = {1, 2, 3, 4};
	static const uint64_t pushed[] = {WORLD_CALL, 1, 2, 3};
	static const uint64_t framed[] = {0x2222, WORLD_CALL, 1, 2};
	struct sw_stepped s;
	uint64_t begin = hotspot_world_interpreter(&world, code, sizeof(code));
	const struct {
		unsigned off;
		const uint64_t *words;
		uint64_t fp;
	} places[] = {{0, at_entry, 0x1111}, {1, popped, 0x1111}, {6, popped, 0x1111},
		      {7, pushed, 0x1111},   {8, framed, 0x2222}, {11, framed, 0x2222}};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sw_cursor c = {.regs = {.pc_avma = begin + places[i].off, .sp_avma = 0x8000},
				      .exact_pc = true};
		sw_regs_set(&c.regs, SW_ARCH_FP, places[i].off == 11 ? 0x8000 : 0x1111);
		sw_regs_set(&c.regs, SW_X86_64_RAX, WORLD_CALL);
		sw_regs_set(&c.regs, SW_X86_64_R13, 0x8018);
		assert_int_equal(stepped_from(places[i].words, 4, &c, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, WORLD_CALL);
		assert_int_equal(s.regs.sp_avma, 0x8018);
		assert_int_equal(s.regs.val[SW_ARCH_FP], places[i].fp);
	}
}

/* A frame whose return address lies where its caller's sp points to; one with a sp below that is none. */
TEST_WITH(test_step_interpreted, setup, teardown)
{
	static const uint8_t code[] = {0x90, 0x90, 0x90, 0x90};
	uint64_t words[] = {1, 0x8018, 3, 0x2222, WORLD_CALL, 5};
	struct sw_stepped s;
	uint64_t begin = hotspot_world_interpreter(&world, code, sizeof(code));
	static const struct {
		uint64_t sender;
		enum sw_step step;
	} cases[] = {{0x8020, SW_STEP_OK}, {0x8028, SW_STEP_OK}, {0x8018, SW_STEP_FAIL}};
	for (size_t i = 0; i < 3; i++) {
		struct sw_cursor c = {.regs = {.pc_avma = begin + 2, .sp_avma = 0x8000}};
		words[2] = cases[i].sender;
		sw_regs_set(&c.regs, SW_ARCH_FP, 0x8018);
		assert_int_equal(stepped_from(words, 6, &c, &s), cases[i].step);
		if (cases[i].step == SW_STEP_OK) {
			assert_int_equal(s.regs.sp_avma, cases[i].sender);
			assert_int_equal(s.regs.val[SW_ARCH_FP], 0x2222);
		}
	}
}

/* Java 8 keeps the bytecode's address a word higher; during a collection, its index in the method. */
TEST_WITH(test_interpreted_bytecode, setup, teardown)
{
	static const uint8_t code[] = {0x90, 0x90, 0x90, 0x90};
	static struct sw_description d;
	static struct fake_region regions[2];
	static struct fake_memory fake;
	uint64_t begin = hotspot_world_interpreter(&world, code, sizeof(code));
	uint64_t bytecode = sw_hotspot_method_get(&world.h, WORLD_OUTER)->code_avma;
	const struct {
		int version;
		uint64_t at_56, at_64;
		const char *function;
		uint32_t line;
	} cases[] = {
		{8, bytecode + 4, 0, "p.A.outer", 12},  {8, 4, bytecode, "p.A.outer", 12},
		{8, 1, bytecode + 4, "p.A.outer", 10},  {8, 9, bytecode, "[interpreter]", 0},
		{17, 0, bytecode + 4, "p.A.outer", 12}, {17, bytecode, 4, "[interpreter]", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* The frame's rbp is 0x8040. */
		const uint64_t words[] = {
			cases[i].at_64, cases[i].at_56, 0, 0, 0, WORLD_OUTER, 0, 0};
		struct sw_cursor c = {.regs = {.pc_avma = begin + 2, .sp_avma = 0x8000}};
		struct sw_frame frame = {.pc_avma = begin + 2};
		regions[0] = world.region;
		regions[1] = (struct fake_region){0x8000, words, sizeof(words)};
		fake = (struct fake_memory){.regions = regions, .n_regions = 2};
		c.memory = fake_memory(&fake);
		sw_regs_set(&c.regs, SW_ARCH_FP, 0x8040);
		d = (struct sw_description){0};
		world.h.version = cases[i].version;
		assert_true(sw_hotspot_owns(&world.h, &c, &frame.cookie));
		assert_int_equal(sw_hotspot_describe(&world.h, &frame, 0, &d), 1);
		assert_string_equal(d.function, cases[i].function);
		assert_int_equal(d.line, cases[i].line);
	}
}

TEST_WITH(test_explain, setup, teardown)
{
	struct sw_text text = {0};
	sw_hotspot_explain(&world.h, WORLD_CALL, &text);
	assert_non_null(strstr(text.data, "p.A.inner"));
	assert_non_null(strstr(text.data, ", inlined, bci 4, A.java:"));
	assert_non_null(strstr(text.data, ", bci 1, A.java:10\n"));
	sw_text_deinit(&text);
}

/* Which method the interpreter executes say the frames that are at it: a caller here, whose rbp is 0x8040. */
TEST_WITH(test_explain_interpreted, setup, teardown)
{
	static const uint8_t code[] = {0x90, 0x90, 0x90, 0x90};
	uint64_t begin = hotspot_world_interpreter(&world, code, sizeof(code));
	uint64_t bytecode = sw_hotspot_method_get(&world.h, WORLD_OUTER)->code_avma;
	const uint64_t words[] = {bytecode + 4, 0, 0, 0, 0, WORLD_OUTER, 0, 0};
	struct fake_region regions[] = {world.region, {0x8000, words, sizeof(words)}};
	struct fake_memory fake = {.regions = regions, .n_regions = 2};
	struct sw_cursor c = {.regs = {.pc_avma = begin + 2, .sp_avma = 0x8000},
			      .memory = fake_memory(&fake)};
	struct sw_frame frame = {.pc_avma = begin + 2};
	struct sw_text text = {0};
	world.h.version = 17;
	sw_regs_set(&c.regs, SW_ARCH_FP, 0x8040);
	assert_true(sw_hotspot_owns(&world.h, &c, &frame.cookie));
	sw_hotspot_explain_frame(&world.h, &frame, &text);
	assert_string_equal(text.data, "interpreted: p.A.outer(J)J, bci 4, A.java:12\n");
	sw_text_deinit(&text);
	/* compiled code is told by its address alone */
	text = (struct sw_text){0};
	sw_hotspot_explain_frame(&world.h, &(struct sw_frame){.pc_avma = WORLD_CALL}, &text);
	assert_null(text.data);
	sw_text_deinit(&text);
}

/* No address of the code cache where it must be: nobody may guess on from here. */
TEST_WITH(test_step_failed, setup, teardown)
{
	static const uint64_t words[12] = {1, 2, 3, 4};
	struct sw_stepped s;
	assert_int_equal(stepped(words, 12, WORLD_CODE + 0x80, &s), SW_STEP_FAIL);
	assert_true(s.final);
	assert_int_equal(s.end, SW_END_BAD_UNWIND_INFO);
	assert_int_equal(stepped(words, 12, 0x500, &s), SW_STEP_DECLINE);
}

/* ---- threads ------------------------------------------------------------------------------ */

static bool noted(struct sw_thread_info *ret)
{
	static const struct sw_thread thread = {.comm = "worker-\xc3\xbc", .regs.sp_avma = 0x8100};
	return sw_hotspot_thread_note(&world.h, &thread, ret);
}

TEST_WITH(test_thread, setup, teardown)
{
	struct sw_thread_info note;
	hotspot_world_thread(&world);
	assert_true(noted(&note));
	assert_string_equal(note.name, "worker-\xc3\xbc");
	assert_string_equal(note.role, "daemon");
	assert_string_equal(note.mode, "in_native");
	assert_int_equal(note.id, -1);
}

/* A list of more threads than are read has none, and the snapshot says so. */
TEST_WITH(test_thread_limit, setup, teardown)
{
	enum { LIST = WORLD_THREADS + 0x10 };
	struct sw_thread_info note;
	struct sw_snapshot_priv priv = {0};
	hotspot_world_thread(&world);
	world.snap.priv = &priv;
	hotspot_world_u32(&world, LIST, SW_HOTSPOT_THREADS_MAX);
	assert_true(noted(&note));
	assert_null(sw_snapshot_limit(&world.snap, 0));
	world.h.threads_tried = false;
	free(world.h.threads);
	world.h.threads = NULL;
	world.h.n_threads = world.h.threads_capacity = 0;
	hotspot_world_u32(&world, LIST, SW_HOTSPOT_THREADS_MAX + 1);
	assert_false(noted(&note));
	assert_string_equal(sw_snapshot_limit(&world.snap, 0),
			    "hotspot: Java threads are not known, as there are more than 65536");
	world.snap.priv = NULL;
}

/* 8 and 11: one leads to the next, here without an end. */
TEST_WITH(test_thread_chain, setup, teardown)
{
	struct sw_thread_info note;
	hotspot_world_thread(&world);
	hotspot_world_chain(&world);
	hotspot_world_u64(&world, WORLD_THREAD + WORLD_THREAD_NEXT, WORLD_OTHER);
	assert_true(noted(&note));
	assert_string_equal(note.name, "worker-\xc3\xbc");
	assert_int_equal(world.h.n_threads, SW_HOTSPOT_THREADS_MAX);
}

/* 8: one part of the code cache, which has no list of them. */
TEST_WITH(test_cache_alone, setup, teardown)
{
	enum { VARIABLE = WORLD_THREADS, HEAP = WORLD_THREADS + 0x40 };
	struct sw_hotspot_layout *at = &world.h.at;
	struct sw_hotspot_cache cache;
	at->only_heap = VARIABLE;
	at->heap_memory = 0;
	at->space_low = 0;
	at->space_high = 8;
	at->heap_segmap = 16;
	at->heap_shift = 32;
	hotspot_world_u64(&world, VARIABLE, HEAP);
	hotspot_world_u64(&world, HEAP, WORLD_HEAP);
	hotspot_world_u64(&world, HEAP + 8, WORLD_HEAP_END);
	hotspot_world_u64(&world, HEAP + 16, WORLD_SEGMAP);
	hotspot_world_u32(&world, HEAP + 32, 7);
	assert_true(sw_hotspot_cache_read(at, 0, world.h.memory, &cache));
	assert_int_equal(cache.n_heaps, 1);
	assert_memory_equal(&cache.heaps[0], &world.h.cache.heaps[0], sizeof(cache.heaps[0]));
	assert_int_equal(cache.low_avma, WORLD_HEAP);
	assert_int_equal(cache.high_avma, WORLD_HEAP_END);
	hotspot_world_u64(&world, VARIABLE, 8);
	assert_false(sw_hotspot_cache_read(at, 0, world.h.memory, &cache));
}

/* Two bytes for each character: one of three bytes, a pair of surrogates, half a pair. */
TEST_WITH(test_thread_name_wide, setup, teardown)
{
	static const uint8_t text[] = {0x22, 0x6f, 0x3d, 0xd8, 0x00, 0xde, 0x3d, 0xd8};
	struct sw_thread_info note;
	hotspot_world_thread(&world);
	hotspot_world_put(&world, WORLD_STRING + 16, "\1", 1);
	hotspot_world_put(&world, WORLD_STRING_BYTES + 16, text, sizeof(text));
	assert_true(noted(&note));
	assert_string_equal(note.name, "\xe6\xbc\xa2\xf0\x9f\x98\x80\xef\xbf\xbd");
}

/* As long as an array can be: cut, between two characters. */
TEST_WITH(test_thread_name_long, setup, teardown)
{
	struct sw_thread_info note;
	hotspot_world_thread(&world);
	hotspot_world_u32(&world, WORLD_STRING_BYTES + 12, UINT32_MAX);
	memset(world.data + (WORLD_STRING_BYTES + 16 - WORLD), 0xfc, 128);
	assert_true(noted(&note));
	assert_int_equal(strlen(note.name), 126);
}

/* The object is another thread's, or what it has for a name is something else: nothing is said. */
TEST_WITH(test_thread_hostile, setup, teardown)
{
	static const struct {
		uint64_t avma;
		uint32_t value;
		bool role;
	} changes[] = {
		{WORLD_THREAD_OBJECT + 16, WORLD_THREAD + 8, false},  /* eetop */
		{WORLD_THREAD_OBJECT + 8, WORLD_STRING_CLASS, false}, /* not a thread */
		{WORLD_THREAD_CLASS + 24, 0x10, false},               /* a name nowhere */
		{WORLD_STRING + 8, WORLD_THREAD_CLASS, false},        /* not a string */
		{WORLD_STRING + 12, 0x10, true},                      /* an array nowhere */
		{WORLD_STRING + 16, 7, true},                         /* coder */
		{WORLD_THREAD_CLASS + 0xa0, 0, false},                /* no fields */
		{WORLD_THREAD + 24, 0, false},                        /* no object */
	};
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct sw_thread_info note;
		hotspot_world_deinit(&world);
		hotspot_world_init(&world);
		hotspot_world_thread(&world);
		hotspot_world_u32(&world, changes[i].avma, changes[i].value);
		assert_true(noted(&note));
		assert_string_equal(note.name, "");
		assert_int_equal(note.role != NULL, changes[i].role);
	}
}

/* A class above itself. */
TEST_WITH(test_thread_class_circle, setup, teardown)
{
	struct sw_thread_info note;
	hotspot_world_thread(&world);
	hotspot_world_u32(&world, WORLD_THREAD_OBJECT + 8, WORLD_STRING_CLASS);
	hotspot_world_u64(&world, WORLD_STRING_CLASS + 32, WORLD_STRING_CLASS);
	assert_true(noted(&note));
	assert_string_equal(note.name, "");
}

/* A virtual thread is mounted when it says itself on which thread: where ZGC is at work, the handles to one
 * object differ for a while. */
TEST_WITH(test_thread_carrier, setup, teardown)
{
	static const struct {
		uint64_t avma; /* what differs from a carrier */
		uint32_t value;
	} none[] = {
		{WORLD_THREADS + 0x88, 0},
		{WORLD_THREADS + 0x88, WORLD_THREAD_OBJECT},   /* the thread's own */
		{WORLD_THREADS + 0x88, WORLD_STRING},          /* an old place of it */
		{WORLD_THREADS + 0x88, 0x10},                  /* nowhere */
		{WORLD_OTHER_OBJECT + 12, 0},                  /* mounted nowhere */
		{WORLD_OTHER_OBJECT + 12, WORLD_OTHER_OBJECT}, /* on another one */
		{WORLD_SYNC_CLASS + 0xa0, 0},                  /* the field is not there */
	};
	for (size_t i = 0; i <= sizeof(none) / sizeof(none[0]); i++) {
		struct sw_thread_info note;
		bool is_carrier = i == sizeof(none) / sizeof(none[0]);
		hotspot_world_deinit(&world);
		hotspot_world_init(&world);
		hotspot_world_virtual(&world);
		if (!is_carrier)
			hotspot_world_u32(&world, none[i].avma, none[i].value);
		assert_true(noted(&note));
		assert_string_equal(note.name, "worker-\xc3\xbc");
		assert_string_equal(note.role, is_carrier ? "carrier" : "daemon");
	}
}

/* ZGC: a name that the thread itself has not may be what lies there now. */
TEST_WITH(test_thread_moved, setup, teardown)
{
	struct sw_thread_info note;
	struct sw_hotspot_layout *at = &world.h.at;
	for (int i = 0; i < 3; i++) { /* until 20; in 21 to 23; since 21 with generations */
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
		hotspot_world_thread(&world);
		*(i == 1 ? &at->xgc : &at->zgc) = WORLD_THREADS + 0x90;
		*(i == 0 ? &at->zgc_good : i == 1 ? &at->xgc_good : &at->zgc_load_good) = 0;
		hotspot_world_u64(&world, WORLD_THREADS + 0x90, WORLD_THREADS + 0x98);
		hotspot_world_u64(&world, WORLD_THREADS + 0x98, WORLD_THREADS + 0xa0);
		hotspot_world_u64(&world, WORLD_THREADS + 0xa0, 1);
		if (i == 2) /* the color is behind the address */
			hotspot_world_u64(&world, WORLD_THREADS + 0x80,
					  (uint64_t) WORLD_THREAD_OBJECT << 13 | 1 << 12);
		assert_true(noted(&note));
		assert_string_equal(note.name, "worker-\xc3\xbc");
		hotspot_world_put(&world, WORLD_STRING_BYTES + 16, "X", 1);
		assert_true(noted(&note));
		assert_string_equal(note.name, "");
		assert_string_equal(note.role, "daemon");
	}
}

/* ---- other VMs ----------------------------------------------------------------------------- */

/* The name that the process's VM is given; the library has no tables for debuggers. */
static void identified(const char *path, struct sw_runtime *ret)
{
	static struct elf_make elf;
	struct sw_snapshot *snap = fake_snapshot_create();
	void *state;
	elf_make_init(&elf);
	uint32_t text = elf_make_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					 0x1000, NULL, 0x100);
	elf_make_symbol(&elf, "JNI_CreateJavaVM", STB_GLOBAL, STT_FUNC, (uint16_t) text, 0x1000,
			0x40);
	elf_make_symtab(&elf, SHT_DYNSYM);
	elf_make_finish(&elf);
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, path, 0x7000000, 0x7001000, 0x7002000,
				    elf.bytes, elf.size);
	fake_snapshot_finish(snap);
	assert_true(sw_runtime_hotspot.probe(snap));
	assert_int_equal(sw_runtime_hotspot.open(snap, NULL, &state), 0);
	assert_int_equal(sw_runtime_hotspot.identify(state, ret, 1), 1);
	sw_runtime_hotspot.close(state);
	fake_snapshot_destroy(snap);
}

TEST(test_other_vms)
{
	struct sw_runtime vm;
	identified("/opt/zing/lib/server/libjvm.so", &vm);
	assert_string_equal(vm.name, "jvm");
	assert_non_null(strstr(vm.problem, "not HotSpot"));
	identified("/opt/semeru/lib/default/libj9vm29.so", &vm);
	assert_string_equal(vm.name, "openj9");
	assert_non_null(strstr(vm.problem, "not HotSpot"));
}

static bool is_internal(uint64_t pc, const struct sw_place *place)
{
	const struct sw_frame frame = {.pc_avma = pc, .place = place};
	return sw_hotspot_is_internal(&world.h, &frame);
}

/* The frames of the machine's own, and those of the program. */
TEST_WITH(test_internal, setup, teardown)
{
	static const struct sw_place machine, library;
	world.h.place = &machine;
	assert_true(is_internal(0x1000, world.h.place));
	assert_false(is_internal(0x1000, &library));
	assert_false(is_internal(0x1000, NULL));
	assert_false(is_internal(WORLD_CALL, NULL)); /* a compiled method */
	assert_false(is_internal(WORLD_CODE - 1, NULL));
}

TEST_WITH(test_internal_stub, setup, teardown)
{
	hotspot_world_stub(&world);
	assert_true(is_internal(WORLD_CALL, NULL));
}

/* The only routines that are internal are those that lead from the machine into methods: others do
 * the program's work. */
TEST_WITH(test_internal_routines, setup, teardown)
{
	hotspot_world_routines(&world);
	assert_false(is_internal(WORLD_CALL, NULL));
	world.h.call_stub_return_avma = WORLD_CALL;
	assert_true(is_internal(WORLD_CALL, NULL));
	world.h.call_stub_return_avma = 0;
	world.h.continuation_return_avma = WORLD_CALL;
	assert_true(is_internal(WORLD_CALL, NULL));
}
