/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/tables.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/remote.h"

#include <string.h>

enum {
	/* II.24.2.1, II.24.2.2 */
	ROOT_VERSION_BYTES = 12,
	ROOT_VERSION = 16,
	ROOT_VERSION_MAX = 255,
	STREAMS_MAX = 64,
	STREAM_NAME_MAX = 32,
	/* II.24.2.6 */
	TABLES_HEAP_SIZES = 6,
	TABLES_VALID = 8,
	TABLES_SORTED = 16,
	TABLES_ROWS = 24,
	HEAP_STRINGS_WIDE = 1,
	HEAP_GUIDS_WIDE = 2,
	HEAP_BLOBS_WIDE = 4,
	HEAP_EXTRA_DATA = 0x40, /* four bytes behind the row counts: #- of edited programs */
	ROWS_MAX = SW_CLR_TOKEN_RID,
	NARROW_ROWS = 0x10000, /* a table with fewer has indices of two bytes */
	STRING_CHUNK = 64,
};

/* The content of a column: an index into a table (its number), or one of these. */
enum {
	U2 = 0x80,
	U4,
	STRING,
	GUID,
	BLOB,
	/* II.24.2.6: an index into one of several tables */
	TYPE_DEF_OR_REF,
	HAS_CONSTANT,
	HAS_CUSTOM_ATTRIBUTE,
	HAS_FIELD_MARSHAL,
	HAS_DECL_SECURITY,
	MEMBER_REF_PARENT,
	HAS_SEMANTICS,
	METHOD_DEF_OR_REF,
	MEMBER_FORWARDED,
	IMPLEMENTATION,
	CUSTOM_ATTRIBUTE_TYPE,
	RESOLUTION_SCOPE,
	TYPE_OR_METHOD_DEF,
	COLUMNS_MAX = 9,
};

struct schema {
	uint8_t n;
	uint8_t columns[COLUMNS_MAX];
};

/* II.22.2 to II.22.39, by number; the last two: Portable PDB v1.0, "Document Table" and
 * "MethodDebugInformation Table". */
static const struct schema schemas[SW_CLR_TABLES] = {
	[0x00] = {5, {U2, STRING, GUID, GUID, GUID}},
	[0x01] = {3, {RESOLUTION_SCOPE, STRING, STRING}},
	[0x02] = {6, {U4, STRING, STRING, TYPE_DEF_OR_REF, 0x04, 0x06}},
	[0x03] = {1, {0x04}},
	[0x04] = {3, {U2, STRING, BLOB}},
	[0x05] = {1, {0x06}},
	[0x06] = {6, {U4, U2, U2, STRING, BLOB, 0x08}},
	[0x07] = {1, {0x08}},
	[0x08] = {3, {U2, U2, STRING}},
	[0x09] = {2, {0x02, TYPE_DEF_OR_REF}},
	[0x0a] = {3, {MEMBER_REF_PARENT, STRING, BLOB}},
	[0x0b] = {3, {U2, HAS_CONSTANT, BLOB}},
	[0x0c] = {3, {HAS_CUSTOM_ATTRIBUTE, CUSTOM_ATTRIBUTE_TYPE, BLOB}},
	[0x0d] = {2, {HAS_FIELD_MARSHAL, BLOB}},
	[0x0e] = {3, {U2, HAS_DECL_SECURITY, BLOB}},
	[0x0f] = {3, {U2, U4, 0x02}},
	[0x10] = {2, {U4, 0x04}},
	[0x11] = {1, {BLOB}},
	[0x12] = {2, {0x02, 0x14}},
	[0x13] = {1, {0x14}},
	[0x14] = {3, {U2, STRING, TYPE_DEF_OR_REF}},
	[0x15] = {2, {0x02, 0x17}},
	[0x16] = {1, {0x17}},
	[0x17] = {3, {U2, STRING, BLOB}},
	[0x18] = {3, {U2, 0x06, HAS_SEMANTICS}},
	[0x19] = {3, {0x02, METHOD_DEF_OR_REF, METHOD_DEF_OR_REF}},
	[0x1a] = {1, {STRING}},
	[0x1b] = {1, {BLOB}},
	[0x1c] = {4, {U2, MEMBER_FORWARDED, STRING, 0x1a}},
	[0x1d] = {2, {U4, 0x04}},
	[0x1e] = {2, {U4, U4}},
	[0x1f] = {1, {U4}},
	[0x20] = {9, {U4, U2, U2, U2, U2, U4, BLOB, STRING, STRING}},
	[0x21] = {1, {U4}},
	[0x22] = {3, {U4, U4, U4}},
	[0x23] = {9, {U2, U2, U2, U2, U4, BLOB, STRING, STRING, BLOB}},
	[0x24] = {2, {U4, 0x23}},
	[0x25] = {4, {U4, U4, U4, 0x23}},
	[0x26] = {3, {U4, STRING, BLOB}},
	[0x27] = {5, {U4, U4, STRING, STRING, IMPLEMENTATION}},
	[0x28] = {4, {U4, U4, STRING, IMPLEMENTATION}},
	[0x29] = {2, {0x02, 0x02}},
	[0x2a] = {4, {U2, U2, TYPE_OR_METHOD_DEF, STRING}},
	[0x2b] = {2, {METHOD_DEF_OR_REF, BLOB}},
	[0x2c] = {2, {0x2a, TYPE_DEF_OR_REF}},
	[0x30] = {4, {BLOB, GUID, BLOB, GUID}},
	[0x31] = {2, {0x30, BLOB}},
};

/* The tables that a coded index may point into, and the bits that say which. */
static const struct {
	uint8_t bits, n;
	uint8_t tables[22];
} coded[] = {
	[TYPE_DEF_OR_REF - TYPE_DEF_OR_REF] = {2, 3, {0x02, 0x01, 0x1b}},
	[HAS_CONSTANT - TYPE_DEF_OR_REF] = {2, 3, {0x04, 0x08, 0x17}},
	[HAS_CUSTOM_ATTRIBUTE -
		TYPE_DEF_OR_REF] = {5, 22, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00,
					    0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23,
					    0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b}},
	[HAS_FIELD_MARSHAL - TYPE_DEF_OR_REF] = {1, 2, {0x04, 0x08}},
	[HAS_DECL_SECURITY - TYPE_DEF_OR_REF] = {2, 3, {0x02, 0x06, 0x20}},
	[MEMBER_REF_PARENT - TYPE_DEF_OR_REF] = {3, 5, {0x02, 0x01, 0x1a, 0x06, 0x1b}},
	[HAS_SEMANTICS - TYPE_DEF_OR_REF] = {1, 2, {0x14, 0x17}},
	[METHOD_DEF_OR_REF - TYPE_DEF_OR_REF] = {1, 2, {0x06, 0x0a}},
	[MEMBER_FORWARDED - TYPE_DEF_OR_REF] = {1, 2, {0x04, 0x06}},
	[IMPLEMENTATION - TYPE_DEF_OR_REF] = {2, 3, {0x26, 0x23, 0x27}},
	[CUSTOM_ATTRIBUTE_TYPE - TYPE_DEF_OR_REF] = {3, 2, {0x06, 0x0a}},
	[RESOLUTION_SCOPE - TYPE_DEF_OR_REF] = {2, 4, {0x00, 0x1a, 0x23, 0x01}},
	[TYPE_OR_METHOD_DEF - TYPE_DEF_OR_REF] = {1, 2, {0x02, 0x06}},
};

static unsigned column_bytes(const struct sw_clr_metadata *m, unsigned kind)
{
	switch (kind) {
	case U2: return 2;
	case U4: return 4;
	case STRING: return m->heap_sizes & HEAP_STRINGS_WIDE ? 4 : 2;
	case GUID: return m->heap_sizes & HEAP_GUIDS_WIDE ? 4 : 2;
	case BLOB: return m->heap_sizes & HEAP_BLOBS_WIDE ? 4 : 2;
	default: break;
	}
	if (kind < SW_CLR_TABLES)
		return m->tables[kind].rows < NARROW_ROWS ? 2 : 4;
	uint32_t rows = 0;
	unsigned i = kind - TYPE_DEF_OR_REF;
	for (unsigned t = 0; t < coded[i].n; t++)
		if (m->tables[coded[i].tables[t]].rows > rows)
			rows = m->tables[coded[i].tables[t]].rows;
	return rows < (uint32_t) NARROW_ROWS >> coded[i].bits ? 2 : 4;
}

/* Where each table begins: they lie one behind the other. */
static bool tables_place(struct sw_clr_metadata *m, uint64_t avma, uint64_t bytes)
{
	uint64_t used = 0;
	for (unsigned t = 0; t < SW_CLR_TABLES; t++) {
		struct sw_clr_table *table = &m->tables[t];
		for (unsigned c = 0; c < schemas[t].n; c++)
			table->row_bytes += column_bytes(m, schemas[t].columns[c]);
		table->avma = avma + used;
		used += (uint64_t) table->rows * table->row_bytes; /* 2^24 * 50 at most each */
		if (used > bytes)
			return false;
	}
	return true;
}

static bool tables_open(struct sw_clr_metadata *m, uint64_t avma, uint64_t bytes)
{
	uint64_t valid, used = TABLES_ROWS;
	if (bytes < TABLES_ROWS || !sw_clr_u8(m->memory, avma, TABLES_HEAP_SIZES, &m->heap_sizes) ||
	    !sw_clr_u64(m->memory, avma, TABLES_VALID, &valid) ||
	    !sw_clr_u64(m->memory, avma, TABLES_SORTED, &m->sorted))
		return false;
	for (unsigned t = 0; t < 64; t++) {
		uint32_t rows;
		if (!(valid >> t & 1))
			continue;
		/* A table that is not known would lie behind all that are. */
		if (!sw_clr_u32(m->memory, avma, used, &rows) || rows > ROWS_MAX)
			return false;
		used += 4;
		if (t < SW_CLR_TABLES)
			m->tables[t].rows = rows;
	}
	if (m->heap_sizes & HEAP_EXTRA_DATA)
		used += 4;
	return used <= bytes && tables_place(m, avma + used, bytes - used);
}

struct stream {
	uint64_t avma;
	uint32_t bytes;
	char name[STREAM_NAME_MAX];
};

/* The header at *offset; *offset is the next one's. */
static bool stream_read(struct sw_memory memory, uint64_t root_avma, uint64_t root_bytes,
			uint64_t *offset, struct stream *ret)
{
	uint32_t at;
	if (!sw_clr_u32(memory, root_avma, *offset, &at) ||
	    !sw_clr_u32(memory, root_avma, *offset + 4, &ret->bytes) || at > root_bytes ||
	    ret->bytes > root_bytes - at)
		return false;
	ret->avma = root_avma + at;
	for (size_t i = 0; i < sizeof(ret->name); i++) {
		if (!sw_clr_read(memory, root_avma, *offset + 8 + i, &ret->name[i], 1))
			return false;
		if (ret->name[i] == '\0') {
			*offset += 8 + ((i + 4) & ~(uint64_t) 3);
			return true;
		}
	}
	return false;
}

bool sw_clr_metadata_open(struct sw_memory memory, uint64_t avma, uint64_t bytes,
			  struct sw_clr_metadata *ret)
{
	struct sw_clr_metadata m = {.memory = memory};
	struct stream tables = {0}, s;
	uint32_t version_bytes;
	uint16_t n;
	char magic[4];
	if (bytes > UINT32_MAX || !sw_clr_read(memory, avma, 0, magic, sizeof(magic)) ||
	    memcmp(magic, "BSJB", sizeof(magic)) != 0 ||
	    !sw_clr_u32(memory, avma, ROOT_VERSION_BYTES, &version_bytes) ||
	    version_bytes > ROOT_VERSION_MAX + 1 ||
	    !sw_clr_u16(memory, avma, ROOT_VERSION + version_bytes + 2, &n))
		return false;
	uint64_t offset = ROOT_VERSION + version_bytes + 4;
	for (unsigned i = 0; i < n && i < STREAMS_MAX; i++) {
		if (!stream_read(memory, avma, bytes, &offset, &s))
			return false;
		if (strcmp(s.name, "#~") == 0 || strcmp(s.name, "#-") == 0) {
			tables = s;
		} else if (strcmp(s.name, "#Strings") == 0) {
			m.strings_avma = s.avma;
			m.strings_bytes = s.bytes;
		} else if (strcmp(s.name, "#Blob") == 0) {
			m.blobs_avma = s.avma;
			m.blobs_bytes = s.bytes;
		} else if (strcmp(s.name, "#Pdb") == 0) {
			m.pdb_avma = s.avma;
			m.pdb_bytes = s.bytes;
		}
	}
	if (tables.avma == 0 || !tables_open(&m, tables.avma, tables.bytes))
		return false;
	*ret = m;
	return true;
}

bool sw_clr_metadata_get(const struct sw_clr_metadata *m, unsigned table, uint32_t rid,
			 unsigned column, uint32_t *ret)
{
	if (table >= SW_CLR_TABLES || rid == 0 || rid > m->tables[table].rows ||
	    column >= schemas[table].n)
		return false;
	const struct sw_clr_table *t = &m->tables[table];
	const uint8_t *columns = schemas[table].columns;
	uint64_t offset = (uint64_t) (rid - 1) * t->row_bytes;
	for (unsigned c = 0; c < column; c++)
		offset += column_bytes(m, columns[c]);
	if (column_bytes(m, columns[column]) == 4)
		return sw_clr_u32(m->memory, t->avma, offset, ret);
	uint16_t narrow;
	if (!sw_clr_u16(m->memory, t->avma, offset, &narrow))
		return false;
	*ret = narrow;
	return true;
}

/* ---- heaps --------------------------------------------------------------------------------- */

bool sw_clr_metadata_string(const struct sw_clr_metadata *m, uint32_t index, struct sw_text *text)
{
	char chunk[STRING_CHUNK];
	if (index >= m->strings_bytes)
		return false;
	for (uint32_t done = 0; done < SW_CLR_NAME_MAX;) {
		uint32_t left = m->strings_bytes - index - done;
		size_t n = left < sizeof(chunk) ? left : sizeof(chunk);
		if (n == 0 ||
		    !sw_clr_read(m->memory, m->strings_avma, (uint64_t) index + done, chunk, n))
			return false;
		size_t length = strnlen(chunk, n);
		for (size_t i = 0; i < length; i++)
			if ((unsigned char) chunk[i] < 0x20 || chunk[i] == 0x7f)
				chunk[i] = '?';
		sw_text_append(text, chunk, length);
		if (length < n)
			return true;
		done += (uint32_t) n;
	}
	sw_text_append(text, "...", 3);
	return true;
}

bool sw_clr_number_read(struct sw_bytes b, uint64_t *at, uint32_t *ret, unsigned *ret_bytes)
{
	uint8_t raw[4];
	if (!sw_bytes_u8(b, *at, &raw[0]))
		return false;
	unsigned n = !(raw[0] & 0x80) ? 1 : !(raw[0] & 0x40) ? 2 : 4;
	if (!sw_bytes_copy(b, *at, raw, n))
		return false;
	*at += n;
	*ret = n == 1   ? raw[0]
	       : n == 2 ? (uint32_t) (raw[0] & 0x3f) << 8 | raw[1]
			: (uint32_t) (raw[0] & 0x1f) << 24 | (uint32_t) raw[1] << 16 |
				  (uint32_t) raw[2] << 8 | raw[3];
	if (ret_bytes != NULL)
		*ret_bytes = n;
	return true;
}

bool sw_clr_metadata_blob_find(const struct sw_clr_metadata *m, uint32_t index, uint64_t *ret_avma,
			       uint32_t *ret_bytes)
{
	uint8_t head[4];
	uint64_t used = 0;
	uint32_t bytes;
	if (index >= m->blobs_bytes)
		return false;
	/* The last blobs of a heap have less behind them than the longest head. */
	uint32_t left = m->blobs_bytes - index;
	struct sw_bytes b = {head, left < sizeof(head) ? left : sizeof(head)};
	if (!sw_clr_read(m->memory, m->blobs_avma, index, head, b.size) ||
	    !sw_clr_number_read(b, &used, &bytes, NULL) || bytes > left - used)
		return false;
	*ret_avma = m->blobs_avma + index + used;
	*ret_bytes = bytes;
	return true;
}

bool sw_clr_metadata_blob(const struct sw_clr_metadata *m, uint32_t index, uint8_t *to, size_t max,
			  size_t *ret_bytes)
{
	uint64_t avma;
	uint32_t bytes;
	if (!sw_clr_metadata_blob_find(m, index, &avma, &bytes))
		return false;
	size_t n = bytes < max ? bytes : max;
	if (n > 0 && !sw_memory_read(m->memory, avma, to, n))
		return false;
	*ret_bytes = n;
	return true;
}
