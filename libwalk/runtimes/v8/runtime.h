/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_RUNTIME_H
#define SW_V8_RUNTIME_H

#include "unwind/runtime.h"

extern const struct sw_runtime_ops sw_runtime_v8;

#endif
