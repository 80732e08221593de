/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_COLLECTIBLE_H
#define SW_CLR_COLLECTIBLE_H

#include "unwind/capture.h"
#include "runtimes/clr/code/clr.h"

/*
 * Before the stop: wants the memory that finding, unwinding and naming code takes that the runtime
 * may free while the process runs on: dynamic methods, among them those that reflection calls by,
 * and assemblies that can be unloaded. Memory that does not fit into the limits is read when the
 * process runs again, and then may be gone. memory reads the running process.
 */
void sw_clr_collectible_want(struct sw_capture *capture, const struct sw_clr_runtime *runtime,
			     struct sw_memory memory);

/* After the stop: whether something of code was read in the running process, which may have freed it, since
 * clr->source.live_reads was live_before. */
bool sw_clr_collectible_is_live(const struct sw_clr *clr, const struct sw_clr_code *code,
				size_t live_before);

/*
 * The same: whether what was read of code since clr->source.live_reads was live_before may be
 * believed. False when it was read in the running process, where code that may be freed is not there
 * any more: it may be anything.
 */
bool sw_clr_collectible_remains(const struct sw_clr *clr, const struct sw_clr_code *code,
				size_t live_before);

#endif
