/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_RUNTIME_H
#define SW_BEAM_RUNTIME_H

#include "unwind/runtime.h"

/* Erlang's BEAM with its JIT. */
extern const struct sw_runtime_ops sw_runtime_beam;

#endif
