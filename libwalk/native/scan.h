/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SCAN_H
#define SW_SCAN_H

#include "unwind/unwinder.h"

/* Code without anything, by the words of the stack that may be return addresses. */
extern const struct sw_unwinder_ops sw_unwind_scan;

#endif
