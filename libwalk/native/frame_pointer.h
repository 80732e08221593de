/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FRAME_POINTER_H
#define SW_FRAME_POINTER_H

#include "unwind/unwinder.h"

/* Code without tables, by the chain of saved frame pointers. */
extern const struct sw_unwinder_ops sw_unwind_frame_pointer;

#endif
