/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of a snapshot from a minidump that only Linux has: mappings, ELF files, signals. Source: Breakpad of 2024,
 * src/client/linux/minidump_writer/minidump_writer.cc (the files of /proc, the exception: signal, si_code, si_addr); Crashpad
 * of 2024, snapshot/linux/exception_snapshot_linux.cc (the sender as parameters), util/posix/signals.h (kSimulatedSigno).
 */
#include "saved/minidump_linux.h"
#include "cleanup.h"
#include "formats/elf_file.h"
#include "process/maps.h"
#include "saved/core_open.h"
#include "saved/crash.h"
#include "saved/minidump_elf.h"
#include "snapshot/module.h"
#include "snapshot/places.h"
#include "snapshot/read.h"

#include <snapwalk/module.h>

#include <signal.h>
#include <string.h>

enum {
	PAGE = 4096,
	SEGMENTS_MAX = 64,      /* of a file whose mappings are made by it */
	NO_PIE_END = INT32_MAX, /* programs that are linked for a fixed address are below it */
};

/* ---- the process ------------------------------------------------------------------------------ */

static uint64_t auxv_get(struct sw_bytes auxv, uint64_t wanted)
{
	enum { WORD = 8 };
	uint64_t type, value;
	for (uint64_t off = 0;
	     sw_bytes_u64(auxv, off, &type) && sw_bytes_u64(auxv, off + WORD, &value);
	     off += 2 * WORD)
		if (type == wanted)
			return value;
	return 0;
}

struct sw_minidump_module *sw_minidump_linux_program(const struct sw_minidump *md)
{
	uint64_t entry_avma = auxv_get(md->proc.auxv, AT_ENTRY);
	struct sw_minidump_module *m =
		entry_avma != 0 ? sw_minidump_module_at(md, entry_avma) : NULL;
	return m != NULL ? m : sw_minidump_module_at(md, md->first_avma);
}

/* The text behind "NAME:\t" in a line; false: there is no such line. */
static bool status_find(struct sw_bytes status, const char *name, struct sw_bytes *ret)
{
	const char *p = (const char *) status.data, *end = p + status.size;
	const size_t length = strlen(name);
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		const char *stop = newline != NULL ? newline : end;
		if ((size_t) (stop - p) >= length && memcmp(p, name, length) == 0) {
			*ret = (struct sw_bytes){(const uint8_t *) p + length,
						 (size_t) (stop - p) - length};
			return true;
		}
		p = stop + 1;
	}
	return false;
}

/* The first number of a line; def: there is none, or it is no id. */
static uint32_t status_number(struct sw_bytes status, const char *name, uint32_t def)
{
	struct sw_bytes text;
	uint64_t value = 0;
	size_t i = 0;
	if (!status_find(status, name, &text))
		return def;
	for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
		value = value * 10 + (uint64_t) (text.data[i] - '0');
		if (value > INT32_MAX)
			return def;
	}
	return i > 0 ? (uint32_t) value : def;
}

void sw_minidump_linux_status(struct sw_bytes status, struct sw_process *process)
{
	struct sw_bytes name;
	if (status.size == 0)
		return;
	pid_t pid = (pid_t) status_number(status, "Pid:\t", 0);
	if (pid != 0)
		process->pid = pid;
	process->ppid = (pid_t) status_number(status, "PPid:\t", (uint32_t) process->ppid);
	process->uid = status_number(status, "Uid:\t", process->uid);
	process->gid = status_number(status, "Gid:\t", process->gid);
	if (!status_find(status, "Name:\t", &name) || name.size == 0)
		return;
	memset(process->comm, 0, sizeof(process->comm));
	memcpy(process->comm, name.data, name.size < SW_COMM_MAX ? name.size : SW_COMM_MAX - 1);
}

/* ---- maps and modules ------------------------------------------------------------------------- */

/* The mappings as the process had them; none where the minidump does not have them. 0, -SW_E_NOMEM. */
static int maps_of_proc(struct sw_minidump_filler *f)
{
	struct sw_snapshot *snap = f->snap;
	const struct sw_bytes text = f->md.proc.maps;
	size_t bad = 0;
	int r = text.size == 0 ? 0
			       : sw_maps_parse(&snap->priv->arena, (const char *) text.data,
					       text.size, &snap->maps, &snap->n_maps, &bad);
	f->md.damaged |= bad > 0;
	f->md.limited |= r == -SW_E_LIMIT;
	return r == -SW_E_LIMIT ? 0 : r;
}

/* The mappings that the dynamic linker makes of a file; all of the module as code, where the file is not here. */
static void module_maps_add(struct sw_minidump_filler *f, struct sw_minidump_module *m)
{
	struct sw_elf_segment segments[SEGMENTS_MAX];
	struct sw_map map = {.path = m->path,
			     .place = -1,
			     .inode = 1 + (uint64_t) (m - f->md.modules)};
	sw_cleanup(sw_close_p) int fd = sw_minidump_elf_open(f, m);
	size_t n =
		fd < 0 ? 0
		       : sw_elf_segments_read(sw_core_file_memory(&fd), 0, segments, SEGMENTS_MAX);
	const struct sw_elf_segment *first = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct sw_elf_segment *s = &segments[i];
		uint64_t begin = s->svma & -(uint64_t) PAGE, end;
		if (s->type != PT_LOAD ||
		    __builtin_add_overflow(s->svma, s->file_bytes + PAGE - 1, &end))
			continue;
		if (first == NULL)
			first = s;
		uint64_t bias = m->start_avma - ((first->svma - first->off) & -(uint64_t) PAGE);
		map.start_avma = bias + begin;
		map.end_avma = bias + (end & -(uint64_t) PAGE);
		map.file_off = s->off & -(uint64_t) PAGE;
		map.prot = (s->flags & PF_R ? SW_MAP_READ : 0u) |
			   (s->flags & PF_W ? SW_MAP_WRITE : 0u) |
			   (s->flags & PF_X ? SW_MAP_EXEC : 0u);
		if (map.start_avma >= m->start_avma && map.end_avma <= m->end_avma + PAGE)
			sw_minidump_map_add(f, &map);
	}
	if (first != NULL)
		return;
	map.start_avma = m->start_avma;
	map.end_avma = m->end_avma;
	map.prot = SW_MAP_READ | SW_MAP_EXEC;
	sw_minidump_map_add(f, &map);
}

static int maps_of_modules(struct sw_minidump_filler *f)
{
	struct sw_snapshot *snap = f->snap;
	const struct sw_minidump *md = &f->md;
	f->maps_capacity = snap->priv->n_copies + (1 + SEGMENTS_MAX) * md->n_modules;
	snap->maps = sw_arena_calloc(&snap->priv->arena, f->maps_capacity, sizeof(*snap->maps));
	if (snap->maps == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < md->n_modules; i++)
		module_maps_add(f, &md->modules[i]);
	sw_minidump_copies_add(f);
	return 0;
}

static int file_open(void *arg, const struct sw_map *map, const char *path, bool *ret_deleted)
{
	struct sw_minidump_filler *f = arg;
	struct sw_minidump_module *m = sw_minidump_module_at(&f->md, map->start_avma);
	size_t length;
	(void) path; /* by the module */
	*ret_deleted = sw_map_path_deleted(map, &length);
	return m != NULL && map->path[0] != '[' ? sw_minidump_elf_open(f, m) : -1;
}

static bool file_told(void *arg)
{
	(void) arg;
	return true; /* absent_set() */
}

static bool memory_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_minidump_filler *f = arg;
	struct sw_snapshot_memory memory = {.snap = f->snap, .no_live = true};
	return sw_memory_read(sw_snapshot_memory(&memory), avma, buffer, length);
}

/*
 * Modules whose file is not here: they keep the build-id, and addresses count from where the file begins, as they do in its
 * own tables, so that names can be found where the file is.
 */
static int absent_set(struct sw_minidump_filler *f)
{
	struct sw_snapshot *snap = f->snap;
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_place *place = &snap->places[i];
		const struct sw_minidump_module *m =
			sw_minidump_module_at(&f->md, place->start_avma);
		const char *path = sw_module_path(place->module);
		size_t size;
		if (sw_module_fd(place->module) >= 0 || m == NULL || path[0] == '[' ||
		    sw_module_kind(place->module) != SW_MODULE_ELF ||
		    sw_module_image(place->module, &size) != NULL)
			continue;
		if (sw_context_module(snap->ctx, SW_MODULE_ELF, path, -EBADF, m->build_id,
				      m->build_id_bytes, &place->module, NULL) < 0)
			return -SW_E_NOMEM;
		place->bias = place->start_avma < NO_PIE_END ? 0 : place->start_avma;
		place->resolved = 1;
		sw_minidump_missing(f, m, m->other);
	}
	return 0;
}

static int places_set(struct sw_minidump_filler *f)
{
	const struct sw_opener opener = {.open = file_open,
					 .told = file_told,
					 .read = memory_read,
					 .arg = f};
	int r = maps_of_proc(f);
	if (r == 0 && f->snap->n_maps == 0)
		r = maps_of_modules(f);
	if (r < 0)
		return r;
	sw_snapshot_index(f->snap);
	r = sw_snapshot_find_places(f->snap, &opener, NULL);
	return r < 0 ? r : absent_set(f);
}

/* The writer may have cut a stack; where it ends in the process maps say. */
static void stacks_end(struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_threads; i++) {
		struct sw_thread *t = &snap->threads[i];
		const struct sw_map *map =
			t->stack_bytes > 0 ? sw_snapshot_map(snap, t->stack_avma) : NULL;
		if (map != NULL && map->end_avma > t->stack_end_avma)
			t->stack_end_avma = map->end_avma;
	}
}

/* ---- why it ended ----------------------------------------------------------------------------- */

/*
 * The signal, as a core file would have it. Breakpad writes what struct siginfo has behind its numbers as the address, whatever
 * that is; Crashpad writes a sender as parameters. In the dump of a process that goes on both write the signal -1.
 */
static void crash_set(struct sw_minidump_filler *f)
{
	enum { CODE_OFF = 8, FAULT_OFF = 16, HALF = 32 };
	const struct sw_minidump_exception *e = &f->md.exception;
	uint8_t siginfo[SW_CORE_SIGINFO_BYTES] = {0};
	uint64_t fault = e->at_avma;
	if (!f->md.has_exception || e->code == 0 || e->code >= NSIG || e->thread == 0 ||
	    e->thread > INT32_MAX)
		return;
	if (fault == 0 && e->n_details >= 2)
		fault = (uint32_t) e->details[0] | e->details[1] << HALF;
	memcpy(siginfo, &e->code, sizeof(e->code));
	memcpy(siginfo + CODE_OFF, &e->flags, sizeof(e->flags));
	memcpy(siginfo + FAULT_OFF, &fault, sizeof(fault));
	f->snap->crash = sw_core_crash((pid_t) e->thread, (int) e->code,
				       (struct sw_bytes){siginfo, sizeof(siginfo)}, false);
	sw_core_crash_access(f->snap);
	sw_crash_overflow(f->snap);
}

int sw_minidump_linux_fill(struct sw_minidump_filler *f)
{
	int r = places_set(f);
	if (r < 0)
		return r;
	stacks_end(f->snap);
	crash_set(f);
	return 0;
}
