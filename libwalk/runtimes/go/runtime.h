/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_RUNTIME_H
#define SW_GO_RUNTIME_H

#include "unwind/runtime.h"

/* Go 1.18 to 1.27. */
extern const struct sw_runtime_ops sw_runtime_go;

#endif
