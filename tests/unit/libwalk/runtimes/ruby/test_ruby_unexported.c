/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby/unexported: a variable and a function by the code of exported functions. */
#include "elf_image.h"
#include "fake.h"
#include "runtimes/ruby/find.h"
#include "runtimes/ruby/unexported.h"
#include "test.h"

enum {
	CURRENT = 0x00, /* from IMAGE_CODE */
	EVAL = 0x40,
	EVAL_MAIN = 0x80,
	EXEC = 0xc0,
	HELPER = 0x100,
	PLT_SETJMP = 0x140,
	PLT_OTHER = 0x150,
	OTHER_EXEC = 0x160,
	CODE_BYTES = 0x180,
	PAIR = 0x8000,
	SLOT_SETJMP = 0x9000,
	SLOT_OTHER = 0x9008,
};

static uint8_t code[CODE_BYTES];

static void put(unsigned at, const void *bytes, size_t n)
{
	memcpy(code + at, bytes, n);
}

/* An instruction that ends with the distance to target. */
static void put_relative(unsigned at, const char *bytes, size_t n, uint64_t target_svma)
{
	uint32_t displacement = (uint32_t) (target_svma - (IMAGE_CODE + at + n + 4));
	put(at, bytes, n);
	memcpy(code + at + n, &displacement, 4);
}

/* Debian's 3.3.8: rb_thread_current(). */
static void current_put(const char *read, size_t n)
{
	memset(code + CURRENT, 0x90, EVAL);
	put(CURRENT, "\xf3\x0f\x1e\xfa\x48\x83\xec\x08", 8);
	put_relative(CURRENT + 8, "\x66\x48\x8d\x3d", 4, PAIR);
	put_relative(CURRENT + 16, "\x66\x66\x48\xe8", 4, IMAGE_CODE + PLT_OTHER);
	put(CURRENT + 24, read, n);
	put(CURRENT + 24 + (unsigned) n, "\x48\x8b\x40\x30\x48\x8b\x40\x10", 8);
}

static void code_put(void)
{
	memset(code, 0x90, sizeof(code));
	current_put("\x48\x8b\x00", 3);
	put_relative(EVAL, "\xe8", 1, IMAGE_CODE + HELPER);
	put_relative(EVAL + 5, "\xe9", 1, IMAGE_CODE + EXEC);
	put_relative(EVAL_MAIN, "\xe8", 1, IMAGE_CODE + PLT_OTHER);
	put_relative(EVAL_MAIN + 5, "\xe8", 1, IMAGE_CODE + HELPER);
	put_relative(EVAL_MAIN + 10, "\xe9", 1, IMAGE_CODE + EXEC);
	put_relative(EXEC, "\xe8", 1, IMAGE_CODE + PLT_SETJMP);
	put_relative(HELPER, "\xe8", 1, IMAGE_CODE + PLT_OTHER);
	put_relative(PLT_SETJMP, "\xf3\x0f\x1e\xfa\xff\x25", 6, SLOT_SETJMP);
	put_relative(PLT_OTHER, "\xf3\x0f\x1e\xfa\xff\x25", 6, SLOT_OTHER);
	put_relative(OTHER_EXEC, "\xe8", 1, IMAGE_CODE + PLT_SETJMP);
}

static const struct image_fde fdes[] = {
	{.start = CURRENT, .end = EVAL},          {.start = EVAL, .end = EVAL_MAIN},
	{.start = EVAL_MAIN, .end = EXEC},        {.start = EXEC, .end = HELPER},
	{.start = HELPER, .end = PLT_SETJMP},     {.start = PLT_SETJMP, .end = OTHER_EXEC},
	{.start = OTHER_EXEC, .end = CODE_BYTES},
};

static const char strings[] = "\0rb_thread_current\0rb_iseq_eval\0rb_iseq_eval_main\0_setjmp\0puts";
enum { NAME_CURRENT = 1, NAME_EVAL = 19, NAME_EVAL_MAIN = 32, NAME_SETJMP = 50, NAME_PUTS = 58 };

static const Elf64_Sym symbols[] = {
	{0},
	{.st_name = NAME_CURRENT, .st_shndx = 1, .st_value = IMAGE_CODE + CURRENT},
	{.st_name = NAME_EVAL, .st_shndx = 1, .st_value = IMAGE_CODE + EVAL},
	{.st_name = NAME_EVAL_MAIN, .st_shndx = 1, .st_value = IMAGE_CODE + EVAL_MAIN},
	{.st_name = NAME_SETJMP},
	{.st_name = NAME_PUTS},
};

static Elf64_Rela dynamic[] = {
	{.r_offset = PAIR + 8, .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE)},
	{.r_offset = PAIR, .r_info = ELF64_R_INFO(0, R_X86_64_DTPMOD64)},
};

static const Elf64_Rela plt[] = {
	{.r_offset = SLOT_OTHER, .r_info = ELF64_R_INFO(5, R_X86_64_JUMP_SLOT)},
	{.r_offset = SLOT_SETJMP, .r_info = ELF64_R_INFO(4, R_X86_64_JUMP_SLOT)},
};

struct fixture {
	struct sw_snapshot *snap;
	struct sw_module *module;
	struct sw_elf_symbols symbols;
};

static struct fixture fixture(void)
{
	const struct image_section sections[] = {
		{.name = ".dynsym",
		 .type = SHT_DYNSYM,
		 .data = symbols,
		 .size = sizeof(symbols),
		 .entry_size = sizeof(symbols[0]),
		 .link = 2},
		{.name = ".dynstr", .type = SHT_STRTAB, .data = strings, .size = sizeof(strings)},
		{.name = ".rela.dyn", .type = SHT_RELA, .data = dynamic, .size = sizeof(dynamic)},
		{.name = ".rela.plt", .type = SHT_RELA, .data = plt, .size = sizeof(plt)},
	};
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .fdes = fdes,
					  .n_fdes = sizeof(fdes) / sizeof(*fdes),
					  .sections = sections,
					  .n_sections = 4,
					  .tls_bytes = 0x18};
	struct fixture f = {.snap = fake_snapshot_create()};
	uint8_t *image = elf_image(&parts);
	struct sw_place *place = fake_snapshot_module(f.snap, SW_MODULE_ELF, "/lib/libruby.so", 0,
						      0, IMAGE_BYTES, image, IMAGE_BYTES);
	free(image);
	f.module = place->module;
	assert_true(sw_elf_symbols_open(sw_module_elf(f.module), &f.symbols));
	return f;
}

static bool ec_find(struct sw_tls_variable *ret)
{
	struct fixture f = fixture();
	bool found = sw_ruby_ec_find(&f.symbols, ret);
	fake_snapshot_destroy(f.snap);
	return found;
}

TEST(test_ec)
{
	struct sw_tls_variable v = {0};
	code_put();
	assert_true(ec_find(&v)); /* its own pair */
	assert_int_equal(v.kind, SW_TLS_PAIR);
	assert_int_equal(v.got_svma, PAIR);
	assert_int_equal(v.offset, 0);
	current_put("\x48\x8b\x80\x10\0\0\0", 7); /* the pair of all variables */
	assert_true(ec_find(&v));
	assert_int_equal(v.got_svma, PAIR);
	assert_int_equal(v.offset, 16);
	current_put("\x48\x8b\x80\x18\0\0\0", 7); /* behind the last variable */
	assert_false(ec_find(&v));
	current_put("\x48\x8b\x00", 3);
	code[CURRENT + 30] = 0x38; /* no rb_thread_t is read */
	assert_false(ec_find(&v));
	code_put();
	code[CURRENT + 12] += 8; /* no pair is there */
	assert_false(ec_find(&v));
	code_put();
	dynamic[1].r_info = ELF64_R_INFO(5, R_X86_64_DTPMOD64); /* another module's */
	assert_false(ec_find(&v));
	dynamic[1].r_info = ELF64_R_INFO(0, R_X86_64_DTPMOD64);
}

/* A program's: mov rax, fs:[-8] */
TEST(test_ec_program)
{
	struct sw_tls_variable v = {0};
	code_put();
	memset(code + CURRENT, 0x90, EVAL);
	put(CURRENT + 4, "\x64\x48\x8b\x04\x25\xf8\xff\xff\xff\x48\x8b\x40\x30", 13);
	assert_true(ec_find(&v));
	assert_int_equal(v.kind, SW_TLS_PROGRAM);
	assert_int_equal(v.offset, -8);
	code[CURRENT + 12] = 0x7f; /* above fs: no variable */
	assert_false(ec_find(&v));
}

static bool exec_find(uint64_t *ret_start, uint64_t *ret_end)
{
	struct fixture f = fixture();
	bool found = sw_ruby_vm_exec_find(&f.symbols, f.module, ret_start, ret_end);
	fake_snapshot_destroy(f.snap);
	return found;
}

TEST(test_exec)
{
	uint64_t start = 0, end = 0;
	code_put();
	assert_true(exec_find(&start, &end));
	assert_int_equal(start, IMAGE_CODE + EXEC);
	assert_int_equal(end, IMAGE_CODE + HELPER);
	/* Another function that both call and that calls setjmp(): which one it is cannot be told. */
	put_relative(EVAL + 10, "\xe8", 1, IMAGE_CODE + OTHER_EXEC);
	assert_true(exec_find(&start, &end)); /* only one calls it */
	put_relative(EVAL_MAIN + 15, "\xe8", 1, IMAGE_CODE + OTHER_EXEC);
	assert_false(exec_find(&start, &end));
	code_put();
	put_relative(EXEC, "\xe8", 1, IMAGE_CODE + PLT_OTHER); /* it calls no setjmp() */
	assert_false(exec_find(&start, &end));
	code_put();
	put_relative(EVAL_MAIN + 10, "\xe9", 1,
		     IMAGE_CODE + EXEC + 1); /* no function begins there */
	assert_false(exec_find(&start, &end));
}

/* A module is searched once, also where nothing was found. */
TEST(test_exec_once)
{
	struct sw_ruby_exec exec;
	code_put();
	put_relative(EXEC, "\xe8", 1, IMAGE_CODE + PLT_OTHER);
	struct fixture f = fixture();
	const struct sw_place place = {.module = f.module};
	assert_false(sw_ruby_exec_find(&place, &exec));
	code_put();
	memcpy((uint8_t *) f.module->image + IMAGE_CODE, code, sizeof(code));
	assert_false(sw_ruby_exec_find(&place, &exec));
	fake_snapshot_destroy(f.snap);
	f = fixture();
	const struct sw_place other = {.module = f.module};
	assert_true(sw_ruby_exec_find(&other, &exec));
	assert_int_equal(exec.start_svma, IMAGE_CODE + EXEC);
	memset((uint8_t *) f.module->image + IMAGE_CODE, 0, sizeof(code));
	exec.start_svma = 0;
	assert_true(sw_ruby_exec_find(&other, &exec));
	assert_int_equal(exec.start_svma, IMAGE_CODE + EXEC);
	fake_snapshot_destroy(f.snap);
}
