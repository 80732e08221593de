/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_TOUCHLESS_H
#define SW_CAPTURE_TOUCHLESS_H

#include "capture/take.h"

/*
 * The capture by the task iterator (capture/window.h, capture/decide.h): windows until every thread is
 * taken, with as few of them stopped as will do.
 */

/* Begins to load the programs that sw_take_link() and sw_peers_fill() will need, beside what is done first: as root, where
 * they are not loaded yet. */
void sw_take_link_begin(struct sw_take *take);

/*
 * Gets take->link_fd: a link of the iterator that is limited to the target. Where there is none, and
 * the options do without, snap->stopped_why says why. 0; -SW_E_*: the options insist on it.
 */
int sw_take_link(struct sw_take *take);

/* Before the window: lists and describes the threads by a first pass; take->window is set when that is
 * possible, else as in sw_take_link(). After arrays and space were made. *ret_n: how many. */
int sw_take_first_pass(struct sw_take *take, size_t *ret_n);

/* The windows; stop and space are filled as by sw_stop_run(). */
int sw_take_windows(struct sw_take *take);

#endif
