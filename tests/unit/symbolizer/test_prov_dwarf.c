/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lines and inlined calls of this program's own functions, whose lines the preprocessor knows.
 */
#include "snapshot/module.h"
#include "symbolizer.h"
#include "test.h"

#include <snapwalk/finder.h>
#include <snapwalk/symbolize.h>

#include <sys/stat.h>

extern const char __executable_start[]; /* of the linker: svma 0 of a PIE */

static uint64_t probed_pc;
static int line_of_probe, line_of_inner, line_of_outer, line_of_middle_call, line_of_inner_call;

__attribute__((noinline)) static void probe(void)
{
	probed_pc = (uint64_t) (uintptr_t) __builtin_return_address(0);
	__asm__ volatile("" ::: "memory");
}

/* clang-format off */
static inline __attribute__((always_inline)) void inner(void)
{ line_of_inner = __LINE__ - 1;
	line_of_probe = __LINE__; probe();
	__asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void middle(void)
{
	line_of_inner_call = __LINE__; inner();
}

__attribute__((noinline)) static void outer(void)
{ line_of_outer = __LINE__ - 1;
	__asm__ volatile("" ::: "memory");
	line_of_middle_call = __LINE__; middle();
	__asm__ volatile("" ::: "memory");
}
/* clang-format on */

struct fixture {
	struct sw_context *ctx;
	struct sw_module *module;
	struct sw_symbolizer *symbolizer;
	struct sw_place place;
	struct sw_frame frame;
	struct sw_walk walk;
	struct sw_walks walks;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_non_null(f);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(sw_context_create(&f->ctx, NULL), 0);
	assert_int_equal(sw_context_module_file(f->ctx, SW_MODULE_ELF, "/bin/self", false, fd, &st,
						&f->module),
			 0);
	assert_int_equal(sw_symbolizer_create(f->ctx, &f->symbolizer, NULL), 0);
	outer();
	f->place = (struct sw_place){.module = f->module,
				     .end_avma = UINT64_MAX,
				     .bias = (uint64_t) (uintptr_t) __executable_start,
				     .resolved = 1};
	f->frame = (struct sw_frame){.pc_avma = probed_pc, .place = &f->place};
	f->walk = (struct sw_walk){.frames = &f->frame, .n_frames = 1};
	f->walks = (struct sw_walks){.walks = &f->walk, .n_walks = 1};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_symbolizer_destroy(f->symbolizer);
	sw_context_destroy(f->ctx);
	free(f);
	return 0;
}

static void expect_here(const struct sw_symbol *symbol, const char *function, int line, int first)
{
	assert_string_equal(symbol->function, function);
	assert_null(symbol->mangled);
	assert_non_null(symbol->file);
	const char *slash = strrchr(symbol->file, '/');
	assert_non_null(slash);
	assert_int_equal(symbol->file[0], '/');
	assert_string_equal(slash + 1, "test_prov_dwarf.c");
	assert_int_equal(symbol->line, line);
	assert_int_equal(symbol->line_offset, line - first);
	assert_int_equal(symbol->source, SW_SOURCE_DWARF);
}

TEST_OF(test_inlined_chain, struct fixture *f)
{
	struct sw_symbols *symbols;
	const struct sw_symbol *found;
	assert_int_equal(sw_symbolize(f->symbolizer, &f->walks, NULL, &symbols, NULL), 0);
	assert_int_equal(symbols->n_addresses, 1);
	assert_int_equal(symbols->n_unfinished, 0);
	assert_int_equal(sw_symbols_find(symbols, &f->frame, &found), 3);
	expect_here(&found[0], "inner", line_of_probe, line_of_inner);
	assert_true(found[0].inlined);
	expect_here(&found[1], "middle", line_of_inner_call, line_of_inner_call - 2);
	assert_true(found[1].inlined);
	expect_here(&found[2], "outer", line_of_middle_call, line_of_outer);
	assert_false(found[2].inlined);
	uint64_t offset = probed_pc - 1 - (uint64_t) (uintptr_t) outer;
	for (int i = 0; i < 3; i++)
		assert_int_equal(found[i].function_offset, offset);
	assert_int_equal(sw_symbols_source(symbols, &f->place), SW_SOURCE_DWARF);
	sw_symbols_destroy(symbols);
}

TEST_OF(test_no_inlines, struct fixture *f)
{
	struct sw_symbols *symbols;
	const struct sw_symbol *found;
	struct sw_symbolize_options o = {.no_inlines = true};
	assert_int_equal(sw_symbolize(f->symbolizer, &f->walks, &o, &symbols, NULL), 0);
	assert_int_equal(sw_symbols_find(symbols, &f->frame, &found), 1);
	expect_here(&found[0], "outer", line_of_middle_call, line_of_outer);
	sw_symbols_destroy(symbols);
}

/* Names alone, then lines for the same address by the same symbolizer, then names again. */
TEST_WITH(test_levels, setup, teardown)
{
	struct fixture *f = *state;
	struct sw_symbols *symbols;
	const struct sw_symbol *found;
	struct sw_symbolize_options names = {.level = SW_SYMBOLS_NAMES};
	assert_int_equal(sw_symbolize(f->symbolizer, &f->walks, &names, &symbols, NULL), 0);
	assert_int_equal(sw_symbols_find(symbols, &f->frame, &found), 1);
	assert_string_equal(found->function, "outer");
	assert_null(found->file);
	assert_int_equal(found->line, 0);
	assert_int_equal(found->line_offset, -1);
	assert_int_equal(found->source, SW_SOURCE_SYMTAB);
	assert_int_equal(sw_symbols_source(symbols, &f->place), SW_SOURCE_SYMTAB);
	sw_symbols_destroy(symbols);
	test_inlined_chain(state);

	struct sw_symbolize_options none = {.level = SW_SYMBOLS_NONE};
	assert_int_equal(sw_symbolize(f->symbolizer, &f->walks, &none, &symbols, NULL), 0);
	assert_int_equal(sw_symbols_find(symbols, &f->frame, &found), 0);
	sw_symbols_destroy(symbols);
}

static void expect_same(const struct sw_symbols *a, size_t a_number, const struct sw_symbols *b,
			size_t b_number)
{
	const struct sw_symbol *x, *y;
	size_t n = sw_symbols_at(a, a_number, &x);
	assert_int_equal(sw_symbols_at(b, b_number, &y), n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(x[i].function, y[i].function);
		assert_int_equal(x[i].function_offset, y[i].function_offset);
		assert_int_equal(x[i].inlined, y[i].inlined);
		assert_int_equal(x[i].line, y[i].line);
		assert_int_equal(x[i].line_offset, y[i].line_offset);
		assert_int_equal(x[i].source, y[i].source);
		assert_int_equal(x[i].file == NULL, y[i].file == NULL);
		if (x[i].file != NULL)
			assert_string_equal(x[i].file, y[i].file);
	}
}

/* Addresses that come one after another, as those of a profile, have the names that they have together. */
TEST_WITH(test_one_by_one, setup, teardown)
{
	enum { N = 600, STEP = 7 };
	struct fixture *f = *state;
	struct sw_address addresses[N];
	struct sw_symbols *together, *alone;
	struct sw_symbolizer *other;
	const uint64_t middle =
		(uint64_t) (uintptr_t) outer - (uint64_t) (uintptr_t) __executable_start;
	for (size_t i = 0; i < N; i++)
		addresses[i] = (struct sw_address){f->module, middle + STEP * i - STEP * (N / 2)};
	assert_int_equal(sw_symbolizer_create(f->ctx, &other, NULL), 0);
	const struct sw_symbolize_options o = {0};
	assert_int_equal(sw_symbolize_addresses(other, addresses, N, &o, &together, NULL), 0);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(sw_symbolize_addresses(f->symbolizer, &addresses[i], 1, &o, &alone,
							NULL),
				 0);
		expect_same(together, i, alone, 0);
		sw_symbols_destroy(alone);
	}
	assert_int_equal(other->tables.used_bytes, 0);
	assert_int_not_equal(f->symbolizer->tables.used_bytes, 0); /* the unit has a table by now */
	sw_symbols_destroy(together);
	sw_symbolizer_destroy(other);
}
