/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/live.h"
#include "cleanup.h"
#include "arena.h"
#include "snapshot/read.h"
#include "snapshot/read_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

/* All of it from /proc/PID/mem, or false. */
static bool mem_read(struct sw_snapshot_priv *priv, uint64_t avma, uint8_t *to, size_t length)
{
	if (sw_pages_read(&priv->pages, priv->mem_fd, to, length, avma) == length)
		return true;
	/* The end is what proc(5)'s mem gives when the address space is gone: the process has exited or
	 * become another program. */
	if (errno == 0 || errno == ESRCH)
		priv->live_dead = true;
	return false;
}

static bool space_for_one(struct sw_snapshot_priv *priv)
{
	struct sw_range *grown =
		sw_grow(priv->live, priv->n_live, &priv->live_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return false;
	priv->live = grown;
	return true;
}

/* The kept copy of the page at page_avma, read now if need be; NULL when that cannot be. */
static const uint8_t *page_get(struct sw_snapshot_priv *priv, uint64_t page_avma)
{
	uint64_t index;
	if (sw_map64_get(&priv->live_by_page, page_avma, &index))
		return priv->live[index].data;
	if (priv->live_dead || priv->n_live >= SW_LIVE_PAGES_MAX || !space_for_one(priv))
		return NULL;
	uint8_t buffer[PAGE_BYTES];
	if (!mem_read(priv, page_avma, buffer, sizeof(buffer)))
		return NULL;
	uint8_t *copy = sw_arena_alloc(&priv->arena, sizeof(buffer));
	if (copy == NULL || sw_map64_put(&priv->live_by_page, page_avma, priv->n_live) < 0)
		return NULL;
	memcpy(copy, buffer, sizeof(buffer));
	priv->live[priv->n_live++] = (struct sw_range){page_avma, sizeof(buffer), copy};
	return copy;
}

bool sw_live_read(const struct sw_snapshot *snap, uint64_t avma, void *buffer, size_t length)
{
	struct sw_snapshot_priv *priv = snap->priv;
	uint8_t *to = buffer;
	uint64_t end;
	if (priv->read_log != NULL)
		priv->read_log->broken = true;
	if (priv->mem_fd < 0 || __builtin_add_overflow(avma, length, &end) || end > INT64_MAX)
		return false;
	while (length > 0) {
		size_t skip = avma % PAGE_BYTES, n = PAGE_BYTES - skip;
		if (n > length)
			n = length;
		/* Memory that is read for one copy at an event is old for the next. */
		const uint8_t *page = !priv->by_copies ? page_get(priv, avma - skip) : NULL;
		if (page != NULL)
			memcpy(to, page + skip, n);
		else if (priv->live_dead || !mem_read(priv, avma, to, n))
			return false;
		avma += n;
		to += n;
		length -= n;
	}
	return true;
}

bool sw_live_peek(const struct sw_snapshot *snap, uint64_t avma, void *buffer, size_t length)
{
	struct sw_snapshot_priv *priv = snap->priv;
	uint64_t end;
	return priv->mem_fd >= 0 && !__builtin_add_overflow(avma, length, &end) &&
	       end <= INT64_MAX && mem_read(priv, avma, buffer, length);
}

static bool peek(void *arg, uint64_t avma, void *buffer, size_t length)
{
	return sw_live_peek(arg, avma, buffer, length);
}

struct sw_memory sw_live_memory(const struct sw_snapshot *snap)
{
	static const struct sw_memory_ops ops = {.read = peek};
	return (struct sw_memory){&ops, (void *) snap}; /* peek() takes it as const again */
}

/* The parts of [range) that no copy holds: copies were taken in the stop and go before. */
static bool uncovered_each(const struct sw_snapshot *snap, struct sw_range range,
			   bool (*each)(void *arg, const struct sw_range *range), void *arg)
{
	const struct sw_snapshot_priv *priv = snap->priv;
	while (range.bytes > 0) {
		size_t i = sw_snapshot_copy_find(snap, range.start_avma), skip, n = range.bytes;
		const struct sw_range *copy = i < priv->n_copies ? &priv->copies[i] : NULL;
		bool inside = copy != NULL && copy->start_avma <= range.start_avma;
		if (inside) {
			uint64_t left = copy->start_avma + copy->bytes - range.start_avma;
			skip = left < range.bytes ? (size_t) left : range.bytes;
		} else {
			if (copy != NULL && copy->start_avma - range.start_avma < n)
				n = (size_t) (copy->start_avma - range.start_avma);
			struct sw_range part = {range.start_avma, n, range.data};
			if (!each(arg, &part))
				return false;
			skip = n;
		}
		range.start_avma += skip;
		range.data += skip;
		range.bytes -= skip;
	}
	return true;
}

bool sw_live_each(const struct sw_snapshot *snap,
		  bool (*each)(void *arg, const struct sw_range *range), void *arg)
{
	const struct sw_snapshot_priv *priv = snap->priv;
	for (size_t i = 0; i < priv->n_live; i++)
		if (!uncovered_each(snap, priv->live[i], each, arg))
			return false;
	return true;
}
