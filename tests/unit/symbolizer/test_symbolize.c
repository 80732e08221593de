/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_make.h"
#include "fake.h"
#include "test.h"

#include <snapwalk/symbolize.h>

enum { TEXT = 0x1000, A_BIAS = 0x400000, B_BIAS = 0x800000, FRAMES_MAX = 8 };

struct fixture {
	struct elf_make a, b;
	struct sw_snapshot *snap;
	struct sw_place *place_a, *place_b;
	struct sw_symbolizer *symbolizer;
	struct sw_frame frames[FRAMES_MAX];
	struct sw_walk walk;
	struct sw_walks walks;
	struct sw_symbols *symbols;
};

/* Module a: C++ and assembly in .symtab. Module b: a C function in .dynsym. */
static void make_images(struct fixture *f)
{
	elf_make_init(&f->a);
	uint16_t text = (uint16_t) elf_make_section(&f->a, ".text", SHT_PROGBITS,
						    SHF_ALLOC | SHF_EXECINSTR, TEXT, NULL, 0x100);
	elf_make_symbol(&f->a, "_ZN2ns1fEi", STB_GLOBAL, STT_FUNC, text, TEXT, 0x20);
	elf_make_symbol(&f->a, "asm_entry", STB_GLOBAL, STT_NOTYPE, text, TEXT + 0x80, 0);
	elf_make_symtab(&f->a, SHT_SYMTAB);
	elf_make_finish(&f->a);
	elf_make_init(&f->b);
	text = (uint16_t) elf_make_section(&f->b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					   TEXT, NULL, 0x100);
	elf_make_symbol(&f->b, "in_b", STB_GLOBAL, STT_FUNC, text, TEXT, 0x20);
	elf_make_symtab(&f->b, SHT_DYNSYM);
	elf_make_finish(&f->b);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	make_images(f);
	f->snap = fake_snapshot_create();
	(void) fake_snapshot_module(f->snap, SW_MODULE_ELF, "/bin/a", A_BIAS, A_BIAS + TEXT,
				    A_BIAS + TEXT + 0x1000, f->a.bytes, f->a.size);
	(void) fake_snapshot_module(f->snap, SW_MODULE_VDSO, "[vdso]", B_BIAS, B_BIAS + TEXT,
				    B_BIAS + TEXT + 0x1000, f->b.bytes, f->b.size);
	fake_snapshot_finish(f->snap);
	f->place_a = (struct sw_place *) sw_snapshot_place(f->snap, A_BIAS + TEXT);
	f->place_b = (struct sw_place *) sw_snapshot_place(f->snap, B_BIAS + TEXT);
	assert_non_null(f->place_a);
	assert_non_null(f->place_b);
	f->place_a->resolved = 1;
	f->place_b->resolved = 1;
	assert_int_equal(sw_symbolizer_create(f->snap->ctx, &f->symbolizer, NULL), 0);
	f->walk.frames = f->frames;
	f->walks = (struct sw_walks){.snap = f->snap, .walks = &f->walk, .n_walks = 1};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_symbols_destroy(f->symbols);
	sw_symbolizer_destroy(f->symbolizer);
	fake_snapshot_destroy(f->snap);
	free(f);
	return 0;
}

static const struct sw_frame *add(struct fixture *f, const struct sw_place *place, uint64_t pc,
				  uint16_t flags)
{
	assert_true(f->walk.n_frames < FRAMES_MAX);
	struct sw_frame *frame = &f->frames[f->walk.n_frames++];
	*frame = (struct sw_frame){.pc_avma = pc, .place = place, .flags = flags};
	return frame;
}

static void symbolize(struct fixture *f, const struct sw_symbolize_options *o)
{
	sw_symbols_destroy(f->symbols);
	f->symbols = NULL;
	assert_int_equal(sw_symbolize(f->symbolizer, &f->walks, o, &f->symbols, NULL), 0);
	assert_non_null(f->symbols);
}

static const struct sw_symbol *one(struct fixture *f, const struct sw_frame *frame)
{
	const struct sw_symbol *symbol = NULL;
	assert_int_equal(sw_symbols_find(f->symbols, frame, &symbol), 1);
	assert_false(symbol->inlined);
	return symbol;
}

static const struct sw_symbolize_options offline = {.debug_dir = "/nonexistent"};

TEST_OF(test_two_modules, struct fixture *f)
{
	const struct sw_frame *in_a = add(f, f->place_a, A_BIAS + TEXT + 4, SW_FRAME_EXACT_PC);
	const struct sw_frame *in_b = add(f, f->place_b, B_BIAS + TEXT + 5, 0);
	const struct sw_frame *again = add(f, f->place_a, A_BIAS + TEXT + 4, SW_FRAME_EXACT_PC);
	symbolize(f, &offline);
	assert_int_equal(f->symbols->n_addresses, 2);
	assert_int_equal(f->symbols->n_unfinished, 0);
	const struct sw_symbol *symbol = one(f, in_a);
	assert_string_equal(symbol->function, "ns::f(int)");
	assert_string_equal(symbol->mangled, "_ZN2ns1fEi");
	assert_int_equal(symbol->function_offset, 4);
	assert_null(symbol->file);
	assert_int_equal(symbol->line, 0);
	assert_int_equal(symbol->line_offset, -1);
	assert_int_equal(symbol->source, SW_SOURCE_SYMTAB);
	assert_ptr_equal(one(f, again), symbol);
	symbol = one(f, in_b);
	assert_string_equal(symbol->function, "in_b");
	assert_null(symbol->mangled);
	assert_int_equal(symbol->function_offset, 4); /* of the call before the return address */
	assert_int_equal(symbol->source, SW_SOURCE_DYNSYM);
	assert_int_equal(sw_symbols_source(f->symbols, f->place_a), SW_SOURCE_SYMTAB);
	assert_int_equal(sw_symbols_source(f->symbols, f->place_b), SW_SOURCE_DYNSYM);
}

/* A return address right behind a function that ends with a call belongs to that function. */
TEST_OF(test_call_at_function_end, struct fixture *f)
{
	const struct sw_frame *caller = add(f, f->place_a, A_BIAS + TEXT + 0x20, 0);
	const struct sw_frame *exact = add(f, f->place_a, A_BIAS + TEXT + 0x20, SW_FRAME_EXACT_PC);
	const struct sw_symbol *symbol;
	symbolize(f, &offline);
	assert_string_equal(one(f, caller)->function, "ns::f(int)");
	assert_int_equal(one(f, caller)->function_offset, 0x1f);
	assert_int_equal(sw_symbols_find(f->symbols, exact, &symbol), 0);
}

TEST_OF(test_assembly_label, struct fixture *f)
{
	const struct sw_frame *inside = add(f, f->place_a, A_BIAS + TEXT + 0x90, SW_FRAME_EXACT_PC);
	const struct sw_frame *last = add(f, f->place_a, A_BIAS + TEXT + 0xff, SW_FRAME_EXACT_PC);
	const struct sw_frame *behind =
		add(f, f->place_a, A_BIAS + TEXT + 0x100, SW_FRAME_EXACT_PC);
	const struct sw_symbol *symbol;
	symbolize(f, &offline);
	assert_string_equal(one(f, inside)->function, "asm_entry");
	assert_int_equal(one(f, inside)->function_offset, 0x10);
	assert_string_equal(one(f, last)->function, "asm_entry");
	assert_int_equal(sw_symbols_find(f->symbols, behind, &symbol), 0); /* not its section */
}

TEST_OF(test_no_demangle, struct fixture *f)
{
	const struct sw_frame *frame = add(f, f->place_a, A_BIAS + TEXT, SW_FRAME_EXACT_PC);
	struct sw_symbolize_options o = offline;
	o.no_demangle = true;
	symbolize(f, &o);
	assert_string_equal(one(f, frame)->function, "_ZN2ns1fEi");
	assert_null(one(f, frame)->mangled);
	symbolize(f, &offline); /* not remembered */
	assert_string_equal(one(f, frame)->function, "ns::f(int)");
}

TEST_OF(test_unknown_places, struct fixture *f)
{
	const struct sw_frame *nowhere = add(f, NULL, 0x1234, SW_FRAME_EXACT_PC);
	f->place_a->resolved = -1;
	const struct sw_frame *no_bias = add(f, f->place_a, A_BIAS + TEXT, SW_FRAME_EXACT_PC);
	struct sw_frame never_asked = {.pc_avma = 0x9999};
	const struct sw_symbol *symbol;
	symbolize(f, &offline);
	assert_int_equal(sw_symbols_find(f->symbols, nowhere, &symbol), 0);
	assert_int_equal(sw_symbols_find(f->symbols, no_bias, &symbol), 0);
	assert_int_equal(sw_symbols_find(f->symbols, &never_asked, &symbol), 0);
	assert_int_equal(sw_symbols_source(f->symbols, f->place_a), SW_SOURCE_NONE);
	assert_int_equal(f->symbols->n_unfinished, 0);
}

/* Past the deadline nothing is looked up, and it says so; what is known already is still given. */
TEST_OF(test_deadline_and_memory, struct fixture *f)
{
	const struct sw_frame *in_a = add(f, f->place_a, A_BIAS + TEXT, SW_FRAME_EXACT_PC);
	const struct sw_symbol *symbol;
	struct sw_symbolize_options late = offline;
	late.deadline_ns = 1;
	symbolize(f, &late);
	assert_int_equal(f->symbols->n_addresses, 1);
	assert_int_equal(f->symbols->n_unfinished, 1);
	assert_int_equal(sw_symbols_find(f->symbols, in_a, &symbol), 0);

	symbolize(f, &offline); /* the late call must not have remembered that there is nothing */
	assert_int_equal(f->symbols->n_unfinished, 0);
	assert_string_equal(one(f, in_a)->function, "ns::f(int)");

	const struct sw_frame *in_b = add(f, f->place_b, B_BIAS + TEXT, SW_FRAME_EXACT_PC);
	symbolize(f, &late);
	assert_int_equal(f->symbols->n_addresses, 2);
	assert_int_equal(f->symbols->n_unfinished, 1);
	assert_string_equal(one(f, in_a)->function, "ns::f(int)");
	assert_int_equal(sw_symbols_find(f->symbols, in_b, &symbol), 0);
}

/* Frames of one address that differ by cookie are told apart. */
TEST_OF(test_cookies, struct fixture *f)
{
	(void) add(f, f->place_a, A_BIAS + TEXT, SW_FRAME_EXACT_PC);
	(void) add(f, f->place_a, A_BIAS + TEXT, SW_FRAME_EXACT_PC);
	f->frames[1].cookie = 7;
	struct sw_frame other = f->frames[1];
	other.cookie = 8;
	const struct sw_symbol *symbol;
	symbolize(f, &offline);
	assert_int_equal(f->symbols->n_addresses, 2);
	assert_string_equal(one(f, &f->frames[1])->function, "ns::f(int)");
	assert_int_equal(sw_symbols_find(f->symbols, &other, &symbol), 0);
}

TEST(test_source_names)
{
	assert_string_equal(sw_symbol_source_name(SW_SOURCE_NONE), "none");
	assert_string_equal(sw_symbol_source_name(SW_SOURCE_MINIDEBUG), "minidebug");
	assert_string_equal(sw_symbol_source_name(SW_SOURCE_JIT), "jit");
	assert_string_equal(sw_symbol_source_name((enum sw_symbol_source) 99), "unknown");
}
