/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe/function.h"
#include "native/call_site.h"
#include "pe_load.h"
#include "walk_case.h"
#include "snapshot/read.h"
#include "test.h"

/*
 * first:	0x1000..0x1010		entry
 *		0x1010..0x1080		assembly without entries
 * second:	0x1080..0x1090		entry
 */
enum {
	BASE = 0x7b600000,
	FIRST = BASE + 0x1000,
	ASSEMBLY = BASE + 0x1010,
	THUNK = BASE + 0x1018, /* jmp *disp32(%rip) */
	PC = BASE + 0x1028,    /* where the thread is */
	SECOND = BASE + 0x1080,
	RETURN = BASE + 0x10a0, /* behind a call whose target is to be chosen */
};

static struct sw_snapshot *snapshot(uint64_t called)
{
	uint8_t text[0x100] = {0};
	int32_t displacement = (int32_t) (called - RETURN);
	memcpy(text + (THUNK - FIRST), "\xff\x25", 2);
	text[RETURN - FIRST - 5] = 0xe8;
	memcpy(text + (RETURN - FIRST) - 4, &displacement, sizeof(displacement));
	struct pe_make pe;
	pe_make_init(&pe);
	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, text, sizeof(text));
	pe_make_function(&pe, 0x1000, 0x1010, 0x2000);
	pe_make_function(&pe, 0x1080, 0x1090, 0x2000);
	pe_make_finish(&pe);
	uint8_t *loaded = pe_load(&pe);
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) fake_snapshot_module(snap, SW_MODULE_PE, "/w/x.exe", BASE, BASE,
				    BASE + PE_LOAD_BYTES, pe.bytes, pe.size);
	fake_snapshot_range(snap, BASE, loaded, PE_LOAD_BYTES);
	free(loaded);
	return snap;
}

static void code_is(uint64_t avma, uint64_t start_avma, bool has_entry)
{
	struct sw_snapshot *snap = snapshot(FIRST);
	struct sw_snapshot_memory memory = {.snap = snap};
	struct sw_pe_code code;
	fake_snapshot_finish(snap);
	assert_true(sw_pe_code_at(sw_snapshot_memory(&memory), &snap->places[0], avma, &code));
	assert_int_equal(code.start_avma, start_avma);
	assert_int_equal(code.has_entry, has_entry);
	fake_snapshot_destroy(snap);
}

TEST(test_code)
{
	code_is(FIRST - 1, BASE, false); /* before all functions */
	code_is(FIRST, FIRST, true);
	code_is(FIRST + 0xf, FIRST, true);
	code_is(ASSEMBLY, ASSEMBLY, false);
	code_is(SECOND - 1, ASSEMBLY, false);
	code_is(SECOND, SECOND, true);
	code_is(SECOND + 0x10, SECOND + 0x10, false); /* behind all */
}

TEST(test_none)
{
	struct sw_snapshot *snap = snapshot(FIRST);
	struct sw_snapshot_memory memory = {.snap = snap};
	struct sw_memory m = sw_snapshot_memory(&memory);
	struct sw_pe_code code;
	fake_snapshot_finish(snap);
	assert_false(sw_pe_code_at(m, &snap->places[0], BASE - 1, &code));
	assert_false(sw_pe_code_at(m, &snap->places[0], BASE + PE_LOAD_BYTES, &code));
	snap->places[0].start_avma += 0x1000; /* no headers there */
	assert_false(sw_pe_code_at(m, &snap->places[0], FIRST, &code));
	fake_snapshot_destroy(snap);
}

static enum sw_call_site site(uint64_t pc, uint64_t called)
{
	struct sw_snapshot *snap = snapshot(called);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, pc, &called, 1);
	struct walk_cursor w;
	fake_snapshot_finish(snap);
	walk_cursor_init(&w, snap, thread, false);
	struct sw_callee callee = sw_callee_of(&w.cursor);
	enum sw_call_site found = sw_call_site_check(&callee, RETURN);
	fake_snapshot_destroy(snap);
	return found;
}

/* Which calls may have led to a frame of Windows code. */
TEST(test_call_site)
{
	assert_int_equal(site(SECOND + 8, SECOND), SW_SITE_VERIFIED);
	assert_int_equal(site(SECOND + 8, FIRST), SW_SITE_OTHER);
	assert_int_equal(site(SECOND + 8, ASSEMBLY), SW_SITE_OTHER);
	assert_int_equal(site(PC, ASSEMBLY), SW_SITE_LIKELY);
	assert_int_equal(site(PC, PC - 1), SW_SITE_LIKELY);
	assert_int_equal(site(PC, PC + 1), SW_SITE_OTHER);
	assert_int_equal(site(PC, FIRST), SW_SITE_OTHER);
	assert_int_equal(site(PC, FIRST + 8), SW_SITE_OTHER);
	assert_int_equal(site(PC, SECOND), SW_SITE_OTHER);
	assert_int_equal(site(PC, THUNK), SW_SITE_OTHER);
}
