/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* jit_ftable.c: what it finds and names by tables in a snapshot. */
#include "jit/ftable/source.h"
#include "fake.h"
#include "jit/ftable/read.h"
#include "jit/common/source.h"
#include "test.h"

enum {
	REGISTRY = 0x10000,
	CHUNK = 0x20000,
	PAYLOAD = 0x30000,
	NAMES = PAYLOAD,
	SYMBOLS = PAYLOAD + 64,
	ENTRIES = PAYLOAD + 256,
	EH_FRAME = PAYLOAD + 512,
	CODE = 0x100000,
	TABLES = 8,
};

struct chunk {
	struct swft_chunk head;
	struct swft_table tables[TABLES];
};

struct fixture {
	struct chunk chunk;
	uint8_t payload[1024];
	struct sw_snapshot *snap;
	struct sw_jit_root root;
	void *source;
};

static struct swft_table *table(struct fixture *f, uint32_t kind, uint64_t start, uint64_t bytes)
{
	uint32_t n = f->chunk.head.used++;
	f->chunk.tables[n] = (struct swft_table){.state = SWFT_LIVE,
						 .kind = kind,
						 .id = n + 1,
						 .check = ~(uint64_t) (n + 1),
						 .start = start,
						 .end = start + bytes};
	return &f->chunk.tables[n];
}

static void put(struct fixture *f, uint64_t avma, const void *bytes, size_t n)
{
	memcpy(f->payload + (avma - PAYLOAD), bytes, n);
}

/* "inner" and "outer", 64 bytes each. */
static void with_symbols(struct fixture *f, struct swft_table *t)
{
	static const char names[] = "inner\0outer\0x.c";
	static const struct swft_symbol symbols[] = {{0, 64, 0, 12, 10, 0}, {64, 64, 6, 0, 0, 0}};
	put(f, NAMES, names, sizeof(names));
	put(f, SYMBOLS, symbols, sizeof(symbols));
	t->names = NAMES;
	t->names_bytes = sizeof(names);
	t->symbols = SYMBOLS;
	t->n_symbols = 2;
}

static int setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	*state = f;
	f->chunk.head.capacity = TABLES;
	return 0;
}

static void attach(struct fixture *f)
{
	struct swft_registry registry = {.version = SWFT_VERSION,
					 .registry_bytes = sizeof(registry),
					 .chunk_bytes = sizeof(struct swft_chunk),
					 .table_bytes = sizeof(struct swft_table),
					 .first = CHUNK};
	memcpy(registry.magic, "SWFTABLE", 8);
	f->snap = fake_snapshot_create();
	f->root = (struct sw_jit_root){.avma = REGISTRY,
				       .place = fake_snapshot_module(f->snap, SW_MODULE_ELF, "/jit",
								     0, 0x1000, 0x2000, NULL, 0)};
	fake_snapshot_range(f->snap, REGISTRY, &registry, sizeof(registry));
	fake_snapshot_range(f->snap, CHUNK, &f->chunk, sizeof(f->chunk));
	fake_snapshot_range(f->snap, PAYLOAD, f->payload, sizeof(f->payload));
	fake_snapshot_finish(f->snap);
	assert_int_equal(sw_jit_ftable.attach(f->snap, &f->root, 1, NULL, &f->source), 0);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_jit_ftable.detach(f->source);
	fake_snapshot_destroy(f->snap);
	test_free(f);
	return 0;
}

static struct sw_jit_entry find(struct fixture *f, uint64_t avma)
{
	struct sw_jit_entry entry = {0};
	assert_true(sw_jit_ftable.find(f->source, avma, &entry));
	assert_true(avma >= entry.start_avma && avma < entry.end_avma);
	return entry;
}

static void not_found(struct fixture *f, uint64_t avma)
{
	struct sw_jit_entry entry = {0};
	assert_false(sw_jit_ftable.find(f->source, avma, &entry));
}

static void name_is(struct fixture *f, uint64_t avma, const char *name, uint64_t start,
		    const char *file, uint32_t line)
{
	struct sw_description d = {0};
	assert_int_equal(sw_jit_ftable.describe(f->source, avma, &d), name[0] != '\0');
	assert_string_equal(d.function, name);
	assert_int_equal(d.start_avma, start);
	assert_string_equal(d.file, file);
	assert_int_equal(d.line, line);
}

TEST_OF(test_regions, struct fixture *f)
{
	(void) table(f, SWFT_FRAME_POINTER, CODE, 0x100);
	table(f, SWFT_FIXED, CODE + 0x100, 0x100)->cfa_offset = 48;
	attach(f);
	assert_int_equal(find(f, CODE).how, SW_JIT_FRAME_POINTER);
	assert_int_equal(find(f, CODE + 0xff).how, SW_JIT_FRAME_POINTER);
	assert_int_equal(find(f, CODE + 0x100).how, SW_JIT_FIXED_CFA);
	assert_int_equal(find(f, CODE + 0x100).cfa_offset, 48);
	assert_false(find(f, CODE).live);
	not_found(f, CODE - 1);
	not_found(f, CODE + 0x200);
	name_is(f, CODE, "", 0, "", 0);
}

/* At a symbol's first instruction nothing has been reserved yet. */
TEST_OF(test_fixed_at_symbols, struct fixture *f)
{
	struct swft_table *t = table(f, SWFT_FIXED, CODE, 128);
	t->cfa_offset = 48;
	with_symbols(f, t);
	attach(f);
	assert_int_equal(find(f, CODE).cfa_offset, 8);
	assert_int_equal(find(f, CODE + 1).cfa_offset, 48);
	assert_int_equal(find(f, CODE + 63).cfa_offset, 48);
	assert_int_equal(find(f, CODE + 64).cfa_offset, 8);
}

TEST_OF(test_names, struct fixture *f)
{
	struct swft_table *t = table(f, SWFT_FRAME_POINTER, CODE, 200);
	with_symbols(f, t);
	t = table(f, SWFT_FRAME_POINTER, CODE + 200, 50); /* one name for all of it, without NUL */
	t->names = NAMES;
	t->names_bytes = 3;
	attach(f);
	name_is(f, CODE + 5, "inner", CODE, "x.c", 10);
	name_is(f, CODE + 64, "outer", CODE + 64, "", 0);
	name_is(f, CODE + 128, "", 0, "", 0);
	name_is(f, CODE + 210, "inn", CODE + 200, "", 0);
}

/* Sorted entries: the way out is that of the last one that begins before. */
TEST_OF(test_runtime_functions, struct fixture *f)
{
	static const uint32_t entries[] = {0, 0x20, 0x500, 0x40, 0x60, 0x510, 0x60, 0x70, 0x520};
	struct swft_table *t = table(f, SWFT_RUNTIME_FUNCTION, CODE, 0x100);
	t->base = CODE;
	t->data = ENTRIES;
	t->count = 3;
	put(f, ENTRIES, entries, sizeof(entries));
	attach(f);
	assert_int_equal(find(f, CODE).how, SW_JIT_PE);
	assert_int_equal(find(f, CODE + 0x1f).function.unwind_rva, 0x500);
	not_found(f, CODE + 0x20);
	assert_int_equal(find(f, CODE + 0x45).function.unwind_rva, 0x510);
	assert_int_equal(find(f, CODE + 0x60).function.unwind_rva, 0x520);
	assert_int_equal(find(f, CODE + 0x60).base_avma, CODE);
	not_found(f, CODE + 0x70);
}

/* The table that counts is the newest one about the code that knows the address. */
TEST_OF(test_newest_that_knows, struct fixture *f)
{
	static const uint8_t cie[24] = {20, 0,    0,  0, 0,    0,    0, 0, 1,    'z', 'R', 0,
					1,  0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,   0};
	uint8_t fde[24] = {20, 0, 0, 0, 28};
	(void) table(f, SWFT_FRAME_POINTER, CODE, 0x100);
	struct swft_table *t = table(f, SWFT_EH_FRAME, CODE, 0x100);
	int32_t distance = CODE + 0x40 - (EH_FRAME + 24 + 8);
	memcpy(fde + 8, &distance, 4);
	fde[12] = 0x20;
	t->data = EH_FRAME;
	t->count = sizeof(cie) + sizeof(fde);
	put(f, EH_FRAME, cie, sizeof(cie));
	put(f, EH_FRAME + sizeof(cie), fde, sizeof(fde));
	attach(f);
	assert_int_equal(find(f, CODE + 0x3f).how, SW_JIT_FRAME_POINTER);
	assert_int_equal(find(f, CODE + 0x40).how, SW_JIT_CFI);
	assert_int_equal(find(f, CODE + 0x40).start_avma, CODE + 0x40);
	assert_int_equal(find(f, CODE + 0x5f).cfi_off, sizeof(cie));
	assert_int_equal(find(f, CODE + 0x60).how, SW_JIT_FRAME_POINTER);
}

TEST_OF(test_announced, struct fixture *f)
{
	memcpy(table(f, SWFT_DEFERRED, CODE, 0x10)->format, "mine", 4);
	attach(f);
	assert_int_equal(find(f, CODE).how, SW_JIT_UNKNOWN);
	struct sw_text text = {0};
	sw_jit_ftable.explain(f->source, CODE, &text);
	assert_non_null(strstr(text.data, "format \"mine\""));
	sw_text_deinit(&text);
}

/* The memory that tables point to is not there, or too large: said, and not used. */
TEST_OF(test_bad_payload, struct fixture *f)
{
	struct swft_table *t = table(f, SWFT_EH_FRAME, CODE, 0x10);
	t->data = 0x999000;
	t->count = 100;
	t = table(f, SWFT_RUNTIME_FUNCTION, CODE + 0x10, 0x10);
	t->base = CODE;
	t->data = ENTRIES;
	t->count = UINT64_MAX / 2;
	attach(f);
	not_found(f, CODE);
	not_found(f, CODE + 0x10);
	struct sw_text text = {0};
	sw_jit_ftable.explain(f->source, CODE, &text);
	assert_non_null(strstr(text.data, "a part of the table could not be read"));
	sw_jit_ftable.explain(f->source, CODE + 0x10, &text);
	assert_non_null(strstr(text.data, "larger than the limit"));
	sw_text_deinit(&text);
}

TEST_OF(test_recognised, struct fixture *f)
{
	struct sw_runtime r[2];
	(void) table(f, SWFT_FRAME_POINTER, CODE, 0x10);
	table(f, SWFT_FRAME_POINTER, CODE, 0x10)->check = 0;
	attach(f);
	assert_int_equal(sw_jit_ftable.recognise(f->source, r, 2), 1);
	assert_string_equal(r[0].name, "ftable");
	assert_string_equal(r[0].where, "/jit");
	assert_int_equal(r[0].entries, 1);
	assert_string_equal(r[0].problem, "1 of its tables are malformed");
}
