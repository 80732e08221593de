/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/wine/tables.h"
#include "bytes.h"

#include <snapwalk/error.h>

#include <stdlib.h>

enum {
	/* struct dynamic_unwind_entry begins with its links: next, prev. */
	ENTRY_BASE = 0x10,
	ENTRY_END = 0x18,
	ENTRY_TABLE = 0x20,
	ENTRY_COUNT = 0x28,
	ENTRY_CALLBACK = 0x30,
	CODE_BYTES = 0x140, /* of the function that are looked at */
};

struct links {
	uint64_t next, prev;
};

/* A head is linked both ways with what comes first and last; an empty one with itself. */
static bool is_head(struct sw_memory memory, uint64_t avma)
{
	struct links head, first, last;
	return avma % sizeof(uint64_t) == 0 && sw_memory_read(memory, avma, &head, sizeof(head)) &&
	       sw_memory_read(memory, head.next, &first, sizeof(first)) &&
	       sw_memory_read(memory, head.prev, &last, sizeof(last)) && first.prev == avma &&
	       last.next == avma;
}

/* MOV or LEA of 64 bits whose operand is [rip + disp32]; *ret_avma is what it names. */
static bool rip_operand(struct sw_bytes code, uint64_t at, uint64_t code_avma, uint64_t *ret_avma)
{
	enum { LENGTH = 7, MOV = 0x8b, LEA = 0x8d };
	uint8_t rex, opcode, modrm;
	uint32_t displacement;
	if (!sw_bytes_u8(code, at, &rex) || !sw_bytes_u8(code, at + 1, &opcode) ||
	    !sw_bytes_u8(code, at + 2, &modrm) || !sw_bytes_u32(code, at + 3, &displacement) ||
	    (rex & ~4) != 0x48 || (opcode != MOV && opcode != LEA) || (modrm & 0xc7) != 5)
		return false;
	*ret_avma = code_avma + at + LENGTH + (uint64_t) (int64_t) (int32_t) displacement;
	return true;
}

uint64_t sw_wine_tables_head(struct sw_memory memory, uint64_t delete_table_avma)
{
	uint8_t raw[CODE_BYTES];
	struct sw_bytes code = {raw, sizeof(raw)};
	uint64_t avma;
	if (delete_table_avma == 0 || !sw_memory_read(memory, delete_table_avma, raw, sizeof(raw)))
		return 0;
	for (uint64_t at = 0; at < sizeof(raw); at++)
		if (rip_operand(code, at, delete_table_avma, &avma) && is_head(memory, avma))
			return avma;
	return 0;
}

/* False: nonsense, which covers nothing. */
static bool entry_parse(struct sw_bytes entry, struct sw_wine_table *ret)
{
	uint64_t callback;
	return sw_bytes_u64(entry, ENTRY_BASE, &ret->base_avma) &&
	       sw_bytes_u64(entry, ENTRY_END, &ret->end_avma) &&
	       sw_bytes_u64(entry, ENTRY_TABLE, &ret->table_avma) &&
	       sw_bytes_u32(entry, ENTRY_COUNT, &ret->n_functions) &&
	       sw_bytes_u64(entry, ENTRY_CALLBACK, &callback) &&
	       (ret->callback = callback != 0, ret->base_avma < ret->end_avma);
}

int sw_wine_tables_read(struct sw_memory memory, uint64_t head_avma,
			struct sw_wine_table **ret_tables, size_t *ret_n, const char **ret_problem)
{
	struct sw_wine_table *tables = NULL;
	const char *problem = NULL;
	size_t n = 0, capacity = 0;
	uint64_t at;
	if (!sw_memory_u64(memory, head_avma, &at))
		at = 0;
	for (size_t seen = 0; at != head_avma; seen++) {
		uint8_t raw[SW_WINE_TABLE_BYTES];
		struct sw_bytes entry = {raw, sizeof(raw)};
		if (seen == SW_WINE_TABLES_MAX) {
			problem = "more tables than are followed, or a list without end";
			break;
		}
		if (!sw_memory_read(memory, at, raw, sizeof(raw))) {
			problem = "the list of tables could not be read to its end";
			break;
		}
		if (n == capacity) {
			capacity = capacity == 0 ? 16 : capacity * 2;
			struct sw_wine_table *grown =
				reallocarray(tables, capacity, sizeof(*tables));
			if (grown == NULL) {
				free(tables);
				return -SW_E_NOMEM;
			}
			tables = grown;
		}
		n += entry_parse(entry, &tables[n]);
		(void) sw_bytes_u64(entry, 0, &at); /* inside */
	}
	*ret_tables = tables;
	*ret_n = n;
	*ret_problem = problem;
	return 0;
}
