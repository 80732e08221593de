/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_WIDTH_H
#define SW_TEXT_WIDTH_H

#include "report/text/put.h"

/*
 * The text from byte from on is fitted to the terminal's width, where there is one; files have
 * none, and get all. from is where a line begins.
 */

/* Lines that are longer go on in the next one, indented, at a space. */
void sw_wrap(struct sw_text_writer *w, size_t from);
/* The line, which has no end yet, loses its end: "worker < main …". */
void sw_cut(struct sw_text_writer *w, size_t from);

#endif
