/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Both sides are one program: structures are as they are in memory, but for their pointers. */
#include "sample/handed.h"
#include "bytes.h"
#include "cleanup.h"
#include "errors.h"
#include "sample/borrowed.h"
#include "snapshot/snapshot.h"

#include <string.h>

struct head {
	struct sw_sample sample; /* without its pointers */
	bool with_snap;
	int64_t snap_time_ns;
	size_t n_threads, n_ranges;
};

enum { PARTS_MAX = 65536 }; /* changes, threads, ranges: of each */

void sw_handed_deinit(struct sw_handed *h)
{
	if (h->snap != NULL) {
		/* The arrays of the snapshot are not its own. */
		h->snap->threads = NULL;
		h->snap->ranges = NULL;
		h->snap->n_threads = h->snap->n_ranges = 0;
	}
	sw_borrowed_destroy(h->snap, false);
	free(h->bytes);
	free(h->changes);
	free(h->threads);
	free(h->ranges);
	*h = (struct sw_handed){0};
}

/* ---- pack ------------------------------------------------------------------------------------ */

static void put(uint8_t **at, const void *from, size_t size)
{
	if (size > 0)
		memcpy(*at, from, size);
	*at += size;
}

static size_t size_of(const struct sw_sample *sample)
{
	size_t size = sizeof(struct head) + sample->n_changes * sizeof(*sample->changes);
	const struct sw_snapshot *snap = sample->snap;
	if (snap == NULL)
		return size;
	size += snap->n_threads * sizeof(*snap->threads) + snap->n_ranges * sizeof(*snap->ranges);
	for (size_t i = 0; i < snap->n_threads; i++)
		size += snap->threads[i].stack_bytes;
	for (size_t i = 0; i < snap->n_ranges; i++)
		size += snap->ranges[i].bytes;
	return size;
}

static void snapshot_put(const struct sw_snapshot *snap, uint8_t **at)
{
	for (size_t i = 0; i < snap->n_threads; i++) {
		struct sw_thread t = snap->threads[i];
		t.stack = NULL;
		t.wait_for = NULL;
		t.kernel = NULL;
		t.copy = NULL;
		put(at, &t, sizeof(t));
	}
	for (size_t i = 0; i < snap->n_threads; i++)
		put(at, snap->threads[i].stack, snap->threads[i].stack_bytes);
	for (size_t i = 0; i < snap->n_ranges; i++) {
		struct sw_range range = snap->ranges[i];
		range.data = NULL;
		put(at, &range, sizeof(range));
	}
	for (size_t i = 0; i < snap->n_ranges; i++)
		put(at, snap->ranges[i].data, snap->ranges[i].bytes);
}

int sw_handed_pack(struct sw_handed *h, const struct sw_sample *sample, const void **ret,
		   size_t *ret_size, struct sw_error *err)
{
	size_t size = size_of(sample);
	const struct sw_snapshot *snap = sample->snap;
	if (size > SW_SAMPLE_BYTES_MAX || sample->n_changes > PARTS_MAX ||
	    (snap != NULL && (snap->n_threads > PARTS_MAX || snap->n_ranges > PARTS_MAX)))
		return sw_fail(err, SW_E_LIMIT, "a sample of %zu bytes", size);
	if (size > h->bytes_max) {
		uint8_t *grown = realloc(h->bytes, size + size / 2);
		if (grown == NULL)
			return sw_fail_nomem(err);
		h->bytes = grown;
		h->bytes_max = size + size / 2;
	}
	struct head head = {.sample = *sample, .with_snap = snap != NULL};
	head.sample.snap = NULL;
	head.sample.changes = NULL;
	if (snap != NULL) {
		head.snap_time_ns = snap->time_ns;
		head.n_threads = snap->n_threads;
		head.n_ranges = snap->n_ranges;
	}
	uint8_t *at = h->bytes;
	put(&at, &head, sizeof(head));
	put(&at, sample->changes, sample->n_changes * sizeof(*sample->changes));
	if (snap != NULL)
		snapshot_put(snap, &at);
	*ret = h->bytes;
	*ret_size = size;
	return 0;
}

/* ---- unpack ---------------------------------------------------------------------------------- */

struct rest {
	const uint8_t *at;
	size_t left;
};

/* NULL: there are not so many left. */
static const uint8_t *take(struct rest *rest, size_t n, size_t size)
{
	const uint8_t *at = rest->at;
	if (size != 0 && n > rest->left / size)
		return NULL;
	rest->at += n * size;
	rest->left -= n * size;
	return at;
}

/* Copied: what is in the bytes need not be aligned. */
static bool array_take(struct rest *rest, void *to, size_t *max, size_t n, size_t size)
{
	void **array = to;
	const uint8_t *from = n <= PARTS_MAX ? take(rest, n, size) : NULL;
	if (from == NULL)
		return false;
	if (n > *max) {
		void *grown = reallocarray(*array, n + n / 2, size);
		if (grown == NULL)
			return false;
		*array = grown;
		*max = n + n / 2;
	}
	if (n > 0)
		memcpy(*array, from, n * size);
	return true;
}

static bool snapshot_take(struct sw_handed *h, const struct head *head, struct rest *rest)
{
	struct sw_snapshot *snap = h->snap;
	if (!array_take(rest, &h->threads, &h->threads_max, head->n_threads, sizeof(*h->threads)))
		return false;
	for (size_t i = 0; i < head->n_threads; i++) {
		struct sw_thread *t = &h->threads[i];
		t->stack = take(rest, t->stack_bytes, 1);
		if (t->stack == NULL)
			return false;
	}
	if (!array_take(rest, &h->ranges, &h->ranges_max, head->n_ranges, sizeof(*h->ranges)))
		return false;
	for (size_t i = 0; i < head->n_ranges; i++) {
		h->ranges[i].data = take(rest, h->ranges[i].bytes, 1);
		if (h->ranges[i].data == NULL)
			return false;
	}
	snap->threads = h->threads;
	snap->n_threads = head->n_threads;
	snap->ranges = h->ranges;
	snap->n_ranges = head->n_ranges;
	snap->time_ns = head->snap_time_ns;
	sw_snapshot_index_threads(snap);
	return true;
}

int sw_handed_unpack(struct sw_handed *h, const void *bytes, size_t size, struct sw_sample *ret,
		     struct sw_error *err)
{
	struct rest rest = {.at = bytes, .left = size};
	struct head head;
	const uint8_t *first = take(&rest, 1, sizeof(head));
	if (first == NULL)
		return sw_fail(err, SW_E_FORMAT, "a sample is cut");
	memcpy(&head, first, sizeof(head));
	if (!array_take(&rest, &h->changes, &h->changes_max, head.sample.n_changes,
			sizeof(*h->changes)) ||
	    (head.with_snap && !snapshot_take(h, &head, &rest)) || rest.left != 0)
		return sw_fail(err, SW_E_FORMAT, "a sample is not what was packed");
	*ret = head.sample;
	ret->changes = h->changes;
	ret->snap = head.with_snap ? h->snap : NULL;
	return 0;
}
