/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files are asked if they are a .NET runtime, and what is said of one that is not understood. */
#include "runtimes/clr/code/clr.h"
#include "runtimes/clr/find.h"
#include "walk_case.h"
#include "snapshot/read.h"
#include "test.h"

#include <elf.h>

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
		if (snap->places[i].module->slots.n > 0)
			tried |= 1U << (snap->places[i].start_avma - BASE) / STRIDE;
	fake_snapshot_destroy(snap);
	return tried;
}

/* A program without code of its own making costs nothing. */
TEST(test_native)
{
	assert_int_equal(opened(scene_make(), false), 0);
	assert_int_equal(opened(scene_make(), true), 0);
}

TEST(test_other_code)
{
	struct sw_snapshot *snap = scene_make();
	fake_snapshot_map(snap, 0x30000, 0x40000, "r-xp", "");
	assert_int_equal(opened(snap, false), 1 << PROGRAM | 1 << LARGE | 1 << RUNTIME);
	snap = scene_make();
	fake_snapshot_map(snap, 0x30000, 0x40000, "r-xp", "");
	assert_int_equal(opened(snap, true), 1 << PROGRAM | 1 << RUNTIME);
}

/* Code of a mapping that is no ELF file: what the runtime's own is. */
TEST(test_other_file)
{
	struct sw_snapshot *snap = scene_make();
	(void) fake_snapshot_module(snap, SW_MODULE_ANON, "/memfd:doublemapper", 0, 0x30000,
				    0x40000, NULL, 0);
	assert_int_equal(opened(snap, true), 1 << PROGRAM | 1 << RUNTIME);
}

/* The same, where its file could not be opened. */
TEST(test_memory_file)
{
	struct sw_snapshot *snap = scene_make();
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/memfd:doublemapper", 0, 0x30000, 0x40000,
				    NULL, 0);
	assert_int_equal(opened(snap, true), 1 << PROGRAM | 1 << RUNTIME);
}

/* ---- what it says of itself ----------------------------------------------------------------- */

enum {
	RUNTIME_IMAGE_BYTES = 1 << 15,
	AT_DYNAMIC = 0x100,
	AT_HASH = 0x200,
	AT_SYMBOLS = 0x300,
	AT_STRINGS = 0x400,
	AT_POINTERS = 0x600,
	AT_DESCRIPTOR = 0x800,
	AT_JSON_TEXT = 0x1000,
	N_POINTERS = 32,
};

static uint8_t runtime_image[RUNTIME_IMAGE_BYTES];

static void put(size_t at, const void *bytes, size_t n)
{
	assert_true(at + n <= RUNTIME_IMAGE_BYTES);
	memcpy(runtime_image + at, bytes, n);
}

/* libcoreclr.so with nothing but one export, and the description of .NET 10 or 9. */
static void image_make(const char *file, const char *from, const char *to)
{
	static const char name[] = "DotNetRuntimeContractDescriptor";
	const Elf64_Ehdr ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
				 .e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_version = 1,
				 .e_phoff = sizeof(ehdr),
				 .e_ehsize = sizeof(ehdr),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 2};
	const Elf64_Phdr phdrs[] = {{.p_type = PT_LOAD,
				     .p_filesz = RUNTIME_IMAGE_BYTES,
				     .p_memsz = RUNTIME_IMAGE_BYTES,
				     .p_flags = 5},
				    {.p_type = PT_DYNAMIC,
				     .p_offset = AT_DYNAMIC,
				     .p_filesz = 4 * sizeof(Elf64_Dyn)}};
	const Elf64_Dyn dynamic[] = {{DT_GNU_HASH, {AT_HASH}},
				     {DT_SYMTAB, {AT_SYMBOLS}},
				     {DT_STRTAB, {AT_STRINGS}}};
	const Elf64_Sym symbols[] = {{0}, {.st_name = 1, .st_shndx = 1, .st_value = AT_DESCRIPTOR}};
	uint32_t hash = 5381;
	for (const char *c = name; *c != '\0'; c++)
		hash = hash * 33 + (uint8_t) *c;
	/* one bucket, symbol 1, one word of the filter with all bits; the chain's only and last one */
	const uint32_t table[] = {1, 1, 1, 0, UINT32_MAX, UINT32_MAX, 1, hash | 1};
	memset(runtime_image, 0, sizeof(runtime_image));
	put(0, &ehdr, sizeof(ehdr));
	put(sizeof(ehdr), phdrs, sizeof(phdrs));
	put(AT_DYNAMIC, dynamic, sizeof(dynamic));
	put(AT_HASH, table, sizeof(table));
	put(AT_SYMBOLS, symbols, sizeof(symbols));
	put(AT_STRINGS + 1, name, sizeof(name));

	char path[512], *json = (char *) runtime_image + AT_JSON_TEXT;
	(void) snprintf(path, sizeof(path), "%s/fuzz/corpus/fuzz_clr_contract/%s", SW_TESTS_DIR,
			file);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	size_t n = fread(json, 1, RUNTIME_IMAGE_BYTES - AT_JSON_TEXT - 1, f);
	(void) fclose(f);
	if (from != NULL) {
		char *at = strstr(json, from);
		assert_non_null(at);
		memcpy(at, to, strlen(to));
	}
	const uint64_t pointer = BASE;
	for (size_t i = 0; i < N_POINTERS; i++)
		put(AT_POINTERS + i * 8, &pointer, 8);
	const struct {
		uint64_t magic;
		uint32_t flags, json_bytes;
		uint64_t json;
		uint32_t n_pointers, pad;
		uint64_t pointers;
	} descriptor = {UINT64_C(0x0043414443434e44),
			1,
			(uint32_t) n,
			BASE + AT_JSON_TEXT,
			N_POINTERS,
			0,
			BASE + AT_POINTERS};
	put(AT_DESCRIPTOR, &descriptor, sizeof(descriptor));
}

/* A process with that image; the only runtime found is usable or not, and says why. */
static void finds(bool usable, const char *problem)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	struct sw_snapshot_memory source = {.snap = snap};
	struct sw_clr_runtime runtimes[SW_CLR_RUNTIMES_MAX];
	size_t n;
	snap->process.exe = "/srv/app";
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/dotnet/11.0.1/libcoreclr.so", BASE, BASE,
				    BASE + RUNTIME_IMAGE_BYTES, runtime_image,
				    sizeof(runtime_image));
	fake_snapshot_map(snap, 0x30000, 0x40000, "r-xp", "");
	fake_snapshot_finish(snap);
	assert_int_equal(sw_clr_runtimes_find(snap, sw_snapshot_memory(&source), true, runtimes,
					      &n),
			 0);
	assert_int_equal(n, 1);
	assert_string_equal(runtimes[0].version, "11.0.1");
	assert_string_equal(runtimes[0].problem, problem);
	assert_int_equal(runtimes[0].usable, usable);
	sw_clr_runtimes_deinit(runtimes, n);
	fake_snapshot_destroy(snap);
}

TEST(test_understood)
{
	image_make("net10.json", NULL, NULL);
	finds(true, "");
}

/* A contract that is not known switches off what follows it, and that is said. */
TEST(test_not_understood)
{
	image_make("net10.json", "\"ExecutionManager\":2", "\"ExecutionManager\":9");
	finds(false,
	      "version 9 of its contract ExecutionManager is not known: it is newer than this "
	      "snapwalk");
	image_make("net9.json", NULL, NULL);
	finds(false, "it does not describe how its code is found, and is neither .NET 8 nor 9");
	image_make("net10.json", "\"Thread\":1", "\"Thread\":2");
	finds(true, "it does not describe its threads in a way that is known; those that a garbage "
		    "collection is stopping may be incomplete");
	image_make("net10.json", "\"RuntimeTypeSystem\":1", "\"RuntimeTypeSystem\":2");
	finds(true, "it does not describe its methods in a way that is known; they have no names");
	image_make("net10.json", "{\"version\":0", "{\"version\":1");
	finds(false, "its descriptor has a format version that is not known");
}
