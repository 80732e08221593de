/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/pins.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/bpf.h"
#include "iterate/programs.h"
#include "iterate/refusal.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum {
	NAMES_MAX = 64, /* of other builds, and of whoever else is root */
	TAG_DIGITS = 2 * BPF_TAG_SIZE,
	PATH_SIZE = NAME_MAX + 32,
};

static const enum sw_iterate_program all[] = {SW_ITERATE_THREADS, SW_ITERATE_RETURNS,
					      SW_ITERATE_FILES};

static bool is_roots_alone(const struct stat *st)
{
	return st->st_uid == 0 && (st->st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* Owned by the caller; NULL: *err says why. */
static DIR *directory_open(const char *path, struct sw_error *err)
{
	struct stat st;
	struct statfs fs;
	sw_cleanup(sw_close_p) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0) {
		(void) sw_fail_errno(err, SW_E_IO, "cannot open %s", path);
		return NULL;
	}
	if (fs.f_type != BPF_FS_MAGIC) {
		(void) sw_fail(err, SW_E_UNSUPPORTED, "%s is in no BPF file system", path);
		return NULL;
	}
	if (!is_roots_alone(&st)) {
		(void) sw_fail(err, SW_E_NOT_PERMITTED, "%s is not root's alone", path);
		return NULL;
	}
	DIR *directory = fdopendir(fd);
	if (directory == NULL) {
		(void) sw_fail_nomem(err);
		return NULL;
	}
	(void) sw_take_fd(fd); /* the directory's */
	return directory;
}

static void directory_close_p(DIR **directory)
{
	if (*directory != NULL)
		(void) closedir(*directory); /* nothing was written */
}

/* ---- programs ---- */

/* False: this kernel does not say it. */
static bool info_read(int program_fd, struct bpf_prog_info *ret)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	memset(ret, 0, sizeof(*ret));
	attr.info.bpf_fd = (uint32_t) program_fd;
	attr.info.info = (uintptr_t) ret;
	attr.info.info_len = sizeof(*ret);
	return sw_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0;
}

static void tag_print(const struct bpf_prog_info *info, char text[static TAG_DIGITS + 1])
{
	for (size_t i = 0; i < BPF_TAG_SIZE; i++)
		(void) snprintf(text + 2 * i, 3, "%02x", info->tag[i]); /* fits */
}

/* "tasks-DIGEST" is sw_tasks() there. */
static bool has_name(const struct bpf_prog_info *info, const char *identity)
{
	static const char prefix[] = "sw_";
	size_t n = strcspn(identity, "-");
	return strncmp(info->name, prefix, strlen(prefix)) == 0 &&
	       strncmp(info->name + strlen(prefix), identity, n) == 0 &&
	       info->name[strlen(prefix) + n] == '\0';
}

static bool is_as_named(int program_fd, const char *identity, const char *tag)
{
	struct bpf_prog_info info;
	char text[TAG_DIGITS + 1];
	if (!info_read(program_fd, &info))
		return false;
	tag_print(&info, text);
	return info.type == BPF_PROG_TYPE_TRACING && info.nr_map_ids == 0 &&
	       has_name(&info, identity) && strcmp(tag, text) == 0;
}

/* bpf(2) knows names in an open directory since Linux 6.5 only (BPF_F_PATH_FD). */
static void path_print(int directory_fd, const char *name, char path[static PATH_SIZE])
{
	(void) snprintf(path, PATH_SIZE, "/proc/self/fd/%d/%.*s", directory_fd, NAME_MAX,
			name); /* fits */
}

static int object_get(int directory_fd, const char *name)
{
	char path[PATH_SIZE];
	union bpf_attr attr;
	path_print(directory_fd, name, path);
	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t) path;
	return sw_bpf(BPF_OBJ_GET, &attr);
}

/* ---- names ---- */

/* The tag in the name of a pinned program; NULL: it is not that program, of this build. */
static const char *tag_of(const char *name, const char *identity)
{
	size_t n = strlen(identity);
	return strncmp(name, identity, n) == 0 && name[n] == '-' ? name + n + 1 : NULL;
}

static int name_open(int directory_fd, const char *name, const char *identity)
{
	struct stat st;
	const char *tag = tag_of(name, identity);
	if (tag == NULL || fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_roots_alone(&st)) /* nor is a link */
		return -1;
	sw_cleanup(sw_close_p) int fd = object_get(directory_fd, name);
	return fd >= 0 && is_as_named(fd, identity, tag) ? sw_take_fd(fd) : -1;
}

int sw_pins_open(const char *path, enum sw_iterate_program program, int *ret_program_fd)
{
	const char *identity = sw_iterate_program_identity(program);
	if (identity == NULL)
		return -ENOENT;
	sw_cleanup(directory_close_p) DIR *directory = directory_open(path, NULL);
	if (directory == NULL)
		return -ENOENT;
	const struct dirent *entry;
	for (size_t n = 0; n < NAMES_MAX && (entry = readdir(directory)) != NULL; n++) {
		int fd = name_open(dirfd(directory), entry->d_name, identity);
		if (fd >= 0) {
			*ret_program_fd = fd;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- what the daemon does at its start and end ---- */

static int pin(int directory_fd, enum sw_iterate_program program, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	struct bpf_prog_info info;
	char tag[TAG_DIGITS + 1], name[NAME_MAX + 1], path[PATH_SIZE];
	union bpf_attr attr;
	int r = sw_iterate_program_load(program, &fd);
	if (r < 0)
		return r == -ENOMEM ? sw_fail_nomem(err) : sw_iterate_refused(-r, NULL, err);
	if (!info_read(fd, &info))
		return sw_fail_errno(err, SW_E_IO, "the kernel does not describe its programs");
	tag_print(&info, tag);
	(void) snprintf(name, sizeof(name), "%s-%s", sw_iterate_program_identity(program),
			tag); /* fits */
	path_print(directory_fd, name, path);
	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t) path;
	attr.bpf_fd = (uint32_t) fd;
	if (sw_bpf(BPF_OBJ_PIN, &attr) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot pin a program as %s", name);
	return 0;
}

int sw_pins_make(const char *path, struct sw_error *err)
{
	int r = sw_pins_remove(path, err);
	if (r < 0)
		return r;
	if (mkdir(path, S_IRWXU) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make %s", path);
	sw_cleanup(directory_close_p) DIR *directory = directory_open(path, err);
	if (directory == NULL) {
		r = err != NULL ? -err->code : -SW_E_IO;
		(void) rmdir(path); /* ours, and empty */
		return r;
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(all) && r == 0; i++)
		r = pin(dirfd(directory), all[i], err);
	if (r < 0)
		(void) sw_pins_remove(path, NULL); /* the first reason is said */
	return r;
}

int sw_pins_remove(const char *path, struct sw_error *err)
{
	struct sw_error why = {0};
	sw_cleanup(directory_close_p) DIR *directory = directory_open(path, &why);
	if (directory == NULL && why.sys_errno == ENOENT)
		return 0;
	if (directory == NULL)
		return sw_fail(err, why.code, "%s", why.message);
	const struct dirent *entry;
	for (size_t n = 0; n < NAMES_MAX && (entry = readdir(directory)) != NULL; n++)
		(void) unlinkat(dirfd(directory), entry->d_name,
				0); /* or rmdir() says that it is not empty */
	if (rmdir(path) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot remove %s", path);
	return 0;
}
