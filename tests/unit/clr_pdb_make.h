/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLR_PDB_MAKE_H
#define CLR_PDB_MAKE_H

#include <stddef.h>
#include <stdint.h>

/*
 * A portable PDB, byte by byte as its specification has it:
 *
 *	Document	1 "/src/a.cs"		2 "b?.cs", the ? is a control character
 *	method 1	IL 0 line 10, 4 hidden, 9 line 8, 12 line 300
 *	method 2	has no lines
 *	method 3	IL 0 line 20 of document 2, 5 line 7 of document 1
 *	method 4	IL 0 hidden, 3 line 2
 *	method 5	IL 0 line 1, then what does not end
 */
enum { CLR_PDB_MAKE_BYTES = 512, CLR_PDB_MAKE_METHODS = 5 };

/* The id of the PDB. */
extern const uint8_t clr_pdb_make_id[20];

/* Writes at most CLR_PDB_MAKE_BYTES; how many. */
size_t clr_pdb_make(uint8_t *to);

/* An image of clr_make.h, whose debug directory says that id; with the PDB in it when embedded. Method 1
 * has IL of 13 bytes with a short head, method 2 of 300 with a long one. */
size_t clr_pdb_make_image(uint8_t *to, int mapped, int plus, int embedded);

/* Where the debug directory lies in such an image. */
size_t clr_pdb_make_directory(int mapped);

#endif
