/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SPAN_RECORD_H
#define SPAN_RECORD_H

#include <stdint.h>

/* The record of a thread's request: OTEP 4947. */
enum { SPAN_ATTRIBUTES_MAX = 512 };

struct span_record {
	uint8_t trace_id[16], span_id[8];
	volatile uint8_t valid;
	uint8_t flags;
	uint16_t size;
	uint8_t attributes[SPAN_ATTRIBUTES_MAX];
};

#endif
