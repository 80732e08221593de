/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_KNOWN_RUNTIME_H
#define SW_KNOWN_RUNTIME_H

#include "unwind/runtime.h"

/* Runtimes that are only recognised, by the names of their files. */
extern const struct sw_runtime_ops sw_runtime_known;

#endif
