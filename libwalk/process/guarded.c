/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/guarded.h"
#include "bytes.h"
#include "cleanup.h"
#include "in_root.h"
#include "own_fd.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	PIECE_BYTES = 64 << 10,
	OPEN_MS = 250,  /* to its first answer */
	COPY_MS = 1000, /* from then on, for the whole of it */
	AGAIN_MS = 50,  /* where one did not answer before */
	CACHED = 0x20,  /* RESOLVE_CACHED, Linux 5.12; not in older headers */
};

static const int64_t NS_PER_MS = 1000000;

/* An O_PATH descriptor. A filter may not know openat2(), Linux 5.6. */
static int path_open(int root_fd, const char *path, int flags, uint64_t resolve)
{
	flags |= O_PATH | O_CLOEXEC;
	const struct open_how how = {.flags = (unsigned) flags,
				     .resolve = RESOLVE_IN_ROOT | resolve};
	int fd = (int) syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS && resolve == 0)
		fd = sw_in_root_open(root_fd, path, flags);
	return fd;
}

/* Opens for reading what an O_PATH descriptor holds, if it is a regular file: the target's owner
 * may have put a device or a FIFO there, whose mere opening does things. Who has a lease of the file keeps those who open it
 * waiting for 45 s, unless they will not: fcntl(2), "Leases". */
static int reopen_regular(int path_fd, struct stat *st)
{
	if (fstat(path_fd, st) < 0)
		return -1;
	if (!S_ISREG(st->st_mode)) {
		errno = ENOENT; /* no such file is there */
		return -1;
	}
	return sw_own_fd_open_to_read(path_fd);
}

int sw_unguarded_open(int root_fd, const char *path, int flags, struct stat *st)
{
	if (root_fd < 0)
		return -1;
	sw_cleanup(sw_close_p) int path_fd = path_open(root_fd, path, flags, 0);
	return path_fd >= 0 ? reopen_regular(path_fd, st) : -1;
}

/* ---- step by step ------------------------------------------------------------------------------- */

struct steps {
	struct sw_pages *pages;              /* NULL: a server may be asked */
	const struct sw_credentials *reader; /* NULL: we */
};

/* EXDEV: a server answers for the file, or nobody is known to. */
static bool is_local(struct sw_pages *pages, int fd)
{
	if (sw_pages_fd_kind(pages, fd) == SW_FS_LOCAL)
		return true;
	errno = EXDEV;
	return false;
}

/* The file system is asked who may read only when it is known to answer. */
static bool step_permit(void *arg, int fd)
{
	const struct steps *steps = arg;
	return (steps->pages == NULL || is_local(steps->pages, fd)) &&
	       (steps->reader == NULL || sw_credentials_permit(steps->reader, fd));
}

static int path_open_stepwise(int root_fd, const char *path, int flags, struct sw_pages *pages,
			      const struct sw_credentials *reader)
{
	struct steps steps = {.pages = pages, .reader = reader};
	return sw_in_root_open_where(root_fd, path, flags | O_PATH | O_CLOEXEC, step_permit,
				     &steps);
}

static int open_stepwise(int root_fd, const char *path, int flags, struct sw_pages *pages,
			 const struct sw_credentials *reader, struct stat *st)
{
	sw_cleanup(sw_close_p) int path_fd =
		root_fd >= 0 ? path_open_stepwise(root_fd, path, flags, pages, reader) : -1;
	return path_fd >= 0 ? reopen_regular(path_fd, st) : -1;
}

bool sw_guarded_copy(int from_fd, int to_fd, struct stat *st)
{
	uint8_t buffer[PIECE_BYTES];
	off_t off = 0;
	if (fstat(from_fd, st) < 0 || st->st_size > SW_GUARDED_COPY_MAX)
		return false;
	for (;;) {
		ssize_t n = pread(from_fd, buffer, sizeof(buffer), off);
		if (n < 0 || off > SW_GUARDED_COPY_MAX)
			return false;
		if (n == 0)
			break;
		if (!sw_write_all(to_fd, buffer, (size_t) n))
			return false;
		off += n;
	}
	st->st_size = off; /* it may say anything: no more than what came is looked at */
	return true;
}

/* ---- in the expendable process ------------------------------------------------------------------ */

struct open_job {
	struct sw_pages *pages;
	enum sw_root root;
	const char *path;
	int flags;
	enum sw_guarded what;
	const struct sw_credentials *reader; /* NULL: we */
	struct stat st;
	int fd, error; /* fd: of its own table */
};

static int root_open(const struct sw_pages *pages, enum sw_root root)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	return root == SW_ROOT_OURS ? open("/", flags) : openat(pages->live_fd, "root", flags);
}

/* The copy's owner is we, and its mode says so: who looks at them finds no reason to believe it. */
static int copy_make(int fd, struct stat *st)
{
	sw_cleanup(sw_close_p) int copy_fd = memfd_create("snapwalk-file", MFD_CLOEXEC);
	if (copy_fd < 0 || !sw_guarded_copy(fd, copy_fd, st))
		return -1;
	(void) fchmod(copy_fd, 0600); /* a filter may refuse it: *st is what counts */
	return sw_take_fd(copy_fd);
}

static int job_open(struct open_job *job)
{
	sw_cleanup(sw_close_p) int root_fd = root_open(job->pages, job->root);
	sw_cleanup(sw_close_p) int fd =
		job->reader == NULL ? sw_unguarded_open(root_fd, job->path, job->flags, &job->st)
				    : open_stepwise(root_fd, job->path, job->flags, NULL,
						    job->reader, &job->st);
	if (fd < 0)
		return -1;
	if (sw_pages_fd_kind(job->pages, fd) == SW_FS_LOCAL)
		return sw_take_fd(fd);
	if (job->what == SW_GUARDED_COPY)
		return copy_make(fd, &job->st);
	errno = EXDEV;
	return -1;
}

static void open_job(void *arg)
{
	struct open_job *job = arg;
	job->fd = job_open(job);
	job->error = errno;
}

static int patience_ms(const struct sw_pages *pages, enum sw_guarded what)
{
	if (pages->n_lost > 0)
		return AGAIN_MS;
	return what == SW_GUARDED_COPY ? COPY_MS : OPEN_MS;
}

static int open_apart(struct sw_pages *pages, struct open_job *job)
{
	errno = ETIMEDOUT;
	if (job->what == SW_GUARDED_COPY && !sw_pages_may_copy(pages))
		return -1;
	struct sw_expendable *e = sw_pages_opener(pages);
	errno = ETIMEDOUT;
	if (e == NULL)
		return -1;
	/* Lost, it executes nothing more once it was ended: what it was told stays ours. */
	int64_t begin_ns = sw_clock_ns();
	int ms = patience_ms(pages, job->what);
	bool copies = job->what == SW_GUARDED_COPY;
	int64_t end_ns =
		copies ? begin_ns + ms * NS_PER_MS : sw_pages_deadline_ns(pages, begin_ns, ms);
	bool came = sw_expendable_run(e, open_job, job, end_ns);
	if (copies)
		sw_pages_copied(pages, begin_ns);
	else
		sw_pages_waited(pages, begin_ns);
	if (!came) {
		sw_pages_opener_drop(pages);
		errno = ETIMEDOUT;
		return -1;
	}
	if (job->fd < 0) {
		errno = job->error;
		return -1;
	}
	return sw_expendable_take_fd(e, job->fd);
}

/* ---- here ----------------------------------------------------------------------------------------- */

/* An O_PATH descriptor of a file that a disk answers for; -1, and errno: EXDEV when that is not known. */
static int local_path_open(struct sw_pages *pages, int root_fd, const char *path, int flags,
			   const struct sw_credentials *reader)
{
	sw_cleanup(sw_close_p) int fd = path_open(root_fd, path, flags, CACHED);
	/* EAGAIN: a step is not cached. EINVAL: the kernel does not know CACHED. ENOSYS: there is no openat2(), or a
	 * filter refuses it. */
	if (fd < 0 && errno != EAGAIN && errno != EINVAL && errno != ENOSYS)
		return -1;
	/* Most files that are looked for are not there, which is known by now. */
	if (fd < 0 || reader != NULL) {
		sw_close_p(&fd);
		return path_open_stepwise(root_fd, path, flags, pages, reader);
	}
	return is_local(pages, fd) ? sw_take_fd(fd) : -1;
}

int sw_guarded_open_as(struct sw_pages *pages, enum sw_root root, const char *path, int flags,
		       enum sw_guarded what, const struct sw_credentials *reader, struct stat *st)
{
	sw_cleanup(sw_close_p) int root_fd = root_open(pages, root);
	if (root_fd < 0)
		return -1;
	sw_cleanup(sw_close_p) int path_fd = local_path_open(pages, root_fd, path, flags, reader);
	if (path_fd >= 0)
		return reopen_regular(path_fd, st);
	if (errno != EXDEV)
		return -1;
	struct open_job job = {.pages = pages,
			       .root = root,
			       .path = path,
			       .flags = flags,
			       .what = what,
			       .reader = reader,
			       .fd = -EBADF};
	job.what = SW_GUARDED_LOCAL;
	int fd = open_apart(pages, &job);
	if (fd < 0 && errno == EXDEV && what == SW_GUARDED_COPY) { /* it answers */
		job.what = what;
		fd = open_apart(pages, &job);
	}
	if (fd >= 0)
		*st = job.st;
	return fd;
}

int sw_guarded_open(struct sw_pages *pages, enum sw_root root, const char *path, int flags,
		    enum sw_guarded what, struct stat *st)
{
	return sw_guarded_open_as(pages, root, path, flags, what, NULL, st);
}
