/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/keep.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "own_way.h"

#include <confine/descriptors.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

int sw_keep_check(const struct sw_options *options)
{
	struct stat st;
	struct sw_error err = {0};
	if (options->keep == NULL || lstat(options->keep, &st) < 0)
		return SW_STATUS_COMPLETE;
	(void) sw_fail(&err, SW_E_IO, "it is there already");
	err.sys_errno = EEXIST;
	return sw_complain_error(options->keep, &err);
}

void sw_keep_prepare(const struct sw_options *options)
{
	if (options->modules_store != NULL)
		(void) sw_own_way_make(options->modules_store, 0700,
				       NULL); /* sw_keeper_begin() opens it */
}

/* The orders to the child. */
static const char words[] = {'k', 'r'};
enum { WORD_KEEP, WORD_REMOVE };

/* In the child. */
static void place(const struct sw_keeper *keeper, const char *directory, int fd)
{
	struct sw_error answer = {0};
	sigset_t all;
	ssize_t n;
	char word;
	int directory_fd = keeper->fd;
	sw_confine_descriptors((int *const[]){&fd, &directory_fd}, 2);
	sigfillset(&all);
	(void) sigprocmask(SIG_SETMASK, &all, NULL); /* cannot fail */
	do
		n = read(fd, &word, 1);
	while (n < 0 && errno == EINTR);
	bool keep = n == 1 && word == words[WORD_KEEP];
	(void) sw_snapshot_save_end(directory_fd, keeper->temporary, keep ? directory : NULL,
				    &answer); /* answer.code says it */
	if (keep)
		(void) !write(fd, &answer, sizeof(answer)); /* or nobody waits any more */
}

static int placer_start(struct sw_keeper *keeper, const char *directory, struct sw_error *err)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pair of sockets");
	(void) fflush(NULL); /* the child must not write it again */
	pid_t pid = fork();
	if (pid == 0) {
		(void) close(fds[0]); /* a socket */
		place(keeper, directory, fds[1]);
		_exit(0);
	}
	(void) close(fds[1]); /* likewise */
	if (pid < 0) {
		(void) close(fds[0]); /* likewise */
		return sw_fail_errno(err, SW_E_IO, "cannot fork");
	}
	keeper->placer = pid;
	keeper->placer_fd = fds[0];
	return 0;
}

static int store_open(struct sw_keeper *keeper, const char *store, struct sw_error *err)
{
	keeper->store_fd = -EBADF;
	if (store == NULL)
		return 0;
	return sw_own_way_open(store, O_DIRECTORY, store, &keeper->store_fd, err);
}

void sw_keeper_begin(struct sw_keeper *keeper, const struct sw_options *options)
{
	struct sw_error *err = &keeper->failed;
	if (options->keep == NULL ||
	    sw_snapshot_save_begin(options->keep, &keeper->temporary, &keeper->fd, err) < 0)
		return;
	int r = store_open(keeper, options->modules_store, err);
	if (r == 0)
		r = placer_start(keeper, options->keep, err);
	if (r < 0)
		(void) sw_snapshot_save_end(keeper->fd, keeper->temporary, NULL,
					    NULL); /* failing already */
}

/* A snapshot that has no name by now is removed by the child. The child's end is seen by that of
 * the connection, as a confined process may not wait for a child. */
void sw_keeper_end(struct sw_keeper *keeper)
{
	if (keeper->temporary == NULL)
		return;
	sw_close_p(&keeper->fd);
	sw_close_p(&keeper->store_fd);
	if (keeper->placer != 0) {
		char byte;
		(void) !write(keeper->placer_fd, &words[WORD_REMOVE], 1); /* or it has ended */
		while (read(keeper->placer_fd, &byte, 1) < 0 && errno == EINTR)
			;
		sw_close_p(&keeper->placer_fd);
		while (waitpid(keeper->placer, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(keeper->temporary);
	*keeper = (struct sw_keeper){0};
}

static int let_place(const struct sw_keeper *keeper, struct sw_error *err)
{
	struct sw_error answer = {0};
	ssize_t n = -1;
	if (write(keeper->placer_fd, &words[WORD_KEEP], 1) == 1)
		do
			n = read(keeper->placer_fd, &answer, sizeof(answer));
		while (n < 0 && errno == EINTR);
	if (n != sizeof(answer))
		return sw_fail(err, SW_E_IO,
			       "it cannot be put in place: the process that does it has ended");
	if (answer.code == 0)
		return 0;
	*err = answer;
	return -answer.code;
}

int sw_keep(const struct sw_options *options, const struct sw_snapshot *snap, struct sw_error *err)
{
	const struct sw_keeper *keeper = options->keeper;
	if (options->keep == NULL)
		return 0;
	if (keeper != NULL && keeper->failed.code != 0) {
		*err = keeper->failed;
		return -err->code;
	}
	if (keeper == NULL || keeper->temporary == NULL)
		return sw_snapshot_save_shared(snap, options->keep, options->modules_store, err);
	int r = sw_snapshot_save_fill(snap, keeper->fd, keeper->store_fd, options->modules_store,
				      err);
	return r < 0 ? r : let_place(keeper, err);
}

int sw_keep_beside(const struct sw_options *options, const struct sw_snapshot *snap)
{
	struct sw_error err = {0};
	if (sw_keep(options, snap, &err) == 0)
		return SW_STATUS_COMPLETE;
	(void) sw_complain_error(options->keep, &err); /* its status says that there is no dump */
	return SW_STATUS_MISSING;
}
