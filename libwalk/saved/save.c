/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes a snapshot as a fixture: whole under its name, or not there. The format is in
 * saved/fixture_records.c.
 */
#include "cleanup.h"
#include "errors.h"
#include "saved/fixture_save.h"
#include "saved/fixture_files.h"
#include "saved/fixture_lines.h"
#include "bytes.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void saver_deinit(struct sw_fixture_saver *s)
{
	sw_text_deinit(&s->text);
	sw_close_p(&s->dir_fd);
	sw_close_p(&s->modules_fd);
	sw_close_p(&s->memory_fd);
	sw_close_p(&s->store_fd);
	free(s->range_off);
	free(s->modules);
}

/* Everything, into the temporary directory; false with errno. */
static bool save_all(struct sw_fixture_saver *s)
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
	sw_fixture_save_process(s);
	if (!sw_fixture_save_ranges(s) || !sw_fixture_save_threads(s) ||
	    !sw_fixture_save_places(s) || !sw_fixture_save_side_files(s))
		return false;
	sw_fixture_save_maps(s);
	sw_fixture_save_warnings(s);
	sw_text_printf(&s->text, "end\n");
	if (ftruncate(s->memory_fd, (off_t) s->memory_bytes) < 0)
		return false;
	errno = ENOMEM;
	if (s->text.failed)
		return false;
	sw_cleanup(sw_close_p) int fd = openat(s->dir_fd, SW_FIXTURE_TEXT_NAME, CREATE, 0600);
	return fd >= 0 && sw_write_all(fd, s->text.data, s->text.size);
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

int sw_snapshot_save_shared(const struct sw_snapshot *snap, const char *directory,
			    const char *store, struct sw_error *err)
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
	struct sw_fixture_saver s = {.snap = snap,
				     .dir_fd = -EBADF,
				     .modules_fd = -EBADF,
				     .memory_fd = -EBADF,
				     .store_fd = -EBADF};
	if (store != NULL) {
		s.store_fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s.store_fd < 0)
			return fail(store, err);
	}
	if (mkdtemp(temporary) == NULL) {
		int r = fail(directory, err);
		saver_deinit(&s);
		return r;
	}
	s.dir_fd = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = s.dir_fd >= 0 && save_all(&s) && rename_new(temporary, final);
	int result = ok ? 0 : fail(s.store_failed ? store : directory, err);
	saver_deinit(&s);
	if (!ok)
		remove_all(temporary);
	return result;
}

int sw_snapshot_save(const struct sw_snapshot *snap, const char *directory, struct sw_error *err)
{
	return sw_snapshot_save_shared(snap, directory, NULL, err);
}
