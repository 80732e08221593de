/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_STACKS_H
#define SW_WINE_STACKS_H

#include "unwind/capture.h"

/*
 * The stacks hook of Wine: the target is stopped. Adds the TEB of each thread and those of its stacks
 * that its registers do not tell, from where they are in use.
 */
int sw_wine_stacks(struct sw_capture *capture);

#endif
