/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process with privileges, which parses nothing of the files: that is done in probes/look_up.c. */
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/probes.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

void sw_function_keep(struct sw_function *f, const bool *keep)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++) {
		if (!keep[i]) {
			sw_close_p(&f->places[i].file_fd);
			free(f->names[i]);
			continue;
		}
		f->places[n] = f->places[i];
		f->names[n] = f->names[i];
		f->start_avma[n] = f->start_avma[i];
		f->end_avma[n] = f->end_avma[i];
		f->wanted[n++] = f->wanted[i];
	}
	f->n = n;
}

void sw_function_deinit(struct sw_function *f)
{
	for (size_t i = 0; i < f->n; i++) {
		sw_close_p(&f->places[i].file_fd);
		free(f->names[i]);
	}
	for (size_t i = 0; i < f->n_missing; i++)
		free(f->missing[i].why);
	*f = (struct sw_function){0};
}

/* ---- the files -------------------------------------------------------------------------------- */

/*
 * Whether it is the file itself: of one whose file system may not answer the snapshot has a copy in memory, which has no
 * name and another inode. Overlayfs and btrfs tell other devices or inodes to stat(2) than to maps: files with a name were
 * compared when they were opened (libwalk/process/files.c).
 */
static bool is_mapped_file(int fd, const struct sw_map *map)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (st.st_nlink > 0 || st.st_ino == map->inode);
}

/* The file of a mapping, as the snapshot has it; -SW_E_IO. */
static int snapshot_file(const struct sw_snapshot *snap, uint64_t start, uint64_t end,
			 struct sw_error *err)
{
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (map->start_avma != start || map->end_avma != end || map->place < 0)
			continue;
		const struct sw_module *module = snap->places[map->place].module;
		int fd = module != NULL ? sw_module_fd(module) : -EBADF;
		if (fd >= 0 && is_mapped_file(fd, map))
			fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		else
			fd = -EBADF;
		if (fd >= 0)
			return fd;
	}
	return sw_fail(err, SW_E_IO, "the file of its code cannot be had");
}

static int file_open(const struct sw_target *target, const struct sw_snapshot *snap, uint64_t start,
		     uint64_t end, struct sw_error *err)
{
	int r = sw_target_map_file(target, start, end, err);
	return r == -SW_E_NOT_PERMITTED && snap != NULL ? snapshot_file(snap, start, end, err) : r;
}

/* ---- the lines -------------------------------------------------------------------------------- */

/* Offsets from a place of the line on, which then begins behind them. */
static bool returns_take(const char **line, size_t at, struct sw_event_place *to)
{
	char *end;
	if (to->n_returns > SW_EVENT_RETURNS_MAX)
		return false;
	*line += at;
	for (size_t i = 0; i < to->n_returns; i++, *line = end + 1) {
		to->returns_off[i] = strtoull(*line, &end, 16);
		if (end == *line || *end != ' ')
			return false;
	}
	return true;
}

/* Operands, likewise. */
static bool operands_take(const char **line, struct sw_event_place *to)
{
	int declared, at = 0;
	if (sscanf(*line, "%d %" SCNx64 " %zu %n", &declared, &to->semaphore_off, &to->n_operands,
		   &at) != 3 ||
	    at == 0 || to->n_operands > SW_EVENT_ARGUMENTS)
		return false;
	to->is_declared = declared != 0;
	*line += at;
	for (size_t i = 0; i < to->n_operands; i++, *line += at) {
		struct sw_event_operand *o = &to->operands[i];
		int kind, is_signed;
		at = 0;
		if (sscanf(*line,
			   "%d %" SCNu8 " %d %" SCNu8 " %" SCNu8 " %" SCNu8 " %" SCNu8 " %" SCNd64
			   " %n",
			   &kind, &o->bytes, &is_signed, &o->shift, &o->base, &o->index, &o->scale,
			   &o->value, &at) != 8 ||
		    at == 0 || kind < 0 || kind > SW_EVENT_OPERAND_MEMORY || o->shift > 8 ||
		    o->bytes > 8)
			return false;
		o->kind = (enum sw_event_operand_kind) kind;
		o->is_signed = is_signed != 0;
	}
	return true;
}

/* The line of the other process is not believed: the kernel says what is mapped there. */
static int place_take(const struct sw_target *target, const struct sw_snapshot *snap,
		      const char *line, struct sw_function *f, struct sw_error *err)
{
	uint64_t start, end;
	struct sw_event_place place = {.file_fd = -EBADF};
	int emulated, reentered, at = 0;
	if (f->n == SW_EVENT_PLACES_MAX ||
	    sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %d %d %" SCNx64 " %zu %n", &start,
		   &end, &place.file_off, &emulated, &reentered, &place.returns_first,
		   &place.n_returns, &at) != 7 ||
	    at == 0 || !returns_take(&line, (size_t) at, &place) || !operands_take(&line, &place))
		return sw_fail(err, SW_E_INTERNAL, "what looked it up has written nonsense");
	place.emulated = emulated != 0;
	place.reentered = reentered != 0;
	place.file_fd = file_open(target, snap, start, end, err);
	if (place.file_fd < 0)
		return place.file_fd;
	f->places[f->n] = place;
	f->start_avma[f->n] = start;
	f->end_avma[f->n] = end;
	f->names[f->n] = strdup(line);
	f->places[f->n].name = f->names[f->n];
	return f->names[f->n++] == NULL ? sw_fail_nomem(err) : 0;
}

static int missing_take(const char *line, struct sw_function *f, struct sw_error *err)
{
	int at = 0, absent = 0;
	size_t wanted = 0;
	if (f->n_missing == SW_EVENT_PLACES_MAX ||
	    sscanf(line, "- %zu %d %n", &wanted, &absent, &at) != 2 || at == 0 ||
	    wanted >= SW_EVENT_PLACES_MAX)
		return sw_fail(err, SW_E_INTERNAL, "what looked it up has written nonsense");
	f->missing[f->n_missing].wanted = wanted;
	f->missing[f->n_missing].is_absent = absent != 0;
	f->missing[f->n_missing].why = strdup(line + at);
	return f->missing[f->n_missing++].why == NULL ? sw_fail_nomem(err) : 0;
}

int sw_function_take(const struct sw_target *target, const struct sw_snapshot *snap, char *text,
		     struct sw_function *f, struct sw_error *err)
{
	char *rest = NULL;
	size_t wanted = 0;
	int r = 0;
	f->starttime = sw_target_starttime(target);
	for (char *line = strtok_r(text, "\n", &rest); r == 0 && line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (line[0] == '-') {
			r = missing_take(line, f, err);
		} else if (line[0] == '=') {
			const char *module = strtok_r(NULL, "\n", &rest);
			wanted = strtoul(line + 1, NULL, 10);
			if (f->n == 0 && module != NULL)
				(void) snprintf(f->module, sizeof(f->module), "%s",
						module); /* cut is fine */
		} else {
			r = place_take(target, snap, line, f, err);
			if (r == 0)
				f->wanted[f->n - 1] = wanted;
		}
	}
	return r;
}
