/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_HELD_BPF_H
#define SW_ITERATE_HELD_BPF_H

/*
 * Counts how often handles are acquired more than released, in a table of struct sw_called_held by struct sw_called_handle.
 *
 * Threads may acquire and release one handle at the same instant, as of an object that counts references. A count of 0 does
 * not come back: the CPU that takes it from 1 to 0 takes the entry out of the table, and a CPU that finds a 0 waits until
 * the entry is out.
 *
 * The kernel gives the place of an entry that was taken out to the next one at once, also while another CPU has the address
 * of the old entry. So each entry has a number in the upper half of its count, and a count is changed in two steps: it is
 * read from a place that is the handle's after that, so that the number is that of an entry of the handle, or of one that is
 * no more; and it is changed only where it still has the same number.
 *
 * The file that includes this one declares the helpers of the kernel; a test has others.
 */
#include "iterate/called.h"
#include "iterate/sampled.h"

enum {
	ONLY_NEW = 1,   /* BPF_NOEXIST of linux/bpf.h */
	TABLE_FULL = 7, /* E2BIG */
	TRIES = 32,     /* to change a count that others change at that instant */
	ENTRY_AT = 32,  /* the bit of a count from which on it has the number of the entry */
};

/* Reads the count of an entry. False: the place is another handle's by now. */
static __always_inline bool count_read(void *table, const struct sw_called_handle *key,
				       const struct sw_called_held *held, uint64_t *ret)
{
	*ret = *(const volatile uint64_t *) &held->count;
	return bpf_map_lookup_elem(table, key) == held;
}

/*
 * Adds one to the count of a handle. A handle that is acquired again is counted there: so many releases give it up. NULL: it
 * is not followed, and that is counted.
 */
static __always_inline struct sw_called_held *held_add(void *table,
						       const struct sw_called_handle *key,
						       struct sw_called_setup *called,
						       struct sw_sampled_counts *counts)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t count;
		struct sw_called_held *held = bpf_map_lookup_elem(table, key);
		if (held == NULL) {
			const uint64_t entry = __sync_fetch_and_add(&called->n_entries, 1);
			const struct sw_called_held one = {.count = entry << ENTRY_AT | 1};
			long r = bpf_map_update_elem(table, key, &one, ONLY_NEW);
			if (r == -TABLE_FULL) {
				counts->n_not_held++;
				return NULL;
			}
			if (r == 0)
				return bpf_map_lookup_elem(table, key);
			continue; /* another CPU has it there by now */
		}
		if (count_read(table, key, held, &count) && (uint32_t) count != 0 &&
		    (uint32_t) count != UINT32_MAX &&
		    __sync_val_compare_and_swap(&held->count, count, count + 1) == count)
			return held;
	}
	counts->n_unsure++;
	return NULL;
}

/*
 * Writes down which event has acquired the handle last. time_ns is read before this. Other CPUs may do the same at that
 * instant: the thread is 0 until the time is that of its event. thread: 0, or the one that runs this.
 */
static __always_inline void held_note(struct sw_called_held *held, uint64_t number,
				      uint64_t time_ns, uint64_t thread)
{
	(void) __sync_lock_test_and_set(&held->thread, 0);
	held->number = number;
	*(volatile uint64_t *) &held->time_ns = time_ns;
	(void) __sync_lock_test_and_set(&held->thread, thread);
}

/* Whether the thread, which runs this, has acquired the handle since then, and nobody after it. */
static __always_inline bool held_is_by(struct sw_called_held *held, uint64_t thread,
				       uint64_t since_ns)
{
	if (__sync_fetch_and_add(&held->thread, 0) != thread)
		return false;
	uint64_t time_ns = *(volatile uint64_t *) &held->time_ns;
	/* Nobody else writes this thread: where it is there still, it was there all the time, and the time is of its event. */
	return time_ns >= since_ns && __sync_fetch_and_add(&held->thread, 0) == thread;
}

enum taken_off { NOT_THERE, TAKEN_OFF, UNSURE };

/* Takes one off the count of a handle. *ret: as it was. */
static __always_inline enum taken_off held_take(void *table, const struct sw_called_handle *key,
						struct sw_called_held *ret)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t count;
		struct sw_called_held *held = bpf_map_lookup_elem(table, key);
		if (held == NULL)
			return NOT_THERE;
		if (!count_read(table, key, held, &count))
			continue;
		if ((uint32_t) count == 0)
			return NOT_THERE;
		*ret = *held;
		if (__sync_val_compare_and_swap(&held->count, count, count - 1) != count)
			continue;
		if ((uint32_t) count == 1)
			(void) bpf_map_delete_elem(table, key); /* it is there */
		return TAKEN_OFF;
	}
	return UNSURE;
}

#endif
