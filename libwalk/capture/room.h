/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_ROOM_H
#define SW_CAPTURE_ROOM_H

#include "unwind/capture.h"
#include "stop/stop.h"

#include <sys/uio.h>

enum {
	SW_CAPTURE_PAGE = 4096,
	SW_CAPTURE_BATCH = 1024,             /* ranges in one process_vm_readv(): IOV_MAX */
	SW_CAPTURE_BATCH_BYTES = 16 << 20,   /* bytes in one, so that the deadline is seen */
	SW_CAPTURE_PREFAULT_BYTES = 16384,   /* of a stack, whose pages are there before the stop */
	SW_CAPTURE_UNKNOWN_BYTES = 64 << 10, /* of a stack whose mapping is not known */
};

static inline uint64_t sw_capture_page_up(uint64_t avma)
{
	return (avma + SW_CAPTURE_PAGE - 1) & -(uint64_t) SW_CAPTURE_PAGE;
}

/* One piece of memory to copy. */
struct sw_piece {
	uint64_t avma;
	size_t bytes; /* wanted; then what was read */
	uint8_t *to;
	int32_t thread; /* whose stack this is; -1: a range of its own */
	bool cut;       /* there was more */
};

/* Memory for what is copied in a stop, set aside before it. Stacks are packed one after the other
 * into one large mapping, of which only what is used becomes real. */
struct sw_capture_room {
	struct sw_snapshot *snap; /* borrowed */
	struct sw_stop *stop;     /* borrowed */
	int proc_fd, live_fd;     /* borrowed: /proc/PID, and that of a thread that has memory */
	size_t stack_bytes;       /* most of one stack */
	size_t total_bytes;       /* most of all stacks and wanted ranges */
	size_t used, size;        /* of snap->priv->pool */
	size_t kept;              /* of the pool's end, for the capture hooks */
	struct sw_piece *pieces;  /* owned by the snapshot's arena */
	size_t n_pieces, pieces_max;
	size_t stacks_max;         /* n_pieces may not pass it in the stacks hooks */
	size_t n_found;            /* pieces that were found without those hooks */
	size_t asked;              /* the piece that a hook asked for last: they go by threads */
	size_t n_want, want_bytes; /* the first pieces: what prepare hooks wanted */
	size_t ranges_max;         /* of snap->ranges */
	struct iovec remote[SW_CAPTURE_BATCH];
	const struct sw_map *main_stack; /* borrowed: "[stack]" */
	bool no_vm_readv;                /* it is refused: read mem_fd instead */
	bool room_short;                 /* a range was not copied as there was no room */
	bool out_of_time;
	/* The helper may be killed between any two instructions: how far it got. */
	_Atomic size_t n_copied;   /* pieces of which bytes says what was read */
	_Atomic size_t hooks_done; /* unwinders whose capture hooks are over */
};

/* Sets memory aside for n_threads. Needs no maps yet. */
int sw_capture_room_create(struct sw_snapshot *snap, struct sw_stop *stop,
			   const struct sw_snapshot_options *options, size_t n_threads,
			   struct sw_capture_room **ret, struct sw_error *err);

/* Makes the part of it real that is likely to be used. From any thread. */
void sw_capture_room_warm(struct sw_capture_room *room, size_t n_threads);

/* Once maps and threads are known: runs the unwinders' prepare hooks. */
void sw_capture_room_prepare(struct sw_capture_room *room);

/* sw_stop.stopped: copies stacks and ranges, runs capture hooks. arg is the room. */
void sw_capture_room_fill(void *arg, struct sw_stop *stop);

/* Copies room->pieces, which have their places, until the deadline. Also in the stop. */
void sw_capture_pieces_copy(struct sw_capture_room *room);

/* Target running again: hands the copies to threads and ranges, warns of what is missing, gives
 * unused memory back. */
void sw_capture_room_finish(struct sw_capture_room *room);

#endif
