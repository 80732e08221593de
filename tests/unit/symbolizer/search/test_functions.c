/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of a symbol table: all of them, or an error. */
#include "search/functions.h"
#include "elf_make.h"
#include "errors.h"
#include "test.h"

enum { TEXT = 0x1000, N = 5 };

static struct elf_make made;
static struct sw_symtab table;

static void make(void)
{
	static const char *const names[N] = {"a", "b", "c", "d", "e@@V1"};
	struct sw_elf elf;
	elf_make_init(&made);
	uint32_t text = elf_make_section(&made, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					 TEXT, NULL, 0x1000);
	for (int i = 0; i < N; i++)
		elf_make_symbol(&made, names[i], STB_GLOBAL, STT_FUNC, (uint16_t) text,
				TEXT + 0x10 * (uint64_t) i, 0x10);
	elf_make_symtab(&made, SHT_SYMTAB);
	elf_make_finish(&made);
	assert_true(sw_elf_init(&elf, (struct sw_bytes){made.bytes, made.size}));
	assert_true(sw_symtab_find(&elf, SHT_SYMTAB, SW_SOURCE_SYMTAB, &table));
}

static char last[16];

static void each(void *arg, const struct sw_function_symbol *symbol)
{
	(*(size_t *) arg)++;
	(void) snprintf(last, sizeof(last), "%s", symbol->name);
}

static int list(int64_t deadline_ns, uint64_t symbols_max, size_t *ret_told, size_t *ret_n,
		struct sw_error *err)
{
	*ret_told = *ret_n = 0;
	const struct sw_function_listing listing = {.deadline_ns = deadline_ns,
						    .symbols_max = symbols_max,
						    .each = each,
						    .arg = ret_told};
	return sw_function_table_list(&listing, &table, ret_n, err);
}

TEST(test_whole)
{
	size_t told, n;
	make();
	assert_int_equal(list(0, N, &told, &n, NULL), 0);
	assert_int_equal(told, N);
	assert_int_equal(n, N);
	assert_string_equal(last, "e"); /* without its version */
}

TEST(test_limit_is_an_error)
{
	struct sw_error err = {0};
	size_t told, n;
	make();
	assert_int_equal(list(0, N - 1, &told, &n, &err), -SW_E_LIMIT);
	assert_non_null(strstr(err.message, "more than 4"));
}

TEST(test_deadline_is_an_error)
{
	size_t told, n;
	make();
	assert_int_equal(list(1, N, &told, &n, NULL), -SW_E_TIMEOUT);
	assert_int_equal(told, 0);
}
