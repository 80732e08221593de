/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_STORE_DUMPS_H
#define SW_DAEMON_STORE_DUMPS_H

#include "config/settings.h"
#include "policy/authorize.h"

#include <sys/types.h>

/*
 * Dumps on disk: STATE/ID.json.zst, written whole by rename, bounded by MaxUse, KeepFree, MaxAge,
 * MaxFiles, which remove none that has a file ID.pin beside it. An index of summaries is kept in memory, from the files' names and headers: a summary
 * is stored as a zstd skippable frame before the dump, so that listing decompresses nothing.
 */
struct sw_store;

struct sw_store_entry {
	const char *id;      /* the store's */
	const char *summary; /* JSON text of io.snapwalk's Summary; the store's */
	/* The process as it was when it was captured: who may see the dump, by sw_authorize(). Its
	 * strings are the store's. */
	struct sw_subject subject;
	uid_t by;        /* who asked for it: whose share of the space it takes */
	bool alert;      /* a rule asked for it */
	bool pinned;     /* no limit removes it */
	uid_t pinned_by; /* who wanted that; the rest is as it was when the dump was kept */
	pid_t pid;
	const char *comm; /* the store's */
	int64_t time_ns;  /* CLOCK_REALTIME of the dump */
	uint64_t file_bytes;
	uint64_t dump_bytes; /* as JSON; set by the store, as file_bytes */
};

/* Opens or makes the directory (0750), reads its index, drops what is too old. Files that are no
 * dumps of ours are left alone. */
int sw_store_open(const struct sw_config *config, struct sw_store **ret, struct sw_error *err);
void sw_store_close(struct sw_store *store);
void sw_store_reconfigure(struct sw_store *store, const struct sw_config *config);

/* Keep a dump; makes space first: the oldest of the user who has most goes, and the dumps of alerts stay
 * for those of users, as long as they take no more than half of MaxUse= and MaxFiles=. A full disk is an error, loses only this dump, and leaves nothing
 * half written. -SW_E_IO, -SW_E_LIMIT (larger than MaxUse), -SW_E_NOMEM. */
int sw_store_put(struct sw_store *store, const struct sw_store_entry *entry, const char *json,
		 size_t size, struct sw_error *err);
/* The dump's JSON, malloc'ed. -SW_E_NOT_FOUND, -SW_E_IO, -SW_E_FORMAT (damaged, or the file is that of
 * another dump), -SW_E_LIMIT. */
int sw_store_get(struct sw_store *store, const char *id, char **ret_json, size_t *ret_size,
		 struct sw_error *err);
/* Remove a dump; the caller has checked the permission: policy/authorize.h. -SW_E_NOT_FOUND,
 * -SW_E_IO. */
int sw_store_remove(struct sw_store *store, const char *id, struct sw_error *err);
/* Entries, newest first, valid until the next call that changes the store; index 0.. sw_store_count()-1. */
size_t sw_store_count(const struct sw_store *store);
const struct sw_store_entry *sw_store_entry(const struct sw_store *store, size_t index);
const struct sw_store_entry *sw_store_find(const struct sw_store *store, const char *id);
uint64_t sw_store_bytes(const struct sw_store *store);
/* The directory; the store's. */
const char *sw_store_path(const struct sw_store *store);

#endif
