/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "snapshot/read.h"
#include "cleanup.h"
#include "errors.h"
#include "parts.h"
#include "arena.h"
#include "snapshot/side_file.h"

#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

int sw_snapshot_create(struct sw_context *ctx, struct sw_snapshot **ret, struct sw_error *err)
{
	struct sw_snapshot *snap = calloc(1, sizeof(*snap));
	struct sw_snapshot_priv *priv = calloc(1, sizeof(*priv));
	if (snap == NULL || priv == NULL) {
		free(snap);
		free(priv);
		return sw_fail_nomem(err);
	}
	priv->mem_fd = priv->task_fd = -EBADF;
	sw_pages_init(&priv->pages);
	snap->ctx = ctx;
	snap->priv = priv;
	snap->process.exe = "";
	snap->process.cgroup = "";
	snap->process.uptime_ms = -1;
	snap->stopped_why = "";
	*ret = snap;
	return 0;
}

void sw_snapshot_destroy(struct sw_snapshot *snap)
{
	if (snap == NULL)
		return;
	struct sw_snapshot_priv *priv = snap->priv;
	if (priv->borrowed) {
		priv->found = (struct sw_slots){0};
		sw_pages_init(&priv->pages);
	}
	sw_pages_deinit(&priv->pages);
	/* A reader that was left behind may still be told to write there: the memory is given up,
	 * rather than used again. */
	bool keep = priv->pages.left_behind;
	if (priv->pool != NULL && !keep)
		(void) munmap(priv->pool, priv->pool_bytes); /* ours, cannot fail */
	if (priv->copier_pool != NULL && !keep)
		(void) munmap(priv->copier_pool, priv->copier_pool_bytes); /* likewise */
	if (priv->file != NULL)
		(void) munmap(priv->file, priv->file_bytes);
	sw_slots_deinit(&priv->found); /* it may point into what is freed below */
	sw_side_files_destroy(priv->side);
	sw_close_p(&priv->mem_fd);
	sw_map64_deinit(&priv->live_by_page);
	free(priv->live);
	if (!keep)
		sw_arena_deinit(&priv->arena);
	free(snap->warnings);
	free(priv);
	free(snap);
}

void sw_snapshot_warn(struct sw_snapshot *snap, enum sw_warning_code code, pid_t tid, int reason,
		      const char *fmt, ...)
{
	struct sw_snapshot_priv *priv = snap->priv;
	if (snap->n_warnings >= SW_WARNINGS_MAX)
		return;
	struct sw_warning *w =
		sw_grow(snap->warnings, snap->n_warnings, &priv->warnings_capacity, 8, sizeof(*w));
	if (w == NULL)
		return;
	snap->warnings = w;
	char message[SW_ERROR_MESSAGE_MAX];
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(message, sizeof(message), fmt, ap); /* cut is fine: it is prose */
	va_end(ap);
	const char *kept = sw_arena_strdup(&priv->arena, message);
	if (kept != NULL)
		snap->warnings[snap->n_warnings++] = (struct sw_warning){.code = code,
									 .tid = tid,
									 .reason = reason,
									 .message = kept};
}

void sw_snapshot_warn_limits(struct sw_snapshot *snap)
{
	struct sw_snapshot_priv *priv = snap->priv;
	for (; priv->n_limits_warned < priv->n_limits; priv->n_limits_warned++)
		sw_snapshot_warn(snap, SW_WARN_LIMIT, 0, SW_E_LIMIT, "%s",
				 priv->limits[priv->n_limits_warned]);
}

const char *sw_snapshot_limit(const struct sw_snapshot *snap, size_t i)
{
	const struct sw_snapshot_priv *priv = snap->priv;
	size_t left = priv->n_limits - priv->n_limits_warned;
	return i < left ? priv->limits[priv->n_limits_warned + i] : NULL;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_threads(const void *a, const void *b)
{
	const struct sw_thread *x = a, *y = b;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int compare_maps(const void *a, const void *b)
{
	const struct sw_map *x = a, *y = b;
	return compare_u64(x->start_avma, y->start_avma);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct sw_range *x = a, *y = b;
	return compare_u64(x->start_avma, y->start_avma);
}

void sw_snapshot_index_threads(struct sw_snapshot *snap)
{
	if (snap->n_threads > 0)
		qsort(snap->threads, snap->n_threads, sizeof(*snap->threads), compare_threads);
	if (snap->n_ranges > 0)
		qsort(snap->ranges, snap->n_ranges, sizeof(*snap->ranges), compare_ranges);
	sw_snapshot_index_copies(snap);
}

void sw_snapshot_index(struct sw_snapshot *snap)
{
	sw_snapshot_index_threads(snap);
	/* Places are indices held by maps: sw_snapshot_find_places() made them in map order. */
	if (snap->n_maps == 0)
		return;
	qsort(snap->maps, snap->n_maps, sizeof(*snap->maps), compare_maps);
	size_t kept = 0;
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *m = &snap->maps[i];
		if (m->start_avma >= m->end_avma)
			continue;
		if (kept > 0 && m->start_avma < snap->maps[kept - 1].end_avma)
			continue; /* only a hostile fixture or core has overlaps: the first one wins */
		snap->maps[kept++] = *m;
	}
	snap->n_maps = kept;
}

const struct sw_map *sw_snapshot_map(const struct sw_snapshot *snap, uint64_t avma)
{
	size_t low = 0, high = snap->n_maps;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (snap->maps[middle].end_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == snap->n_maps || avma < snap->maps[low].start_avma)
		return NULL;
	return &snap->maps[low];
}

bool sw_snapshot_has_kind(const struct sw_snapshot *snap, enum sw_module_kind kind)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (sw_module_kind(snap->places[i].module) == kind)
			return true;
	return false;
}

/* "[uprobes]", "[uprobes-trampoline]": the kernel executes there what tools have probed. */
static bool is_of_probes(const struct sw_map *map)
{
	return sw_begins_with(map->path, "[uprobes");
}

bool sw_snapshot_has_made_code(const struct sw_snapshot *snap)
{
	if (snap->priv->native_only || snap->priv->unpublished)
		return false;
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (!(map->prot & SW_MAP_EXEC) || map->start_avma > INT64_MAX || /* [vsyscall] */
		    is_of_probes(map))
			continue;
		const struct sw_place *place =
			map->place >= 0 && (size_t) map->place < snap->n_places
				? &snap->places[map->place]
				: NULL;
		/* Memory files look like ELF files that are gone to a reader who may not open
		 * them. */
		if (place == NULL || sw_module_kind(place->module) == SW_MODULE_ANON ||
		    sw_map_is_memfd(map))
			return true;
	}
	return false;
}

const struct sw_place *sw_snapshot_place(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	if (map == NULL || map->place < 0 || (size_t) map->place >= snap->n_places)
		return NULL;
	return &snap->places[map->place];
}

const struct sw_thread *sw_snapshot_thread(const struct sw_snapshot *snap, pid_t tid)
{
	struct sw_thread key = {.tid = tid};
	if (snap->n_threads == 0)
		return NULL;
	return bsearch(&key, snap->threads, snap->n_threads, sizeof(key), compare_threads);
}

const char *sw_warning_name(enum sw_warning_code code)
{
	switch (code) {
	case SW_WARN_STOP_TIMEOUT: return "stop_timeout";
	case SW_WARN_THREAD_MISSING: return "thread_missing";
	case SW_WARN_INTERRUPTED: return "interrupted_call";
	case SW_WARN_STACK_LIMIT: return "stack_limit";
	case SW_WARN_MEMORY: return "memory_unreadable";
	case SW_WARN_MODULE: return "module_unusable";
	case SW_WARN_PARTIAL: return "partial_input";
	case SW_WARN_CAPTURE: return "capture_incomplete";
	case SW_WARN_TIMEOUT: return "timeout";
	case SW_WARN_RUNTIME: return "runtime";
	case SW_WARN_PROGRAM: return "other_program";
	case SW_WARN_LIMIT: return "limit_reached";
	}
	return "unknown";
}
