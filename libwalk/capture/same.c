/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May run while threads of the target are STOPPED: tests/held.sh looks at what it calls. */
#include "capture/same.h"
#include "capture/copy.h"
#include "snapshot/snapshot.h"

#include <string.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo; RFC 9923), by bytes. */
static uint64_t hash_of(const uint8_t *data, size_t bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* A runtime may be asked as there is generated code, and have found that the process is none of its own. */
static bool no_runtimes(const struct sw_capture_space *space)
{
	for (size_t i = 0; i < space->n_hooks; i++)
		if (space->hooks[i].is_runtime && *space->hooks[i].found != NULL)
			return false;
	return true;
}

void sw_capture_same_begin(struct sw_capture_space *space)
{
	space->n_notes = space->noted_bytes = 0;
	space->notes_full = !no_runtimes(space);
}

void sw_capture_same_note(struct sw_capture_space *space, const struct sw_capture_read *reads,
			  size_t n)
{
	for (size_t i = 0; i < n && !space->notes_full; i++) {
		/* A read that failed found nothing there, and may find something now. */
		space->notes_full = !reads[i].ok || space->n_notes == SW_CAPTURE_NOTES ||
				    reads[i].bytes > SW_CAPTURE_AGAIN_BYTES ||
				    reads[i].bytes > SW_CAPTURE_AGAIN_MAX - space->noted_bytes;
		if (space->notes_full)
			return;
		space->noted_bytes += reads[i].bytes;
		space->notes[space->n_notes++] =
			(struct sw_capture_note){reads[i].avma,
						 hash_of(reads[i].buffer, reads[i].bytes),
						 reads[i].bytes};
	}
}

/* Reads of one system call, and what they have to be. */
struct batch {
	struct sw_capture_space *space;
	struct sw_capture_read reads[SW_CAPTURE_READS];
	const uint8_t *data[SW_CAPTURE_READS]; /* NULL: by the hash */
	uint64_t hash[SW_CAPTURE_READS];
	size_t n, bytes, total;
};

static bool batch_is_same(struct batch *b)
{
	struct sw_capture capture = {.arg = b->space};
	if (sw_capture_is_over(&capture))
		return false;
	sw_capture_reads_make(b->space, b->reads, b->n);
	for (size_t i = 0; i < b->n; i++) {
		const struct sw_capture_read *r = &b->reads[i];
		if (!r->ok)
			return false;
		if (b->data[i] != NULL ? memcmp(r->buffer, b->data[i], r->bytes) != 0
				       : hash_of(r->buffer, r->bytes) != b->hash[i])
			return false;
	}
	b->n = b->bytes = 0;
	return true;
}

/* bytes: at most SW_CAPTURE_AGAIN_BYTES. */
static bool one_add(struct batch *b, uint64_t avma, size_t bytes, const uint8_t *data,
		    uint64_t hash)
{
	if ((b->n == SW_CAPTURE_READS || bytes > SW_CAPTURE_AGAIN_BYTES - b->bytes) &&
	    !batch_is_same(b))
		return false;
	b->reads[b->n] = (struct sw_capture_read){avma, b->space->again + b->bytes, bytes, false};
	b->data[b->n] = data;
	b->hash[b->n++] = hash;
	b->bytes += bytes;
	b->total += bytes;
	return b->total <= SW_CAPTURE_AGAIN_MAX;
}

static bool wanted_add(struct batch *b, const struct sw_capture_part *p)
{
	if (p->bytes < p->wanted_bytes || p->absent)
		return false;
	for (size_t at = 0; at < p->bytes;) {
		size_t bytes = p->bytes - at;
		if (bytes > SW_CAPTURE_AGAIN_BYTES)
			bytes = SW_CAPTURE_AGAIN_BYTES;
		if (!one_add(b, p->avma + at, bytes, p->to + at, 0))
			return false;
		at += bytes;
	}
	return true;
}

bool sw_capture_same(struct sw_capture_space *space)
{
	/* Further stacks are those of threads; what had no space is not there to be compared. */
	if (space->notes_full || !no_runtimes(space) || space->n_hooked > 0 || space->space_short)
		return false;
	struct batch b = {.space = space};
	for (size_t i = 0; i < space->n_want; i++)
		if (!wanted_add(&b, &space->parts[i]))
			return false;
	for (size_t i = 0; i < space->n_notes; i++) {
		const struct sw_capture_note *n = &space->notes[i];
		if (!one_add(&b, n->avma, n->bytes, NULL, n->hash))
			return false;
	}
	return batch_is_same(&b);
}
