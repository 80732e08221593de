/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_WINDOW_H
#define SW_PHP_WINDOW_H

#include "runtimes/php/find.h"
#include "unwind/capture.h"

enum { SW_PHP_SEEN_SLOTS = 8192 /* power of two; half of them are used at most */ };

/* The state of the window, set aside before it: *sw_capture.found. */
struct sw_php_window {
	struct sw_php_found found;
	uint64_t seen[SW_PHP_SEEN_SLOTS]; /* addresses that were copied */
	size_t n_seen;
	bool requests;      /* are copied, too */
	uint64_t page_avma; /* the last one copied */
	const uint8_t *page;
};

/* As sw_runtime_ops.in_window. */
int sw_php_in_window(struct sw_capture *capture);

#endif
