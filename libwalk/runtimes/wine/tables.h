/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_TABLES_H
#define SW_WINE_TABLES_H

#include "memory.h"

/*
 * Function tables that a program registers for code it made itself, in a list of Wine's ntdll.dll:
 * RtlAddFunctionTable(), RtlAddGrowableFunctionTable(), RtlInstallFunctionTableCallback(). The list
 * is exported by nothing; the exported functions' code leads to it.
 * Source: Wine 8.0 dlls/ntdll/exception.c, 10.0 dlls/ntdll/unwind.c: struct dynamic_unwind_entry.
 */
struct sw_wine_table {
	uint64_t base_avma, end_avma; /* [base, end): the code; RVAs count from base */
	uint64_t table_avma;          /* of RUNTIME_FUNCTIONs, sorted */
	uint32_t n_functions;         /* 0 with callback: it makes an entry when asked */
	bool callback;
};

enum {
	SW_WINE_TABLES_MAX = 16384, /* entries of the list that are followed */
	SW_WINE_TABLE_BYTES = 0x40,
};

/* The head of the list, from the code of RtlDeleteFunctionTable(); 0 when it does not lead to one. */
uint64_t sw_wine_tables_head(struct sw_memory memory, uint64_t delete_table_avma);

/*
 * The list in its order, the first that covers an address counts.
 * @param ret_tables   Owned by the caller; free(). Also when *ret_problem is set: what could be read.
 * @param ret_problem  Static: why it is not the whole list; NULL: it is.
 * @return 0; -SW_E_NOMEM.
 */
int sw_wine_tables_read(struct sw_memory memory, uint64_t head_avma,
			struct sw_wine_table **ret_tables, size_t *ret_n, const char **ret_problem);

#endif
