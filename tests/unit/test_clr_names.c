/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_make.h"
#include "clr_names.h"
#include "fake.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
	/* offsets in DATA */
	AT_MODULE = 0x100,
	AT_MODULE_BARE = 0x600, /* neither image nor metadata */
	AT_PATH = 0xb00,
	AT_ASSEMBLY = 0xc00,
	AT_IMAGE = 0xd00,
	AT_LAYOUT = 0xe00,
	AT_OUTER = 0x1000, /* MethodTables */
	AT_INT = 0x1100,
	AT_INNER = 0x1200,  /* Inner`1<int> */
	AT_VECTOR = 0x1300, /* int[] */
	AT_MATRIX = 0x1400, /* int[,] */
	AT_LOOP = 0x1500,   /* an Inner`1 of itself */
	AT_BARE = 0x1600,
	AT_DICTS = 0x1800,
	AT_CLASS = 0x1a00,
	AT_REF = 0x1b00, /* TypeDescs */
	AT_VAR = 0x1b80,
	AT_ARGUMENTS = 0x1c00,
	AT_NAME = 0x1d00,
	AT_CHUNK = 0x2000,
	DATA_BYTES = 0x4000,
	CHUNK_BYTES = 24,
};

#define DATA  UINT64_C(0x7f0000000000)
#define IMAGE UINT64_C(0x7f1000000000)

static const char descriptor[] =
	"{\"version\": 0, \"baseline\": \"empty\", \"contracts\": {\"RuntimeTypeSystem\": 1},"
	"\"globals\": {\"MethodDescAlignment\": [\"0x8\", \"uint64\"],"
	" \"MethodDescTokenRemainderBitCount\": [\"0xc\", \"uint8\"]},"
	"\"types\": {"
	"\"MethodDesc\": {\"!\": 16, \"ChunkIndex\": 2, \"Slot\": 4, \"Flags\": 6,"
	" \"Flags3AndTokenRemainder\": 0},"
	"\"MethodDescChunk\": {\"!\": 24, \"MethodTable\": 0, \"FlagsAndTokenRange\": 18},"
	"\"DynamicMethodDesc\": {\"MethodName\": 32},"
	"\"StoredSigMethodDesc\": {\"ExtendedFlags\": 28},"
	"\"InstantiatedMethodDesc\": {\"PerInstInfo\": 24, \"NumGenericArgs\": 34},"
	"\"MethodTable\": {\"!\": 64, \"MTFlags\": 0, \"MTFlags2\": 8, \"Module\": 24,"
	" \"PerInstInfo\": 48, \"EEClassOrCanonMT\": 40, \"NumVirtuals\": 12},"
	"\"GenericsDictInfo\": {\"NumDicts\": 4, \"NumTypeArgs\": 6},"
	"\"ArrayClass\": {\"Rank\": 72}, \"EEClass\": {\"MethodTable\": 16},"
	"\"TypeDesc\": {\"TypeAndFlags\": 0}, \"ParamTypeDesc\": {\"TypeArg\": 16},"
	"\"TypeVarTypeDesc\": {\"Module\": 16, \"Token\": 40},"
	"\"Module\": {\"Path\": 200, \"Base\": 224, \"PEAssembly\": 216},"
	"\"PEAssembly\": {\"PEImage\": 8}, \"PEImage\": {\"LoadedImageLayout\": 128},"
	"\"PEImageLayout\": {\"Base\": 8, \"Flags\": 20}}}";

struct world {
	uint8_t data[DATA_BYTES], image[CLR_MAKE_IMAGE_BYTES];
	struct fake_region regions[2];
	struct fake_memory fake;
	struct sw_arena arena;
	struct sw_clr_names *names;
	struct sw_clr_name_layout at;
	struct sw_clr_contract contract;
};

static void put(struct world *w, size_t at, uint64_t value, size_t bytes)
{
	memcpy(w->data + at, &value, bytes);
}

static void table_make(struct world *w, size_t at, uint32_t flags, uint32_t row, uint64_t argument)
{
	put(w, at, flags, 4);
	put(w, at + 8, row << 8, 4);
	put(w, at + 12, 4, 2); /* virtuals */
	put(w, at + 24, DATA + AT_MODULE, 8);
	put(w, at + 40, DATA + AT_CLASS, 8);
	put(w, at + 48, argument, 8);
}

/* Arguments of a type that derives from another generic one: its own are the second dictionary. */
static void arguments_make(struct world *w, size_t at, uint64_t handle)
{
	put(w, at - 4, 2, 2);
	put(w, at - 2, 1, 2);
	put(w, at, 0xdead, 8);
	put(w, at + 8, DATA + at + 16, 8);
	put(w, at + 16, handle, 8);
}

static void module_make(struct world *w)
{
	static const char path[] = "/\0o\0p\0t\0/\0T\0.\0d\0l\0l\0";
	memcpy(w->data + AT_PATH, path, sizeof(path) - 1);
	put(w, AT_MODULE + 200, DATA + AT_PATH, 8);
	put(w, AT_MODULE + 216, DATA + AT_ASSEMBLY, 8);
	put(w, AT_ASSEMBLY + 8, DATA + AT_IMAGE, 8);
	put(w, AT_IMAGE + 128, DATA + AT_LAYOUT, 8);
	put(w, AT_LAYOUT + 8, IMAGE, 8);
	put(w, AT_LAYOUT + 20, 1, 4); /* mapped */
	put(w, AT_MODULE_BARE + 200, DATA + AT_PATH, 8);
	clr_make_image(w->image, 1, 1);
}

static void types_make(struct world *w)
{
	table_make(w, AT_OUTER, 0, 2, 0);
	table_make(w, AT_INT, 0, 3, 0);
	table_make(w, AT_INNER, 0x10, 4, DATA + AT_DICTS);
	arguments_make(w, AT_DICTS, DATA + AT_INT);
	table_make(w, AT_VECTOR, 0x800a0004, 0, DATA + AT_INT);
	table_make(w, AT_MATRIX, 0x80080004, 0, DATA + AT_INT);
	put(w, AT_CLASS + 72, 2, 1);
	table_make(w, AT_LOOP, 0x10, 4, DATA + AT_DICTS + 0x80);
	arguments_make(w, AT_DICTS + 0x80, DATA + AT_LOOP);
	table_make(w, AT_BARE, 0, 2, 0);
	put(w, AT_BARE + 24, DATA + AT_MODULE_BARE, 8);
	put(w, AT_REF, 0x10, 4);
	put(w, AT_REF + 16, DATA + AT_INT, 8);
	put(w, AT_VAR, 0x13, 4);
	put(w, AT_VAR + 16, DATA + AT_MODULE, 8);
	put(w, AT_VAR + 40, 0x2a000002, 4);
}

static int setup(void **state)
{
	const char *why;
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->regions[0] = (struct fake_region){DATA, w->data, sizeof(w->data)};
	w->regions[1] = (struct fake_region){IMAGE, w->image, sizeof(w->image)};
	w->fake = (struct fake_memory){w->regions, 2, 0};
	module_make(w);
	types_make(w);
	w->names = calloc(1, sizeof(*w->names));
	assert_non_null(w->names);
	w->names->memory = fake_memory(&w->fake);
	w->names->arena = &w->arena;
	assert_int_equal(sw_clr_contract_parse(descriptor, sizeof(descriptor) - 1, NULL, 0,
					       &w->contract, &why),
			 0);
	sw_clr_name_layout_resolve(&w->contract, &w->at);
	assert_true(w->at.usable);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	sw_clr_names_destroy(w->names);
	sw_clr_contract_deinit(&w->contract);
	sw_arena_deinit(&w->arena);
	free(w);
	return 0;
}

/* A MethodDesc, the third of its chunk. */
static uint64_t method_make(struct world *w, uint64_t table_avma, unsigned class, uint32_t rid)
{
	enum { INDEX = 3 };
	size_t method = AT_CHUNK + CHUNK_BYTES + 8 * INDEX;
	put(w, AT_CHUNK, table_avma, 8);
	put(w, AT_CHUNK + 18, 0xf000 | rid >> 12, 2); /* flags above the bits of the row */
	put(w, method, 0xf000 | (rid & 0xfff), 2);
	put(w, method + 2, INDEX, 1);
	put(w, method + 6, 0xfff0 | class, 2);
	return DATA + method;
}

static void name_is(struct world *w, uint64_t table_avma, unsigned class, uint32_t rid,
		    const char *expected)
{
	uint64_t method = method_make(w, table_avma, class, rid);
	sw_map64_deinit(&w->names->methods);
	assert_string_equal(sw_clr_method_name(w->names, &w->at, method), expected);
}

static void test_methods(void **state)
{
	struct world *w = *state;
	name_is(w, DATA + AT_OUTER, 0, 1, "T.dll!N.Outer.Main(string[])");
	name_is(w, DATA + AT_OUTER, 2, 2, "T.dll!N.Outer..ctor()");
	name_is(w, DATA + AT_INNER, 0, 4,
		"T.dll!N.Outer+Inner`1[int].Shapes(int[,], byte*, long&, delegate*, Outer)");
	name_is(w, DATA + AT_OUTER, 3, 5, "T.dll!Last.<Start>b__0()");
}

static void test_generic_method(void **state)
{
	struct world *w = *state;
	size_t method = AT_CHUNK + CHUNK_BYTES + 24;
	put(w, method + 24, DATA + AT_ARGUMENTS, 8);
	put(w, method + 34, 4, 2);
	put(w, AT_ARGUMENTS, DATA + AT_OUTER, 8);
	put(w, AT_ARGUMENTS + 8, (DATA + AT_REF) | 2, 8);
	put(w, AT_ARGUMENTS + 16, (DATA + AT_VAR) | 2, 8);
	put(w, AT_ARGUMENTS + 24, DATA + AT_MATRIX, 8);
	name_is(w, DATA + AT_INNER, 5, 3,
		"T.dll!N.Outer+Inner`1[int].Call[N.Outer,int&,T,int[,]](T, U&, List`1[int])");
	name_is(w, DATA + AT_INNER, 0, 3, "T.dll!N.Outer+Inner`1[int].Call(T, U&, List`1[int])");
}

static void test_arrays(void **state)
{
	static const char *const names[] = {"int[,].Get", "int[,].Set", "int[,].Address",
					    "int[,]..ctor", "int[,]..ctor"};
	struct world *w = *state;
	for (unsigned i = 0; i < 5; i++) {
		put(w, AT_CHUNK + CHUNK_BYTES + 24 + 4, 4 + i, 2);
		name_is(w, DATA + AT_MATRIX, 4, 0, names[i]);
	}
	put(w, AT_CHUNK + CHUNK_BYTES + 24 + 4, 3, 2); /* one that it inherits */
	name_is(w, DATA + AT_VECTOR, 4, 0, "int[].?");
	put(w, AT_CLASS + 72, 40, 1); /* C# stops at 32 */
	name_is(w, DATA + AT_MATRIX, 4, 0, "int[?].?");
}

static void test_dynamic(void **state)
{
	struct world *w = *state;
	size_t method = AT_CHUNK + CHUNK_BYTES + 24;
	put(w, method + 32, DATA + AT_NAME, 8);
	memcpy(w->data + AT_NAME, "Emitted", 8);
	put(w, method + 28, 0x4000, 4);
	name_is(w, DATA + AT_OUTER, 7, 0, "Emitted [dynamic method]");
	put(w, method + 28, 0x8000, 4);
	memcpy(w->data + AT_NAME, "IL_STUB_PInvoke", 16);
	name_is(w, DATA + AT_OUTER, 7, 0, "IL_STUB_PInvoke [IL stub]");
	put(w, method + 32, DATA + DATA_BYTES, 8);
	name_is(w, DATA + AT_OUTER, 7, 0, "? [IL stub]");
}

static void test_without_metadata(void **state)
{
	struct world *w = *state;
	name_is(w, DATA + AT_BARE, 0, 0xabc123, "T.dll!0x06abc123");
	name_is(w, DATA + AT_OUTER, 0, 6, "T.dll!0x06000006"); /* no such row */
	name_is(w, 0x1234, 0, 1, "?!0x06000001");
}

/* Where a type's module may be that of its arguments, it is not believed. */
static void test_loader_module(void **state)
{
	struct world *w = *state;
	w->at.module_is_loader = true;
	name_is(w, DATA + AT_OUTER, 0, 1, "T.dll!N.Outer.Main(string[])");
	name_is(w, DATA + AT_INNER, 0, 4, "?!0x06000004");
	put(w, AT_CHUNK + CHUNK_BYTES + 24 + 4, 4, 2);
	name_is(w, DATA + AT_MATRIX, 4, 0, "int[,].Get");
}

/* .NET 8 has the type's row in the upper half of a word, and keeps layouts in the image. */
static void test_fixed(void **state)
{
	struct world *w = *state;
	w->at = sw_clr_name_layout_fixed();
	put(w, AT_MODULE + 272, DATA + AT_ASSEMBLY, 8);
	put(w, AT_IMAGE + 120, DATA + AT_LAYOUT, 8);
	put(w, AT_INT + 8, 3 << 16, 4);
	size_t method = AT_CHUNK + CHUNK_BYTES + 24;
	put(w, AT_ARGUMENTS, DATA + AT_INT, 8);
	put(w, method + 16, DATA + AT_ARGUMENTS, 8);
	put(w, method + 26, 1, 2);
	name_is(w, DATA + AT_OUTER, 5, 1, "T.dll!N.Outer.Main[int](string[])");
}

/* An image that is not described is looked at in both ways. */
static void test_base(void **state)
{
	struct world *w = *state;
	for (int mapped = 0; mapped < 2; mapped++) {
		clr_make_image(w->image, mapped, 0);
		put(w, AT_MODULE + 216, 0, 8);
		put(w, AT_MODULE + 224, IMAGE, 8);
		sw_map64_deinit(&w->names->modules);
		name_is(w, DATA + AT_OUTER, 0, 1, "T.dll!N.Outer.Main(string[])");
	}
	/* Without a path, as the compiler called it. */
	put(w, AT_MODULE + 200, 0, 8);
	sw_map64_deinit(&w->names->modules);
	name_is(w, DATA + AT_OUTER, 0, 2, "T.dll!N.Outer..ctor()");
}

/* A type that is its own argument: as deep as types may be, and no deeper. */
static void test_circle(void **state)
{
	struct world *w = *state;
	const char *name =
		sw_clr_method_name(w->names, &w->at, method_make(w, DATA + AT_LOOP, 0, 4));
	size_t depth = 0;
	for (const char *s = name; *s != '\0'; s++)
		depth += *s == '[' && s[1] == 'N';
	assert_int_equal(depth, 16);
	assert_non_null(strstr(name, "[...]"));
}

/* Each method is read once. */
static void test_kept(void **state)
{
	struct world *w = *state;
	uint64_t method = method_make(w, DATA + AT_OUTER, 0, 1);
	const char *name = sw_clr_method_name(w->names, &w->at, method);
	w->fake.reads = 0;
	assert_ptr_equal(sw_clr_method_name(w->names, &w->at, method), name);
	assert_int_equal(w->fake.reads, 0);
}

static void test_unreadable(void **state)
{
	struct world *w = *state;
	assert_null(sw_clr_method_name(w->names, &w->at, 0x10));
	assert_null(sw_clr_method_name(w->names, &w->at, DATA));
	w->at.usable = false;
	assert_null(sw_clr_method_name(w->names, &w->at, method_make(w, DATA + AT_OUTER, 0, 1)));
}

/* What a runtime does not say: no names, but no mistake either. */
static void test_layout(void **state)
{
	static const struct {
		const char *cut, *to;
		bool usable;
	} changes[] = {
		{"\"ChunkIndex\"", "\"Chunkindex\"", false},
		{"\"RuntimeTypeSystem\": 1", "\"RuntimeTypeSystem\": 2", false},
		{"\"0xc\"", "\"0x0\"", false},
		{"\"0xc\"", "\"0x18\"", false},
		{"\"NumGenericArgs\"", "\"NumgenericArgs\"", true},
	};
	struct world *w = *state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char json[sizeof(descriptor) + 8];
		struct sw_clr_contract contract;
		struct sw_clr_name_layout at;
		const char *why, *found = strstr(descriptor, changes[i].cut);
		int n = snprintf(json, sizeof(json), "%.*s%s%s", (int) (found - descriptor),
				 descriptor, changes[i].to, found + strlen(changes[i].cut));
		assert_int_equal(sw_clr_contract_parse(json, (size_t) n, NULL, 0, &contract, &why),
				 0);
		sw_clr_name_layout_resolve(&contract, &at);
		assert_int_equal(at.usable, changes[i].usable);
		sw_clr_contract_deinit(&contract);
		if (at.usable) {
			w->at = at;
			name_is(w, DATA + AT_INNER, 5, 3,
				"T.dll!N.Outer+Inner`1[int].Call(T, U&, List`1[int])");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_methods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_generic_method, setup, teardown),
		cmocka_unit_test_setup_teardown(test_arrays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dynamic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_metadata, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loader_module, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fixed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_base, setup, teardown),
		cmocka_unit_test_setup_teardown(test_circle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_layout, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
