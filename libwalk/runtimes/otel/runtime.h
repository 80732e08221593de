/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_OTEL_RUNTIME_H
#define SW_OTEL_RUNTIME_H

#include "unwind/runtime.h"

/* The row for programs that publish something of themselves for OpenTelemetry, whatever runs them. It has no frames. */
extern const struct sw_runtime_ops sw_runtime_otel;

#endif
