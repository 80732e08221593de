/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_STORE_PARTS_H
#define SW_DAEMON_STORE_PARTS_H

#include "store_index.h"
#include "cleanup.h"

#include <sys/stat.h>

/* The inside of the store: store.c opens, keeps and reads; store_room.c makes room, store_scan.c looks
 * through the directory. */

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

/* Fills the index; removes what was never whole. */
int sw_store_scan(struct sw_store *store, struct sw_error *err);

/*
 * KeepFree=: old dumps go when that helps. When all of them together would not make the room,
 * somebody else has filled the disk; throwing dumps away would lose them for nothing.
 * -SW_E_LIMIT: there would be less than KeepFree=; -SW_E_IO: a file cannot be removed.
 */
int sw_store_make_free(struct sw_store *store, uint64_t more);

/* MaxUse= and MaxFiles=, with room for what is to come. -SW_E_IO as above. */
int sw_store_make_room(struct sw_store *store, uint64_t more_bytes, size_t more_files);

#endif
