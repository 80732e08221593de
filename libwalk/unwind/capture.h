/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_H
#define SW_CAPTURE_H

#include <snapwalk/walk.h>

/*
 * What unwinders' prepare and capture hooks may do. The target's memory is copied into room that
 * was set aside before the stop; when the room is used up, copies fail and a warning says so.
 */
struct sw_capture {
	const struct sw_snapshot *snap; /* maps, places and threads as known so far; in capture()
					      also the threads' registers */
	struct sw_capture_room *room;   /* capture/room.h */
	void **state; /* the unwinder's own from hook to hook, NULL at first; what it points to
			 comes from snap->priv->arena, and stays in snap->priv->hook_states */
};

/* prepare(): this range will be copied in the stop. Bounded by SW_CAPTURE_WANT_BYTES in all. */
int sw_capture_want(struct sw_capture *capture, uint64_t avma, size_t bytes);

/*
 * stacks(): a further stack of a thread, in use from sp_avma up to end_avma: will be copied like its
 * own one (its red zone too, at most --stack-bytes from the lower end). False when there is none, or
 * when SW_CAPTURE_STACKS for each thread are used up.
 */
bool sw_capture_stack(struct sw_capture *capture, uint64_t sp_avma, uint64_t end_avma);

/*
 * stacks(): the stack that the sp of threads[thread] is on ends at end_avma, if its mapping does not
 * end before; the caller adds what else of the thread's stacks is in use.
 */
void sw_capture_stack_known(struct sw_capture *capture, size_t thread, uint64_t end_avma);

/* capture(): copy [avma, avma + bytes) now; *ret_data is the copy, which will be one of the
 * snapshot's ranges. False when it cannot be read or the room is used up. */
bool sw_capture_copy(struct sw_capture *capture, uint64_t avma, size_t bytes,
		     const uint8_t **ret_data);

/* capture(): what lies in one range that was wanted, and was copied. buffer may be NULL. */
bool sw_capture_wanted(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes);

/* stacks(), capture(): read without keeping, to follow a pointer. */
bool sw_capture_read(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes);

/* One of many reads. */
struct sw_capture_read {
	uint64_t avma;
	void *buffer;
	size_t bytes;
	bool ok; /* out */
};

/* The same for many at once, which costs one system call for up to SW_CAPTURE_READS of them. */
void sw_capture_read_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n);

enum {
	SW_CAPTURE_READS = 64,
	SW_CAPTURE_WANT_BYTES = 1 << 20, /* of all prepare hooks together */
	SW_CAPTURE_ROOM_BYTES =
		4 << 20,          /* of all capture hooks together, reserved before the stop */
	SW_CAPTURE_RANGES = 4096, /* ranges in one snapshot */
	SW_CAPTURE_STACKS = 4,    /* further stacks of each thread, on average */
};

#endif
