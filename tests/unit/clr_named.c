/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_named.h"
#include "runtimes/clr/published/name_layout.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

const char clr_named_descriptor[] =
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

void clr_named_put(struct clr_named *w, size_t at, uint64_t value, size_t bytes)
{
	memcpy(w->data + at, &value, bytes);
}

static void table_make(struct clr_named *w, size_t at, uint32_t flags, uint32_t row,
		       uint64_t argument)
{
	clr_named_put(w, at, flags, 4);
	clr_named_put(w, at + 8, row << 8, 4);
	clr_named_put(w, at + 12, 4, 2); /* virtuals */
	clr_named_put(w, at + 24, NAMED_DATA + NAMED_MODULE, 8);
	clr_named_put(w, at + 40, NAMED_DATA + NAMED_CLASS, 8);
	clr_named_put(w, at + 48, argument, 8);
}

/* Arguments of a type that derives from another generic one: its own are the second dictionary. */
static void arguments_make(struct clr_named *w, size_t at, uint64_t handle)
{
	clr_named_put(w, at - 4, 2, 2);
	clr_named_put(w, at - 2, 1, 2);
	clr_named_put(w, at, 0xdead, 8);
	clr_named_put(w, at + 8, NAMED_DATA + at + 16, 8);
	clr_named_put(w, at + 16, handle, 8);
}

static void module_make(struct clr_named *w)
{
	static const char path[] = "/\0o\0p\0t\0/\0T\0.\0d\0l\0l\0";
	memcpy(w->data + NAMED_PATH, path, sizeof(path) - 1);
	clr_named_put(w, NAMED_MODULE + 200, NAMED_DATA + NAMED_PATH, 8);
	clr_named_put(w, NAMED_MODULE + 216, NAMED_DATA + NAMED_ASSEMBLY, 8);
	clr_named_put(w, NAMED_ASSEMBLY + 8, NAMED_DATA + NAMED_IMAGE, 8);
	clr_named_put(w, NAMED_IMAGE + 128, NAMED_DATA + NAMED_LAYOUT, 8);
	clr_named_put(w, NAMED_LAYOUT + 8, NAMED_FILE, 8);
	clr_named_put(w, NAMED_LAYOUT + 20, 1, 4); /* mapped */
	clr_named_put(w, NAMED_MODULE_BARE + 200, NAMED_DATA + NAMED_PATH, 8);
	clr_make_image(w->image, 1, 1);
}

static void types_make(struct clr_named *w)
{
	table_make(w, NAMED_OUTER, 0, 2, 0);
	table_make(w, NAMED_INT, 0, 3, 0);
	table_make(w, NAMED_INNER, 0x10, 4, NAMED_DATA + NAMED_DICTS);
	arguments_make(w, NAMED_DICTS, NAMED_DATA + NAMED_INT);
	table_make(w, NAMED_VECTOR, 0x800a0004, 0, NAMED_DATA + NAMED_INT);
	table_make(w, NAMED_MATRIX, 0x80080004, 0, NAMED_DATA + NAMED_INT);
	clr_named_put(w, NAMED_CLASS + 72, 2, 1);
	table_make(w, NAMED_LOOP, 0x10, 4, NAMED_DATA + NAMED_DICTS + 0x80);
	arguments_make(w, NAMED_DICTS + 0x80, NAMED_DATA + NAMED_LOOP);
	table_make(w, NAMED_BARE, 0, 2, 0);
	clr_named_put(w, NAMED_BARE + 24, NAMED_DATA + NAMED_MODULE_BARE, 8);
	clr_named_put(w, NAMED_REF, 0x10, 4);
	clr_named_put(w, NAMED_REF + 16, NAMED_DATA + NAMED_INT, 8);
	clr_named_put(w, NAMED_VAR, 0x13, 4);
	clr_named_put(w, NAMED_VAR + 16, NAMED_DATA + NAMED_MODULE, 8);
	clr_named_put(w, NAMED_VAR + 40, 0x2a000002, 4);
}

struct clr_named *clr_named_create(void)
{
	const char *why;
	struct clr_named *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->regions[0] = (struct fake_region){NAMED_DATA, w->data, sizeof(w->data)};
	w->regions[1] = (struct fake_region){NAMED_FILE, w->image, sizeof(w->image)};
	w->fake = (struct fake_memory){w->regions, 2, 0};
	module_make(w);
	types_make(w);
	w->names = calloc(1, sizeof(*w->names));
	assert_non_null(w->names);
	w->names->memory = fake_memory(&w->fake);
	w->names->arena = &w->arena;
	assert_int_equal(sw_clr_contract_parse(clr_named_descriptor, strlen(clr_named_descriptor),
					       NULL, 0, &w->contract, &why),
			 0);
	sw_clr_name_layout_resolve(&w->contract, &w->at);
	assert_true(w->at.usable);
	return w;
}

void clr_named_destroy(struct clr_named *w)
{
	sw_clr_names_destroy(w->names);
	sw_clr_contract_deinit(&w->contract);
	sw_arena_deinit(&w->arena);
	free(w);
}

uint64_t clr_named_method(struct clr_named *w, uint64_t table_avma, unsigned class, uint32_t rid)
{
	enum { INDEX = 3 };
	size_t method = NAMED_CHUNK + NAMED_CHUNK_BYTES + 8 * INDEX;
	clr_named_put(w, NAMED_CHUNK, table_avma, 8);
	clr_named_put(w, NAMED_CHUNK + 18, 0xf000 | rid >> 12,
		      2); /* flags above the bits of the row */
	clr_named_put(w, method, 0xf000 | (rid & 0xfff), 2);
	clr_named_put(w, method + 2, INDEX, 1);
	clr_named_put(w, method + 6, 0xfff0 | class, 2);
	return NAMED_DATA + method;
}
