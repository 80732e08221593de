/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_RUNTIME_H
#define SW_WINE_RUNTIME_H

#include "unwind/runtime.h"

/* Wine 8 to 10: from Unix code to Windows code and back. */
extern const struct sw_runtime_ops sw_runtime_wine;

#endif
