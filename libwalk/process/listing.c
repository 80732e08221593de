/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <snapwalk/listing.h>
#include "cleanup.h"
#include "errors.h"
#include "in_root.h"
#include "process/expendable.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	NS_PER_MS = 1000000,
	PATIENCE_MS = 1000,
	FIRST_BYTES = 64 << 10,
	MAX_BYTES = 64 << 20,
};

/* A question. The process that answers it allocates nothing. */
struct job {
	int proc_fd;
	bool is_directory;
	char name[64];
	char *buffer; /* owned */
	size_t size, n;
	int error; /* 0; errno */
};

struct sw_listing {
	struct sw_expendable *process; /* owned */
	struct job job;
	bool lost;
};

/* ---- in the expendable process ---------------------------------------------------------------- */

static int question_open(const struct job *job)
{
	if (!job->is_directory)
		return openat(job->proc_fd, job->name, O_RDONLY | O_CLOEXEC);
	sw_cleanup(sw_close_p) int root_fd =
		openat(job->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	sw_cleanup(sw_close_p) int path_fd =
		root_fd >= 0 ? sw_in_root_open(root_fd, job->name, O_PATH | O_DIRECTORY | O_CLOEXEC)
			     : -1;
	return path_fd >= 0 ? openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* Reads until the end, or until the buffer is full. */
static void answer(void *arg)
{
	struct job *job = arg;
	sw_cleanup(sw_close_p) int fd = question_open(job);
	long n = fd < 0 ? -1 : 1;
	job->n = 0;
	while (n > 0 && job->n < job->size) {
		char *to = job->buffer + job->n;
		size_t space = job->size - job->n;
		n = job->is_directory ? syscall(SYS_getdents64, fd, to, space)
				      : read(fd, to, space);
		if (n > 0)
			job->n += (size_t) n;
	}
	/* A directory whose next entry does not fit says so. */
	if (n < 0 && errno == EINVAL && job->is_directory && job->n > 0) {
		job->n = job->size;
		n = 0;
	}
	job->error = n < 0 ? errno : 0;
}

/* ---- here ------------------------------------------------------------------------------------- */

int sw_listing_create(int proc_fd, struct sw_listing **ret, struct sw_error *err)
{
	struct sw_listing *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return sw_fail_nomem(err);
	l->job = (struct job){.proc_fd = proc_fd,
			      .buffer = malloc(FIRST_BYTES + 1),
			      .size = FIRST_BYTES};
	int r = l->job.buffer != NULL ? sw_expendable_start(&proc_fd, 1, &l->process, err)
				      : sw_fail_nomem(err);
	if (r < 0)
		sw_listing_destroy(l);
	else
		*ret = l;
	return r;
}

void sw_listing_destroy(struct sw_listing *l)
{
	if (l == NULL || (l->process != NULL && !sw_expendable_end(l->process)))
		return; /* it may still write there */
	free(l->job.buffer);
	free(l);
}

static bool grow(struct job *job)
{
	size_t size = job->size * 2;
	char *grown = realloc(job->buffer, size + 1);
	if (grown == NULL)
		return false;
	job->buffer = grown;
	job->size = size;
	return true;
}

/* The whole answer is in l->job then. */
static int ask(struct sw_listing *l, bool is_directory, const char *name, struct sw_error *err)
{
	struct job *job = &l->job;
	if (strlen(name) >= sizeof(job->name))
		return sw_fail(err, SW_E_LIMIT, "a name is too long to be asked for");
	for (;;) {
		if (l->lost)
			return sw_fail(err, SW_E_TIMEOUT, "%s does not answer", name);
		job->is_directory = is_directory;
		strcpy(job->name, name); /* fits */
		l->lost = !sw_expendable_run(l->process, answer, job,
					     sw_clock_ns() + PATIENCE_MS * (int64_t) NS_PER_MS);
		if (l->lost)
			continue;
		errno = job->error;
		if (errno == ENOENT || errno == ENOTDIR)
			return sw_fail(err, SW_E_NOT_FOUND, "%s is not there", name);
		if (job->error != 0)
			return sw_fail_errno(err, SW_E_IO, "%s cannot be read", name);
		if (job->n < job->size)
			return 0;
		if (job->size >= MAX_BYTES)
			return sw_fail(err, SW_E_LIMIT, "%s is too large to be read", name);
		if (!grow(job))
			return sw_fail_nomem(err);
	}
}

int sw_listing_read(struct sw_listing *l, const char *name, const char **ret, struct sw_error *err)
{
	int r = ask(l, false, name, err);
	if (r < 0)
		return r;
	l->job.buffer[l->job.n] = '\0';
	*ret = l->job.buffer;
	return 0;
}

/* As the kernel has it: getdents(2). */
struct entry {
	uint64_t inode;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

int sw_listing_names(struct sw_listing *l, const char *path,
		     void (*each)(void *arg, const char *name, uint64_t inode), void *arg,
		     struct sw_error *err)
{
	int r = ask(l, true, path, err);
	for (size_t at = 0; r == 0 && at < l->job.n;) {
		struct entry head;
		memcpy(&head, l->job.buffer + at, offsetof(struct entry, name));
		each(arg, l->job.buffer + at + offsetof(struct entry, name), head.inode);
		at += head.bytes;
	}
	return r;
}
