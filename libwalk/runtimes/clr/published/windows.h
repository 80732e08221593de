/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_WINDOWS_H
#define SW_CLR_WINDOWS_H

#include "memory.h"
#include "text.h"

#include <snapwalk/walk.h>

/* A runtime for Windows, which Wine runs: coreclr.dll, or a program that has it linked in. */

/* By its name: the others are many, and need not be looked into. */
bool sw_clr_pe_is_candidate(const struct sw_place *place);

/* Where the image at base_avma has the runtime's descriptor; 0: it is no runtime that has one. */
uint64_t sw_clr_pe_contract(struct sw_memory memory, uint64_t base_avma);

/* "10.0.1226.42308": the version of its file, by its resources. False: it has none. */
bool sw_clr_pe_version(struct sw_memory memory, uint64_t base_avma, struct sw_text *text);

#endif
