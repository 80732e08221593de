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
#include "own_way.h"
#include "parts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
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

/* The directory may lie in another user's: nothing is found by its name, and no link is followed. */
enum { OWN_DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
enum { TEMPORARY_TRIES = 64 };

/* Everything, into the temporary directory; false with errno. */
static bool save_all(struct sw_fixture_saver *s)
{
	const struct sw_snapshot *snap = s->snap;
	enum { CREATE = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC };
	if (mkdirat(s->dir_fd, SW_FIXTURE_MODULES_NAME, 0700) < 0)
		return false;
	s->modules_fd = openat(s->dir_fd, SW_FIXTURE_MODULES_NAME, OWN_DIRECTORY);
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

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *list_open(int dir_fd, const char *name)
{
	sw_cleanup(sw_close_p) int fd = openat(dir_fd, name, OWN_DIRECTORY);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir != NULL)
		fd = -EBADF; /* the list's */
	return dir;
}

/*
 * The directory that a new one was made in, wherever the path to it leads by now. Nobody else can move the new one to
 * another directory, as that takes the right to write into it: vfs_rename() in fs/namei.c, v6.1.
 */
static int parent_open(int dir_fd)
{
	return openat(dir_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Whether a name in its parent is still that of the directory that was made. Another user who may write there can
 * rename it, and put something else there. */
static bool is_named(int dir_fd, int parent_fd, const char *name)
{
	struct stat made, found;
	return fstat(dir_fd, &made) == 0 &&
	       fstatat(parent_fd, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
	       made.st_dev == found.st_dev && made.st_ino == found.st_ino;
}

/* Wart: between the look and the removal another user who may write there can put an empty directory in its place. */
static void name_remove(int dir_fd, const char *temporary)
{
	sw_cleanup(sw_close_p) int parent_fd = parent_open(dir_fd);
	const char *name = sw_path_name(temporary);
	if (is_named(dir_fd, parent_fd, name))
		(void) unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* Removes what save_all() made. Files that cannot be removed stay: there is nothing else to do. */
static void remove_all(int dir_fd, const char *temporary)
{
	static const char *const parts[] = {SW_FIXTURE_MODULES_NAME, "."};
	for (size_t i = 0; i < SW_ARRAY_SIZE(parts); i++) {
		sw_cleanup(sw_closedir_p) DIR *dir = list_open(dir_fd, parts[i]);
		for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
			if (!is_dots(e->d_name) && unlinkat(dirfd(dir), e->d_name, 0) < 0)
				(void) unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	}
	name_remove(dir_fd, temporary);
}

/* Gives the finished directory its name, which must be free. */
static bool rename_new(int parent_fd, const char *from, const char *to)
{
	if (renameat2(parent_fd, from, parent_fd, to, RENAME_NOREPLACE) == 0)
		return true;
	if (errno != EINVAL && errno != ENOSYS)
		return false;
	/* A file system that cannot do that: rename(2) replaces an empty directory at most. */
	struct stat st;
	if (fstatat(parent_fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return false;
	}
	return renameat(parent_fd, from, parent_fd, to) == 0;
}

static int fail(const char *directory, struct sw_error *err)
{
	if (errno == EEXIST || errno == ENOTEMPTY) {
		(void) sw_fail(err, SW_E_IO, "%s: it is there already", directory);
		if (err != NULL)
			err->sys_errno = EEXIST;
		return -SW_E_IO;
	}
	return errno == ENOMEM ? sw_fail_nomem(err) : sw_fail_errno(err, SW_E_IO, "%s", directory);
}

/* Without the slashes at its end. */
static char *name_of(const char *directory)
{
	size_t length = strlen(directory);
	while (length > 1 && directory[length - 1] == '/')
		length--;
	return strndup(directory, length);
}

/* Whether the directory that was opened is the new one, and not one that another user put in its place. */
static bool is_new(int dir_fd)
{
	struct stat st;
	sw_cleanup(sw_closedir_p) DIR *dir = list_open(dir_fd, ".");
	if (dir == NULL || fstat(dir_fd, &st) < 0 || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)) != S_IRWXU)
		return false;
	for (struct dirent *e; (e = readdir(dir)) != NULL;)
		if (!is_dots(e->d_name))
			return false;
	return true;
}

/* A new directory beside the one that is wanted, with a name of its own; false with errno. */
static bool temporary_make(int parent_fd, const char *final, char **ret)
{
	for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
		uint32_t number = 0;
		char *temporary;
		/* Names that others can guess are taken by them at most: then there is another try. */
		(void) !getrandom(&number, sizeof(number), GRND_NONBLOCK);
		if (asprintf(&temporary, "%s.%06x", final, (number + i) & 0xffffff) < 0) {
			errno = ENOMEM;
			return false;
		}
		if (mkdirat(parent_fd, sw_path_name(temporary), S_IRWXU) == 0) {
			*ret = temporary;
			return true;
		}
		free(temporary);
		if (errno != EEXIST)
			return false;
	}
	return false;
}

int sw_snapshot_save_begin(const char *directory, char **ret_temporary, int *ret_fd,
			   struct sw_error *err)
{
	struct stat st;
	sw_cleanup(sw_close_p) int parent_fd = -EBADF;
	sw_cleanup(sw_free_p) char *final = name_of(directory);
	sw_cleanup(sw_free_p) char *temporary = NULL;
	if (final == NULL)
		return sw_fail_nomem(err);
	int r = sw_own_way_open_parent(final, directory, &parent_fd, err);
	if (r < 0)
		return r;
	if (fstatat(parent_fd, sw_path_name(final), &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST; /* said now, not after everything was copied */
		return fail(directory, err);
	}
	if (!temporary_make(parent_fd, final, &temporary))
		return fail(directory, err);
	sw_cleanup(sw_close_p) int fd = openat(parent_fd, sw_path_name(temporary), OWN_DIRECTORY);
	if (fd < 0) {
		r = fail(directory, err);
		(void) unlinkat(parent_fd, sw_path_name(temporary),
				AT_REMOVEDIR); /* it is empty, or another's */
		return r;
	}
	if (!is_new(fd)) {
		name_remove(fd, temporary);
		return sw_fail(err, SW_E_IO, "%s: %s is not a new directory of this user alone",
			       directory, temporary);
	}
	*ret_temporary = sw_take_ptr(temporary);
	*ret_fd = sw_take_fd(fd);
	return 0;
}

/* store_failed: whether it was the store that could not be written. */
static int fill(const struct sw_snapshot *snap, int fd, int store_fd, bool *ret_store_failed,
		struct sw_error *err)
{
	struct sw_fixture_saver s = {.snap = snap,
				     .dir_fd = fd,
				     .modules_fd = -EBADF,
				     .memory_fd = -EBADF,
				     .store_fd = store_fd};
	int r = save_all(&s) ? 0 : fail("its files cannot be written", err);
	*ret_store_failed = s.store_failed;
	s.dir_fd = s.store_fd = -EBADF; /* the caller's */
	saver_deinit(&s);
	return r;
}

int sw_snapshot_save_fill(const struct sw_snapshot *snap, int fd, int store_fd, const char *store,
			  struct sw_error *err)
{
	bool store_failed;
	int r = fill(snap, fd, store_fd, &store_failed, err);
	return r == -SW_E_IO && store_failed ? fail(store, err) : r;
}

int sw_snapshot_save_end(int fd, const char *temporary, const char *directory, struct sw_error *err)
{
	if (directory == NULL) {
		remove_all(fd, temporary);
		return 0;
	}
	int r;
	sw_cleanup(sw_free_p) char *final = name_of(directory);
	sw_cleanup(sw_close_p) int parent_fd = parent_open(fd);
	const char *name = final != NULL ? sw_path_name(final) : NULL;
	if (name == NULL)
		r = sw_fail_nomem(err);
	else if (!is_named(fd, parent_fd, sw_path_name(temporary)))
		r = sw_fail(err, SW_E_IO, "%s: somebody has moved %s", directory, temporary);
	else if (!rename_new(parent_fd, sw_path_name(temporary), name))
		r = fail(directory, err);
	else if (!is_named(fd, parent_fd, name))
		r = sw_fail(err, SW_E_IO, "%s: somebody has put another directory there",
			    directory);
	else
		return 0;
	remove_all(fd, temporary);
	return r;
}

int sw_snapshot_save_shared(const struct sw_snapshot *snap, const char *directory,
			    const char *store, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	sw_cleanup(sw_close_p) int store_fd = -EBADF;
	sw_cleanup(sw_free_p) char *temporary = NULL;
	bool store_failed = false;
	int r = store != NULL ? sw_own_way_open(store, O_DIRECTORY, store, &store_fd, err) : 0;
	if (r == 0)
		r = sw_snapshot_save_begin(directory, &temporary, &fd, err);
	if (r < 0)
		return r;
	r = fill(snap, fd, store_fd, &store_failed, err);
	if (r == 0)
		return sw_snapshot_save_end(fd, temporary, directory, err);
	if (r == -SW_E_IO)
		r = fail(store_failed ? store : directory, err);
	remove_all(fd, temporary);
	return r;
}

int sw_snapshot_save(const struct sw_snapshot *snap, const char *directory, struct sw_error *err)
{
	return sw_snapshot_save_shared(snap, directory, NULL, err);
}
