/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/namespace.h"
#include "policy/authorize.h"
#include "cleanup.h"
#include "text.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* include/uapi/asm-generic/socket.h, Linux 6.5 */
#endif

enum { STATUS_TEXT_MAX = 64 * 1024 };

static struct sw_user_ns read_link(int dir_fd, const char *name)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, 0) < 0)
		return (struct sw_user_ns){0};
	return (struct sw_user_ns){.dev = st.st_dev, .ino = st.st_ino};
}

struct sw_user_ns sw_user_ns_read(int proc_fd)
{
	return read_link(proc_fd, "ns/user");
}

struct sw_user_ns sw_user_ns_self(void)
{
	return read_link(AT_FDCWD, "/proc/self/ns/user");
}

bool sw_user_ns_equal(struct sw_user_ns a, struct sw_user_ns b)
{
	return a.ino != 0 && a.ino == b.ino && a.dev == b.dev;
}

/* Asked after something was read by the number: then it was this process's. */
static bool is_alive(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	return poll(&p, 1, 0) == 0;
}

struct sw_user_ns sw_user_ns_of_pidfd(int pidfd, pid_t pid)
{
	sw_cleanup(sw_close_p) int proc_fd = pid > 0 ? sw_target_proc_open(pid) : -EBADF;
	struct sw_user_ns ns = {0};
	if (proc_fd >= 0)
		ns = sw_user_ns_read(proc_fd);
	return is_alive(pidfd) ? ns : (struct sw_user_ns){0};
}

int sw_peer_pidfd(int socket_fd, pid_t pid)
{
	int fd = -EBADF;
	socklen_t size = sizeof(fd);
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0)
		return fd;
	if (errno != ENOPROTOOPT || pid <= 0)
		return -EBADF; /* it has ended, or is not in our pid namespace */
	fd = (int) syscall(SYS_pidfd_open, pid, 0);
	return fd >= 0 ? fd : -EBADF;
}

bool sw_peer_ids_are_real(int pidfd, pid_t pid, uid_t uid, gid_t gid)
{
	sw_cleanup(sw_close_p) int proc_fd = pid > 0 ? sw_target_proc_open(pid) : -EBADF;
	sw_cleanup(sw_text_deinit) struct sw_text status = {0};
	uint32_t real_uid, real_gid;
	if (proc_fd < 0 || sw_text_read_at(&status, proc_fd, "status", STATUS_TEXT_MAX) < 0 ||
	    status.size == 0)
		return false;
	/* No name can pretend to be a line: a newline in it is written as \n. */
	const char *uids = strstr(status.data, "\nUid:"), *gids = strstr(status.data, "\nGid:");
	if (uids == NULL || gids == NULL || sscanf(uids, "\nUid: %u", &real_uid) != 1 ||
	    sscanf(gids, "\nGid: %u", &real_gid) != 1 || !is_alive(pidfd))
		return false;
	return real_uid == 0 || (real_uid == uid && real_gid == gid);
}
