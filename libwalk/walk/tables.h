/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_TABLES_H
#define SW_WALK_TABLES_H

#include "unwind/tables.h"

/* The runtimes and the unwinders that there are, each in order of preference. */
extern const struct sw_tables sw_tables;

#endif
