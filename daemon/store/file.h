/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_STORE_FILE_H
#define SW_DAEMON_STORE_FILE_H

#include "store/dumps.h"

/*
 * A stored dump as bytes (RFC 8878, zstd format specification 0.4.0):
 *
 *	skippable frame (§3.1.2)  magic 0x184D2A50, size, JSON text of the head:
 *	                          {"snapwalk_store":1,"id":…,"uid":4294967295,"by":…,"alert":0,"pid":…,
 *	                           "comm":…,"time_ns":…,"bytes":…,
 *	                           "target":{"ids":[…],"cap_permitted":…,"user_ns":…,
 *	                                     "dumpable":1,"mixed":0,"comm":…,"exe":…},
 *	                           "summary":{…}}
 *	zstd frame (§3.1.1)       the dump, with its size and checksum
 *
 * "target" is the process as it was captured: its six ids (users, groups; real, effective, saved), the
 * inode of its user namespace, 0 for another than the daemon's, and its names as bytes, with %XX for
 * what is not printable ASCII and for '%'. Earlier versions decided by "uid" alone who may see a dump:
 * such a version shows a file of this one to the privileged only, and so does this one such a file.
 * "mixed" is SW_MIXED_*. Version 0.2.0 wrote 1 (SW_MIXED_USERS) for any difference in rights: uid: words of
 * Deny= mean such a file, as they did. It takes no file with SW_MIXED_OTHERS.
 *
 * `zstd -dc ID.json.zst` prints the dump: decoders step over the first.
 */
enum {
	SW_STORE_HEAD_MAX = 64 * 1024, /* JSON text of the head */
	SW_STORE_HEAD_DEPTH_MAX = 16,
	SW_STORE_ID_MAX = 64,
};

/* 1 to 64 of [0-9A-Za-z.-], the first one no dot: fit to be a file's name, never a path. */
bool sw_store_id_valid(const char *id);

struct sw_store_head {
	struct sw_store_entry entry; /* its strings are in text */
	char *text;                  /* owned */
};
void sw_store_head_deinit(struct sw_store_head *head);

/* The whole file. *ret is malloc'ed. -SW_E_INVALID: id or summary; -SW_E_LIMIT; -SW_E_NOMEM. */
int sw_store_encode(const struct sw_store_entry *entry, const char *json, size_t size,
		    char **ret_file, size_t *ret_size, struct sw_error *err);
/* The head, from the first bytes of a file (at most the first 8 + SW_STORE_HEAD_MAX are looked at).
 * -SW_E_FORMAT, -SW_E_NOMEM. */
int sw_store_head_parse(const void *data, size_t size, struct sw_store_head *ret,
			struct sw_error *err);
/* The dump, malloc'ed and with a NUL behind it. -SW_E_FORMAT; -SW_E_LIMIT: larger than max;
 * -SW_E_NOMEM. */
int sw_store_decode(const void *data, size_t size, size_t max, char **ret_json, size_t *ret_size,
		    struct sw_error *err);

#endif
