/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef STORE_CASE_H
#define STORE_CASE_H

#include "store/dumps.h"
#include "store/file.h"

/* A store in a directory of its own. */
struct store_case {
	char dir[64];
	struct sw_config config;
	int64_t now_ns;
};

struct store_case store_case_make(void);
void store_case_clock(struct store_case *f); /* sets now_ns */
struct sw_store *store_case_open(struct store_case *f);
void store_case_remove(struct store_case *f);

struct sw_store_entry store_case_entry(const char *id, int64_t time_ns);
/* Text that does not get smaller. */
void store_case_random(char *to, size_t size, uint64_t seed);
/* Keeps random text; tells whether it is there and whole. */
void store_case_put(struct sw_store *store, const char *id, int64_t time_ns, size_t size);
bool store_case_has(struct sw_store *store, const char *id, size_t size, int64_t time_ns);
/* The names of the files, sorted, a blank behind each. */
void store_case_names(const char *dir, char *ret, size_t size);

#endif
