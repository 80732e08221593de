/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_CODELETS_H
#define SW_HOTSPOT_CODELETS_H

#include "runtimes/hotspot/structures/hotspot.h"

/* A part of the interpreter: a bytecode, an entry point. */
struct sw_hotspot_codelet {
	uint64_t start_avma, end_avma; /* [start, end), with a header */
	char name[64];                 /* "ireturn", "method entry point (kind = zerolocals)" */
	bool entry;                    /* what a call of a method begins with */
};

/* The one that holds pc, or NULL when that is not known. */
const struct sw_hotspot_codelet *sw_hotspot_codelet_at(struct sw_hotspot *h, uint64_t pc);

#endif
