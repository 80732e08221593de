/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_CONTEXT_H
#define SW_MINIDUMP_CONTEXT_H

#include "bytes.h"

#include <snapwalk/walk.h>

/* The registers of a context. False: it is too short for them. */
bool sw_minidump_registers(struct sw_bytes context, struct sw_regs *ret);

#endif
