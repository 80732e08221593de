/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_LINKED_H
#define SW_GO_LINKED_H

#include "runtimes/go/frame.h"

/*
 * For a frame of C code that Go's linker has put into the program, as it does with that of net and os/user, and
 * which has no tables: the frame of asmcgocall() that has called it. *ret_may_miss: frames of C in between may not be
 * seen. False: it is not found.
 */
bool sw_go_linked_caller(const struct sw_go_frame *f, struct sw_go_caller *ret, bool *ret_may_miss);

#endif
