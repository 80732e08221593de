/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens fixtures and goes from line to line; what they say is in saved/fixture_records.c. All is counted
 * before space is made, and the file lies mapped as it was recorded.
 */
#include "snapshot/snapshot.h"
#include "cleanup.h"
#include "errors.h"
#include "saved/crash.h"
#include "saved/fixture_load.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { TEXT_MAX = 256 << 20 }; /* bytes of the text; a map has about 100 */

SW_DEFINE_CLEANUP(struct sw_snapshot *, sw_snapshot_destroy);

/* Goes to the next line and its keyword's record (NULL: unknown). False at the end of the text. */
static bool line_next(const char **p, const char *end, struct sw_fixture_line *line,
		      const struct sw_fixture_record **ret)
{
	if (*p >= end)
		return false;
	const char *stop = memchr(*p, '\n', (size_t) (end - *p));
	*line = (struct sw_fixture_line){.p = *p, .end = stop != NULL ? stop : end};
	*p = line->end + 1;
	size_t size;
	const char *word = sw_fixture_word(line, &size);
	line->bad = false; /* an empty line is no error */
	*ret = sw_fixture_record_find(word, size);
	return true;
}

static int make_room(struct sw_fixture_loader *l, const struct sw_text *text, struct sw_error *err)
{
	struct sw_fixture_counts counts = {0};
	struct sw_fixture_line line;
	const struct sw_fixture_record *record;
	for (const char *p = text->data, *end = p + text->size;
	     line_next(&p, end, &line, &record);) {
		if (record == NULL || record->count_off == SIZE_MAX)
			continue;
		size_t *count = (size_t *) ((char *) &counts + record->count_off);
		if (++*count > record->max)
			return sw_fail(err, SW_E_LIMIT, "%s: more than %zu lines '%s'",
				       l->directory, record->max, record->keyword);
	}
	struct sw_snapshot *snap = l->snap;
	struct sw_arena *arena = &snap->priv->arena;
	snap->threads = sw_arena_calloc(arena, counts.threads, sizeof(*snap->threads));
	snap->ranges = sw_arena_calloc(arena, counts.ranges, sizeof(*snap->ranges));
	snap->places = sw_arena_calloc(arena, counts.places, sizeof(*snap->places));
	snap->maps = sw_arena_calloc(arena, counts.maps, sizeof(*snap->maps));
	l->modules = sw_arena_calloc(arena, counts.modules, sizeof(struct sw_module *));
	if (snap->threads == NULL || snap->ranges == NULL || snap->places == NULL ||
	    snap->maps == NULL || l->modules == NULL)
		return sw_fail_nomem(err);
	return 0;
}

static int take_lines(struct sw_fixture_loader *l, const struct sw_text *text, struct sw_error *err)
{
	struct sw_fixture_line line;
	const struct sw_fixture_record *record;
	size_t number = 0;
	for (const char *p = text->data, *end = p + text->size;
	     !l->ended && line_next(&p, end, &line, &record);) {
		number++;
		if (record == NULL)
			continue;
		record->take(l, &line);
		if (l->nomem)
			return sw_fail_nomem(err);
		if (line.bad)
			return sw_fail(err, SW_E_FORMAT, "%s: line %zu: malformed '%s'",
				       l->directory, number, record->keyword);
	}
	if (!l->ended)
		return sw_fail(err, SW_E_FORMAT, "%s: cut short: it has no last line 'end'",
			       l->directory);
	for (size_t i = 0; i < l->snap->n_maps; i++)
		if (l->snap->maps[i].place >= (int64_t) l->snap->n_places)
			return sw_fail(err, SW_E_FORMAT, "%s: a map of a place that is not there",
				       l->directory);
	return 0;
}

static int read_text(struct sw_fixture_loader *l, struct sw_text *text, struct sw_error *err)
{
	static const char first[] = SW_FIXTURE_FIRST_LINE "\n";
	int r = sw_text_read_at(text, l->dir_fd, SW_FIXTURE_TEXT_NAME, TEXT_MAX);
	if (r == -SW_E_IO)
		return sw_fail_errno(err, SW_E_IO, "%s/" SW_FIXTURE_TEXT_NAME, l->directory);
	if (r < 0)
		return sw_fail(err, -r, "%s/" SW_FIXTURE_TEXT_NAME ": %s", l->directory,
			       sw_error_text(r));
	if (text->size >= sizeof(first) - 1 && memcmp(text->data, first, sizeof(first) - 1) == 0)
		return 0;
	if (text->size >= sizeof(first) - 2 && memcmp(text->data, first, sizeof(first) - 3) == 0)
		return sw_fail(err, SW_E_FORMAT, "%s: a fixture of another version", l->directory);
	return sw_fail(err, SW_E_FORMAT, "%s: not a fixture", l->directory);
}

static int map_memory(struct sw_fixture_loader *l, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = openat(l->dir_fd, SW_FIXTURE_MEMORY_NAME,
					       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return sw_fail_errno(err, SW_E_IO, "%s/" SW_FIXTURE_MEMORY_NAME, l->directory);
	if (!S_ISREG(st.st_mode))
		return sw_fail(err, SW_E_FORMAT,
			       "%s/" SW_FIXTURE_MEMORY_NAME ": not a regular file", l->directory);
	if (st.st_size == 0)
		return 0;
	void *p = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return sw_fail_errno(err, SW_E_IO, "%s/" SW_FIXTURE_MEMORY_NAME, l->directory);
	l->snap->priv->file = p;
	l->snap->priv->file_bytes = (size_t) st.st_size;
	return 0;
}

int sw_snapshot_load(struct sw_context *ctx, const char *directory, struct sw_snapshot **ret,
		     struct sw_error *err)
{
	sw_cleanup(sw_snapshot_destroy_p) struct sw_snapshot *snap = NULL;
	sw_cleanup(sw_close_p) int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", directory);
	sw_cleanup(sw_close_p) int modules_fd =
		openat(dir_fd, SW_FIXTURE_MODULES_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int r = sw_snapshot_create(ctx, &snap, err);
	if (r < 0)
		return r;
	struct sw_fixture_loader l = {.snap = snap,
				      .directory = directory,
				      .dir_fd = dir_fd,
				      .modules_fd = modules_fd};
	r = read_text(&l, &text, err);
	if (r == 0)
		r = map_memory(&l, err);
	if (r == 0)
		r = make_room(&l, &text, err);
	if (r == 0)
		r = take_lines(&l, &text, err);
	if (r < 0)
		return r;
	if (l.cut)
		sw_snapshot_warn(snap, SW_WARN_PARTIAL, 0, SW_E_FORMAT,
				 "the fixture's memory is cut short");
	sw_snapshot_index(snap);
	sw_crash_overflow(snap);
	*ret = sw_take_ptr(snap);
	return 0;
}
