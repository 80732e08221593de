/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_OTEL_THREAD_H
#define SW_OTEL_THREAD_H

#include "arena.h"
#include "bytes.h"
#include "runtimes/otel/process.h"
#include "unwind/capture.h"
#include "waits/budget.h"

/*
 * The record that a thread publishes of its request. A variable of each thread, which a program or library exports as
 * otel_thread_ctx_v1, leads to it. Only the thread itself writes to it, so what was copied while it did not run is of one
 * instant with its stack.
 * Source: OpenTelemetry's OTEP 4947 (July 2026), "Thread-Local Context Record":
 *
 *	0	trace id	16 bytes
 *	16	span id		8 bytes; both are 0 when there is no span
 *	24	valid		1; else it is being written, or none
 *	25	flags
 *	26	size		of the attributes, bytes
 *	28	attributes	for each: index of its key, length, value
 */
enum { SW_OTEL_RECORD_BYTES = 28 };

/*
 * Before the window: lets the records of all threads be copied, where a module of the process has the variable. A search that
 * takes longer than SW_OTEL_SEARCH_NS of CPU time is given up, which is noted as a limit.
 */
enum { SW_OTEL_SEARCH_NS = 20000000 };
void sw_otel_threads_before(struct sw_capture *capture);
/* The same with a budget of the caller's. */
void sw_otel_threads_search(struct sw_capture *capture, const struct sw_budget *budget);

/*
 * Decodes a record. Attributes whose key is not known are left out, of two with one key the last one counts.
 *
 * @param ret_cut  Set where there are more bytes of attributes than a copy has.
 * @return False: it is not valid, or says nothing.
 */
bool sw_otel_record_parse(struct sw_bytes record, const struct sw_otel_process *process,
			  struct sw_arena *arena, struct sw_trace *ret, bool *ret_cut);

#endif
