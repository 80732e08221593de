/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* walk_libunwind.c with walk_libunwind_table.c, walk_libunwind_index.c and walk_libunwind_load.c. */
#include "arch/arch.h"
#include "cleanup.h"
#include "fake.h"
#include "compare/table.h"
#include "walk/walker.h"
#define TEST_OWN_MAIN
#include "test.h"

#include <elf.h>

/*
 * A module made by hand, mapped at BASE:
 *
 *	0x000	ELF header, program headers
 *	0x200	.eh_frame_hdr
 *	0x240	.eh_frame: CIE, CIE of signal frames, an FDE for each function
 *	0x400	work: push %rbp (1 byte), the rest. CFA is rsp+8, after the push rsp+16
 *	0x440	start: the return address is undefined
 *	0x480	trampoline: a signal frame; CFA rsp+8
 *	0x4c0	code without unwind information
 */
enum {
	BASE = 0x400000,
	HDR = 0x200,
	EH_FRAME = 0x240,
	WORK = 0x400,
	START = 0x440,
	TRAMPOLINE = 0x480,
	BARE = 0x4c0,
	FUNCTION_BYTES = 0x40,
	IMAGE_BYTES = 0x1000,
};

struct image {
	uint8_t bytes[IMAGE_BYTES];
	size_t at; /* end of .eh_frame so far */
	size_t fdes[8];
	int32_t functions[8];
	size_t n_fdes;
};

static void put32(uint8_t *to, int64_t value)
{
	int32_t v = (int32_t) value;
	memcpy(to, &v, sizeof(v));
}

/* Adds a length-prefixed record, padded with DW_CFA_nop; returns where it is. */
static size_t put_record(struct image *i, const uint8_t *body, size_t size)
{
	size_t at = i->at, padded = (size + 3) & ~(size_t) 3;
	put32(i->bytes + at, (int64_t) padded);
	memcpy(i->bytes + at + 4, body, size);
	i->at = at + 4 + padded;
	return at;
}

/* code align 1, data align -8, return address in r16, pointers pcrel|sdata4;
 * def_cfa r7+8, offset r16 at cfa-8 */
static size_t put_cie(struct image *i, bool signal)
{
	static const uint8_t plain[] = {0,    0,  0, 0,    1,    'z', 'R', 0,    1,
					0x78, 16, 1, 0x1b, 0x0c, 7,   8,   0x90, 1};
	static const uint8_t signals[] = {0,    0,  0, 0,    1,    'z', 'R', 'S',  0, 1,
					  0x78, 16, 1, 0x1b, 0x0c, 7,   8,   0x90, 1};
	return signal ? put_record(i, signals, sizeof(signals))
		      : put_record(i, plain, sizeof(plain));
}

static void put_fde(struct image *i, size_t cie, int32_t function, const char *instructions,
		    size_t size)
{
	uint8_t body[64] = {0};
	put32(body, (int64_t) (i->at + 4) - (int64_t) cie);
	put32(body + 4, function - (int64_t) (i->at + 8));
	put32(body + 8, FUNCTION_BYTES);
	memcpy(body + 13, instructions, size);
	i->functions[i->n_fdes] = function;
	i->fdes[i->n_fdes++] = put_record(i, body, 13 + size);
}

static void put_headers(struct image *i)
{
	Elf64_Ehdr ehdr = {.e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(ehdr),
			   .e_phoff = sizeof(ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2};
	memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Phdr phdrs[] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_filesz = IMAGE_BYTES,
		 .p_memsz = IMAGE_BYTES},
		{.p_type = PT_GNU_EH_FRAME,
		 .p_offset = HDR,
		 .p_vaddr = HDR,
		 .p_filesz = 12 + 8 * i->n_fdes,
		 .p_memsz = 12 + 8 * i->n_fdes},
	};
	memcpy(i->bytes, &ehdr, sizeof(ehdr));
	memcpy(i->bytes + sizeof(ehdr), phdrs, sizeof(phdrs));
	static const uint8_t encodings[] = {1, 0x1b, 0x03, 0x3b};
	memcpy(i->bytes + HDR, encodings, sizeof(encodings));
	put32(i->bytes + HDR + 4, EH_FRAME - (HDR + 4));
	put32(i->bytes + HDR + 8, (int64_t) i->n_fdes);
	for (size_t k = 0; k < i->n_fdes; k++) {
		put32(i->bytes + HDR + 12 + 8 * k, i->functions[k] - HDR);
		put32(i->bytes + HDR + 16 + 8 * k, (int64_t) i->fdes[k] - HDR);
	}
}

/* As static programs are: no .eh_frame_hdr, but section headers, at 0x800, that tell .eh_frame. */
static void use_sections(struct image *i)
{
	enum { SECTIONS = 0x800, NAMES = 0x900 };
	static const char names[] = "\0.eh_frame\0.shstrtab";
	Elf64_Shdr shdrs[3] = {
		[1] = {.sh_name = 1,
		       .sh_type = SHT_PROGBITS,
		       .sh_flags = SHF_ALLOC,
		       .sh_addr = EH_FRAME,
		       .sh_offset = EH_FRAME,
		       .sh_size = i->at + 4 - EH_FRAME},
		[2] = {.sh_name = 11,
		       .sh_type = SHT_STRTAB,
		       .sh_offset = NAMES,
		       .sh_size = sizeof(names)},
	};
	Elf64_Ehdr ehdr;
	memcpy(&ehdr, i->bytes, sizeof(ehdr));
	ehdr.e_shoff = SECTIONS;
	ehdr.e_shentsize = sizeof(Elf64_Shdr);
	ehdr.e_shnum = 3;
	ehdr.e_shstrndx = 2;
	memcpy(i->bytes, &ehdr, sizeof(ehdr));
	memcpy(i->bytes + SECTIONS, shdrs, sizeof(shdrs));
	memcpy(i->bytes + NAMES, names, sizeof(names));
	memset(i->bytes + sizeof(ehdr) + sizeof(Elf64_Phdr), 0, sizeof(Elf64_Phdr));
}

/* work's instructions may be others, to be hostile. */
static void make_image(struct image *i, const char *work, size_t work_size)
{
	*i = (struct image){.at = EH_FRAME};
	size_t cie = put_cie(i, false), signals = put_cie(i, true);
	put_fde(i, cie, WORK, work, work_size);
	put_fde(i, cie, START, "\x07\x10", 2); /* undefined r16 */
	put_fde(i, signals, TRAMPOLINE, "", 0);
	put_headers(i);
}

/* advance_loc 1, def_cfa_offset 16, offset r6 at cfa-16 */
#define WORK_CFI "\x41\x0e\x10\x86\x02"

static struct sw_snapshot *make_snapshot(const struct image *i, uint64_t pc, const uint64_t *stack,
					 size_t n)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/hand/made", BASE, BASE,
				    BASE + IMAGE_BYTES, i->bytes, IMAGE_BYTES);
	struct sw_thread *t = fake_snapshot_stack(snap, 1, BASE + pc, stack, n);
	sw_regs_set(&t->regs, SW_ARCH_FP, 0x1111);
	fake_snapshot_finish(snap);
	return snap;
}

struct expected {
	uint64_t pc, sp_words; /* sp above the stack's begin */
	unsigned flags;
};

static void assert_walk(const struct image *image, uint64_t pc, const uint64_t *stack, size_t n,
			const struct expected *frames, size_t n_frames, enum sw_end end,
			const char *why)
{
	struct sw_snapshot *snap = make_snapshot(image, pc, stack, n);
	const struct sw_walk_options options = {.max_frames = 10};
	struct sw_walks *walks;
	struct sw_error err = {0};
	int r = sw_walk_libunwind(snap, &options, &walks, &err);
	assert_string_equal(err.message, "");
	assert_int_equal(r, 0);
	assert_int_equal(walks->n_walks, 1);
	const struct sw_walk *w = &walks->walks[0];
	for (size_t i = 0; i < n_frames && i < w->n_frames; i++) {
		const struct sw_frame *f = &w->frames[i];
		assert_int_equal(f->pc_avma, frames[i].pc);
		assert_int_equal(f->sp_avma - w->thread->regs.sp_avma, 8 * frames[i].sp_words);
		assert_int_equal(f->flags, frames[i].flags);
		assert_int_equal(f->trust, i == 0 ? SW_TRUST_CONTEXT : SW_TRUST_CFI);
		assert_string_equal(f->by, i == 0 ? "context" : "libunwind");
		assert_int_equal(f->place != NULL, 1);
	}
	assert_int_equal(w->n_frames, n_frames);
	assert_string_equal(sw_end_name(w->end), sw_end_name(end));
	if (why != NULL)
		assert_string_equal(w->why, why);
	else
		assert_null(w->why);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

TEST(test_complete)
{
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	static const uint64_t stack[] = {0x2222, BASE + WORK + 9, 0x3333, BASE + START + 5, 0};
	static const struct expected frames[] = {
		{BASE + WORK + 5, 0, SW_FRAME_EXACT_PC},
		{BASE + WORK + 9, 2, 0},
		{BASE + START + 5, 4, 0},
	};
	assert_walk(&image, WORK + 5, stack, 5, frames, 3, SW_END_COMPLETE, NULL);
}

TEST(test_without_hdr)
{
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	use_sections(&image);
	static const uint64_t stack[] = {0x2222, BASE + TRAMPOLINE + 1, BASE + WORK,
					 BASE + START + 5, 0};
	static const struct expected frames[] = {
		{BASE + WORK + 5, 0, SW_FRAME_EXACT_PC},
		{BASE + TRAMPOLINE + 1, 2, SW_FRAME_SIGNAL},
		{BASE + WORK, 3, SW_FRAME_EXACT_PC},
		{BASE + START + 5, 4, 0},
	};
	assert_walk(&image, WORK + 5, stack, 5, frames, 4, SW_END_COMPLETE, NULL);
	/* An encoding that is not understood (indirect): those FDEs are left out. */
	memset(image.bytes + EH_FRAME + 16, 0x9b, 1);
	assert_walk(&image, WORK + 5, stack, 5, frames, 1, SW_END_NO_UNWIND_INFO,
		    "libunwind found no unwind information");
}

TEST(test_index)
{
	struct image image;
	struct sw_libunwind_table tables[2] = {0};
	uint64_t word;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	use_sections(&image);
	struct sw_snapshot *snap = make_snapshot(&image, WORK, NULL, 0);
	assert_true(sw_libunwind_index_init(&tables[1].index, snap->places[0].module));
	assert_int_equal(tables[1].index.section_svma, EH_FRAME);
	assert_int_equal(tables[1].index.n_entries, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct sw_libunwind_entry *e = &tables[1].index.entries[i];
		assert_int_equal(e->pc, image.functions[i] - EH_FRAME);
		assert_int_equal(e->fde, image.fdes[i] - EH_FRAME);
		uint64_t at = SW_LIBUNWIND_INDEX_AVMA + SW_LIBUNWIND_INDEX_STRIDE + 8 * i;
		assert_true(sw_libunwind_index_word(tables, 2, at, &word));
		assert_memory_equal(&word, e, sizeof(word));
		assert_false(sw_libunwind_index_word(tables, 1, at, &word));
	}
	uint64_t begin = SW_LIBUNWIND_INDEX_AVMA + SW_LIBUNWIND_INDEX_STRIDE;
	assert_false(sw_libunwind_index_word(tables, 2, begin + 17, &word));
	assert_false(sw_libunwind_index_word(tables, 2, begin - 8, &word));
	assert_false(sw_libunwind_index_word(tables, 2, 0, &word));
	assert_false(sw_libunwind_index_word(tables, 2, UINT64_MAX, &word));
	sw_libunwind_table_deinit(&tables[1]);
	sw_libunwind_table_deinit(&tables[0]);
	fake_snapshot_destroy(snap);
}

/* The row at the exact pc for the first frame: nothing is pushed yet. A return address right behind
 * a function belongs to that function. */
TEST(test_row_edges)
{
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	static const uint64_t stack[] = {BASE + WORK + FUNCTION_BYTES, 0x2222, BASE + START + 5, 0};
	static const struct expected frames[] = {
		{BASE + WORK, 0, SW_FRAME_EXACT_PC},
		{BASE + WORK + FUNCTION_BYTES, 1, 0},
		{BASE + START + 5, 3, 0},
	};
	assert_walk(&image, WORK, stack, 4, frames, 3, SW_END_COMPLETE, NULL);
}

/* The interrupted frame of a signal is looked up at its exact pc, the first instruction of work
 * here. */
TEST(test_signal)
{
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	static const uint64_t stack[] = {0x2222, BASE + TRAMPOLINE, BASE + WORK, BASE + START + 5,
					 0};
	/* The trampoline is itself looked up at pc - 1, which is start: as libc's has a nop in front
	 * of it that its FDE covers, so have ours. */
	static const uint64_t covered[] = {0x2222, BASE + TRAMPOLINE + 1, BASE + WORK,
					   BASE + START + 5, 0};
	static const struct expected frames[] = {
		{BASE + WORK + 5, 0, SW_FRAME_EXACT_PC},
		{BASE + TRAMPOLINE + 1, 2, SW_FRAME_SIGNAL},
		{BASE + WORK, 3, SW_FRAME_EXACT_PC},
		{BASE + START + 5, 4, 0},
	};
	assert_walk(&image, WORK + 5, covered, 5, frames, 4, SW_END_COMPLETE, NULL);
	static const struct expected uncovered[] = {
		{BASE + WORK + 5, 0, SW_FRAME_EXACT_PC},
		{BASE + TRAMPOLINE, 2, 0},
	};
	assert_walk(&image, WORK + 5, stack, 5, uncovered, 2, SW_END_COMPLETE, NULL);
}

/* No guess: libunwind would go on by frame pointer. */
TEST(test_no_unwind_info)
{
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	static const uint64_t stack[] = {BASE + WORK + 9, 0x2222, BASE + START + 5, 0};
	static const struct expected frames[] = {{BASE + BARE + 1, 0, SW_FRAME_EXACT_PC}};
	assert_walk(&image, BARE + 1, stack, 4, frames, 1, SW_END_NO_UNWIND_INFO,
		    "libunwind found no unwind information");
	memset(image.bytes + HDR, 0xff, 1); /* a version that is not known */
	static const struct expected work[] = {{BASE + WORK + 5, 0, SW_FRAME_EXACT_PC}};
	assert_walk(&image, WORK + 5, stack, 4, work, 1, SW_END_NO_UNWIND_INFO,
		    "libunwind found no unwind information");
}

TEST(test_broken_stacks)
{
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	static const struct expected frames[] = {
		{BASE + WORK + 5, 0, SW_FRAME_EXACT_PC},
		{BASE + WORK + 9, 2, 0},
	};
	static const uint64_t zero[] = {0x2222, BASE + WORK + 9, 0x3333, 0, 0};
	if (UNW_VERSION < UNW_VERSION_CODE(1, 8)) /* since then it takes 0 for the end */
		assert_walk(&image, WORK + 5, zero, 5, frames, 2, SW_END_BAD_UNWIND_INFO,
			    "the return address is 0, which proves no end");
	else
		assert_walk(&image, WORK + 5, zero, 5, frames, 2, SW_END_COMPLETE, NULL);
	/* the last that its memory has place for */
	assert_walk(&image, WORK + 5, zero, 4, frames, 2, SW_END_COMPLETE, NULL);
	static const uint64_t data[] = {0x2222, BASE + WORK + 9, 0x3333, 0x10100000};
	assert_walk(&image, WORK + 5, data, 4, frames, 2, SW_END_BAD_UNWIND_INFO,
		    "the return address is not in executable memory");
	static const uint64_t cut[] = {0x2222, BASE + WORK + 9, 0x3333};
	assert_walk(&image, WORK + 5, cut, 3, frames, 2, SW_END_MEMORY,
		    "libunwind wanted memory that could not be read");
}

TEST(test_frame_limit)
{
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	uint64_t stack[40];
	struct expected frames[10];
	for (size_t i = 0; i < SW_ARRAY_SIZE(stack); i++)
		stack[i] = i % 2 == 0 ? 0x2222 : BASE + WORK + 9;
	for (size_t i = 0; i < SW_ARRAY_SIZE(frames); i++)
		frames[i] = (struct expected){BASE + WORK + (i == 0 ? 5 : 9), 2 * i,
					      i == 0 ? SW_FRAME_EXACT_PC : 0};
	assert_walk(&image, WORK + 5, stack, SW_ARRAY_SIZE(stack), frames, SW_ARRAY_SIZE(frames),
		    SW_END_FRAME_LIMIT, "more frames than --depth allows");
}

/* The instructions would make libunwind read outside its arrays or loop for ever. */
TEST(test_hostile_instructions)
{
	static const struct {
		const char *cfi;
		size_t size;
		const char *why;
	} cases[] = {
		/* register r6 in r17, in a huge one */
		{"\x09\x06\x11", 3, "call frame instructions that are out of range"},
		{"\x09\x06\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11,
		 "call frame instructions that are out of range"},
		/* def_cfa_expression: skip -3, for ever */
		{"\x0f\x03\x2f\xfd\xff", 5, "libunwind read too much for one frame"},
		/* an expression longer than its record, an unknown instruction */
		{"\x0f\x7f", 2, "call frame instructions that are out of range"},
		{"\x3f", 1, "call frame instructions that are out of range"},
	};
	static const uint64_t stack[] = {0x2222, BASE + WORK + 9, 0x3333, BASE + START + 5};
	static const struct expected frames[] = {{BASE + WORK + 5, 0, SW_FRAME_EXACT_PC}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct image image;
		make_image(&image, cases[i].cfi, cases[i].size);
		assert_walk(&image, WORK + 5, stack, 4, frames, 1, SW_END_BAD_UNWIND_INFO,
			    cases[i].why);
	}
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	image.bytes[EH_FRAME + 14] = 200; /* the return address is in a column that is not there */
	assert_walk(&image, WORK + 5, stack, 4, frames, 1, SW_END_BAD_UNWIND_INFO,
		    "call frame instructions that are out of range");
}

/* Every byte of the tables with a bit turned: an answer, whatever it is. */
TEST(test_mutations)
{
	static const uint64_t stack[] = {0x2222, BASE + WORK + 9, 0x3333, BASE + START + 5};
	for (size_t turn = 0; turn < 2 * (EH_FRAME + 0xa0 - HDR); turn++) {
		struct image image;
		size_t at = HDR + turn / 2;
		make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
		if (turn % 2)
			use_sections(&image);
		image.bytes[at] ^= (uint8_t) (1 << at % 8);
		struct sw_snapshot *snap = make_snapshot(&image, WORK + 5, stack, 4);
		const struct sw_walk_options options = {0};
		struct sw_walks *walks;
		assert_int_equal(sw_walk_libunwind(snap, &options, &walks, NULL), 0);
		assert_true(walks->walks[0].n_frames >= 1 &&
			    walks->walks[0].n_frames <= SW_DEFAULT_FRAMES);
		sw_walks_destroy(walks);
		fake_snapshot_destroy(snap);
	}
}

static bool instructions_ok(const char *bytes, size_t size, uint64_t ra_column)
{
	const uint64_t cie[] = {0x1000, 0x1000, 0x2000, 0x2000 + size, 1, 8, ra_column};
	const unw_proc_info_t info = {.format = UNW_INFO_FORMAT_TABLE, .unwind_info = (void *) cie};
	struct fake_memory fake = FAKE_MEMORY({0x2000, bytes, size});
	return sw_libunwind_instructions_ok(&info, fake_memory(&fake));
}

TEST(test_instructions_ok)
{
	static const char good[] =
		"\x41\x0e\x10\x86\x02\x02\xff\x03\xff\xff\x04\xff\xff\xff\xff"
		"\x05\x81\x01\x82\x01\x0a\x0b\x09\x06\x10\x10\x06\x02\x77\x00\xc6"
		"\x2e\x10\x2f\x01\x01";
	assert_true(instructions_ok(good, sizeof(good) - 1, 16));
	assert_true(instructions_ok("", 0, 16));
	assert_false(instructions_ok(good, sizeof(good) - 1, 17));
	assert_false(instructions_ok("\x01\0\0\0\0", 5, 16)); /* set_loc */
	assert_false(instructions_ok("\x0e\x80", 2, 16));     /* a number without an end */
	assert_false(instructions_ok("\x86", 1, 16));
	assert_false(instructions_ok("\x04\x01", 2, 16));
	assert_false(instructions_ok("\x10\x06\x03\x77\x00", 5, 16));
	assert_false(instructions_ok("\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12, 16));
	const unw_proc_info_t none = {.format = UNW_INFO_FORMAT_DYNAMIC};
	struct fake_memory fake = FAKE_MEMORY({0, NULL, 0});
	assert_false(sw_libunwind_instructions_ok(&none, fake_memory(&fake)));
}

TEST(test_not_captured)
{
	struct image image;
	make_image(&image, WORK_CFI, sizeof(WORK_CFI) - 1);
	struct sw_snapshot *snap = make_snapshot(&image, WORK, NULL, 0);
	snap->threads[0].captured = false;
	const struct sw_walk_options options = {0};
	struct sw_walks *walks;
	assert_int_equal(sw_walk_libunwind(snap, &options, &walks, NULL), 0);
	assert_int_equal(walks->n_walks, 0);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

int main(void)
{
	struct sw_libunwind lib;
	struct sw_error err;
	if (sw_libunwind_load(&lib, &err) < 0) {
		printf("%s; needs package libunwind-dev\n", err.message);
		return 77;
	}
	return TEST_RUN(NULL, NULL);
}
