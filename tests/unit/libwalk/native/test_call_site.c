/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/call_site.h"
#include "walk_case.h"
#include "test.h"

enum { BIAS = 0x550000000000, CODE = BIAS + IMAGE_CODE, SLOT = BIAS + 0x20000 };

/*
 *	10 callee:	(16 bytes)
 *	20 other:	(16 bytes)
 *	30 caller:	call callee		e8 db ff ff ff
 *	35		call callee+4		e8 da ff ff ff
 *	3a		call other		e8 e1 ff ff ff
 *	3f		call *%rax		ff d0
 *	41		call plt		e8 1a 00 00 00
 *	46		call (unmapped)		e8 00 00 00 40
 *	50		mov $15,%rax; syscall	48 c7 c0 0f 00 00 00 0f 05
 *	60 plt:		jmp *SLOT(%rip)		ff 25 ..
 *	70		call jumping		e8 0b 00 00 00
 *	75		call *SLOT(%rip)	ff 15 ..
 *	80 jumping:	jmp callee		e9 8b ff ff ff
 */
static uint8_t code[0x88] = {
	/* clang-format off */
	[0x30] = 0xe8, 0xdb, 0xff, 0xff, 0xff, 0xe8, 0xda, 0xff, 0xff, 0xff, 0xe8, 0xe1, 0xff, 0xff, 0xff,
	[0x3f] = 0xff, 0xd0, 0xe8, 0x1a, 0, 0, 0, 0xe8, 0, 0, 0, 0x40,
	[0x50] = 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05,
	[0x70] = 0xe8, 0x0b, 0, 0, 0, 0xff, 0x15,
	[0x80] = 0xe9, 0x8b, 0xff, 0xff, 0xff,
	/* clang-format on */
};

static const struct image_fde fdes[] = {{.start = 0x10, .end = 0x20}, {.start = 0x20, .end = 0x30}};

static struct sw_walk_options options;

static enum sw_call_site check(uint64_t pc, uint64_t slot_value, uint64_t return_avma)
{
	uint32_t displacement = SLOT - (CODE + 0x66);
	uint32_t of_call = SLOT - (CODE + 0x7b);
	memcpy(code + 0x77, &of_call, sizeof(of_call));
	code[0x60] = 0xff;
	code[0x61] = 0x25;
	memcpy(code + 0x62, &displacement, sizeof(displacement));
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS,
		    &(struct image_parts){
			    .code = code, .n_code = sizeof(code), .fdes = fdes, .n_fdes = 2});
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, pc, &slot_value, 1);
	if (slot_value != 0)
		fake_snapshot_range(snap, SLOT, &slot_value, sizeof(slot_value));
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, thread, true);
	w.cursor.options = &options;
	struct sw_callee callee = sw_callee_of(&w.cursor);
	enum sw_call_site site = sw_call_site_check(&callee, return_avma);
	fake_snapshot_destroy(snap);
	return site;
}

TEST(test_direct)
{
	enum { IN_CALLEE = CODE + 0x18 };
	assert_int_equal(check(IN_CALLEE, 0, CODE + 0x35), SW_SITE_VERIFIED);
	/* another entry of the function, before pc; and one that lies behind it */
	assert_int_equal(check(IN_CALLEE, 0, CODE + 0x3a), SW_SITE_VERIFIED);
	assert_int_equal(check(CODE + 0x12, 0, CODE + 0x3a), SW_SITE_OTHER);
	assert_int_equal(check(IN_CALLEE, 0, CODE + 0x3f), SW_SITE_OTHER);
	/* the frame's function is not known: no table, no symbol */
	assert_int_equal(check(CODE + 0x90, 0, CODE + 0x35), SW_SITE_POSSIBLE);
	/* unless pc is its first instruction */
	assert_int_equal(check(CODE + 0x10, 0, CODE + 0x35), SW_SITE_VERIFIED);
	assert_int_equal(check(IN_CALLEE, 0, CODE + 0x4b), SW_SITE_NONE); /* leads nowhere */
}

TEST(test_indirect)
{
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x41), SW_SITE_POSSIBLE);
}

TEST(test_plt)
{
	assert_int_equal(check(CODE + 0x18, CODE + 0x10, CODE + 0x46), SW_SITE_VERIFIED);
	assert_int_equal(check(CODE + 0x18, CODE + 0x20, CODE + 0x46), SW_SITE_OTHER);
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x46), SW_SITE_POSSIBLE); /* unreadable */
}

/* A function that was called and jumped to the frame's is not on the stack. */
TEST(test_tail_jump)
{
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x75), SW_SITE_VERIFIED);
	assert_int_equal(check(CODE + 0x28, 0, CODE + 0x75), SW_SITE_OTHER);
	/* by the slot of a PLT entry */
	assert_int_equal(check(CODE + 0x18, CODE + 0x80, CODE + 0x46), SW_SITE_VERIFIED);
}

/* A call through a word that is known: to the function, to one that jumps to it, elsewhere by now. */
TEST(test_call_slot)
{
	assert_int_equal(check(CODE + 0x18, CODE + 0x10, CODE + 0x7b), SW_SITE_VERIFIED);
	assert_int_equal(check(CODE + 0x18, CODE + 0x80, CODE + 0x7b), SW_SITE_VERIFIED);
	assert_int_equal(check(CODE + 0x18, CODE + 0x20, CODE + 0x7b), SW_SITE_POSSIBLE);
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x7b), SW_SITE_POSSIBLE);
}

/* With a limit to the distance only that counts, also where a function begins is not known. */
TEST(test_range)
{
	options.scan_range_bytes = 8;
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x35), SW_SITE_VERIFIED);
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x3f), SW_SITE_NONE); /* behind pc */
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x41), SW_SITE_POSSIBLE);
	options.scan_range_bytes = 7;
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x35), SW_SITE_NONE);
	options.scan_range_bytes = 0x80;
	assert_int_equal(check(CODE + 0x90, 0, CODE + 0x35), SW_SITE_LIKELY);
	options.scan_range_bytes = 0x7f;
	assert_int_equal(check(CODE + 0x90, 0, CODE + 0x35), SW_SITE_NONE);
	options.scan_range_bytes = 0;
}

TEST(test_no_return_address)
{
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x36), SW_SITE_NONE); /* no call ends there */
	assert_int_equal(check(CODE + 0x18, 0, FAKE_STACK_AVMA), SW_SITE_NONE); /* no code */
	assert_int_equal(check(CODE + 0x18, 0, 0), SW_SITE_NONE);
	assert_int_equal(check(CODE + 0x18, 0, UINT64_MAX), SW_SITE_NONE);
}

/* The code to which a signal handler returns comes after no call. */
TEST(test_trampoline)
{
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x50), SW_SITE_POSSIBLE);
	assert_int_equal(check(CODE + 0x18, 0, CODE + 0x51), SW_SITE_NONE);
}

TEST(test_executable)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) fake_snapshot_map(snap, 0x1000, 0x2000, "r-xp", "");
	(void) fake_snapshot_map(snap, 0x2000, 0x3000, "rw-p", "");
	fake_snapshot_finish(snap);
	assert_true(sw_is_executable(snap, 0x1000));
	assert_true(sw_is_executable(snap, 0x1fff));
	assert_false(sw_is_executable(snap, 0x2000));
	assert_false(sw_is_executable(snap, 0x3000));
	fake_snapshot_destroy(snap);
}

/* From generated code, of which no functions are known: a call to a file's code did not lead there,
 * unless it goes through a slot that leads on. */
TEST(test_generated)
{
	enum { JIT = 0x660000000000 };
	for (int slot = 0; slot < 2; slot++) {
		uint64_t slot_value = slot ? JIT : CODE + 0x20;
		uint32_t displacement = SLOT - (CODE + 0x66);
		memcpy(code + 0x60, "\xff\x25", 2);
		memcpy(code + 0x62, &displacement, sizeof(displacement));
		struct sw_snapshot *snap = fake_snapshot_create();
		walk_module(snap, BIAS,
			    &(struct image_parts){.code = code,
						  .n_code = sizeof(code),
						  .fdes = fdes,
						  .n_fdes = 2});
		(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
		struct sw_thread *thread = fake_snapshot_stack(snap, 1, JIT + 8, &slot_value, 1);
		fake_snapshot_range(snap, SLOT, &slot_value, sizeof(slot_value));
		fake_snapshot_finish(snap);
		struct walk_cursor w;
		walk_cursor_init(&w, snap, thread, true);
		struct sw_callee callee = sw_callee_of(&w.cursor);
		assert_int_equal(sw_call_site_check(&callee, CODE + 0x3f), SW_SITE_OTHER);
		assert_int_equal(sw_call_site_check(&callee, CODE + 0x41), SW_SITE_POSSIBLE);
		assert_int_equal(sw_call_site_check(&callee, CODE + 0x46),
				 slot ? SW_SITE_POSSIBLE : SW_SITE_OTHER);
		fake_snapshot_destroy(snap);
	}
}
