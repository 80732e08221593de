/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/known_files.h"
#include "runtimes/known/runtime.h"
#include "elf_make.h"
#include "fake.h"
#include "test.h"

enum { BASE = 0x550000000000, EACH = 0x100000 };

/* The runtimes of a process with these files mapped. */
static size_t recognise(const char *const *paths, size_t n, struct sw_runtime *ret, size_t max)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	for (size_t i = 0; i < n; i++)
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, paths[i], BASE + i * EACH,
					    BASE + i * EACH, BASE + i * EACH + 0x1000, NULL, 0);
	fake_snapshot_finish(snap);
	void *known = NULL;
	assert_int_equal(sw_runtime_known.open(snap, NULL, &known), 0);
	size_t found = sw_runtime_known.identify(known, ret, max);
	assert_int_equal(sw_runtime_known.probe(snap), max == 0 || found > 0);
	sw_runtime_known.close(known);
	fake_snapshot_destroy(snap);
	return found;
}

TEST(test_names)
{
	static const struct {
		const char *path, *name, *version;
	} cases[] = {
		{"/usr/lib/jvm/java-17/lib/server/libjvm.so", "hotspot", ""},
		{"/usr/bin/node", "v8", ""},
		{"/usr/lib/chromium/chromium", "chromium", ""},
		{"/opt/google/chrome/chrome", "chromium", ""},
		{"/usr/lib/electron/electron", "chromium", ""},
		{"/usr/bin/python3.11", "cpython", "3.11"},
		{"/usr/lib/libpython3.12.so.1.0", "cpython", "3.12"},
		{"/usr/lib/libruby-3.1.so.3.1.2", "ruby", "3.1"},
		{"/usr/bin/php8.2", "php", "8.2"},
		{"/usr/lib/libLLVM-14.so.1", "llvm", "14"},
		{"/usr/lib/libLLVM.so.19.1", "llvm", "19.1"},
		{"/usr/lib/libpypy3.9-c.so", "pypy", "3.9"},
		{"/usr/bin/qemu-x86_64", "qemu", ""},
		{"beam.smp", "erlang", ""},
		{"/usr/bin/nodes", NULL, NULL},
		{"/usr/bin/pythonic", NULL, NULL},
		{"/usr/bin/phpize", NULL, NULL},
		{"/usr/bin/python", NULL, NULL},
		{"/node/server", NULL, NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sw_runtime found[4];
		size_t n = recognise(&cases[i].path, 1, found, 4);
		assert_int_equal(n, cases[i].name != NULL);
		if (n == 0)
			continue;
		assert_string_equal(found[0].name, cases[i].name);
		assert_string_equal(found[0].version, cases[i].version);
		assert_string_equal(found[0].where, cases[i].path);
		assert_int_equal(found[0].entries, -1);
		assert_string_equal(found[0].problem, "");
	}
}

TEST(test_each_once)
{
	static const char *const paths[] = {"/usr/bin/python3.11", "/lib/libc.so.6",
					    "/lib/libpython3.11.so.1.0", "/lib/libLLVM-14.so.1"};
	struct sw_runtime found[4];
	assert_int_equal(recognise(paths, 4, found, 4), 2);
	assert_string_equal(found[0].where, "/usr/bin/python3.11");
	assert_string_equal(found[1].name, "llvm");
	assert_int_equal(recognise(paths, 4, found, 1), 1);
	assert_int_equal(recognise(paths, 4, found, 0), 0);
}

/* GraalVM's native images: by a section of the program. */
static size_t recognise_program(const char *section, const char *path, struct sw_runtime *ret)
{
	static struct elf_make elf;
	struct sw_snapshot *snap = fake_snapshot_create();
	elf_make_init(&elf);
	(void) elf_make_section(&elf, section, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x1000, NULL,
				0x100);
	elf_make_finish(&elf);
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, path, BASE, BASE, BASE + 0x1000, elf.bytes,
				    elf.size);
	fake_snapshot_finish(snap);
	snap->process.exe = "/opt/server";
	void *known = NULL;
	size_t found = 0;
	if (sw_runtime_known.probe(snap)) {
		assert_int_equal(sw_runtime_known.open(snap, NULL, &known), 0);
		found = sw_runtime_known.identify(known, ret, 1);
		sw_runtime_known.close(known);
	}
	fake_snapshot_destroy(snap);
	return found;
}

TEST(test_native_image)
{
	struct sw_runtime found;
	assert_int_equal(recognise_program(".svm_heap", "/opt/server", &found), 1);
	assert_string_equal(found.name, "native-image");
	assert_string_equal(found.where, "/opt/server");
	assert_non_null(strstr(found.problem, "compiled ahead of time"));
	assert_int_equal(recognise_program(".svm_heaps", "/opt/server", &found), 0);
	assert_int_equal(recognise_program(".svm_heap", "/opt/other", &found), 0);
}

/* Electron's programs have names of their own, and let libraries call V8. */
TEST(test_exports_v8)
{
	static struct elf_make elf;
	static const struct {
		const char *symbol;
		size_t found;
	} cases[] = {{"_ZN2v82V810GetVersionEv", 1}, {"_ZN2v82V810GetVersion", 0}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_snapshot *snap = fake_snapshot_create();
		struct sw_runtime found[2];
		void *known = NULL;
		elf_make_init(&elf);
		uint16_t text =
			(uint16_t) elf_make_section(&elf, ".text", SHT_PROGBITS,
						    SHF_ALLOC | SHF_EXECINSTR, 0x1000, NULL, 0x100);
		elf_make_symbol(&elf, cases[i].symbol, STB_GLOBAL, STT_FUNC, text, 0x1000, 16);
		elf_make_symtab(&elf, SHT_DYNSYM);
		elf_make_finish(&elf);
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/opt/editor", BASE, BASE,
					    BASE + 0x1000, elf.bytes, elf.size);
		fake_snapshot_finish(snap);
		snap->process.exe = "/opt/editor";
		assert_int_equal(sw_runtime_known.probe(snap), cases[i].found);
		assert_int_equal(sw_runtime_known.open(snap, NULL, &known), 0);
		assert_int_equal(sw_runtime_known.identify(known, found, 2), cases[i].found);
		if (cases[i].found == 1)
			assert_string_equal(found[0].name, "v8");
		sw_runtime_known.close(known);
		fake_snapshot_destroy(snap);
	}
}

static bool keeps_fp(const char *const *paths, size_t n)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	for (size_t i = 0; i < n; i++)
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, paths[i], BASE + i * EACH,
					    BASE + i * EACH, BASE + i * EACH + 0x1000, NULL, 0);
	fake_snapshot_finish(snap);
	bool keeps = sw_known_files_keep_fp(snap);
	fake_snapshot_destroy(snap);
	return keeps;
}

TEST(test_keeps_fp)
{
	static const char *const paths[] = {"/lib/libc.so.6", "/usr/bin/sbcl",
					    "/usr/bin/python3.11", "/lib/libjvm.so"};
	assert_false(keeps_fp(paths, 1)); /* nothing is known of what generates code there */
	assert_true(keeps_fp(paths, 2));
	assert_true(keeps_fp(paths, 3));
	assert_false(keeps_fp(paths, 4));
	struct sw_snapshot *snap = fake_snapshot_create();
	for (size_t i = 0; i < 4; i++) {
		const struct sw_place *place =
			fake_snapshot_module(snap, SW_MODULE_ELF, paths[i], BASE + i * EACH,
					     BASE + i * EACH, BASE + i * EACH + 0x1000, NULL, 0);
		assert_int_equal(sw_known_file_keeps_fp(place->module), i == 1);
	}
	fake_snapshot_finish(snap);
	fake_snapshot_destroy(snap);
}
