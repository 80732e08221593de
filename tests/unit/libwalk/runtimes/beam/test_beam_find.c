/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam/find: which machine it is, by its file, and what is said where it is not read. */
#include "elf_image.h"
#include "fake.h"
#include "runtimes/beam/find.h"
#include "runtimes/beam/runtime.h"
#include "test.h"

enum {
	RELEASE = 0x00, /* from IMAGE_CODE */
	ERTS = 0x10,
	BEAMASM = 0x20,
	ACTIVE = 0x28,
	LISTS = 0x30,
	OTHERS = 0x80, /* variables of which only the address matters */
	LOOKUP = 0x100,
	FIND = 0x140,
	CODE_BYTES = 0x180,
	NAMES = 15,
};

static const char *const names[NAMES] = {
	"etp_otp_release",
	"etp_erts_version",
	"etp_beamasm",
	"the_active_code_index",
	"erts_lookup_function_info",
	"erts_aligned_scheduler_data",
	"erts_aligned_dirty_cpu_scheduler_data",
	"erts_aligned_dirty_io_scheduler_data",
	"erts_no_schedulers",
	"erts_no_dirty_cpu_schedulers",
	"erts_no_dirty_io_schedulers",
	"beam_normal_exit",
	"process_main",
	"erts_atom_table",
	"erts_proc",
};
static const uint64_t at[NAMES] = {
	RELEASE,     ERTS,        BEAMASM,     ACTIVE,      LOOKUP,
	OTHERS,      OTHERS + 8,  OTHERS + 16, OTHERS + 24, OTHERS + 32,
	OTHERS + 40, OTHERS + 48, OTHERS + 56, OTHERS + 64, OTHERS + 72,
};

static uint8_t code[CODE_BYTES];
static struct sw_snapshot *snap;
static struct sw_beam_found found;
static struct sw_runtime runtime;

static void put_relative(unsigned to, const char *bytes, size_t n, uint64_t target)
{
	uint32_t distance = (uint32_t) (target - (to + n + 4));
	memcpy(code + to, bytes, n);
	memcpy(code + to + n, &distance, 4);
}

static int setup(void **state)
{
	static const uint32_t jit = 1;
	memset(code, 0x90, sizeof(code));
	memcpy(code + RELEASE, "25", 3);
	memcpy(code + ERTS, "13.1.5", 7);
	memcpy(code + BEAMASM, &jit, sizeof(jit));
	put_relative(LOOKUP + 4, "\xe8", 1, FIND);
	put_relative(FIND, "\x44\x8b\x05", 3, ACTIVE);
	put_relative(FIND + 7, "\x4c\x8d\x0d", 3, LISTS);
	snap = NULL;
	return 0;
}

static int teardown(void **state)
{
	if (snap != NULL)
		fake_snapshot_destroy(snap);
	return 0;
}

/* The file as it is now, without the symbol; NULL: with all. */
static bool look(const char *path, const char *without)
{
	Elf64_Sym symbols[NAMES + 1] = {{0}};
	char strings[1024] = "";
	uint32_t n = 1, length = 1;
	for (size_t i = 0; i < NAMES; i++) {
		if (without != NULL && strcmp(without, names[i]) == 0)
			continue;
		symbols[n++] = (Elf64_Sym){.st_name = length,
					   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
					   .st_shndx = 1,
					   .st_value = IMAGE_CODE + at[i]};
		memcpy(strings + length, names[i], strlen(names[i]) + 1);
		length += (uint32_t) strlen(names[i]) + 1;
	}
	const struct image_section sections[] = {
		{.name = ".dynsym",
		 .type = SHT_DYNSYM,
		 .data = symbols,
		 .size = n * sizeof(symbols[0]),
		 .entry_size = sizeof(symbols[0]),
		 .link = 2},
		{.name = ".dynstr", .type = SHT_STRTAB, .data = strings, .size = length},
	};
	static const struct image_fde fde = {.start = LOOKUP, .end = CODE_BYTES};
	uint8_t *image = elf_image(&(const struct image_parts){.code = code,
							       .n_code = sizeof(code),
							       .fdes = &fde,
							       .n_fdes = 1,
							       .sections = sections,
							       .n_sections = 2});
	if (snap != NULL)
		fake_snapshot_destroy(snap);
	snap = fake_snapshot_create();
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, path, 0, 0, IMAGE_BYTES, image,
				    IMAGE_BYTES);
	free(image);
	fake_snapshot_finish(snap);
	memset(&runtime, 0, sizeof(runtime));
	void *machine = NULL;
	assert_int_equal(sw_runtime_beam.open(snap, NULL, &machine), 0);
	if (machine != NULL) {
		assert_int_equal(sw_runtime_beam.identify(machine, &runtime, 1), 1);
		sw_runtime_beam.close(machine);
	}
	return sw_beam_find(snap, &found);
}

TEST_WITH(test_found, setup, teardown)
{
	assert_true(look("/usr/lib/erlang/erts-13.1.5/bin/beam.smp", NULL));
	assert_null(found.missing);
	assert_false(found.interprets);
	assert_string_equal(found.release, "25");
	assert_string_equal(found.erts, "13.1.5");
	assert_ptr_equal(found.layout, sw_beam_layout_of("25", "13.1.5"));
	assert_int_equal(found.active_svma, IMAGE_CODE + ACTIVE);
	assert_int_equal(found.ranges_svma, IMAGE_CODE + LISTS);
	assert_int_equal(found.schedulers_svma[SW_BEAM_DIRTY_IO], IMAGE_CODE + OTHERS + 16);
	assert_int_equal(found.counts_svma[SW_BEAM_NORMAL], IMAGE_CODE + OTHERS + 24);
	assert_int_equal(found.processes_svma, IMAGE_CODE + OTHERS + 72);
	assert_string_equal(runtime.name, "erlang");
	assert_string_equal(runtime.version, "25");
	assert_true(look("/beam.smp", "erts_proc")); /* then there is no list of processes */
	assert_non_null(found.layout);
	assert_int_equal(found.processes_svma, 0);
}

TEST_WITH(test_files, setup, teardown)
{
	static const char *const are[] = {"beam.smp", "/opt/erts-15.2/bin/beam.jit.smp",
					  "/opt/erts-15.2/bin/beam.emu.smp"};
	static const char *const are_not[] = {"/usr/bin/erl", "/beam.smp/erlexec", "/a/beam.smp2",
					      "/a/xbeam.smp", "/a/beam.",          ""};
	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
		assert_true(sw_beam_file_probe(are[i]));
	for (size_t i = 0; i < sizeof(are_not) / sizeof(*are_not); i++)
		assert_false(sw_beam_file_probe(are_not[i]));
	assert_false(look("/usr/bin/erl", NULL));
}

/* "erl -emu_flavor emu", and machines for which there is no JIT. */
TEST_WITH(test_without_jit, setup, teardown)
{
	memset(code + BEAMASM, 0, 4);
	assert_true(look("/opt/erts-13.1.5/bin/beam.emu.smp", NULL));
	assert_true(found.interprets);
	assert_null(found.layout);
	assert_null(found.missing);
	assert_string_equal(runtime.version, "25");
	assert_string_equal(runtime.problem, "the emulator without JIT (erts 13.1.5) is not read: "
					     "Erlang's own frames are missing");
}

TEST_WITH(test_releases, setup, teardown)
{
	memcpy(code + RELEASE, "99", 3);
	memcpy(code + ERTS, "99.1.2", 7);
	assert_true(look("/beam.smp", NULL));
	assert_null(found.layout);
	assert_string_equal(runtime.problem,
			    "how Erlang/OTP 99 (erts 99.1.2) is built is not known: "
			    "its own frames are missing");
	memset(code + ERTS, 'x', 0x10); /* without end */
	memset(code + BEAMASM, 'x', CODE_BYTES - BEAMASM);
	assert_true(look("/beam.smp", NULL));
	assert_string_equal(runtime.problem,
			    "its version could not be found: Erlang's own frames are missing");
}

/* Each symbol that is needed. */
TEST_WITH(test_missing, setup, teardown)
{
	for (size_t i = 0; i < NAMES - 1; i++) {
		assert_true(look("/beam.smp", names[i]));
		assert_null(found.layout);
		assert_non_null(found.missing);
	}
	assert_true(look("/beam.smp", "etp_beamasm"));
	assert_string_equal(found.missing, "whether it has a JIT");
	assert_true(look("/beam.smp", "process_main"));
	assert_string_equal(found.missing, "process_main");
}

/* Code that is another: nothing is taken for the lists that is not read with the index. */
TEST_WITH(test_code, setup, teardown)
{
	static const unsigned places[] = {LOOKUP + 4, FIND, FIND + 7};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		(void) setup(state);
		code[places[i]] = 0x90;
		code[places[i] + 1] = 0x90;
		assert_true(look("/beam.smp", NULL));
		assert_string_equal(found.missing, "the list of its code");
		(void) teardown(state);
	}
	(void) setup(state);
	put_relative(LOOKUP + 4, "\xe8", 1, 0x70000000); /* calls what is not there */
	assert_true(look("/beam.smp", NULL));
	assert_string_equal(found.missing, "the list of its code");
}
