/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/go/pclntab.h"

#include <string.h>

enum {
	MAGIC_118 = 0xf0, /* lowest byte; the others are 0xff */
	MAGIC_120 = 0xf1,
	HEADER_BYTES = 72,
	QUANTUM = 1, /* of x86-64's instructions */
	POINTER_BYTES = 8,
	FUNCTAB_ENTRY = 8,
};

bool sw_go_pclntab_magic(const uint8_t *b)
{
	return (b[0] == MAGIC_118 || b[0] == MAGIC_120) && b[1] == 0xff && b[2] == 0xff &&
	       b[3] == 0xff && b[4] == 0 && b[5] == 0 && b[6] == QUANTUM && b[7] == POINTER_BYTES;
}

/* The part that begins where the header's word at `at` says, and goes on to the end of the bytes: how
 * long each is, is not written. */
static bool part(struct sw_bytes bytes, uint64_t at, struct sw_bytes *ret)
{
	uint64_t off;
	return sw_bytes_u64(bytes, at, &off) && off >= HEADER_BYTES && off < bytes.size &&
	       sw_bytes_sub(bytes, off, bytes.size - off, ret);
}

bool sw_go_pclntab_open(struct sw_bytes bytes, struct sw_go_pclntab *ret)
{
	struct sw_go_pclntab t = {.bytes = bytes};
	uint64_t n;
	if (bytes.size < HEADER_BYTES || !sw_go_pclntab_magic(bytes.data))
		return false;
	t.v118 = bytes.data[0] == MAGIC_118;
	if (!sw_bytes_u64(bytes, 8, &n) || n == 0 || n > SW_GO_FUNCS_MAX ||
	    !part(bytes, 32, &t.names) || !part(bytes, 40, &t.units) ||
	    !part(bytes, 48, &t.files) || !part(bytes, 56, &t.tables) || !part(bytes, 64, &t.funcs))
		return false;
	/* The entry behind the last function says where it ends. */
	if (!sw_bytes_has(t.funcs, 0, n * FUNCTAB_ENTRY + 4))
		return false;
	t.n_funcs = (uint32_t) n;
	*ret = t;
	return true;
}

const char *sw_go_name(const struct sw_go_pclntab *table, int32_t name_off)
{
	const char *name;
	if (name_off < 0 || !sw_bytes_str(table->names, (uint64_t) name_off, &name))
		return NULL;
	return name;
}

bool sw_go_func_at(const struct sw_go_pclntab *table, uint32_t n, struct sw_go_func *ret)
{
	uint32_t start, end, at, entry, name_off;
	uint64_t tail = table->v118 ? 36 : 40; /* 1.20 added the function's first line */
	struct sw_bytes f = table->funcs;
	struct sw_go_func func;
	if (n >= table->n_funcs || !sw_bytes_u32(f, (uint64_t) n * FUNCTAB_ENTRY, &start) ||
	    !sw_bytes_u32(f, (uint64_t) n * FUNCTAB_ENTRY + 4, &at) ||
	    !sw_bytes_u32(f, (uint64_t) n * FUNCTAB_ENTRY + 8, &end) || end < start)
		return false;
	if (!sw_bytes_u32(f, at, &entry) || entry != start ||
	    !sw_bytes_u32(f, (uint64_t) at + 4, &name_off) ||
	    !sw_bytes_u32(f, (uint64_t) at + 16, &func.sp_table) ||
	    !sw_bytes_u32(f, (uint64_t) at + 20, &func.file_table) ||
	    !sw_bytes_u32(f, (uint64_t) at + 24, &func.line_table) ||
	    !sw_bytes_u32(f, (uint64_t) at + 28, &func.n_pcdata) ||
	    !sw_bytes_u32(f, (uint64_t) at + 32, &func.unit) ||
	    !sw_bytes_u8(f, at + tail, &func.id) || !sw_bytes_u8(f, at + tail + 1, &func.flags) ||
	    !sw_bytes_u8(f, at + tail + 3, &func.n_funcdata))
		return false;
	func.start_off = start;
	func.end_off = end;
	func.name = sw_go_name(table, (int32_t) name_off);
	func.data_at = at + tail + 4;
	if (func.name == NULL)
		return false;
	*ret = func;
	return true;
}

bool sw_go_func_find(const struct sw_go_pclntab *table, uint64_t off, struct sw_go_func *ret)
{
	uint32_t low = 0, high = table->n_funcs;
	while (low < high) { /* the first that begins behind off */
		uint32_t middle = low + (high - low) / 2, start;
		if (!sw_bytes_u32(table->funcs, (uint64_t) middle * FUNCTAB_ENTRY, &start))
			return false;
		if (start <= off)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && sw_go_func_at(table, low - 1, ret) && off >= ret->start_off &&
	       off < ret->end_off;
}

static bool varint(struct sw_bytes b, uint64_t *at, uint32_t *ret)
{
	uint32_t value = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte;
		if (!sw_bytes_u8(b, *at, &byte))
			return false;
		++*at;
		value |= (uint32_t) (byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

bool sw_go_value(const struct sw_go_pclntab *table, const struct sw_go_func *func,
		 uint32_t value_table, uint64_t off, int32_t *ret)
{
	uint64_t at = value_table, pc = func->start_off;
	uint32_t value = UINT32_MAX; /* -1 */
	if (value_table == 0 || off < func->start_off || off >= func->end_off)
		return false;
	for (size_t i = 0; i < SW_GO_STEPS_MAX; i++) {
		uint32_t delta, length;
		if (!varint(table->tables, &at, &delta) || (delta == 0 && i > 0) ||
		    !varint(table->tables, &at, &length))
			return false;
		value += delta & 1 ? ~(delta >> 1) : delta >> 1;
		pc += (uint64_t) length * QUANTUM;
		if (off < pc) {
			*ret = (int32_t) value;
			return true;
		}
	}
	return false;
}

bool sw_go_pcdata(const struct sw_go_pclntab *table, const struct sw_go_func *func, uint32_t n,
		  uint64_t off, int32_t *ret)
{
	uint32_t value_table;
	return n < func->n_pcdata &&
	       sw_bytes_u32(table->funcs, func->data_at + 4 * (uint64_t) n, &value_table) &&
	       sw_go_value(table, func, value_table, off, ret);
}

bool sw_go_funcdata(const struct sw_go_pclntab *table, const struct sw_go_func *func, uint32_t n,
		    uint32_t *ret)
{
	uint64_t at = func->data_at + 4 * (uint64_t) func->n_pcdata + 4 * (uint64_t) n;
	return n < func->n_funcdata && sw_bytes_u32(table->funcs, at, ret) && *ret != UINT32_MAX;
}

void sw_go_line(const struct sw_go_pclntab *table, const struct sw_go_func *func, uint64_t off,
		const char **ret_file, uint32_t *ret_line)
{
	int32_t file, line;
	uint32_t file_off;
	*ret_file = "";
	*ret_line = 0;
	if (sw_go_value(table, func, func->line_table, off, &line) && line > 0)
		*ret_line = (uint32_t) line;
	/* Each unit of compilation has numbers of its own for its files. */
	if (sw_go_value(table, func, func->file_table, off, &file) && file >= 0 &&
	    sw_bytes_u32(table->units, 4 * ((uint64_t) func->unit + (uint64_t) file), &file_off) &&
	    file_off != UINT32_MAX)
		(void) sw_bytes_str(table->files, file_off, ret_file); /* else it stays "" */
}
