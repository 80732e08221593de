/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_CONTRACT_H
#define SW_CLR_CONTRACT_H

#include "json.h"
#include "memory.h"

/*
 * The description that a CoreCLR runtime gives of its own structures: offsets of fields, global
 * values and pointers, and which algorithms ("contracts") read them. It is data of the target,
 * found by an exported symbol. Source: dotnet/runtime,
 * docs/design/datacontracts/contract-descriptor.md and data_descriptor.md (the compact format), as
 * of v10.0.0.
 */
struct sw_clr_contract {
	struct sw_json_tree json; /* owned; an object */
	uint64_t *pointers;       /* owned; the values that indirect globals index */
	size_t n_pointers;
};

enum {
	SW_CLR_JSON_BYTES_MAX = 1 << 18, /* .NET 10 has 11 KiB */
	SW_CLR_JSON_DEPTH = 8,           /* four are used */
	SW_CLR_POINTERS_MAX = 4096,
	SW_CLR_OFFSET_MAX = 1 << 20, /* of a field; more is nonsense */
};

/* Reads the descriptor at that address. 0, -SW_E_NOMEM, or -SW_E_FORMAT or -SW_E_MEMORY with *ret_why
 * (static). */
int sw_clr_contract_read(struct sw_memory memory, uint64_t descriptor_avma,
			 struct sw_clr_contract *ret, const char **ret_why);

/* The same from its two parts; takes over neither. */
int sw_clr_contract_parse(const char *json, size_t bytes, const uint64_t *pointers,
			  size_t n_pointers, struct sw_clr_contract *ret, const char **ret_why);

void sw_clr_contract_deinit(struct sw_clr_contract *contract);

/* The offset of a field; the size of a type. False: the runtime does not say. */
bool sw_clr_field(const struct sw_clr_contract *c, const char *type, const char *field,
		  uint32_t *ret);
bool sw_clr_size(const struct sw_clr_contract *c, const char *type, uint32_t *ret);

/* A number of a layout and its name in the descriptor; field NULL: the type's size. */
struct sw_clr_row {
	const char *type, *field;
	size_t at; /* of a uint32_t in the layout */
};

static inline uint32_t *sw_clr_row_at(const struct sw_clr_row *row, void *layout)
{
	return (uint32_t *) ((char *) layout + row->at);
}

/* False: the runtime does not say, and the layout's number is as it was. */
static inline bool sw_clr_row_resolve(const struct sw_clr_contract *c, const struct sw_clr_row *row,
				      void *layout)
{
	uint32_t *to = sw_clr_row_at(row, layout);
	return row->field != NULL ? sw_clr_field(c, row->type, row->field, to)
				  : sw_clr_size(c, row->type, to);
}

/* A global's value; of an indirect one, the address of the runtime's variable. */
bool sw_clr_global(const struct sw_clr_contract *c, const char *name, uint64_t *ret);

/* The version of a contract; false when the runtime does not follow it. */
bool sw_clr_version(const struct sw_clr_contract *c, const char *name, uint64_t *ret);

#endif
