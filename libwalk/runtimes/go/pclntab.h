/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_PCLNTAB_H
#define SW_GO_PCLNTAB_H

#include "bytes.h"

/*
 * The table of functions, frame sizes and lines that the Go linker puts into every program, and that
 * stripping leaves: "pclntab". Addresses in it are offsets from the start of the program's Go code.
 * Source: go1.19.8 and go1.26 src/runtime/symtab.go and src/internal/abi/symtab.go.
 */
struct sw_go_pclntab {
	struct sw_bytes bytes; /* borrowed: from its header on */
	bool v118;             /* the layout of 1.18 and 1.19 */
	uint32_t n_funcs;
	struct sw_bytes names, units, files, tables, funcs; /* parts of bytes */
};

enum {
	SW_GO_FUNC_TOP = 1, /* enum of the flags: nothing called it */
	SW_GO_FUNC_SP_WRITE =
		2, /* changes rsp in a way that the table of frame sizes does not say */
	SW_GO_PCDATA_INLINED = 2,
	SW_GO_FUNCDATA_INLINED = 3,
	SW_GO_FUNCS_MAX = 1 << 24,
	SW_GO_STEPS_MAX = 1 << 20, /* of one table of one function */
};

struct sw_go_func {
	uint64_t start_off, end_off; /* [start, end) from the start of the code */
	const char *name;            /* borrowed; ends inside the table */
	uint32_t sp_table, file_table, line_table, n_pcdata, unit;
	uint8_t id, flags, n_funcdata;
	uint64_t data_at; /* where its pcdata begins, in funcs */
};

/* From the bytes that begin with the header; they may be longer than the table. False when it is no
 * such table, or of a version that is not known. */
bool sw_go_pclntab_open(struct sw_bytes bytes, struct sw_go_pclntab *ret);

/* Whether a header may begin with these 8 bytes. */
bool sw_go_pclntab_magic(const uint8_t *bytes);

/* The n-th function in the order of addresses. */
bool sw_go_func_at(const struct sw_go_pclntab *table, uint32_t n, struct sw_go_func *ret);

/* The one that has the code at off. */
bool sw_go_func_find(const struct sw_go_pclntab *table, uint64_t off, struct sw_go_func *ret);

/* The value of the function's table for the instruction at off. */
bool sw_go_value(const struct sw_go_pclntab *table, const struct sw_go_func *func,
		 uint32_t value_table, uint64_t off, int32_t *ret);

/* The same for its n-th pcdata table: false also when it has none. */
bool sw_go_pcdata(const struct sw_go_pclntab *table, const struct sw_go_func *func, uint32_t n,
		  uint64_t off, int32_t *ret);

/* Where its n-th funcdata is, from the module's "gofunc". */
bool sw_go_funcdata(const struct sw_go_pclntab *table, const struct sw_go_func *func, uint32_t n,
		    uint32_t *ret);

/* A name by its offset; NULL when it does not end inside. */
const char *sw_go_name(const struct sw_go_pclntab *table, int32_t name_off);

/* File and line of the instruction at off; "" and 0 when not known. */
void sw_go_line(const struct sw_go_pclntab *table, const struct sw_go_func *func, uint64_t off,
		const char **ret_file, uint32_t *ret_line);

#endif
