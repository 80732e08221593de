/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/libgcc/known.h"

#include <stdlib.h>

int sw_jit_libgcc_tables_compare(const void *a, const void *b)
{
	const struct sw_jit_libgcc_known_table *x = a, *y = b;
	if (x->table.object_avma != y->table.object_avma)
		return x->table.object_avma > y->table.object_avma ? 1 : -1;
	return (x->table.avma > y->table.avma) - (x->table.avma < y->table.avma);
}

int sw_jit_libgcc_nodes_compare(const void *a, const void *b)
{
	const struct sw_jit_libgcc_known_node *x = a, *y = b;
	return (x->avma > y->avma) - (x->avma < y->avma);
}

struct sw_jit_libgcc_known_table *sw_jit_libgcc_known_find(const struct sw_jit_libgcc_known *known,
							   const struct sw_jit_libgcc_table *table)
{
	const struct sw_jit_libgcc_known_table key = {.table = *table};
	struct sw_jit_libgcc_known_table *found =
		known->n == 0 ? NULL
			      : bsearch(&key, known->tables, known->n, sizeof(key),
					sw_jit_libgcc_tables_compare);
	return found != NULL && found->table.what_avma == table->what_avma &&
			       found->table.text_avma == table->text_avma &&
			       found->table.data_avma == table->data_avma
		       ? found
		       : NULL;
}

struct sw_jit_libgcc_known_node *sw_jit_libgcc_known_node(const struct sw_jit_libgcc_known *known,
							  uint64_t avma)
{
	const struct sw_jit_libgcc_known_node key = {.avma = avma};
	return known->n_nodes == 0 ? NULL
				   : bsearch(&key, known->nodes, known->n_nodes, sizeof(key),
					     sw_jit_libgcc_nodes_compare);
}
