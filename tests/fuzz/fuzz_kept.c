/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory that the worker of a series has left to the next one: that worker may have been taken
 * over. */
#include "fuzz.h"
#include "cleanup.h"
#include "entries.h"
#include "kept.h"
#include "snapshot/module.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { WRITTEN_MAX = 1 << 16, IDENTITY_BYTES = 40 };

static size_t length(const char *text)
{
	return text != NULL ? strlen(text) : 0;
}

/* All of it can be read. */
static size_t bytes_of(const struct sw_unit *unit)
{
	size_t n = length(unit->lines_why);
	for (size_t i = 0; i < unit->n_entries; i++) {
		const struct sw_entry *entry = &unit->entries[i];
		for (size_t k = 0; k < entry->n_symbols; k++)
			n += length(entry->symbols[k].function) +
			     length(entry->symbols[k].mangled) + length(entry->symbols[k].file);
	}
	return n;
}

/* Entries that were understood can be written, and are then understood as the same. */
static void again(struct sw_module *module, struct sw_unit *unit)
{
	static uint8_t written[WRITTEN_MAX];
	struct sw_kept kept = {0};
	struct sw_arena arena = {0};
	size_t n_named = 0;
	for (size_t i = 0; i < unit->n_entries; i++)
		n_named += unit->entries[i].named;
	size_t used = sw_kept_write(&unit, 1, 0, written, sizeof(written));
	if (used == 0)
		return;
	check(sw_kept_open(&kept, (struct sw_bytes){written, used}));
	struct sw_unit *second = sw_unit_create(module);
	check(second != NULL && sw_kept_recall(&kept, second, &arena) == 0);
	check(second->n_entries == n_named);
	check(second->source == unit->source);
	sw_unit_destroy(second);
	sw_arena_deinit(&arena);
}

/* The bytes behind a head; their first unit is of our file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_context *ctx = NULL;
	struct sw_module *module = NULL;
	struct sw_arena arena = {0};
	struct stat st;
	int fd = memfd_create("kept", MFD_CLOEXEC);
	uint8_t *bytes = malloc(size + 1);
	check(bytes != NULL && fd >= 0 && fstat(fd, &st) == 0);
	check(sw_context_create(&ctx, NULL) == 0);
	check(sw_context_module_file(ctx, SW_MODULE_ELF, "/a", false, fd, &st, &module) == 0);
	const uint64_t identity[] = {st.st_dev, st.st_ino, (uint64_t) st.st_size,
				     (uint64_t) st.st_mtim.tv_sec, (uint64_t) st.st_mtim.tv_nsec};
	_Static_assert(sizeof(identity) == IDENTITY_BYTES, "the begin of a unit");
	if (size > 0)
		memcpy(bytes, data, size);
	if (size >= IDENTITY_BYTES)
		memcpy(bytes, identity, sizeof(identity));
	struct sw_unit *unit = sw_unit_create(module);
	const struct sw_kept kept = {.units = {bytes, size}};
	check(unit != NULL && sw_kept_recall(&kept, unit, &arena) == 0);
	check(bytes_of(unit) <= size);
	if (size < WRITTEN_MAX / 4)
		again(module, unit);
	sw_unit_destroy(unit);
	sw_arena_deinit(&arena);
	sw_context_destroy(ctx);
	free(bytes);
	return 0;
}
