/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_OTEL_PROCESS_H
#define SW_OTEL_PROCESS_H

#include "arena.h"
#include "bytes.h"

#include <snapwalk/walk.h>

/*
 * The context that a process publishes of itself: its resource, and the names of the attributes of its threads.
 * Source: OpenTelemetry's OTEP 4719 (April 2026), version 2 of the header; the payload is a ProcessContext
 * (opentelemetry-proto 1.11.0, profiles/v1development/process_context.proto).
 *
 *	0	"OTEL_CTX"	written last
 *	8	version		2
 *	12	size		of the payload, bytes
 *	16	published	ns; 0: it is being written
 *	24	payload		address
 */
enum {
	SW_OTEL_PAYLOAD_MAX = 64 << 10,
	SW_OTEL_ATTRIBUTES_MAX = 64,
	SW_OTEL_KEY_MAX = 128,    /* bytes */
	SW_OTEL_VALUE_MAX = 1024, /* bytes */
	SW_OTEL_KEYS_MAX = 256,   /* of threads: their index has a byte */
};

struct sw_otel_process {
	struct sw_resource resource;
	const char *keys
		[SW_OTEL_KEYS_MAX]; /* the arena's; of attributes of threads, by index; NULL: not valid */
	size_t n_keys;
	bool has_threads; /* threads publish records, found by a variable: runtimes/otel/thread.h */
	bool cut;         /* something was left out at a limit */
	bool changed;     /* the process wrote it anew meanwhile: nothing of it is here */
};

/* Whether a mapping of that name may have a context. */
bool sw_otel_process_is_named(const char *path);

/* Whether there is such a mapping. */
bool sw_otel_process_probe(const struct sw_snapshot *snap);

/* Decodes a payload; strings come from the arena. What is damaged ends it. 0; -SW_E_NOMEM. */
int sw_otel_payload_parse(struct sw_bytes payload, struct sw_arena *arena,
			  struct sw_otel_process *ret);

/* Reads the first context that is whole; *ret_found says whether there is one, or would be had the process not changed
 * it (ret->changed). 0; -SW_E_NOMEM. */
int sw_otel_process_read(const struct sw_snapshot *snap, struct sw_arena *arena,
			 struct sw_otel_process *ret, bool *ret_found);

#endif
