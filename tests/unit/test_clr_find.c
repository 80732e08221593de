/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files are asked if they are a .NET runtime; what they answer: tests/live. */
#include "clr_runtime.h"
#include "walk_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern const struct sw_unwinder_ops sw_runtime_clr;

#define BASE UINT64_C(0x7f0000000000)

enum { PROGRAM, LARGE, SMALL, RUNTIME, MODULES, STRIDE = 1 << 24, PAGES = 1 << 12, MIB = 1 << 20 };

static struct sw_snapshot *scene_make(void)
{
	static const uint8_t no_elf[64];
	struct sw_snapshot *snap = fake_snapshot_create();
	snap->process.exe = "/srv/app";
	static const struct {
		const char *path;
		uint64_t bytes;
	} modules[MODULES] = {{"/srv/app", PAGES},
			      {"/lib/large.so", MIB},
			      {"/lib/small.so", MIB - PAGES},
			      {"/dotnet/libcoreclr.so", PAGES}};
	for (size_t i = 0; i < MODULES; i++)
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, modules[i].path, BASE + i * STRIDE,
					    BASE + i * STRIDE, BASE + i * STRIDE + modules[i].bytes,
					    no_elf, sizeof(no_elf));
	fake_snapshot_map(snap, UINT64_C(0xffffffffff600000), UINT64_C(0xffffffffff601000), "--xp",
			  "[vsyscall]");
	fake_snapshot_map(snap, 0x10000, 0x20000, "rw-p", "");
	return snap;
}

/* Finds none, and has looked into these: bits of 1 << module. */
static unsigned opened(struct sw_snapshot *snap, bool only_likely)
{
	struct sw_snapshot_memory source = {.snap = snap};
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX];
	size_t n = 77;
	unsigned tried = 0;
	fake_snapshot_finish(snap);
	assert_int_equal(sw_clr_runtimes_find(snap, sw_snapshot_memory(&source), only_likely,
					      runtimes, &n),
			 0);
	assert_int_equal(n, 0);
	for (size_t i = 0; i < snap->n_places; i++)
		if (*sw_module_slot(snap->places[i].module, &sw_runtime_clr) != NULL)
			tried |= 1U << (snap->places[i].start_avma - BASE) / STRIDE;
	fake_snapshot_destroy(snap);
	return tried;
}

/* A program without code of its own making costs nothing. */
static void test_native(void **state)
{
	(void) state;
	assert_int_equal(opened(scene_make(), false), 0);
	assert_int_equal(opened(scene_make(), true), 0);
}

static void test_other_code(void **state)
{
	(void) state;
	struct sw_snapshot *snap = scene_make();
	fake_snapshot_map(snap, 0x30000, 0x40000, "r-xp", "");
	assert_int_equal(opened(snap, false), 1 << PROGRAM | 1 << LARGE | 1 << RUNTIME);
	snap = scene_make();
	fake_snapshot_map(snap, 0x30000, 0x40000, "r-xp", "");
	assert_int_equal(opened(snap, true), 1 << PROGRAM | 1 << RUNTIME);
}

/* Code of a mapping that is no ELF file: what the runtime's own is. */
static void test_other_file(void **state)
{
	(void) state;
	struct sw_snapshot *snap = scene_make();
	(void) fake_snapshot_module(snap, SW_MODULE_ANON, "/memfd:doublemapper", 0, 0x30000,
				    0x40000, NULL, 0);
	assert_int_equal(opened(snap, true), 1 << PROGRAM | 1 << RUNTIME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_other_code),
		cmocka_unit_test(test_other_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
