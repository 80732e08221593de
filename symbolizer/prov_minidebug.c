/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * .gnu_debugdata: an xz-compressed ELF file with the function symbols that .dynsym lacks (GDB manual
 * 13.1, "Debugging information in a special section"). Fedora has it in every binary.
 */
#include "cleanup.h"
#include "dwarf/deadline.h"
#include "symtab.h"
#include "debugfile.h"
#include "providers.h"

#include <lzma.h>

enum {
	MINIDEBUG_MEMORY_MAX = 80 << 20, /* bytes liblzma may use; xz -9 needs 65 MiB */
	MINIDEBUG_BYTES_MAX = 256 << 20, /* bytes it may become */
	MINIDEBUG_FIRST_BYTES = 256 << 10,
};

struct minidebug {
	bool found;
	struct sw_image image; /* owned, decompressed */
	struct sw_elf elf;
	struct sw_symtab_index index; /* owned */
};

static bool grow(uint8_t **data, size_t *capacity)
{
	size_t larger = *capacity == 0 ? MINIDEBUG_FIRST_BYTES : *capacity * 2;
	if (larger > MINIDEBUG_BYTES_MAX)
		return false;
	uint8_t *grown = realloc(*data, larger);
	if (grown == NULL)
		return false;
	*data = grown;
	*capacity = larger;
	return true;
}

static bool decompress_all(lzma_stream *stream, struct sw_image *ret, int64_t deadline_ns)
{
	sw_cleanup(sw_free_p) uint8_t *data = NULL;
	size_t capacity = 0, bytes = 0;
	for (;;) {
		if (bytes == capacity &&
		    (sw_deadline_passed(deadline_ns) || !grow(&data, &capacity)))
			return false;
		stream->next_out = data + bytes;
		stream->avail_out = capacity - bytes;
		lzma_ret r = lzma_code(stream, LZMA_FINISH);
		bytes = capacity - stream->avail_out;
		if (r == LZMA_STREAM_END)
			break;
		if (r != LZMA_OK)
			return false;
	}
	*ret = (struct sw_image){.bytes = {sw_take_ptr(data), bytes}};
	return true;
}

static bool decompress(struct sw_bytes from, struct sw_image *ret, int64_t deadline_ns)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, MINIDEBUG_MEMORY_MAX, 0) != LZMA_OK)
		return false;
	stream.next_in = from.data;
	stream.avail_in = from.size;
	bool whole = decompress_all(&stream, ret, deadline_ns);
	lzma_end(&stream);
	return whole;
}

static void minidebug_open(struct sw_unit *unit, struct minidebug *mini, int64_t deadline_ns)
{
	const struct sw_elf *elf = sw_unit_elf(unit);
	struct sw_elf_section section;
	struct sw_bytes bytes;
	if (elf != NULL && sw_elf_section_named(elf, ".gnu_debugdata", &section) &&
	    sw_elf_section_bytes(elf, &section, &bytes) &&
	    decompress(bytes, &mini->image, deadline_ns))
		mini->found = sw_elf_init(&mini->elf, mini->image.bytes);
}

static int minidebug_names(struct sw_unit *unit, void **slot, struct sw_want *wants, size_t n,
			   const struct sw_request *request)
{
	if (sw_wants_settled(wants, n))
		return 0;
	struct minidebug *mini = *slot;
	if (mini == NULL) {
		mini = calloc(1, sizeof(*mini));
		if (mini == NULL)
			return -SW_E_NOMEM;
		*slot = mini;
		minidebug_open(unit, mini, request->deadline_ns);
	}
	struct sw_symtab table;
	if (mini->found && sw_symtab_find(&mini->elf, SHT_SYMTAB, SW_SOURCE_MINIDEBUG, &table))
		(void) sw_symtab_look_up(&table, &mini->index, wants, n, request);
	return 0;
}

static void minidebug_forget(void *slot)
{
	struct minidebug *mini = slot;
	sw_symtab_index_deinit(&mini->index);
	sw_image_deinit(&mini->image);
	free(mini);
}

const struct sw_provider_ops sw_prov_minidebug = {
	.name = "minidebug",
	.kinds = 1 << SW_MODULE_ELF,
	.names = minidebug_names,
	.forget = minidebug_forget,
};
