/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_SUMMARY_H
#define SW_DAEMON_JOBS_SUMMARY_H

#include "jobs/dump.h"

enum { SW_SUMMARY_FLAGS = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE };

/* dump->summary and its parts, from dump->head. -SW_E_FORMAT, -SW_E_NOMEM. */
int sw_summary_build(struct sw_dump *dump, int64_t n_threads, int64_t n_stacks,
		     struct sw_error *err);

/* "2026-11-20T10:35:50.084579Z", also without a fraction or with an offset, to CLOCK_REALTIME. */
bool sw_time_parse(const char *text, int64_t *ret_ns);

#endif
