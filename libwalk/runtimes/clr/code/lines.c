/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/code/lines.h"
#include "runtimes/clr/code/r2r_debug.h"
#include "runtimes/clr/metadata/pdb_files.h"
#include "runtimes/clr/code/collectible.h"
#include "cleanup.h"
#include "runtimes/clr/code/r2r.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/published/name_layout.h"
#include "runtimes/clr/metadata/debug_directory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	PDBS_MAX = 65536,               /* modules that are remembered */
	UNPACKED_BYTES_MAX = 256 << 20, /* of all embedded PDBs together */
};

/* A PDB that was packed into an assembly. */
struct sw_clr_unpacked {
	struct sw_clr_unpacked *next;
	uint8_t *data; /* owned */
	size_t bytes;
};

void sw_clr_unpacked_free(struct sw_clr_unpacked *list)
{
	while (list != NULL) {
		struct sw_clr_unpacked *next = list->next;
		free(list->data);
		free(list);
		list = next;
	}
}

/* ---- PDBs ------------------------------------------------------------------------------------ */

static bool embedded_open(struct sw_clr_names *names, const struct sw_clr_pdb_link *link,
			  struct sw_clr_pdb *ret)
{
	size_t have = link->unpacked_bytes;
	for (const struct sw_clr_unpacked *u = names->unpacked; u != NULL; u = u->next)
		have += u->bytes;
	if (link->embedded_avma == 0 || have > UNPACKED_BYTES_MAX)
		return false;
	struct sw_clr_unpacked *u = calloc(1, sizeof(*u));
	if (u == NULL)
		return false;
	u->data = sw_clr_pdb_unpack(names->memory, link);
	if (u->data == NULL) {
		free(u);
		return false;
	}
	u->bytes = link->unpacked_bytes;
	u->next = names->unpacked;
	names->unpacked = u;
	return sw_clr_pdb_open(ret, (struct sw_bytes){u->data, u->bytes}, link->id);
}

/* NULL when there is none. */
static const struct sw_clr_pdb *pdb_get(struct sw_clr *clr, uint64_t module_avma,
					const struct sw_clr_module *module)
{
	struct sw_clr_names *names = clr->names;
	struct sw_clr_pdb_link link;
	uint64_t kept;
	if (sw_map64_get(&names->pdbs, module_avma, &kept))
		return (const struct sw_clr_pdb *) (uintptr_t) kept;
	struct sw_clr_pdb *pdb = sw_arena_calloc(names->arena, 1, sizeof(*pdb));
	if (pdb == NULL)
		return NULL;
	if (!module->has_image || module->edited || !sw_clr_pdb_link_find(&module->image, &link) ||
	    !(sw_clr_pdb_file_open(clr->snap, module->name, link.id, pdb) ||
	      embedded_open(names, &link, pdb)))
		pdb = NULL;
	if (names->pdbs.count < PDBS_MAX)
		(void) sw_map64_put(&names->pdbs, module_avma,
				    (uintptr_t) pdb); /* lost: it is opened again */
	return pdb;
}

/* ---- IL -------------------------------------------------------------------------------------- */

/* A method as metadata knows it. */
struct row {
	const struct sw_clr_module *module;
	uint64_t module_avma;
	uint32_t rid;
};

static bool row_find(struct sw_clr *clr, const struct sw_clr_code *code, struct row *ret)
{
	struct sw_clr_names *names = sw_clr_names_get(clr);
	if (names == NULL || code->method_avma == 0)
		return false;
	const struct sw_clr_name_layout *at = &names->at[code->runtime - clr->runtimes];
	if (!sw_clr_method_row(names, at, code->method_avma, &ret->module_avma, &ret->rid))
		return false;
	ret->module = sw_clr_module_get(names, at, ret->module_avma);
	return ret->module != NULL && ret->module->has_metadata;
}

/* The code of a method, which its unwind information covers, ends with its last funclet. */
static bool code_bytes(struct sw_memory m, const struct sw_clr_code *code, uint32_t *ret)
{
	const struct sw_clr_layout *at = &code->runtime->at;
	struct sw_pe_function last;
	uint32_t n;
	if (!sw_clr_u32(m, code->header_avma, at->header_n_unwind, &n) || n == 0 ||
	    n > SW_CLR_FUNCTIONS_MAX ||
	    !sw_clr_function_read(at, m, code->header_avma + at->header_unwind, n - 1, &last))
		return false;
	uint64_t end = code->base_avma + last.end_rva;
	if (end <= code->start_avma || end - code->start_avma > UINT32_MAX)
		return false;
	*ret = (uint32_t) (end - code->start_avma);
	return true;
}

/* Where its debug information is, and how much code there is. */
static bool info_find(struct sw_clr *clr, const struct sw_clr_code *code,
		      struct sw_clr_debug_info *ret)
{
	const struct sw_clr_layout *at = &code->runtime->at;
	if (code->kind == SW_CLR_CODE_R2R)
		return sw_clr_r2r_debug_find(clr->names, code, ret);
	ret->format = at->debug_format;
	return code->header_avma != 0 && code_bytes(clr->memory, code, &ret->code_bytes) &&
	       sw_clr_u64(clr->memory, code->header_avma, at->header_debug, &ret->avma);
}

static bool il_offset(struct sw_clr *clr, const struct sw_clr_code *code, const struct row *row,
		      uint64_t lookup_avma, uint32_t *ret)
{
	struct sw_clr_debug_info info = {0};
	if (!row->module->has_image || lookup_avma < code->start_avma ||
	    !info_find(clr, code, &info) || lookup_avma - code->start_avma >= info.code_bytes ||
	    !sw_clr_il_bytes(&row->module->image, &row->module->metadata, row->rid, &info.il_bytes))
		return false;
	return sw_clr_il_offset(clr->memory, &info, (uint32_t) (lookup_avma - code->start_avma),
				ret);
}

void sw_clr_line_describe(struct sw_clr *clr, const struct sw_clr_code *code, uint64_t lookup_avma,
			  struct sw_description *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text file = {0};
	size_t live_before = clr->source.live_reads;
	struct row row;
	uint32_t il_off, line;
	if (!row_find(clr, code, &row))
		return;
	/* Most modules have none: ask before anything is decoded. */
	const struct sw_clr_pdb *pdb = pdb_get(clr, row.module_avma, row.module);
	if (pdb == NULL)
		return;
	if (!il_offset(clr, code, &row, lookup_avma, &il_off))
		il_off = SW_CLR_IL_UNKNOWN;
	if (!sw_clr_pdb_line(pdb, row.rid, il_off, &file, &line) || file.failed ||
	    !sw_clr_collectible_remains(clr, code, live_before))
		return;
	(void) snprintf(ret->file, sizeof(ret->file), "%s", file.data); /* cut to fit */
	ret->line = line;
}

void sw_clr_row_line(struct sw_clr *clr, uint64_t module_avma, const struct sw_clr_module *module,
		     uint32_t rid, uint32_t il_off, struct sw_description *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text file = {0};
	uint32_t line;
	const struct sw_clr_pdb *pdb = pdb_get(clr, module_avma, module);
	if (pdb == NULL || !sw_clr_pdb_line(pdb, rid, il_off, &file, &line) || file.failed)
		return;
	(void) snprintf(ret->file, sizeof(ret->file), "%s", file.data); /* cut to fit */
	ret->line = line;
}

static void offset_explain(struct sw_clr *clr, const struct sw_clr_code *code,
			   const struct row *row, uint64_t lookup_avma, const char *what,
			   struct sw_text *text)
{
	sw_cleanup(sw_text_deinit) struct sw_text file = {0};
	const struct sw_clr_pdb *pdb = pdb_get(clr, row->module_avma, row->module);
	uint32_t il_off, line;
	if (!il_offset(clr, code, row, lookup_avma, &il_off)) {
		sw_text_printf(text, ", %sno IL offset", what);
		return;
	}
	sw_text_printf(text, ", %sIL offset 0x%" PRIx32, what, il_off);
	if (pdb != NULL && sw_clr_pdb_line(pdb, row->rid, il_off, &file, &line))
		sw_text_printf(text, " at %s:%" PRIu32, file.data, line);
}

void sw_clr_il_explain(struct sw_clr *clr, const struct sw_clr_code *code, uint64_t avma,
		       struct sw_text *text)
{
	struct row row;
	if (!row_find(clr, code, &row))
		return;
	sw_text_printf(text, "%s, token 0x%02x%06" PRIx32,
		       row.module->name[0] != '\0' ? row.module->name : "?", SW_CLR_TABLE_METHOD,
		       row.rid);
	offset_explain(clr, code, &row, avma, "", text);
	if (avma > code->start_avma)
		offset_explain(clr, code, &row, avma - 1, "of a call that returns here: ", text);
	sw_text_append(text, "\n", 1);
}
