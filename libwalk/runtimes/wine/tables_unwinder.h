/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_TABLES_UNWINDER_H
#define SW_WINE_TABLES_UNWINDER_H

#include "unwind/unwinder.h"

/* Code that a Windows program made itself, by the tables it registered with Wine. */
extern const struct sw_unwinder_ops sw_unwind_wine_tables;

#endif
