/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_named.h"
#include "runtimes/clr/published/name_layout.h"
#include "test.h"

static int setup(void **state)
{
	*state = clr_named_create();
	return 0;
}

static int teardown(void **state)
{
	clr_named_destroy(*state);
	return 0;
}

static void name_is(struct clr_named *w, uint64_t table_avma, unsigned class, uint32_t rid,
		    const char *expected)
{
	uint64_t method = clr_named_method(w, table_avma, class, rid);
	sw_map64_deinit(&w->names->methods);
	assert_string_equal(sw_clr_method_name(w->names, &w->at, method), expected);
}

TEST_OF(test_methods, struct clr_named *w)
{
	name_is(w, NAMED_DATA + NAMED_OUTER, 0, 1, "T.dll!N.Outer.Main(string[])");
	name_is(w, NAMED_DATA + NAMED_OUTER, 2, 2, "T.dll!N.Outer..ctor()");
	name_is(w, NAMED_DATA + NAMED_INNER, 0, 4,
		"T.dll!N.Outer+Inner`1[int].Shapes(int[,], byte*, long&, delegate*, Outer)");
	name_is(w, NAMED_DATA + NAMED_OUTER, 3, 5, "T.dll!Last.<Start>b__0()");
}

TEST_OF(test_generic_method, struct clr_named *w)
{
	size_t method = NAMED_CHUNK + NAMED_CHUNK_BYTES + 24;
	clr_named_put(w, method + 24, NAMED_DATA + NAMED_ARGUMENTS, 8);
	clr_named_put(w, method + 34, 4, 2);
	clr_named_put(w, NAMED_ARGUMENTS, NAMED_DATA + NAMED_OUTER, 8);
	clr_named_put(w, NAMED_ARGUMENTS + 8, (NAMED_DATA + NAMED_REF) | 2, 8);
	clr_named_put(w, NAMED_ARGUMENTS + 16, (NAMED_DATA + NAMED_VAR) | 2, 8);
	clr_named_put(w, NAMED_ARGUMENTS + 24, NAMED_DATA + NAMED_MATRIX, 8);
	name_is(w, NAMED_DATA + NAMED_INNER, 5, 3,
		"T.dll!N.Outer+Inner`1[int].Call[N.Outer,int&,T,int[,]](T, U&, List`1[int])");
	name_is(w, NAMED_DATA + NAMED_INNER, 0, 3,
		"T.dll!N.Outer+Inner`1[int].Call(T, U&, List`1[int])");
}

TEST_OF(test_arrays, struct clr_named *w)
{
	static const char *const names[] = {"int[,].Get", "int[,].Set", "int[,].Address",
					    "int[,]..ctor", "int[,]..ctor"};
	for (unsigned i = 0; i < 5; i++) {
		clr_named_put(w, NAMED_CHUNK + NAMED_CHUNK_BYTES + 24 + 4, 4 + i, 2);
		name_is(w, NAMED_DATA + NAMED_MATRIX, 4, 0, names[i]);
	}
	clr_named_put(w, NAMED_CHUNK + NAMED_CHUNK_BYTES + 24 + 4, 3, 2); /* one that it inherits */
	name_is(w, NAMED_DATA + NAMED_VECTOR, 4, 0, "int[].?");
	clr_named_put(w, NAMED_CLASS + 72, 40, 1); /* C# stops at 32 */
	name_is(w, NAMED_DATA + NAMED_MATRIX, 4, 0, "int[?].?");
}

TEST_OF(test_dynamic, struct clr_named *w)
{
	size_t method = NAMED_CHUNK + NAMED_CHUNK_BYTES + 24;
	clr_named_put(w, method + 32, NAMED_DATA + NAMED_NAME, 8);
	memcpy(w->data + NAMED_NAME, "Emitted", 8);
	clr_named_put(w, method + 28, 0x4000, 4);
	name_is(w, NAMED_DATA + NAMED_OUTER, 7, 0, "Emitted [dynamic method]");
	clr_named_put(w, method + 28, 0x8000, 4);
	memcpy(w->data + NAMED_NAME, "IL_STUB_PInvoke", 16);
	name_is(w, NAMED_DATA + NAMED_OUTER, 7, 0, "IL_STUB_PInvoke [IL stub]");
	clr_named_put(w, method + 32, NAMED_DATA + NAMED_DATA_BYTES, 8);
	name_is(w, NAMED_DATA + NAMED_OUTER, 7, 0, "? [IL stub]");
}

/* The memory of a dynamic method goes to the next one: what was read of it before may be
 * anything. */
TEST_OF(test_dynamic_holds, struct clr_named *w)
{
	const struct sw_memory now = w->names->memory;
	const char *name = "Emitted [dynamic method]";
	uint64_t row = clr_named_method(w, NAMED_DATA + NAMED_OUTER, 0, 1);
	assert_true(sw_clr_dynamic_name_holds(now, &w->at, row, name)); /* it has a row */
	uint64_t made = clr_named_method(w, NAMED_DATA + NAMED_OUTER, 7, 0);
	clr_named_put(w, made - NAMED_DATA + 32, NAMED_DATA + NAMED_NAME, 8);
	clr_named_put(w, made - NAMED_DATA + 28, 0x4000, 4);
	memcpy(w->data + NAMED_NAME, "Emitted", 8);
	assert_true(sw_clr_dynamic_name_holds(now, &w->at, made, name));
	assert_false(sw_clr_dynamic_name_holds(now, &w->at, made, "\x1b(\x7f [dynamic method]"));
	memcpy(w->data + NAMED_NAME, "Emitter", 8);
	assert_false(sw_clr_dynamic_name_holds(now, &w->at, made, name));
	assert_false(sw_clr_dynamic_name_holds(now, &w->at, 0x10, name));
	/* The bytes that malloc() leaves there are no name, however often they are read. */
	memcpy(w->data + NAMED_NAME, "\x90\xe1?6", 5);
	assert_false(sw_clr_dynamic_name_holds(now, &w->at, made, "\x90\xe1?6 [dynamic method]"));
	assert_null(sw_clr_method_name(w->names, &w->at, made));
	memcpy(w->data + NAMED_NAME, "\xef\xbf\xbd\xc3\xa9", 6); /* well-formed */
	assert_true(sw_clr_dynamic_name_holds(now, &w->at, made,
					      "\xef\xbf\xbd\xc3\xa9 [dynamic method]"));
}

TEST_OF(test_without_metadata, struct clr_named *w)
{
	name_is(w, NAMED_DATA + NAMED_BARE, 0, 0xabc123, "T.dll!0x06abc123");
	name_is(w, NAMED_DATA + NAMED_OUTER, 0, 6, "T.dll!0x06000006"); /* no such row */
	name_is(w, 0x1234, 0, 1, "?!0x06000001");
}

/* Where a type's module may be that of its arguments, it is not believed. */
TEST_OF(test_loader_module, struct clr_named *w)
{
	w->at.module_is_loader = true;
	name_is(w, NAMED_DATA + NAMED_OUTER, 0, 1, "T.dll!N.Outer.Main(string[])");
	name_is(w, NAMED_DATA + NAMED_INNER, 0, 4, "?!0x06000004");
	clr_named_put(w, NAMED_CHUNK + NAMED_CHUNK_BYTES + 24 + 4, 4, 2);
	name_is(w, NAMED_DATA + NAMED_MATRIX, 4, 0, "int[,].Get");
}

/* .NET 8 has the type's row in the upper half of a word, and keeps layouts in the image. */
TEST_OF(test_fixed, struct clr_named *w)
{
	w->at = sw_clr_name_layout_fixed();
	clr_named_put(w, NAMED_MODULE + 272, NAMED_DATA + NAMED_ASSEMBLY, 8);
	clr_named_put(w, NAMED_IMAGE + 120, NAMED_DATA + NAMED_LAYOUT, 8);
	clr_named_put(w, NAMED_INT + 8, 3 << 16, 4);
	size_t method = NAMED_CHUNK + NAMED_CHUNK_BYTES + 24;
	clr_named_put(w, NAMED_ARGUMENTS, NAMED_DATA + NAMED_INT, 8);
	clr_named_put(w, method + 16, NAMED_DATA + NAMED_ARGUMENTS, 8);
	clr_named_put(w, method + 26, 1, 2);
	name_is(w, NAMED_DATA + NAMED_OUTER, 5, 1, "T.dll!N.Outer.Main[int](string[])");
}

/* A layout says if its image is mapped or flat. */
TEST_OF(test_layouts, struct clr_named *w)
{
	for (unsigned mapped = 0; mapped < 2; mapped++) {
		clr_make_image(w->image, (int) mapped, 0);
		clr_named_put(w, NAMED_LAYOUT + 20, 0x172 | mapped, 4);
		sw_map64_deinit(&w->names->modules);
		name_is(w, NAMED_DATA + NAMED_OUTER, 0, 1, "T.dll!N.Outer.Main(string[])");
	}
}

/* An image that is not described is looked at in both ways. */
TEST_OF(test_base, struct clr_named *w)
{
	for (int mapped = 0; mapped < 2; mapped++) {
		clr_make_image(w->image, mapped, 0);
		clr_named_put(w, NAMED_MODULE + 216, 0, 8);
		clr_named_put(w, NAMED_MODULE + 224, NAMED_FILE, 8);
		sw_map64_deinit(&w->names->modules);
		name_is(w, NAMED_DATA + NAMED_OUTER, 0, 1, "T.dll!N.Outer.Main(string[])");
	}
	/* The path on Windows is "Z:\\T.dll". */
	static const char windows[] = "Z\0:\0\\\0T\0.\0d\0l\0l\0\0";
	memcpy(w->data + NAMED_PATH, windows, sizeof(windows));
	sw_map64_deinit(&w->names->modules);
	name_is(w, NAMED_DATA + NAMED_OUTER, 0, 3,
		"T.dll!N.Outer+Inner`1.Call(T, U&, List`1[int])");
	/* Without a path, as the compiler called it. */
	clr_named_put(w, NAMED_MODULE + 200, 0, 8);
	sw_map64_deinit(&w->names->modules);
	name_is(w, NAMED_DATA + NAMED_OUTER, 0, 2, "T.dll!N.Outer..ctor()");
}

/* A type that is its own argument: as deep as types may be, and no deeper. */
TEST_OF(test_circle, struct clr_named *w)
{
	const char *name = sw_clr_method_name(w->names, &w->at,
					      clr_named_method(w, NAMED_DATA + NAMED_LOOP, 0, 4));
	size_t depth = 0;
	for (const char *s = name; *s != '\0'; s++)
		depth += *s == '[' && s[1] == 'N';
	assert_int_equal(depth, 16);
	assert_non_null(strstr(name, "[...]"));
}

/* Each method is read once. */
TEST_OF(test_kept, struct clr_named *w)
{
	uint64_t method = clr_named_method(w, NAMED_DATA + NAMED_OUTER, 0, 1);
	const char *name = sw_clr_method_name(w->names, &w->at, method);
	w->fake.reads = 0;
	assert_ptr_equal(sw_clr_method_name(w->names, &w->at, method), name);
	assert_int_equal(w->fake.reads, 0);
}

TEST_OF(test_unreadable, struct clr_named *w)
{
	assert_null(sw_clr_method_name(w->names, &w->at, 0x10));
	assert_null(sw_clr_method_name(w->names, &w->at, NAMED_DATA));
	w->at.usable = false;
	assert_null(sw_clr_method_name(w->names, &w->at,
				       clr_named_method(w, NAMED_DATA + NAMED_OUTER, 0, 1)));
}

/* The members that a runtime does not describe: no names, but no mistake either. */
TEST_OF(test_layout, struct clr_named *w)
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
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char json[4096];
		struct sw_clr_contract contract;
		struct sw_clr_name_layout at;
		const char *why, *found = strstr(clr_named_descriptor, changes[i].cut);
		int n = snprintf(json, sizeof(json), "%.*s%s%s",
				 (int) (found - clr_named_descriptor), clr_named_descriptor,
				 changes[i].to, found + strlen(changes[i].cut));
		assert_int_equal(sw_clr_contract_parse(json, (size_t) n, NULL, 0, &contract, &why),
				 0);
		sw_clr_name_layout_resolve(&contract, &at);
		assert_int_equal(at.usable, changes[i].usable);
		sw_clr_contract_deinit(&contract);
		if (at.usable) {
			w->at = at;
			name_is(w, NAMED_DATA + NAMED_INNER, 5, 3,
				"T.dll!N.Outer+Inner`1[int].Call(T, U&, List`1[int])");
		}
	}
}
