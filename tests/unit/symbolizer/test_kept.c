/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "elf_make.h"
#include "entries.h"
#include "kept.h"
#include "map.h"
#include "snapshot/module.h"
#include "test.h"

#include <sys/mman.h>
#include <sys/stat.h>

enum { TEXT = 0x1000, BIAS = 0x400000, BYTES = 4096, HEAD_BYTES = 24, CANARY = 0x5a };

/* A file, and units of it. */
struct fixture {
	struct elf_make elf;
	struct timespec times[2];
	int fd;
	struct sw_context *ctx;
	struct sw_module *module;
	struct sw_arena arena;
	uint8_t bytes[BYTES];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct stat st;
	assert_non_null(f);
	elf_make_init(&f->elf);
	uint32_t text = elf_make_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					 TEXT, NULL, 0x100);
	elf_make_symbol(&f->elf, "_ZN2ns1fEi", STB_GLOBAL, STT_FUNC, (uint16_t) text, TEXT, 0x20);
	elf_make_symtab(&f->elf, SHT_SYMTAB);
	elf_make_finish(&f->elf);
	f->fd = memfd_create("kept", MFD_CLOEXEC);
	assert_int_equal(write(f->fd, f->elf.bytes, f->elf.size), f->elf.size);
	assert_int_equal(fstat(f->fd, &st), 0);
	f->times[0] = f->times[1] = st.st_mtim;
	assert_int_equal(sw_context_create(&f->ctx, NULL), 0);
	assert_int_equal(sw_context_module_file(f->ctx, SW_MODULE_ELF, "/bin/a", false, dup(f->fd),
						&st, &f->module),
			 0);
	memset(f->bytes, CANARY, sizeof(f->bytes));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_arena_deinit(&f->arena);
	sw_context_destroy(f->ctx);
	(void) close(f->fd); /* ours */
	free(f);
	return 0;
}

static void entry_add(struct sw_unit *unit, uint64_t svma, const struct sw_symbol *symbols,
		      size_t n, bool lined, uint64_t generation)
{
	size_t index;
	assert_int_equal(sw_unit_entry(unit, svma, &index), 0);
	unit->entries[index].symbols = symbols;
	unit->entries[index].n_symbols = n;
	unit->entries[index].named = true;
	unit->entries[index].lined = lined;
	unit->entries[index].generation = generation;
}

static const struct sw_symbol inlined[] = {
	{.function = "inner",
	 .file = "a.c",
	 .line = 7,
	 .line_offset = 2,
	 .inlined = true,
	 .source = SW_SOURCE_DWARF},
	{.function = "ns::f(int)",
	 .mangled = "_ZN2ns1fEi",
	 .file = "b.c",
	 .line = 70000,
	 .line_offset = -1,
	 .function_offset = 0x123456789,
	 .source = SW_SOURCE_DWARF},
};
static const struct sw_symbol named[] = {
	{.function = "only", .line_offset = -1, .source = SW_SOURCE_SYMTAB}};

/* Two addresses of this generation, one without a name, one of an earlier one, one not looked up. */
static struct sw_unit *unit_make(struct fixture *f)
{
	struct sw_unit *unit = sw_unit_create(f->module);
	size_t index;
	assert_non_null(unit);
	entry_add(unit, 0x1000, NULL, 0, true, 1);
	entry_add(unit, 0x2000, inlined, 2, true, 2);
	entry_add(unit, 0x3000, named, 1, false, 2);
	assert_int_equal(sw_unit_entry(unit, 0x4000, &index), 0);
	unit->source = SW_SOURCE_DWARF;
	unit->lines_why = "some are missing";
	return unit;
}

static size_t write_unit(struct fixture *f, struct sw_unit *unit, size_t size)
{
	return sw_kept_write(&unit, 1, 2, f->bytes, size);
}

static struct sw_unit *recall(struct fixture *f, size_t size)
{
	struct sw_kept kept = {0};
	struct sw_unit *unit = sw_unit_create(f->module);
	assert_non_null(unit);
	assert_true(sw_kept_open(&kept, (struct sw_bytes){f->bytes, size}));
	assert_int_equal(sw_kept_recall(&kept, unit, &f->arena), 0);
	return unit;
}

static const struct sw_entry *entry_of(const struct sw_unit *unit, uint64_t svma)
{
	uint64_t index;
	return sw_map64_get(&unit->by_svma, svma, &index) ? &unit->entries[index] : NULL;
}

static void same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a != NULL)
		assert_string_equal(a, b);
}

static void same_symbols(const struct sw_entry *entry, const struct sw_symbol *wanted, size_t n)
{
	assert_int_equal(entry->n_symbols, n);
	for (size_t i = 0; i < n; i++) {
		const struct sw_symbol *got = &entry->symbols[i], *s = &wanted[i];
		same_text(got->function, s->function);
		same_text(got->mangled, s->mangled);
		same_text(got->file, s->file);
		assert_int_equal(got->function_offset, s->function_offset);
		assert_int_equal(got->line, s->line);
		assert_int_equal(got->line_offset, s->line_offset);
		assert_int_equal(got->inlined, s->inlined);
		assert_int_equal(got->source, s->source);
	}
}

TEST_OF(test_round_trip, struct fixture *f)
{
	struct sw_unit *unit = unit_make(f);
	size_t size = write_unit(f, unit, BYTES);
	assert_true(size > HEAD_BYTES && size < BYTES);
	struct sw_unit *got = recall(f, BYTES); /* what is behind it does not matter */
	assert_int_equal(got->n_entries, 3);
	assert_int_equal(got->source, SW_SOURCE_DWARF);
	assert_string_equal(got->lines_why, "some are missing");
	same_symbols(entry_of(got, 0x1000), NULL, 0);
	same_symbols(entry_of(got, 0x2000), inlined, 2);
	same_symbols(entry_of(got, 0x3000), named, 1);
	assert_null(entry_of(got, 0x4000));
	assert_true(entry_of(got, 0x1000)->named && entry_of(got, 0x1000)->lined);
	assert_true(entry_of(got, 0x2000)->lined);
	assert_true(entry_of(got, 0x3000)->named && !entry_of(got, 0x3000)->lined);
	sw_unit_destroy(got);
	sw_unit_destroy(unit);
}

/* Too little space: addresses that were asked for last come first; nothing is written behind it. */
TEST_OF(test_space, struct fixture *f)
{
	struct sw_unit *unit = unit_make(f);
	size_t whole = write_unit(f, unit, BYTES), n_before = 0;
	for (size_t size = 0; size <= whole; size++) {
		memset(f->bytes, CANARY, sizeof(f->bytes));
		size_t used = write_unit(f, unit, size);
		assert_true(used <= size);
		for (size_t i = size; i < BYTES; i++)
			assert_int_equal(f->bytes[i], CANARY);
		if (used == 0) {
			assert_int_equal(n_before, 0);
			continue;
		}
		struct sw_unit *got = recall(f, used);
		assert_true(got->n_entries >= n_before);
		n_before = got->n_entries;
		assert_non_null(entry_of(got, 0x2000));
		if (entry_of(got, 0x1000) != NULL)
			assert_non_null(entry_of(got, 0x3000));
		sw_unit_destroy(got);
	}
	assert_int_equal(n_before, 3);
	sw_unit_destroy(unit);
}

TEST_OF(test_other_file, struct fixture *f)
{
	struct sw_unit *unit = unit_make(f);
	size_t size = write_unit(f, unit, BYTES);
	f->times[1].tv_nsec ^= 1;
	assert_int_equal(futimens(f->fd, f->times), 0);
	struct sw_unit *got = recall(f, size);
	assert_int_equal(got->n_entries, 0);
	assert_null(got->lines_why);
	assert_int_equal(got->source, SW_SOURCE_NONE);
	sw_unit_destroy(got);
	sw_unit_destroy(unit);
}

static uint64_t hash_of(const uint8_t *data, size_t size)
{
	uint64_t hash = size;
	for (size_t off = 0; off < size; off += 8) {
		uint64_t word = 0;
		memcpy(&word, data + off, size - off < 8 ? size - off : 8);
		hash = sw_mix64(hash ^ word);
	}
	return hash;
}

/* A byte is another one: nothing is taken; and when the hash says that it is right: something, or nothing. */
TEST_OF(test_wrong_bytes, struct fixture *f)
{
	struct sw_unit *unit = unit_make(f);
	size_t size = write_unit(f, unit, BYTES), n_taken = 0;
	struct sw_kept kept = {0};
	for (size_t i = 0; i < size; i++) {
		assert_false(sw_kept_open(&kept, (struct sw_bytes){f->bytes, i}));
		if (i >= 4 && i < 8)
			continue; /* reserved */
		f->bytes[i] ^= 0xff;
		assert_false(sw_kept_open(&kept, (struct sw_bytes){f->bytes, size}));
		f->bytes[i] ^= 0xff;
	}
	for (size_t i = HEAD_BYTES; i < size; i++) {
		for (int value = 0; value <= 0xff; value += 0x55) {
			uint8_t before = f->bytes[i];
			f->bytes[i] = (uint8_t) value;
			uint64_t hash = hash_of(f->bytes + HEAD_BYTES, size - HEAD_BYTES);
			memcpy(f->bytes + 16, &hash, sizeof(hash));
			struct sw_unit *got = recall(f, size);
			assert_true(got->n_entries <= 3);
			assert_true(got->source <= SW_SOURCE_JIT);
			n_taken += got->n_entries;
			sw_unit_destroy(got);
			f->bytes[i] = before;
		}
	}
	assert_true(n_taken > 0);
	sw_unit_destroy(unit);
}

/* A symbolizer that is given the results does not look into the file again: there is nothing in
 * there any more. */
TEST_OF(test_symbolizers, struct fixture *f)
{
	static const struct sw_symbolize_options offline = {.debug_dir = "/nonexistent"};
	static uint8_t zeros[ELF_MAKE_BYTES];
	struct sw_place place = {.module = f->module,
				 .end_avma = UINT64_MAX,
				 .bias = BIAS,
				 .resolved = 1};
	struct sw_frame frame = {.pc_avma = BIAS + TEXT + 4,
				 .place = &place,
				 .flags = SW_FRAME_EXACT_PC};
	struct sw_walk walk = {.frames = &frame, .n_frames = 1};
	const struct sw_walks walks = {.walks = &walk, .n_walks = 1};
	const struct sw_symbol *symbol = NULL;
	for (int given = 0; given < 3; given++) {
		struct sw_context *ctx = NULL;
		struct sw_symbolizer *symbolizer = NULL;
		struct sw_symbols *symbols = NULL;
		struct stat st;
		assert_int_equal(fstat(f->fd, &st), 0);
		assert_int_equal(sw_context_create(&ctx, NULL), 0);
		assert_int_equal(sw_context_module_file(ctx, SW_MODULE_ELF, "/bin/a", false,
							dup(f->fd), &st, &place.module),
				 0);
		assert_int_equal(sw_symbolizer_create(ctx, &symbolizer, NULL), 0);
		if (given == 1)
			sw_symbolizer_recall(symbolizer, f->bytes, BYTES);
		assert_int_equal(sw_symbolize(symbolizer, &walks, &offline, &symbols, NULL), 0);
		assert_int_equal(sw_symbols_find(symbols, &frame, &symbol), given < 2 ? 1 : 0);
		if (given < 2) {
			assert_string_equal(symbol->function, "ns::f(int)");
			assert_string_equal(symbol->mangled, "_ZN2ns1fEi");
			assert_int_equal(symbol->function_offset, 4);
			assert_int_equal(sw_symbols_source(symbols, &place), SW_SOURCE_SYMTAB);
			assert_true(sw_symbolizer_keep(symbolizer, f->bytes, BYTES) > HEAD_BYTES);
		}
		sw_symbols_destroy(symbols);
		sw_symbolizer_destroy(symbolizer);
		sw_context_destroy(ctx);
		assert_int_equal(pwrite(f->fd, zeros, f->elf.size, 0), f->elf.size);
		assert_int_equal(futimens(f->fd, f->times), 0);
	}
}
