/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of types and methods as metadata has them. Source: ECMA-335 II.22.26, II.22.32, II.22.37 */
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/tables.h"

enum {
	/* columns */
	TYPE_DEF_NAME = 1,
	TYPE_DEF_NAMESPACE = 2,
	TYPE_DEF_METHODS = 5,
	TYPE_REF_SCOPE = 0,
	TYPE_REF_NAME = 1,
	TYPE_REF_NAMESPACE = 2,
	METHOD_NAME = 3,
	NESTED_INNER = 0,
	NESTED_OUTER = 1,
	PARAM_NUMBER = 0,
	PARAM_OWNER = 2,
	PARAM_NAME = 3,
	SCOPE_BITS = 2,
	SCOPE_TYPE_REF = 3,
	OWNER_BITS = 1,
	PARAMS_MAX = 65536, /* of one owner: the number has 16 bits */
};

/*
 * The first row of a table whose column, by which it is sorted, is at least key; 0 when there is
 * none. A table that says it is not sorted is searched from its start.
 */
static uint32_t row_find(const struct sw_clr_metadata *m, unsigned table, unsigned column,
			 uint32_t key)
{
	uint32_t low = 1, high = m->tables[table].rows + 1, value;
	if (!(m->sorted >> table & 1)) {
		for (; low < high && low <= SW_CLR_ROWS_UNSORTED; low++)
			if (sw_clr_metadata_get(m, table, low, column, &value) && value == key)
				return low;
		return 0;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (!sw_clr_metadata_get(m, table, middle, column, &value))
			return 0;
		if (value < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low <= m->tables[table].rows ? low : 0;
}

/* The type that a type lies in; 0 when in none. */
static uint32_t type_outer(const struct sw_clr_metadata *m, uint32_t rid)
{
	uint32_t inner, outer, row = row_find(m, SW_CLR_TABLE_NESTED, NESTED_INNER, rid);
	return row != 0 && sw_clr_metadata_get(m, SW_CLR_TABLE_NESTED, row, NESTED_INNER, &inner) &&
			       inner == rid &&
			       sw_clr_metadata_get(m, SW_CLR_TABLE_NESTED, row, NESTED_OUTER,
						   &outer)
		       ? outer
		       : 0;
}

static uint32_t ref_outer(const struct sw_clr_metadata *m, uint32_t rid)
{
	uint32_t scope;
	return sw_clr_metadata_get(m, SW_CLR_TABLE_TYPE_REF, rid, TYPE_REF_SCOPE, &scope) &&
			       (scope & ((1 << SCOPE_BITS) - 1)) == SCOPE_TYPE_REF
		       ? scope >> SCOPE_BITS
		       : 0;
}

static bool column_string(const struct sw_clr_metadata *m, unsigned table, uint32_t rid,
			  unsigned column, struct sw_text *text)
{
	uint32_t index;
	return sw_clr_metadata_get(m, table, rid, column, &index) &&
	       sw_clr_metadata_string(m, index, text);
}

/* Types and references to them have name and namespace in the same columns. */
_Static_assert((int) TYPE_DEF_NAME == (int) TYPE_REF_NAME &&
		       (int) TYPE_DEF_NAMESPACE == (int) TYPE_REF_NAMESPACE,
	       "columns of TypeDef and TypeRef");

static bool type_name(const struct sw_clr_metadata *m, unsigned table, uint32_t rid, bool brief,
		      struct sw_text *text)
{
	uint32_t chain[SW_CLR_NESTING_MAX];
	size_t n = 0;
	for (uint32_t next = rid; next != 0 && n < SW_CLR_NESTING_MAX;) {
		chain[n++] = next;
		if (brief)
			break;
		next = table == SW_CLR_TABLE_TYPE_DEF ? type_outer(m, next) : ref_outer(m, next);
	}
	if (n == 0)
		return false;
	size_t before = text->size;
	if (!brief && !column_string(m, table, chain[n - 1], TYPE_DEF_NAMESPACE, text))
		return false;
	if (text->size > before)
		sw_text_append(text, ".", 1);
	while (n-- > 0) {
		if (!column_string(m, table, chain[n], TYPE_DEF_NAME, text))
			return false;
		if (n > 0)
			sw_text_append(text, "+", 1);
	}
	return true;
}

bool sw_clr_type_def_name(const struct sw_clr_metadata *m, uint32_t rid, bool brief,
			  struct sw_text *text)
{
	return type_name(m, SW_CLR_TABLE_TYPE_DEF, rid, brief, text);
}

bool sw_clr_type_ref_name(const struct sw_clr_metadata *m, uint32_t rid, bool brief,
			  struct sw_text *text)
{
	return type_name(m, SW_CLR_TABLE_TYPE_REF, rid, brief, text);
}

/* Edited programs have methods in any order, and a table that says where each is. */
static uint32_t method_position(const struct sw_clr_metadata *m, uint32_t rid)
{
	uint32_t value, rows = m->tables[SW_CLR_TABLE_METHOD_PTR].rows;
	if (rows == 0)
		return rid;
	for (uint32_t i = 1; i <= rows && i <= SW_CLR_ROWS_UNSORTED; i++)
		if (sw_clr_metadata_get(m, SW_CLR_TABLE_METHOD_PTR, i, 0, &value) && value == rid)
			return i;
	return 0;
}

uint32_t sw_clr_method_owner(const struct sw_clr_metadata *m, uint32_t rid)
{
	/* The last type whose methods begin at or before it: those without methods come before. */
	uint32_t low = 1, high = m->tables[SW_CLR_TABLE_TYPE_DEF].rows + 1;
	uint32_t position = method_position(m, rid);
	if (rid == 0 || rid > m->tables[SW_CLR_TABLE_METHOD].rows || position == 0)
		return 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2, first;
		if (!sw_clr_metadata_get(m, SW_CLR_TABLE_TYPE_DEF, middle, TYPE_DEF_METHODS,
					 &first))
			return 0;
		if (first <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

bool sw_clr_method_def_name(const struct sw_clr_metadata *m, uint32_t rid, struct sw_text *text)
{
	return column_string(m, SW_CLR_TABLE_METHOD, rid, METHOD_NAME, text);
}

void sw_clr_generic_param_name(const struct sw_clr_metadata *m, bool of_method, uint32_t owner_rid,
			       uint32_t number, struct sw_text *text)
{
	uint32_t owner = owner_rid << OWNER_BITS | of_method, found, n;
	uint32_t row = row_find(m, SW_CLR_TABLE_GENERIC_PARAM, PARAM_OWNER, owner);
	for (uint32_t i = 0; row != 0 && number < PARAMS_MAX && i <= number; i++)
		if (!sw_clr_metadata_get(m, SW_CLR_TABLE_GENERIC_PARAM, row + i, PARAM_OWNER,
					 &found) ||
		    found != owner ||
		    !sw_clr_metadata_get(m, SW_CLR_TABLE_GENERIC_PARAM, row + i, PARAM_NUMBER, &n))
			break;
		else if (n == number) {
			if (column_string(m, SW_CLR_TABLE_GENERIC_PARAM, row + i, PARAM_NAME, text))
				return;
			break;
		}
	sw_text_printf(text, "%s%u", of_method ? "!!" : "!", number);
}
