/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_RUNTIME_OPS_H
#define SW_CLR_RUNTIME_OPS_H

#include "unwind/runtime.h"

/* .NET 8 to 10. */
extern const struct sw_runtime_ops sw_runtime_clr;

#endif
