/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_SPOOL_H
#define SW_DAEMON_SHIP_SPOOL_H

#include "ship/shared.h"

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The spool: a directory with a file for each batch, and one for each kind with the ids that were sent or given up. Each
 * file is written under another name, made to last by fsync(2) and then renamed, so that after a crash it is whole or not
 * there. A batch goes in this order: its file is there; the receiver has taken it; its ids are in the list; its file is
 * gone. So no id is lost, and a receiver is sent a batch twice only if the crash was between the second and the third, with
 * the same key.
 *
 *	p-00000000000000000017   a batch: "snapwalk-ship/1 KEY BYTES ID ID...\n", and the body of the request
 *	p-done                   ids, one a line, the newest last
 *	d-...                    the same of dumps
 *	lock, status
 */
enum {
	SW_SHIP_ID_MAX = 128,   /* bytes of an id of the daemon */
	SW_SHIP_BATCH_IDS = 64, /* of one batch */
	SW_SHIP_BODY_MAX = 64 << 20,
	SW_SHIP_KEY_SIZE = 33,      /* hexadecimal digits and a NUL */
	SW_SHIP_DONE_MAX = 1 << 18, /* ids that are remembered at least */
};

struct sw_ship_id {
	char text[SW_SHIP_ID_MAX + 1];
};

struct sw_ship_batch {
	char key[SW_SHIP_KEY_SIZE]; /* of its ids: a receiver that knows it takes a batch once */
	struct sw_ship_id ids[SW_SHIP_BATCH_IDS];
	size_t n_ids;
	char *body; /* owned */
	size_t size;
	uint64_t file_bytes;
};
void sw_ship_batch_deinit(struct sw_ship_batch *batch);

/* Whether it can be a name of the daemon's for a dump. */
bool sw_ship_id_valid(const char *id);
/* The batch of a file's bytes, whoever wrote them. 0; -SW_E_FORMAT; -SW_E_NOMEM. */
int sw_ship_batch_parse(const char *data, size_t size, struct sw_ship_batch *ret,
			struct sw_error *err);

struct sw_spool {
	int dir_fd, lock_fd; /* owned */
	uint64_t next[SW_SHIP_KINDS];
};

/* Opens the directory, which must be ours and nobody else's, or makes it. Removes what a crash left, and counts the rest.
 * Nobody else may open it until sw_spool_close(). 0; -SW_E_IO; -SW_E_NOT_PERMITTED; -SW_E_RUNNING: another one has it. */
int sw_spool_open(const char *path, struct sw_ship_shared *shared, struct sw_spool *ret,
		  struct sw_error *err);
void sw_spool_close(struct sw_spool *spool);

/* Bytes that a batch takes. */
uint64_t sw_spool_cost(const struct sw_ship_batch *batch);
/* Adds a batch, and sets its key and file_bytes. 0; -SW_E_IO; -SW_E_NOMEM. Only one process does. */
int sw_spool_add(struct sw_spool *spool, enum sw_ship_kind kind, struct sw_ship_batch *batch,
		 struct sw_error *err);
/* Numbers of the batches that are there, in their order; *ret is the caller's. */
int sw_spool_list(const struct sw_spool *spool, enum sw_ship_kind kind, uint64_t **ret,
		  size_t *ret_n, struct sw_error *err);
/* -SW_E_FORMAT: a damaged file. */
int sw_spool_read(const struct sw_spool *spool, enum sw_ship_kind kind, uint64_t number,
		  struct sw_ship_batch *ret, struct sw_error *err);
/* Notes the ids of a batch and removes it. */
int sw_spool_done(struct sw_spool *spool, enum sw_ship_kind kind, uint64_t number,
		  const struct sw_ship_batch *batch, struct sw_error *err);
/* Puts a damaged file aside; of two such files the later one stays. Returns its bytes. */
uint64_t sw_spool_discard(const struct sw_spool *spool, enum sw_ship_kind kind, uint64_t number);

/* Calls fn() for each id that is done, oldest first, and for each that is in a batch; not 0: the end, and the result. */
typedef int sw_spool_id_fn(void *arg, const char *id);
int sw_spool_known(const struct sw_spool *spool, sw_spool_id_fn *fn, void *arg,
		   struct sw_error *err);

/* Writes a small file of the spool so that it is whole after a crash: what it was, or what it is to be. */
int sw_spool_write(const struct sw_spool *spool, const char *name, const char *text, size_t size,
		   struct sw_error *err);

#endif
