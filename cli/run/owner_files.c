/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/owner_files.h"
#include "bytes.h"
#include "cleanup.h"
#include "in_root.h"
#include "parts.h"
#include "own_fd.h"
#include "run/trapped.h"

#include <confine/caps.h>
#include <confine/descriptors.h>
#include <confine/owner.h>
#include <confine/seccomp.h>
#include <snapwalk/clock.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { NS_PER_MS = 1000000, WAIT_MAX_MS = 5000 };
static const size_t SPACE_BYTES = 256 << 20; /* of one file */

struct question {
	uint8_t opens; /* not 0: whether it can be opened is asked, and not its bytes */
	char path[PATH_MAX];
};

/* All zeros: no. */
struct answer {
	uint64_t size;          /* of the bytes; TRAPPED */
	uint64_t device, inode; /* of the file that was opened */
	uint64_t call;          /* TRAPPED: the number of the system call */
};

/* The last answer of a child that its filter of system calls ends. */
static const uint64_t TRAPPED = UINT64_MAX;

/* ---- in the child ------------------------------------------------------------------------- */

/* Links on the way are root's or the owner's; openat2() cannot tell whose they are. */
static bool link_is_trusted(void *arg, int fd)
{
	const uid_t *owner = arg;
	struct stat st;
	if (fstat(fd, &st) < 0)
		return false;
	errno = ELOOP;
	return !S_ISLNK(st.st_mode) || st.st_uid == 0 || st.st_uid == *owner;
}

/* O_PATH opens nothing: opening alone waits at a FIFO, or does something to a device. */
static int regular_open(const char *path, uid_t owner, struct stat *ret)
{
	if (path[0] != '/')
		return -1;
	sw_cleanup(sw_close_p) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	sw_cleanup(sw_close_p) int fd =
		sw_in_root_open_where(root_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC,
				      link_is_trusted, &owner);
	if (fd < 0 || fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode))
		return -1;
	return sw_own_fd_open_to_read(fd);
}

static uint64_t file_copy(const char *path, uid_t owner, uint8_t *space)
{
	struct stat st;
	size_t n = 0;
	sw_cleanup(sw_close_p) int fd =
		sw_ends_with(path, ".dwo") ? regular_open(path, owner, &st) : -EBADF;
	if (fd < 0 || st.st_size < SELFMAG || (uint64_t) st.st_size > SPACE_BYTES)
		return 0;
	size_t size = (size_t) st.st_size;
	while (n < size) {
		ssize_t part = read(fd, space + n, n == 0 ? SELFMAG : size - n);
		if (part <= 0 || (n == 0 && memcmp(space, ELFMAG, SELFMAG) != 0))
			break;
		n += (size_t) part;
	}
	return n == size ? n : 0;
}

static struct answer file_open(const char *path, uid_t owner)
{
	struct stat st;
	sw_cleanup(sw_close_p) int fd = regular_open(path, owner, &st);
	return fd >= 0 ? (struct answer){.device = st.st_dev, .inode = st.st_ino}
		       : (struct answer){0};
}

static int said_fd; /* for a signal handler */

/* The child has no standard error: whoever waits for its end must not wait for a file system. */
static void say_trapped(int call, const void *context)
{
	(void) context;
	const struct answer a = {.size = TRAPPED, .call = (uint64_t) call};
	(void) !write(said_fd, &a, sizeof(a)); /* nowhere left to complain */
}

static void serve(int fd, const struct sw_owner_files_user *user, uint8_t *space)
{
	struct question q;
	struct sw_error err;
	(void) prctl(PR_SET_NAME, "snapwalk-files"); /* cannot fail */
	if (!sw_owner_can_become(user->uid, user->gid))
		return;
	sw_owner_become(user->uid, user->gid);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || sw_caps_keep(0, &err) < 0)
		return;
	said_fd = fd;
	sw_seccomp_trap(say_trapped);
#ifndef __SANITIZE_ADDRESS__
	if (sw_seccomp_parser(SW_SECCOMP_TRAPS, &err) < 0)
		return;
#endif
	for (;;) {
		ssize_t n = read(fd, &q, sizeof(q) - 1);
		if (n <= (ssize_t) offsetof(struct question, path))
			return;
		((char *) &q)[n] = '\0';
		struct answer a = {0};
		if (q.opens == 0)
			a.size = file_copy(q.path, user->uid, space);
		else if (user->opens)
			a = file_open(q.path, user->uid);
		if (write(fd, &a, sizeof(a)) != sizeof(a))
			return;
	}
}

/* ---- in the parent ------------------------------------------------------------------------ */

/* A name of a section; the NUL that ends the one before it may be another character, as linkers share ends. */
static const char *name_find(const char *text, size_t n, const char *name)
{
	return memmem(text, n, name, strlen(name) + 1);
}

bool sw_dwo_may_be_named(int fd)
{
	enum { TAIL_BYTES = 16384, NAMES_BYTES = 4096 };
	char tail[TAIL_BYTES];
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return true;
	off_t at = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
	size_t n = sw_pread(fd, tail, sizeof(tail), (uint64_t) at);
	const char *names = name_find(tail, n, ".shstrtab");
	/* Some of the names may be before the bytes that were read. */
	if (names == NULL || (at > 0 && names - tail < NAMES_BYTES))
		return true;
	return name_find(tail, n, "debug_addr") != NULL || name_find(tail, n, ".symtab") == NULL;
}

bool sw_dwo_is_of_distribution(const char *path)
{
	static const char *const directories[] = {"bin/",   "sbin/",   "lib/",    "lib32/",
						  "lib64/", "libx32/", "libexec/"};
	static const char root[] = "/", usr[] = "/usr/";
	if (!sw_begins_with(path, root))
		return false;
	path += strlen(sw_begins_with(path, usr) ? usr : root);
	for (size_t i = 0; i < SW_ARRAY_SIZE(directories); i++)
		if (sw_begins_with(path, directories[i]))
			return true;
	return false;
}

void sw_owner_files_start(struct sw_owner_files *files, const struct sw_owner_files_user *user)
{
	int fds[2];
	*files = (struct sw_owner_files){.fd = -EBADF};
	void *space = mmap(NULL, SPACE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		return;
	files->space = space;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
		/* The child may sleep in a file system that does not answer: nobody waits for our
		 * output's end then. */
		sw_confine_descriptors((int *const[]){&fds[1]}, 1);
		if (getppid() == parent)
			serve(fds[1], user, space);
		_exit(0);
	}
	(void) close(fds[1]); /* a socket */
	if (pid > 0)
		files->fd = fds[0];
	else
		(void) close(fds[0]);                   /* likewise */
	(void) mprotect(space, SPACE_BYTES, PROT_READ); /* or it is writable, which hurts nobody */
}

static struct answer ask(struct sw_owner_files *files, bool opens, const char *path,
			 int64_t wait_ms)
{
	struct pollfd p = {.fd = files->fd, .events = POLLIN};
	struct question q = {.opens = opens};
	struct answer a = {0};
	size_t length = strlen(path), bytes = offsetof(struct question, path) + length;
	if (files->fd < 0 || length == 0 || length >= sizeof(q.path))
		return a;
	memcpy(q.path, path, length);
	if (write(files->fd, &q, bytes) != (ssize_t) bytes)
		wait_ms = 0; /* it has ended, perhaps with a word on why */
	if (poll(&p, 1, (int) wait_ms) != 1 || read(files->fd, &a, sizeof(a)) != sizeof(a) ||
	    a.size > SPACE_BYTES) {
		if (a.size == TRAPPED)
			sw_trapped_say_of_child((int) a.call);
		/* A late answer would be taken for that to the next question. */
		sw_close_p(&files->fd);
		return (struct answer){0};
	}
	return a;
}

size_t sw_owner_files_read_dwo(void *arg, const char *path, int64_t deadline_ns, const void **ret)
{
	struct sw_owner_files *files = arg;
	int64_t wait_ms = WAIT_MAX_MS;
	int64_t left_ns = deadline_ns != 0 ? deadline_ns - sw_clock_ns() : INT64_MAX;
	/* No answer would end the child, which is asked again for other modules. */
	if (left_ns <= 0)
		return 0;
	if (left_ns / NS_PER_MS < wait_ms)
		wait_ms = left_ns / NS_PER_MS;
	size_t size = ask(files, false, path, wait_ms).size;
	if (size > 0)
		*ret = files->space;
	return size;
}

/* A file that has an open descriptor keeps its inode's number. */
bool sw_owner_files_may_open(void *arg, const char *path, int fd)
{
	struct stat st;
	struct answer a = ask(arg, true, path, WAIT_MAX_MS);
	return a.inode != 0 && fstat(fd, &st) == 0 && a.device == st.st_dev && a.inode == st.st_ino;
}

void sw_owner_files_end(struct sw_owner_files *files)
{
	sw_close_p(&files->fd);
	if (files->space != NULL)
		(void) munmap((void *) files->space, SPACE_BYTES); /* ours */
	*files = (struct sw_owner_files){.fd = -EBADF};
}
