/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_PROCESSES_WINDOW_H
#define SW_BEAM_PROCESSES_WINDOW_H

#include "runtimes/beam/window.h"

/*
 * In the window: the table of processes, each of them, and of those that nobody executes the stack, with what
 * names need.
 */
void sw_beam_processes_copy(struct sw_capture *capture, struct sw_beam_window *w);

#endif
