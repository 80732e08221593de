/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a core file without NT_FILE. */
#include "saved/core_loaded.h"
#include "errors.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <elf.h>

enum {
	PAGE = 0x1000,
	DEBUG_OFF = 0x100, /* of struct r_debug in the program's data */
	LINKS_OFF = 0x200,
	NAMES_OFF = 0x800,
	LINK_WORDS = 5,
};
static const uint64_t program_avma = 0x555500000000, library_avma = 0x7f0000000000,
		      other_avma = 0x7f0000100000, code_off = PAGE, data_off = 2 * PAGE;

/* A program and two libraries, each with a page of headers, code and data; code is in no core file. */
struct fixture {
	uint8_t headers[3][PAGE], data[PAGE];
	struct sw_core_segment segments[9];
	struct sw_core_elf core;
	struct sw_core_notes notes;
	struct sw_core_loaded found;
	struct sw_context *ctx;
	struct sw_snapshot *snap;
};

static void put_u64(uint8_t *to, size_t at, uint64_t value)
{
	memcpy(to + at, &value, sizeof(value));
}

static void headers_put(uint8_t *page, bool program)
{
	const Elf64_Phdr segments[] = {
		{.p_type = PT_PHDR, .p_vaddr = sizeof(Elf64_Ehdr)},
		{.p_type = program ? PT_INTERP : PT_NULL},
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x700},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = code_off,
		 .p_vaddr = code_off,
		 .p_filesz = PAGE},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_W,
		 .p_offset = data_off,
		 .p_vaddr = data_off,
		 .p_filesz = 0x10,
		 .p_memsz = PAGE},
		{.p_type = PT_DYNAMIC, .p_offset = data_off, .p_vaddr = data_off},
	};
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_DYN,
				   .e_machine = EM_X86_64,
				   .e_entry = code_off,
				   .e_phoff = sizeof(header),
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_phnum = sizeof(segments) / sizeof(segments[0])};
	memcpy(page, &header, sizeof(header));
	memcpy(page + sizeof(header), segments, sizeof(segments));
}

/* Entry i of the dynamic linker's list. */
static void link_put(struct fixture *f, size_t i, uint64_t bias, const char *name)
{
	size_t at = LINKS_OFF + i * LINK_WORDS * 8, name_at = NAMES_OFF + i * 64;
	put_u64(f->data, at, bias);
	put_u64(f->data, at + 8, program_avma + data_off + name_at);
	put_u64(f->data, at + 16, bias + data_off);
	put_u64(f->data, at + 24, 0);
	strcpy((char *) f->data + name_at, name);
	if (i > 0)
		put_u64(f->data, at - LINK_WORDS * 8 + 24, program_avma + data_off + at);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const uint64_t at[3] = {program_avma, library_avma, other_avma};
	*state = f;
	if (f == NULL || sw_context_create(&f->ctx, NULL) < 0 ||
	    sw_snapshot_create(f->ctx, &f->snap, NULL) < 0)
		return -1;
	for (size_t i = 0; i < 3; i++) {
		headers_put(f->headers[i], i == 0);
		f->segments[3 * i] = (struct sw_core_segment){
			.start_avma = at[i],
			.end_avma = at[i] + PAGE,
			.data = {f->headers[i], PAGE},
			.prot = SW_MAP_READ,
		};
		f->segments[3 * i + 1] = (struct sw_core_segment){
			.start_avma = at[i] + code_off,
			.end_avma = at[i] + code_off + PAGE,
			.prot = SW_MAP_READ | SW_MAP_EXEC,
		};
		f->segments[3 * i + 2] = (struct sw_core_segment){
			.start_avma = at[i] + data_off,
			.end_avma = at[i] + data_off + PAGE,
			.prot = SW_MAP_READ | SW_MAP_WRITE,
		};
	}
	f->segments[2].data = (struct sw_bytes){f->data, PAGE};
	put_u64(f->data, 0, DT_DEBUG);
	put_u64(f->data, 8, program_avma + data_off + DEBUG_OFF);
	put_u64(f->data, DEBUG_OFF, 1);
	put_u64(f->data, DEBUG_OFF + 8, program_avma + data_off + LINKS_OFF);
	strcpy((char *) f->data + 0xf00, "/bin/program");
	link_put(f, 0, program_avma, "");
	link_put(f, 1, library_avma, "/nonexistent/one.so");
	link_put(f, 2, other_avma, "/nonexistent/two.so");
	f->core = (struct sw_core_elf){.segments = f->segments, .n_segments = 9};
	f->notes.entry_avma = program_avma + code_off;
	f->notes.phdr_avma = program_avma + sizeof(Elf64_Ehdr);
	f->notes.execfn_avma = program_avma + data_off + 0xf00;
	strcpy(f->notes.comm, "prog");
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_snapshot_destroy(f->snap);
	sw_context_destroy(f->ctx);
	free(f);
	return 0;
}

static void find(struct fixture *f)
{
	f->notes.n_files = 0;
	assert_int_equal(sw_core_loaded_find(f->snap, &f->core, NULL, &f->notes, &f->found), 0);
}

static void assert_file(const struct fixture *f, uint64_t avma, uint64_t off, const char *path)
{
	const struct sw_core_file *file = sw_core_notes_file(&f->notes, avma);
	assert_non_null(file);
	assert_string_equal(file->path, path);
	assert_int_equal(file->file_off, off);
	assert_int_equal(file->start_avma, avma);
	assert_int_equal(file->end_avma, avma + PAGE);
}

TEST_OF(test_list, struct fixture *f)
{
	find(f);
	assert_string_equal(f->found.program, "/bin/program");
	assert_false(f->found.damaged);
	assert_false(f->found.limited);
	assert_int_equal(f->found.n_nameless, 0);
	assert_int_equal(f->notes.n_files, 9);
	assert_file(f, program_avma, 0, "/bin/program");
	assert_file(f, program_avma + code_off, code_off, "/bin/program");
	assert_file(f, program_avma + data_off, data_off, "/bin/program");
	assert_file(f, library_avma + code_off, code_off, "/nonexistent/one.so");
	assert_file(f, other_avma + data_off, data_off, "/nonexistent/two.so");
	/* All mappings of a file have its number, which is no other file's. */
	assert_int_equal(f->notes.files[0].number, f->notes.files[2].number);
	assert_int_not_equal(f->notes.files[2].number, f->notes.files[3].number);
}

/* Without the auxiliary vector the program is the image that has a list. */
TEST_OF(test_no_auxv, struct fixture *f)
{
	f->notes.phdr_avma = f->notes.entry_avma = f->notes.execfn_avma = 0;
	find(f);
	assert_string_equal(f->found.program, "prog");
	assert_file(f, program_avma, 0, "prog");
	assert_file(f, other_avma, 0, "/nonexistent/two.so");
}

TEST_OF(test_nothing, struct fixture *f)
{
	f->core.n_segments = 0;
	find(f);
	assert_null(f->found.program);
	assert_int_equal(f->notes.n_files, 0);
}

/* A list that ends outside of the core file; images that it lacks have no name. */
TEST_OF(test_damaged, struct fixture *f)
{
	put_u64(f->data, LINKS_OFF + LINK_WORDS * 8 + 24, 0x1000);
	find(f);
	assert_true(f->found.damaged);
	assert_int_equal(f->found.n_nameless, 1);
	assert_int_equal(f->notes.n_files, 6);
	assert_null(sw_core_notes_file(&f->notes, other_avma));
	/* Nothing can be read of the list. */
	put_u64(f->data, 8, 0x1000);
	find(f);
	assert_true(f->found.damaged);
	assert_int_equal(f->found.n_nameless, 2);
	/* The program wants a dynamic linker, and has no list. */
	put_u64(f->data, 8, 0);
	find(f);
	assert_true(f->found.damaged);
}

TEST_OF(test_endless, struct fixture *f)
{
	put_u64(f->data, LINKS_OFF + 2 * LINK_WORDS * 8 + 24, program_avma + data_off + LINKS_OFF);
	find(f);
	assert_true(f->found.limited);
	assert_false(f->found.damaged);
	assert_int_equal(f->notes.n_files, 9);
	/* A list of namespaces that is a ring. */
	put_u64(f->data, LINKS_OFF + 2 * LINK_WORDS * 8 + 24, 0);
	put_u64(f->data, DEBUG_OFF, 2);
	put_u64(f->data, DEBUG_OFF + 40, program_avma + data_off + DEBUG_OFF);
	find(f);
	assert_true(f->found.limited);
}

/* The second library is of a namespace of its own: dlmopen(3). */
TEST_OF(test_namespaces, struct fixture *f)
{
	put_u64(f->data, LINKS_OFF + LINK_WORDS * 8 + 24, 0);
	put_u64(f->data, DEBUG_OFF, 2);
	put_u64(f->data, DEBUG_OFF + 40, program_avma + data_off + DEBUG_OFF + 64);
	put_u64(f->data, DEBUG_OFF + 64, 2);
	put_u64(f->data, DEBUG_OFF + 64 + 8,
		program_avma + data_off + LINKS_OFF + 2 * LINK_WORDS * 8);
	find(f);
	assert_file(f, other_avma, 0, "/nonexistent/two.so");
	assert_false(f->found.damaged);
	/* Version 1 has no such word. */
	put_u64(f->data, DEBUG_OFF, 1);
	find(f);
	assert_int_equal(f->notes.n_files, 6);
}

/* A file of data with an ELF header is no module that is missing, nor is the vDSO. */
TEST_OF(test_nameless, struct fixture *f)
{
	put_u64(f->data, LINKS_OFF + LINK_WORDS * 8 + 24, 0);
	find(f);
	assert_int_equal(f->found.n_nameless, 1);
	f->segments[7].prot = SW_MAP_READ;
	find(f);
	assert_int_equal(f->found.n_nameless, 0);
	f->segments[7].prot = SW_MAP_READ | SW_MAP_EXEC;
	f->notes.vdso_avma = other_avma;
	find(f);
	assert_int_equal(f->found.n_nameless, 0);
}
