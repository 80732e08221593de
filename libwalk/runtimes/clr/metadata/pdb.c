/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/pdb.h"
#include "runtimes/clr/metadata/remote.h"

#include <string.h>

enum {
	BASE_AVMA = 0x1000, /* of the file, in a memory of its own: 0 is nowhere */
	/* columns */
	DOCUMENT_NAME = 0,
	METHOD_DOCUMENT = 0,
	METHOD_POINTS = 1,
	NAME_PARTS_MAX = 128,
	POINTS_MAX = 1 << 18,  /* of a method */
	LINE_MAX = 0x1fffffff, /* "Sequence Points Blob" */
};

static bool bytes_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_bytes *bytes = arg;
	return avma >= BASE_AVMA && sw_bytes_copy(*bytes, avma - BASE_AVMA, buffer, length);
}

bool sw_clr_pdb_open(struct sw_clr_pdb *pdb, struct sw_bytes bytes,
		     const uint8_t id[SW_CLR_PDB_ID_BYTES])
{
	static const struct sw_memory_ops ops = {.read = bytes_read};
	uint8_t own[SW_CLR_PDB_ID_BYTES];
	pdb->bytes = bytes;
	return sw_clr_metadata_open((struct sw_memory){&ops, &pdb->bytes}, BASE_AVMA, bytes.size,
				    &pdb->metadata) &&
	       pdb->metadata.pdb_bytes >= sizeof(own) &&
	       sw_clr_read(pdb->metadata.memory, pdb->metadata.pdb_avma, 0, own, sizeof(own)) &&
	       memcmp(own, id, sizeof(own)) == 0;
}

static bool blob_get(const struct sw_clr_pdb *pdb, uint32_t index, struct sw_bytes *ret)
{
	uint64_t avma;
	uint32_t bytes;
	return sw_clr_metadata_blob_find(&pdb->metadata, index, &avma, &bytes) &&
	       avma >= BASE_AVMA && sw_bytes_sub(pdb->bytes, avma - BASE_AVMA, bytes, ret);
}

/* ---- documents ------------------------------------------------------------------------------- */

static void part_append(struct sw_text *text, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n && text->size < SW_CLR_NAME_MAX; i++) {
		char c = (char) bytes[i];
		if (bytes[i] < 0x20 || bytes[i] == 0x7f)
			c = '?';
		sw_text_append(text, &c, 1);
	}
}

/* "Document Name Blob": a separator (0: none), then parts, which are blobs. */
static bool document_name(const struct sw_clr_pdb *pdb, uint32_t document, struct sw_text *text)
{
	struct sw_bytes name, part;
	uint32_t index;
	uint8_t separator;
	uint64_t at = 1;
	if (!sw_clr_metadata_get(&pdb->metadata, SW_CLR_TABLE_DOCUMENT, document, DOCUMENT_NAME,
				 &index) ||
	    !blob_get(pdb, index, &name) || !sw_bytes_u8(name, 0, &separator))
		return false;
	for (unsigned i = 0; i < NAME_PARTS_MAX && at < name.size; i++) {
		if (!sw_clr_number_read(name, &at, &index, NULL) ||
		    (index != 0 && !blob_get(pdb, index, &part)))
			return false;
		if (i > 0 && separator != 0)
			part_append(text, &separator, 1);
		if (index != 0)
			part_append(text, part.data, part.size);
	}
	return text->size > 0 && at == name.size;
}

/* ---- sequence points ------------------------------------------------------------------------- */

/* II.23.2, with the sign in the lowest bit. */
static bool signed_read(struct sw_bytes b, uint64_t *at, int64_t *ret)
{
	static const uint8_t bits[] = {[1] = 6, [2] = 13, [4] = 28};
	uint32_t value;
	unsigned n;
	if (!sw_clr_number_read(b, at, &value, &n))
		return false;
	*ret = (int64_t) (value >> 1) - (value & 1 ? INT64_C(1) << bits[n] : 0);
	return true;
}

struct points {
	struct sw_bytes blob;
	uint64_t at;
	uint64_t il_off;
	int64_t line;
	uint32_t document;
	bool any; /* one that is not hidden, so that the next one is told by the difference */
};

enum point { POINT_BAD, POINT_DOCUMENT, POINT_HIDDEN, POINT_LINE };

/* The part of a sequence point that comes after the IL offset's difference. */
static enum point lines_read(struct points *p)
{
	uint32_t lines, columns, line, column;
	int64_t difference;
	if (!sw_clr_number_read(p->blob, &p->at, &lines, NULL))
		return POINT_BAD;
	if (lines == 0) {
		if (!sw_clr_number_read(p->blob, &p->at, &columns, NULL))
			return POINT_BAD;
		if (columns == 0)
			return POINT_HIDDEN;
	} else if (!signed_read(p->blob, &p->at, &difference)) {
		return POINT_BAD;
	}
	if (!p->any) {
		if (!sw_clr_number_read(p->blob, &p->at, &line, NULL) ||
		    !sw_clr_number_read(p->blob, &p->at, &column, NULL))
			return POINT_BAD;
		p->line = line;
		p->any = true;
		return POINT_LINE;
	}
	if (!signed_read(p->blob, &p->at, &difference))
		return POINT_BAD;
	p->line += difference;
	return signed_read(p->blob, &p->at, &difference) ? POINT_LINE : POINT_BAD;
}

static enum point point_read(struct points *p, bool first)
{
	uint32_t difference;
	if (!sw_clr_number_read(p->blob, &p->at, &difference, NULL))
		return POINT_BAD;
	if (!first && difference == 0)
		return sw_clr_number_read(p->blob, &p->at, &p->document, NULL) ? POINT_DOCUMENT
									       : POINT_BAD;
	p->il_off += difference;
	return lines_read(p);
}

/* All of them are read: what does not hold together to its end is not believed in its beginning. */
static bool points_search(struct points *p, uint32_t il_off, uint32_t *ret_document,
			  uint32_t *ret_line)
{
	bool found = false, only = il_off == SW_CLR_IL_UNKNOWN;
	for (unsigned i = 0; p->at < p->blob.size; i++) {
		if (i == POINTS_MAX)
			return false;
		enum point kind = point_read(p, i == 0);
		if (kind == POINT_BAD ||
		    (kind == POINT_LINE && (p->line <= 0 || p->line > LINE_MAX)))
			return false;
		if (kind != POINT_LINE || p->il_off > il_off)
			continue;
		if (only && found && (p->line != *ret_line || p->document != *ret_document))
			return false;
		*ret_line = (uint32_t) p->line;
		*ret_document = p->document;
		found = true;
	}
	return found;
}

bool sw_clr_pdb_line(const struct sw_clr_pdb *pdb, uint32_t method_rid, uint32_t il_off,
		     struct sw_text *file, uint32_t *ret_line)
{
	struct points p = {0};
	uint32_t index, signature, document = 0, line = 0;
	if (!sw_clr_metadata_get(&pdb->metadata, SW_CLR_TABLE_METHOD_DEBUG, method_rid,
				 METHOD_DOCUMENT, &p.document) ||
	    !sw_clr_metadata_get(&pdb->metadata, SW_CLR_TABLE_METHOD_DEBUG, method_rid,
				 METHOD_POINTS, &index) ||
	    index == 0 || !blob_get(pdb, index, &p.blob) ||
	    !sw_clr_number_read(p.blob, &p.at, &signature, NULL) ||
	    (p.document == 0 && !sw_clr_number_read(p.blob, &p.at, &p.document, NULL)) ||
	    !points_search(&p, il_off, &document, &line) || !document_name(pdb, document, file))
		return false;
	*ret_line = line;
	return true;
}
