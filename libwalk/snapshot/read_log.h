/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_READ_LOG_H
#define SW_READ_LOG_H

#include "arch/asked.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	SW_READ_LOG_MAX = 512,            /* reads */
	SW_READ_LOG_BYTES_MAX = 32 << 10, /* of all reads together */
};

/*
 * All that a walk was told of its thread: the registers that were asked for (asked.h) and what was read of memory that was
 * copied. Other memory that a walk may read without being noted here is that of files, which does not change.
 */
struct sw_read_log {
	struct sw_asked asked;
	size_t n, n_bytes;
	bool broken; /* it was told more, or too much */
	struct sw_logged_read {
		uint64_t avma;
		uint32_t bytes, at; /* in data */
		bool ok;            /* false: there is no such memory */
		uint8_t n_asked;    /* registers that had been asked for before */
	} reads[SW_READ_LOG_MAX];
	uint8_t data[SW_READ_LOG_BYTES_MAX];
};

/* from: NULL: it could not be read. What an earlier read has told is not noted again. */
void sw_read_log_note(struct sw_read_log *log, uint64_t avma, const void *from, size_t bytes);

#endif
