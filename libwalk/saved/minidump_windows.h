/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_WINDOWS_H
#define SW_MINIDUMP_WINDOWS_H

#include "saved/minidump_filler.h"

/* Fills maps, places and the crash by PE images and the exception; threads and ranges are there. 0; -SW_E_NOMEM. */
int sw_minidump_windows_fill(struct sw_minidump_filler *f);

#endif
