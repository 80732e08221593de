/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_BEFORE_H
#define SW_CAPTURE_BEFORE_H

#include "capture/take.h"

/* Before the stop: fills snap with process, threads, maps and places, and readies stop and space. */
int sw_take_before(struct sw_take *take);

/* The first part of it: the process, and its files. */
int sw_take_files(struct sw_take *take);

/* Reads maps and finds places, as they are now, and adds what snap had where nothing is now. */
int sw_take_maps(struct sw_take *take);

#endif
