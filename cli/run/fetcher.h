/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_FETCHER_H
#define SW_CLI_FETCHER_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stdint.h>

enum { SW_FETCHER_WHY_BYTES = 96 };

/*
 * Debug files from servers, only when a user asks for them. A child without capabilities has debuginfod-find(1) fetch
 * each file into its cache: who parses may neither open a connection nor execute a program.
 */
struct sw_fetcher {
	int fd; /* to the child; -EBADF: there is none */
	int64_t deadline_ns;
	/* A server did not answer in time, or none could be asked: none is asked again. */
	bool is_silent, is_failed;
	char why[SW_FETCHER_WHY_BYTES]; /* with is_failed */
};

/*
 * Starts the child, before privileges are given up.
 *
 * @param urls         As in DEBUGINFOD_URLS.
 * @param cache        The directory that files go into.
 * @param deadline_ns  CLOCK_MONOTONIC: then the child has ended, whether a server has answered or not. 0: never.
 * @return 0; -SW_E_NOT_FOUND: debuginfod-find is not installed; -SW_E_IO.
 */
int sw_fetcher_start(struct sw_fetcher *ret, const char *urls, const char *cache,
		     int64_t deadline_ns, struct sw_error *err);
/* Whether the debug file with that build-id, in hex, is in the cache now. arg: a struct sw_fetcher. */
bool sw_fetcher_fetch(void *arg, const char *build_id);
void sw_fetcher_end(struct sw_fetcher *fetcher);

#endif
