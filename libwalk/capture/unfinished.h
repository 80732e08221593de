/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_UNFINISHED_H
#define SW_CAPTURE_UNFINISHED_H

#include "capture/take.h"

/* A copy that did not come to its end: pages do not come, or who copied was killed. Else these do nothing. */

/* After a stop, or each window, first: nobody else writes to the space from here on. */
void sw_take_reader_drop(struct sw_take *take);

/*
 * After a stop, or each window: threads of which the copy did not come to its end get their registers, those of
 * earlier windows keep theirs. Before anything is corrected in them (capture/returns.h).
 */
void sw_take_registers(struct sw_take *take);

#endif
