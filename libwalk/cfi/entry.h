/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CFI_ENTRY_H
#define SW_CFI_ENTRY_H

#include "bytes.h"

/*
 * Entries (CIE, FDE) of .eh_frame and .debug_frame, read by ourselves: for the bounds of functions,
 * and to look at their instructions before libdw executes them. libdw (elfutils 0.188, cfi.c) makes
 * space for every register number up to 2^27 that an instruction names, and copies all of it for each
 * DW_CFA_remember_state: a few hostile bytes cost gigabytes.
 * Sources: LSB 5.0 core, §10.6.1 (.eh_frame) and §10.6.2 (.eh_frame_hdr); DWARF 5, §6.4.1, §7.6,
 * §7.24.
 */
enum {
	SW_CFI_REG_MAX = 255,     /* highest register number: the psABI goes to 129 */
	SW_CFI_REMEMBER_MAX = 64, /* states remembered at a time in one program */
	/* In all of one program; the cold part of CPython 3.14's loop has 178 (GCC 16). */
	SW_CFI_REMEMBERED_MAX = 8192,
};

/* Bytes that hold entries. For .eh_frame this may be the whole segment around it. */
struct sw_cfi_section {
	struct sw_bytes bytes;
	uint64_t svma; /* of bytes.data[0] */
	bool debug_frame;
	bool is_32bit; /* plain addresses have 4 bytes, and wrap around */
	/* Bases that pointers may count from; 0: not known, entries with such pointers are
	 * malformed. */
	uint64_t text_svma, data_svma;
};

struct sw_cfi_entry {
	bool is_cie;
	uint64_t start_svma, end_svma; /* FDE: [start, end) of the code */
	struct sw_bytes program;       /* its instructions */
	struct sw_bytes cie_program;   /* FDE: those of its CIE, executed before */
	uint8_t encoding;              /* DW_EH_PE_* of code addresses */
	bool is_32bit;                 /* the section's */
	uint8_t version;               /* of its CIE, as the next two */
	bool signal;                   /* 'S': the code is a signal trampoline's */
	bool has_lsda;                 /* FDE: 'L': the function has handlers of exceptions */
	struct sw_bytes columns;       /* alignments and return address column, as they are */
	uint64_t next_off;
};

/* The entry at offset. 1; 0 at the end of the section (its terminator); -1 when malformed. */
int sw_cfi_entry_read(const struct sw_cfi_section *section, uint64_t offset,
		      struct sw_cfi_entry *ret);

/* The same without looking into it: only what it is, and where the next one begins. */
int sw_cfi_entry_skip(const struct sw_cfi_section *section, uint64_t offset, bool *ret_is_cie,
		      uint64_t *ret_next_off);

/* True when the instructions, and its CIE's, ask for nothing excessive. */
bool sw_cfi_entry_sane(const struct sw_cfi_entry *entry);

/* True when its instructions, or its CIE's, hold an address that means something only where it lies. */
bool sw_cfi_entry_has_place(const struct sw_cfi_entry *entry);

/* sw_cfi_entry_sane() for every entry from offset to the end of the section. */
bool sw_cfi_section_sane(const struct sw_cfi_section *section, uint64_t offset);

/* The search table of .eh_frame_hdr: pairs of addresses, 4 bytes each, relative to its start. */
struct sw_cfi_table {
	struct sw_bytes pairs;
	uint64_t base_svma;
};

enum sw_cfi_hdr {
	SW_CFI_HDR_TABLE,
	SW_CFI_HDR_NO_TABLE, /* a header alone, as linkers write when they could not make one */
	SW_CFI_HDR_BAD,
};

/* *ret_frame_svma is where .eh_frame begins. */
enum sw_cfi_hdr sw_cfi_hdr_read(struct sw_bytes hdr, uint64_t hdr_svma,
				struct sw_cfi_table *ret_table, uint64_t *ret_frame_svma);

size_t sw_cfi_table_count(const struct sw_cfi_table *table);

/* True when code addresses rise, so that every search finds the same. */
bool sw_cfi_table_sorted(const struct sw_cfi_table *table);

/* The entry's address for the last code address that is not above svma. */
bool sw_cfi_table_find(const struct sw_cfi_table *table, uint64_t svma, uint64_t *ret_fde_svma);

#endif
