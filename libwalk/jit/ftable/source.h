/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FTABLE_SOURCE_H
#define SW_FTABLE_SOURCE_H

#include "jit/common/source.h"

/* The project's own registry: <snapwalk/ftable.h>. */
extern const struct sw_jit_hook_ops sw_jit_ftable_hooks;
extern const struct sw_jit_source_ops sw_jit_ftable;

#endif
