/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_STORE_DIRECTORY_H
#define SW_DAEMON_STORE_DIRECTORY_H

#include "store/index.h"
#include "cleanup.h"

#include <sys/stat.h>

/* The inside of the store. */

#define SW_STORE_SUFFIX    ".json.zst"
#define SW_STORE_TEMPORARY ".new-"

enum {
	SW_STORE_NAME_BYTES =
		sizeof(SW_STORE_TEMPORARY) + SW_STORE_ID_MAX + sizeof(SW_STORE_SUFFIX),
	SW_STORE_FRAME_BYTES = 8, /* before the head's text */
};

struct sw_store {
	int dir_fd; /* owned */
	char *path; /* owned; for messages */
	struct sw_store_index index;
	uint64_t max_use, keep_free, max_age_s;
	uint64_t dump_bytes_max;
	uint32_t max_files;
};

SW_DEFINE_CLEANUP(struct sw_store_head *, sw_store_head_free);

/* prefix "" or SW_STORE_TEMPORARY. */
void sw_store_name_print(char name[SW_STORE_NAME_BYTES], const char *prefix, const char *id);

/* A regular file, and no waiting for a fifo. -1 with errno. */
int sw_store_file_open(const struct sw_store *store, const char *name, struct stat *ret_stat);

/*
 * Removes a dump's file, and it from the index; one that somebody else has removed, too. A pin goes
 * before it: of a removal that is interrupted no pin without a dump is left. False with errno: it is
 * still there.
 */
bool sw_store_drop(struct sw_store *store, size_t at);

/* Fills the index; removes what was never whole. */
int sw_store_scan(struct sw_store *store, struct sw_error *err);

#endif
