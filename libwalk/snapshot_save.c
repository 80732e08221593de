/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes fixtures; the format is described in snapshot_load.c. */
#include "cleanup.h"
#include "errors.h"
#include "fixture_text.h"
#include "mem_live.h"
#include "module.h"
#include "side_file.h"
#include "snapshot.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { COPY_BYTES = 1 << 20, HOLE_BYTES = 4096, NAME_BYTES = 2 * SW_BUILD_ID_MAX + 32 };

/* A fixture in the making. */
struct saver {
	const struct sw_snapshot *snap;
	struct sw_text text;
	int dir_fd, modules_fd, memory_fd; /* owned */
	uint64_t memory_bytes;             /* written so far */
	uint64_t *range_off;               /* owned; where each range lies in the memory file */
	struct sw_module **modules;        /* owned; distinct ones in order of their places */
	size_t n_modules;
};

static void saver_deinit(struct saver *s)
{
	sw_text_deinit(&s->text);
	sw_close_p(&s->dir_fd);
	sw_close_p(&s->modules_fd);
	sw_close_p(&s->memory_fd);
	free(s->range_off);
	free(s->modules);
}

static bool write_all(int fd, const void *data, size_t size)
{
	const uint8_t *p = data;
	while (size > 0) {
		ssize_t n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		p += n;
		size -= (size_t) n;
	}
	return true;
}

static bool all_zero(const uint8_t *p, size_t size)
{
	return size == 0 || (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
}

/* Appends to the memory file; blocks of zeros become holes (a core's stacks are mostly that). */
static bool put_memory(struct saver *s, const uint8_t *data, size_t size, uint64_t *ret_off)
{
	*ret_off = s->memory_bytes;
	s->memory_bytes += size;
	while (size > 0) {
		size_t n = size < HOLE_BYTES ? size : HOLE_BYTES;
		if (all_zero(data, n) ? lseek(s->memory_fd, (off_t) n, SEEK_CUR) < 0
				      : !write_all(s->memory_fd, data, n))
			return false;
		data += n;
		size -= n;
	}
	return true;
}

static bool save_live_range(void *arg, const struct sw_range *range)
{
	struct saver *s = arg;
	uint64_t off;
	if (!put_memory(s, range->data, range->bytes, &off))
		return false;
	sw_text_printf(&s->text, "range 0x%" PRIx64 " %zu %" PRIu64 "\n", range->start_avma,
		       range->bytes, off);
	return true;
}

static bool save_ranges(struct saver *s)
{
	const struct sw_snapshot *snap = s->snap;
	/* What was read of the running process so far: needed to walk and name without it. */
	if (!sw_live_each(snap, save_live_range, s))
		return false;
	for (size_t i = 0; i < snap->n_ranges; i++) {
		const struct sw_range *r = &snap->ranges[i];
		if (!put_memory(s, r->data, r->bytes, &s->range_off[i]))
			return false;
		sw_text_printf(&s->text, "range 0x%" PRIx64 " %zu %" PRIu64 "\n", r->start_avma,
			       r->bytes, s->range_off[i]);
	}
	return true;
}

/* The stacks of core files lie in their ranges: these bytes are not written twice. */
static bool stack_in_range(const struct saver *s, const struct sw_thread *t, uint64_t *ret_off)
{
	const struct sw_snapshot *snap = s->snap;
	size_t low = 0, high = snap->n_ranges;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (snap->ranges[middle].start_avma <= t->stack_avma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	const struct sw_range *r = &snap->ranges[low - 1];
	uint64_t skip = t->stack_avma - r->start_avma;
	if (skip > r->bytes || t->stack_bytes > r->bytes - skip || t->stack != r->data + skip)
		return false;
	*ret_off = s->range_off[low - 1] + skip;
	return true;
}

static bool save_threads(struct saver *s)
{
	for (size_t i = 0; i < s->snap->n_threads; i++) {
		const struct sw_thread *t = &s->snap->threads[i];
		uint64_t off = 0;
		if (t->stack_bytes > 0 && !stack_in_range(s, t, &off) &&
		    !put_memory(s, t->stack, t->stack_bytes, &off))
			return false;
		const char state[] = {t->state, '\0'};
		sw_text_printf(&s->text, "thread %d %d %d 0x%x", t->tid, t->captured, t->reason,
			       t->flags);
		sw_fixture_put_string(&s->text, state);
		sw_text_printf(&s->text,
			       " %" PRId64 " %d %" PRId64 " %" PRId64 " 0x%" PRIx64 " 0x%" PRIx64,
			       t->syscall, t->interrupted, t->cpu_ns, t->stop_ns, t->fs_base,
			       t->gs_base);
		sw_text_printf(&s->text, " 0x%" PRIx64 " 0x%" PRIx64 " %zu %" PRIu64, t->stack_avma,
			       t->stack_end_avma, t->stack_bytes, off);
		sw_fixture_put_string(&s->text, t->comm);
		sw_fixture_put_string(&s->text, t->wchan);
		sw_text_printf(&s->text, "\nregs 0x%x 0x%" PRIx64 " 0x%" PRIx64, t->regs.known,
			       t->regs.pc_avma, t->regs.sp_avma);
		for (unsigned k = 0; k < SW_REGS_MAX; k++)
			sw_text_printf(&s->text, " 0x%" PRIx64, t->regs.val[k]);
		sw_text_append(&s->text, "\n", 1);
	}
	return true;
}

static void save_process(struct saver *s)
{
	const struct sw_snapshot *snap = s->snap;
	const struct sw_process *p = &snap->process;
	const struct sw_times *t = &snap->times;
	sw_text_printf(&s->text, SW_FIXTURE_FIRST_LINE "\narch x86_64\n");
	sw_text_printf(&s->text, "process %d %d %u %" PRIu64 " %" PRId64 " %d", p->pid, p->ppid,
		       p->uid, p->starttime, p->uptime_ms, p->elf_class);
	sw_fixture_put_string(&s->text, p->comm);
	sw_fixture_put_string(&s->text, p->exe);
	sw_fixture_put_string(&s->text, p->cgroup);
	sw_text_printf(&s->text,
		       "\ntime %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
		       " %zu\n",
		       snap->time_ns, t->attach_ns, t->stopped_ns, t->longest_thread_ns, t->copy_ns,
		       t->take_ns, snap->interrupted_calls);
}

static void save_maps(struct saver *s)
{
	for (size_t i = 0; i < s->snap->n_maps; i++) {
		const struct sw_map *m = &s->snap->maps[i];
		sw_text_printf(&s->text,
			       "map 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " %" PRIu64
			       " %u %u 0x%x %d",
			       m->start_avma, m->end_avma, m->file_off, m->inode, m->dev_major,
			       m->dev_minor, m->prot, m->place);
		sw_fixture_put_string(&s->text, m->path);
		sw_text_append(&s->text, "\n", 1);
	}
}

static void save_warnings(struct saver *s)
{
	for (size_t i = 0; i < s->snap->n_warnings; i++) {
		const struct sw_warning *w = &s->snap->warnings[i];
		sw_text_printf(&s->text, "warning %d %d %d", (int) w->code, w->tid, w->reason);
		sw_fixture_put_string(&s->text, w->message);
		sw_text_append(&s->text, "\n", 1);
	}
}

/* The build-id in hexadecimal, or the module's index. */
static void module_name(struct sw_module *module, size_t index, bool by_index,
			char name[NAME_BYTES])
{
	size_t n;
	const uint8_t *id = by_index ? NULL : sw_module_build_id(module, &n);
	if (id == NULL) {
		(void) snprintf(name, NAME_BYTES, "module-%zu", index); /* fits */
		return;
	}
	for (size_t i = 0; i < n; i++)
		(void) snprintf(name + 2 * i, 3, "%02x", id[i]);
}

static bool copy_file(int from, int to)
{
	off_t off = 0;
	for (;;) {
		ssize_t n = copy_file_range(from, &off, to, NULL, COPY_BYTES, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 && off > 0)
			return true;
		if (n <= 0)
			break; /* across file systems, special files: copied by hand */
	}
	sw_cleanup(sw_free_p) uint8_t *buffer = malloc(COPY_BYTES);
	while (buffer != NULL) {
		ssize_t n = pread(from, buffer, COPY_BYTES, off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		if (!write_all(to, buffer, (size_t) n))
			return false;
		off += n;
	}
	errno = ENOMEM;
	return false;
}

/* Writes a module's file, if there is anything to write; false with errno. */
static bool save_module(struct saver *s, size_t index)
{
	struct sw_module *module = s->modules[index];
	char name[NAME_BYTES] = "";
	size_t image_size;
	const void *image = sw_module_image(module, &image_size);
	if (image != NULL) {
		int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
		module_name(module, index, false, name);
		sw_cleanup(sw_close_p) int fd = openat(s->modules_fd, name, flags, 0600);
		if (fd < 0 && errno == EEXIST) { /* two modules with one build-id */
			module_name(module, index, true, name);
			fd = openat(s->modules_fd, name, flags, 0600);
		}
		if (fd < 0)
			return false;
		if (!(module->fd >= 0 ? copy_file(module->fd, fd)
				      : write_all(fd, image, image_size)))
			return false;
	}
	sw_text_printf(&s->text, "module %d %d", (int) module->kind, module->deleted);
	sw_fixture_put_string(&s->text, name);
	sw_fixture_put_string(&s->text, module->path);
	sw_text_append(&s->text, "\n", 1);
	return true;
}

/* Files beside the process, as far as they are looked at. */
static bool save_side_files(struct saver *s)
{
	const char *kind;
	struct sw_bytes bytes;
	for (size_t i = 0; i < SW_SIDE_FILES_MAX; i++) {
		char name[NAME_BYTES];
		if (!sw_side_file_at(s->snap, i, &kind, &bytes))
			continue;
		(void) snprintf(name, sizeof(name), "side-%zu", i); /* fits */
		sw_cleanup(sw_close_p) int fd =
			openat(s->modules_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || !write_all(fd, bytes.data, bytes.size))
			return false;
		sw_text_printf(&s->text, "side");
		sw_fixture_put_string(&s->text, kind);
		sw_fixture_put_string(&s->text, name);
		sw_text_append(&s->text, "\n", 1);
	}
	return true;
}

static size_t module_index(const struct saver *s, const struct sw_map64 *seen,
			   const struct sw_module *module)
{
	uint64_t index = s->n_modules;
	(void) sw_map64_get(seen, (uintptr_t) module, &index); /* n_modules when it is new */
	return (size_t) index;
}

static bool save_places(struct saver *s)
{
	const struct sw_snapshot *snap = s->snap;
	struct sw_map64 seen = {0};
	bool ok = true;
	for (size_t i = 0; i < snap->n_places && ok; i++) {
		const struct sw_place *p = &snap->places[i];
		size_t index = module_index(s, &seen, p->module);
		if (index == s->n_modules) {
			errno = ENOMEM;
			ok = sw_map64_put(&seen, (uintptr_t) p->module, index) == 0;
			s->modules[s->n_modules++] = p->module;
			ok = ok && save_module(s, index);
		}
		sw_text_printf(&s->text, "place %zu 0x%" PRIx64 " 0x%" PRIx64 "\n", index,
			       p->start_avma, p->end_avma);
	}
	sw_map64_deinit(&seen);
	return ok;
}

/* Everything, into the temporary directory; false with errno. */
static bool save_all(struct saver *s)
{
	const struct sw_snapshot *snap = s->snap;
	enum { CREATE = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC };
	if (mkdirat(s->dir_fd, SW_FIXTURE_MODULES_NAME, 0700) < 0)
		return false;
	s->modules_fd =
		openat(s->dir_fd, SW_FIXTURE_MODULES_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->memory_fd = openat(s->dir_fd, SW_FIXTURE_MEMORY_NAME, CREATE, 0600);
	s->range_off = calloc(snap->n_ranges + 1, sizeof(*s->range_off));
	s->modules = calloc(snap->n_places + 1, sizeof(struct sw_module *));
	if (s->modules_fd < 0 || s->memory_fd < 0 || s->range_off == NULL || s->modules == NULL)
		return false;
	save_process(s);
	if (!save_ranges(s) || !save_threads(s) || !save_places(s) || !save_side_files(s))
		return false;
	save_maps(s);
	save_warnings(s);
	sw_text_printf(&s->text, "end\n");
	if (ftruncate(s->memory_fd, (off_t) s->memory_bytes) < 0)
		return false;
	errno = ENOMEM;
	if (s->text.failed)
		return false;
	sw_cleanup(sw_close_p) int fd = openat(s->dir_fd, SW_FIXTURE_TEXT_NAME, CREATE, 0600);
	return fd >= 0 && write_all(fd, s->text.data, s->text.size);
}

/* Removes what save_all() made; what cannot be removed stays, there is nothing else to do. */
static void remove_all(const char *directory)
{
	static const char *const parts[] = {SW_FIXTURE_MODULES_NAME, "."};
	sw_cleanup(sw_close_p) int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < SW_ARRAY_SIZE(parts) && dir_fd >= 0; i++) {
		int fd = openat(dir_fd, parts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		sw_cleanup(sw_closedir_p) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
		if (dir == NULL)
			sw_close_p(&fd);
		for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
			    unlinkat(fd, e->d_name, 0) < 0)
				(void) unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	(void) rmdir(directory);
}

/* Gives the finished directory its name, which must be free. */
static bool rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return true;
	if (errno != EINVAL && errno != ENOSYS)
		return false;
	/* A file system that cannot do that: rename(2) replaces an empty directory at most. */
	struct stat st;
	if (lstat(to, &st) == 0) {
		errno = EEXIST;
		return false;
	}
	return rename(from, to) == 0;
}

static int fail(const char *directory, struct sw_error *err)
{
	if (errno == EEXIST || errno == ENOTEMPTY)
		return sw_fail(err, SW_E_IO, "%s: it exists already", directory);
	return errno == ENOMEM ? sw_fail_nomem(err) : sw_fail_errno(err, SW_E_IO, "%s", directory);
}

int sw_snapshot_save(const struct sw_snapshot *snap, const char *directory, struct sw_error *err)
{
	struct stat st;
	size_t length = strlen(directory);
	while (length > 1 && directory[length - 1] == '/')
		length--;
	sw_cleanup(sw_free_p) char *final = strndup(directory, length);
	sw_cleanup(sw_free_p) char *temporary = NULL;
	if (final == NULL || asprintf(&temporary, "%s.XXXXXX", final) < 0) {
		temporary = NULL; /* asprintf leaves it undefined */
		return sw_fail_nomem(err);
	}
	if (lstat(final, &st) == 0) {
		errno = EEXIST; /* said now, not after everything was copied */
		return fail(directory, err);
	}
	if (mkdtemp(temporary) == NULL)
		return fail(directory, err);
	struct saver s = {.snap = snap, .modules_fd = -EBADF, .memory_fd = -EBADF};
	s.dir_fd = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = s.dir_fd >= 0 && save_all(&s) && rename_new(temporary, final);
	int result = ok ? 0 : fail(directory, err);
	saver_deinit(&s);
	if (!ok)
		remove_all(temporary);
	return result;
}
