/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/output.h"
#include "cleanup.h"
#include "common/ascii.h"
#include "errors.h"
#include "own_way.h"
#include "parts.h"
#include "own_fd.h"

#include <confine/descriptors.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { OUTPUT_MODE = 0666, TEMPORARY_TRIES = 16 };

/* Devices, and what is open already. In /dev/shm are everybody's files. */
static bool is_of_system(const char *path)
{
	return (sw_begins_with(path, "/dev/") && !sw_begins_with(path, "/dev/shm/")) ||
	       sw_begins_with(path, "/proc/self/fd/") ||
	       sw_begins_with(path, "/proc/thread-self/fd/");
}

/* Links there lead to other root directories, in which names are resolved by those who made them. */
static bool is_of_other_root(const char *path)
{
	return sw_begins_with(path, "/proc/") && !is_of_system(path);
}

/* Devices and pipes cannot appear by rename: replacing /dev/null by a file would be a disaster. */
static bool is_direct(const char *path)
{
	struct stat st;
	if (is_of_system(path))
		return true;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Whether another user may have put the file into its directory for us to find: as the kernel asks for
 * fs.protected_fifos=2, which holds for open() with O_CREAT alone; see proc(5). Also where the directory is not sticky. */
static bool is_planted(const char *path, const struct stat *st)
{
	struct stat directory_st;
	sw_cleanup(sw_close_p) int directory_fd = -EBADF;
	if (st->st_uid == geteuid() || st->st_uid == 0)
		return false;
	return sw_own_way_open_parent(path, path, &directory_fd, NULL) < 0 ||
	       fstat(directory_fd, &directory_st) < 0 ||
	       ((directory_st.st_mode & (S_IWOTH | S_IWGRP)) != 0 &&
		st->st_uid != directory_st.st_uid);
}

static const char cannot[] = "cannot write there";

/* is_planted() of the file that path_fd holds, whichever name led there. */
static bool holds_planted(int path_fd)
{
	char found[PATH_MAX];
	struct stat st;
	if (!sw_own_fd_path(path_fd, found, sizeof(found)) || fstat(path_fd, &st) < 0)
		return true;
	return !S_ISCHR(st.st_mode) && is_planted(found, &st);
}

/* Nothing is opened before it was looked at: opening alone waits at a FIFO until somebody reads it. */
static int open_direct(struct sw_output *out, struct sw_error *err)
{
	int r = 0;
	sw_cleanup(sw_close_p) int path_fd = -EBADF;
	out->fd = -EBADF;
	/* In /proc are links that lead to no path. */
	if (!is_of_system(out->path))
		r = sw_own_way_open(out->path, 0, cannot, &path_fd, err);
	else if ((path_fd = open(out->path, O_PATH | O_CLOEXEC)) < 0)
		r = sw_fail_errno(err, SW_E_IO, cannot);
	if (r < 0)
		return r;
	if (!is_of_system(out->path) && holds_planted(path_fd))
		return sw_fail(err, SW_E_IO,
			       "another user has put it into a directory that others may write to");
	out->fd = sw_own_fd_open(path_fd, O_WRONLY | O_NOCTTY);
	return out->fd < 0 ? sw_fail_errno(err, SW_E_IO, cannot) : 0;
}

/* A name beside the file's that is not used; the caller tries again when it is by then. */
static char *temporary_name(const struct sw_output *out, unsigned attempt)
{
	char *name;
	if (asprintf(&name, "%s.%d-%u.tmp", out->name, (int) getpid(), attempt) < 0)
		return NULL;
	return name;
}

/* Where files without a name do not exist (some network and union file systems). */
static int open_named(struct sw_output *out, struct sw_error *err)
{
	for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
		sw_cleanup(sw_free_p) char *name = temporary_name(out, i);
		if (name == NULL)
			return sw_fail_nomem(err);
		out->fd = openat(out->directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				 OUTPUT_MODE);
		if (out->fd >= 0) {
			out->temporary = sw_take_ptr(name);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return sw_fail_errno(err, SW_E_IO, cannot);
}

/* Opened before the target is touched, so that a bad path costs it nothing. */
int sw_output_open(struct sw_output *ret, const char *path, struct sw_error *err)
{
	*ret = (struct sw_output){.fd = STDOUT_FILENO, .directory_fd = -EBADF, .direct = true};
	if (path == NULL || strcmp(path, "-") == 0) {
		ret->ascii = sw_ascii_only(ret->fd);
		return 0;
	}
	ret->path = path;
	if (is_of_other_root(path)) {
		ret->fd = -EBADF;
		return sw_fail(err, SW_E_IO, "nothing is written by a path below /proc");
	}
	if (is_direct(path))
		return open_direct(ret, err);
	ret->direct = false;
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		ret->fd = -EBADF;
		(void) sw_fail(err, SW_E_IO, "it is a directory");
		err->sys_errno = EISDIR;
		return -SW_E_IO;
	}
	const char *slash = strrchr(path, '/');
	ret->name = slash != NULL ? slash + 1 : path;
	ret->fd = -EBADF;
	/* The directory is held from now on: another user who owns a part of the way to it may let that lead elsewhere. */
	int r = sw_own_way_open_parent(path, cannot, &ret->directory_fd, err);
	if (r < 0)
		return r;
	/* Without a name, nothing is left behind even by SIGKILL. */
	ret->fd = openat(ret->directory_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, OUTPUT_MODE);
	ret->unnamed = ret->fd >= 0;
	return ret->unnamed ? 0 : open_named(ret, err);
}

/* The process that started us may have left a pipe that does not block. */
static bool wait_writable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

static int write_all(struct sw_output *out, const char *data, size_t size, struct sw_error *err)
{
	while (size > 0 && !out->reader_gone) {
		ssize_t n = write(out->fd, data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && wait_writable(out->fd))
			continue;
		if (n < 0 && errno == EPIPE) {
			out->reader_gone = true;
			return 0;
		}
		if (n < 0)
			return sw_fail_errno(err, SW_E_IO, "writing failed");
		data += n;
		size -= (size_t) n;
	}
	return 0;
}

int sw_output_write(struct sw_output *out, const char *data, size_t size, struct sw_error *err)
{
	if (out->take != NULL)
		return out->take(out->take_arg, data, size, err);
	if (out->memory != NULL) {
		sw_text_append(out->memory, data, size);
		return out->memory->failed ? sw_fail_nomem(err) : 0;
	}
	if (!out->ascii)
		return write_all(out, data, size, err);
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	sw_ascii_append(&text, data, size);
	return text.failed ? sw_fail_nomem(err) : write_all(out, text.data, text.size, err);
}

/* Gives a name to a file that has none. */
static int link_unnamed(struct sw_output *out, struct sw_error *err)
{
	char link[SW_OWN_FD_BYTES];
	sw_own_fd_name(out->fd, link);
	for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
		sw_cleanup(sw_free_p) char *name = temporary_name(out, i);
		if (name == NULL)
			return sw_fail_nomem(err);
		if (linkat(AT_FDCWD, link, out->directory_fd, name, AT_SYMLINK_FOLLOW) == 0) {
			out->temporary = sw_take_ptr(name);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return sw_fail_errno(err, SW_E_IO, "the file cannot be given its name");
}

static int commit(struct sw_output *out, struct sw_error *err)
{
	if (out->unnamed) {
		int r = link_unnamed(out, err);
		if (r < 0)
			return r;
	}
	/* Some file systems tell of a full disk only now. */
	int fd = sw_take_fd(out->fd);
	if (close(fd) < 0)
		return sw_fail_errno(err, SW_E_IO, "writing failed");
	if (renameat(out->directory_fd, out->temporary, out->directory_fd, out->name) < 0)
		return sw_fail_errno(err, SW_E_IO, "the file cannot be put in place");
	free(sw_take_ptr(out->temporary));
	return 0;
}

/* ---- by a child --------------------------------------------------------------------------- */

/* In the child: waits for a word, and says what came of it. Without one it removes what is there.
 */
static void place(struct sw_output *out, int fd)
{
	struct sw_error answer = {0};
	sigset_t all;
	ssize_t n;
	char word;
	/* Not the descriptors of what is captured: the kernel's events live as long as one of theirs. */
	sw_confine_descriptors((int *const[]){&fd, &out->fd, &out->directory_fd}, 3);
	sigfillset(&all);
	(void) sigprocmask(SIG_SETMASK, &all, NULL); /* cannot fail */
	do
		n = read(fd, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1) {
		(void) commit(out, &answer);                /* answer.code says it */
		(void) !write(fd, &answer, sizeof(answer)); /* or nobody waits any more */
	}
	sw_output_deinit(out);
}

int sw_output_entrust(struct sw_output *out, struct sw_error *err)
{
	int fds[2];
	if (out->direct)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pair of sockets");
	(void) fflush(NULL); /* the child must not write it again */
	pid_t pid = fork();
	if (pid == 0) {
		(void) close(fds[0]); /* a socket */
		place(out, fds[1]);
		_exit(0);
	}
	(void) close(fds[1]); /* likewise */
	if (pid < 0) {
		(void) close(fds[0]); /* likewise */
		return sw_fail_errno(err, SW_E_IO, "cannot fork");
	}
	out->placer = pid;
	out->placer_fd = fds[0];
	return 0;
}

static int let_place(struct sw_output *out, struct sw_error *err)
{
	struct sw_error answer = {0};
	ssize_t n = -1;
	int fd = sw_take_fd(out->fd);
	if (close(fd) < 0)
		return sw_fail_errno(err, SW_E_IO, "writing failed");
	if (write(out->placer_fd, "", 1) == 1)
		do
			n = read(out->placer_fd, &answer, sizeof(answer));
		while (n < 0 && errno == EINTR);
	if (n != sizeof(answer))
		return sw_fail(
			err, SW_E_IO,
			"the file cannot be put in place: the process that does it has ended");
	if (answer.code == 0)
		return 0;
	*err = answer;
	return -answer.code;
}

/* A file that is not in its place by now is removed by the child. */
static void placer_end(struct sw_output *out)
{
	sw_close_p(&out->placer_fd);
	while (waitpid(out->placer, NULL, 0) < 0 && errno == EINTR)
		;
	out->placer = 0;
	free(sw_take_ptr(out->temporary));
}

/* ---- all ---------------------------------------------------------------------------------- */

int sw_output_commit(struct sw_output *out, struct sw_error *err)
{
	if (out->direct)
		return 0;
	return out->placer != 0 ? let_place(out, err) : commit(out, err);
}

void sw_output_deinit(struct sw_output *out)
{
	if (out->path != NULL)
		sw_close_p(&out->fd);
	out->fd = -EBADF;
	if (out->placer != 0)
		placer_end(out);
	if (out->temporary != NULL)
		(void) unlinkat(out->directory_fd, out->temporary,
				0); /* already failing: the first error counts */
	free(sw_take_ptr(out->temporary));
	if (out->name != NULL)
		sw_close_p(&out->directory_fd);
	out->name = NULL;
}
