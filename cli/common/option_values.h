/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OPTION_VALUES_H
#define SW_CLI_OPTION_VALUES_H

#include "common/options.h"

/* A whole number in [low, high], digits only. False with usage filled. */
bool sw_number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *ret,
		     struct sw_usage *usage);
/* "10", "10s", "2m" or "1h", as seconds. */
bool sw_seconds_parse(const char *text, uint32_t high_s, uint32_t *ret_s, struct sw_usage *usage);
bool sw_u32_parse(const char *text, uint32_t low, uint32_t high, uint32_t *ret,
		  struct sw_usage *usage);
/* The index of text in names ("text|json|folded"), or -1 with usage filled. */
int sw_choice_parse(const char *text, const char *names, struct sw_usage *usage);
/* The same as of a number with an optional suffix K, M or G (powers of 1024). */
bool sw_size_parse(const char *text, uint64_t low, uint64_t high, uint64_t *ret,
		   struct sw_usage *usage);
/* Adds a directory to a list that may be given several times; value is kept, not copied. */
bool sw_directory_add(const char ***list, size_t *n, const char *value, struct sw_usage *usage);
/* A hexadecimal address, with or without 0x. */
bool sw_address_parse(const char *text, uint64_t *ret, struct sw_usage *usage);

/*
 * A point in time: "90s", "30m", "2h", "1d" before now_s, or "2026-11-20T10:35:50Z". ret gets it in
 * the latter form, UTC.
 */
enum { SW_SINCE_SIZE = 32 };
bool sw_since_parse(const char *text, int64_t now_s, char ret[static SW_SINCE_SIZE],
		    struct sw_usage *usage);

/* Fills message and remedy; false, so that a failing path is one statement. */
__attribute__((format(printf, 3, 4))) bool sw_usage_fail(struct sw_usage *usage, const char *remedy,
							 const char *fmt, ...);
bool sw_usage_fail_nomem(struct sw_usage *usage);

#endif
