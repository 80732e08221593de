/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/memory_locks.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/read.h"
#include "iterate/tasks.h"
#include "process/expendable.h"
#include "own_fd.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	NS_PER_MS = 1000000,
	THREADS_MAX = 4096, /* whose memory is locked at once */
	LOOK_MS = 1,        /* between two looks */
	/* A process whose memory is locked for so long is asked for what it maps. */
	SHORT_NS = 10 * NS_PER_MS,
	CHECK_NS = 1000 * NS_PER_MS,
	MAPS_BYTES = 16 << 10,
	PATH_BYTES = 48,
	NAME_BYTES = 256,
};

int sw_memory_locks_open(struct sw_memory_locks *ret, struct sw_error *err)
{
	*ret = (struct sw_memory_locks){.link_fd = -EBADF};
	return sw_iterate_locks_link(&ret->link_fd, err);
}

void sw_memory_locks_close(struct sw_memory_locks *l)
{
	sw_close_p(&l->link_fd);
}

/* ---- looks ------------------------------------------------------------------------------------ */

static bool is_same(const struct sw_iterate_lock *was, const struct sw_iterate_lock *now)
{
	return was->memory == now->memory && was->tid == now->tid &&
	       ((was->owner != 0 && was->owner == now->owner) ||
		(was->n_switches != 0 && was->n_switches == now->n_switches));
}

size_t sw_memory_locks_still(struct sw_iterate_lock *seen, size_t n,
			     const struct sw_iterate_lock *now, size_t n_now)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n_now; k++)
			if (is_same(&seen[i], &now[k])) {
				seen[kept++] = seen[i];
				break;
			}
	return kept;
}

static bool is_unrelated(const struct sw_memory_locks *l, uint64_t memory)
{
	for (size_t i = 0; i < l->n_unrelated; i++)
		if (l->unrelated[i] == memory)
			return true;
	return false;
}

static int look(const struct sw_memory_locks *l, struct sw_iterate_lock *ret, size_t *ret_n,
		struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	struct sw_iterate_pass pass;
	size_t n = 0;
	int r = sw_iterate_open(l->link_fd, &fd, err);
	if (r < 0)
		return r;
	r = sw_iterate_read_locks(fd, ret, THREADS_MAX, &pass);
	if (r < 0)
		return sw_fail(err, -r, "cannot tell whose memory is locked");
	if (pass.overflow)
		return sw_fail(err, SW_E_LIMIT,
			       "more than %d threads of this machine wait with locked memory",
			       THREADS_MAX);
	for (size_t i = 0; i < pass.n; i++)
		if (!is_unrelated(l, ret[i].memory))
			ret[n++] = ret[i];
	*ret_n = n;
	return 0;
}

/* ---- what they map ---------------------------------------------------------------------------- */

bool sw_memory_locks_maps_line(const char *line, size_t length, uint64_t inode, const char *name)
{
	const char *at = line, *end = line + length;
	const size_t name_length = strlen(name);
	uint64_t number = 0;
	for (int field = 0; field < 4; field++) {
		at = memchr(at, ' ', (size_t) (end - at));
		if (at == NULL)
			return false;
		at++;
	}
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint64_t) (*at - '0');
	if (number == 0) /* no file */
		return false;
	if (number == inode)
		return true;
	return name_length > 0 && (size_t) (end - at) > name_length &&
	       end[-(ptrdiff_t) name_length - 1] == '/' &&
	       memcmp(end - name_length, name, name_length) == 0;
}

/* Allocates nothing: it runs in an expendable process, which shares our memory. */
struct maps_job {
	char path[PATH_BYTES], name[NAME_BYTES], text[MAPS_BYTES];
	uint64_t inode;
	bool related; /* it maps the file, or cannot be asked */
};

/* Whether one of the whole lines is of the file. The rest moves to the front: *n bytes. */
static bool lines_tell(struct maps_job *job, size_t *n)
{
	char *at = job->text, *end = job->text + *n, *newline;
	for (; (newline = memchr(at, '\n', (size_t) (end - at))) != NULL; at = newline + 1)
		if (sw_memory_locks_maps_line(at, (size_t) (newline - at), job->inode, job->name))
			return true;
	*n = (size_t) (end - at);
	memmove(job->text, at, *n);
	return *n == sizeof(job->text); /* a line that is longer than any */
}

static void maps_read(void *arg)
{
	struct maps_job *job = arg;
	size_t n = 0;
	ssize_t got = -1;
	int fd = open(job->path, O_RDONLY | O_CLOEXEC);
	job->related = false;
	while (!job->related && fd >= 0 &&
	       (got = read(fd, job->text + n, sizeof(job->text) - n)) > 0) {
		n += (size_t) got;
		job->related = lines_tell(job, &n);
	}
	job->related = job->related || got < 0;
	if (fd >= 0)
		(void) close(fd); /* read only */
}

/* The last part of the file's name; "": it has none. */
static void name_of(int file_fd, char ret[NAME_BYTES])
{
	char target[PATH_MAX];
	const char *slash =
		sw_own_fd_path(file_fd, target, sizeof(target)) ? strrchr(target, '/') : NULL;
	ret[0] = '\0';
	if (slash != NULL && strlen(slash + 1) < NAME_BYTES)
		strcpy(ret, slash + 1); /* fits */
}

static struct maps_job *job_of(int file_fd)
{
	struct stat st;
	struct maps_job *job = calloc(1, sizeof(*job));
	if (job == NULL || fstat(file_fd, &st) < 0) {
		free(job);
		return NULL;
	}
	job->inode = st.st_ino;
	name_of(file_fd, job->name);
	return job;
}

/*
 * Keeps those that map the file, or do not say it in time: up to v6.16 a read of maps waits for the lock. A signal ends that
 * wait, so the process that reads can be ended.
 */
static int related_keep(struct sw_memory_locks *l, int file_fd, struct sw_iterate_lock *seen,
			size_t *n, int64_t end_ns, struct sw_error *err)
{
	struct sw_expendable *e = NULL;
	struct maps_job *job = job_of(file_fd);
	size_t kept = 0;
	if (job == NULL)
		return sw_fail_nomem(err);
	int r = sw_expendable_start(NULL, 0, &e, err);
	for (size_t i = 0; r == 0 && i < *n; i++) {
		if (is_unrelated(l, seen[i].memory))
			continue;
		bool again = kept > 0 && seen[kept - 1].memory == seen[i].memory;
		(void) snprintf(job->path, sizeof(job->path), "/proc/%u/maps",
				seen[i].pid); /* fits */
		if (again || !sw_expendable_run(e, maps_read, job, end_ns) || job->related)
			seen[kept++] = seen[i];
		else if (l->n_unrelated < SW_MEMORY_LOCKS_UNRELATED)
			l->unrelated[l->n_unrelated++] = seen[i].memory;
	}
	if (sw_expendable_end(e))
		free(job); /* else it may still write there */
	if (r == 0)
		*n = kept;
	return r;
}

/* ---- wait ------------------------------------------------------------------------------------- */

int sw_memory_locks_wait(struct sw_memory_locks *l, int file_fd, int64_t patience_ns,
			 struct sw_iterate_lock *ret_holder, struct sw_error *err)
{
	const struct timespec moment = {0, LOOK_MS * NS_PER_MS};
	const int64_t begin_ns = sw_clock_ns();
	sw_cleanup(sw_free_p) struct sw_iterate_lock *seen = calloc(THREADS_MAX, sizeof(*seen)),
						     *now = calloc(THREADS_MAX, sizeof(*now));
	bool asked = file_fd < 0;
	size_t n = 0, n_now = 0;
	if (seen == NULL || now == NULL)
		return sw_fail_nomem(err);
	int r = look(l, seen, &n, err);
	while (r == 0 && n > 0) {
		int64_t waited_ns = sw_clock_ns() - begin_ns;
		if (waited_ns >= patience_ns) {
			*ret_holder = seen[0];
			return 1;
		}
		if (!asked && waited_ns >= SHORT_NS) {
			asked = true;
			r = related_keep(l, file_fd, seen, &n, begin_ns + patience_ns, err);
		}
		if (r < 0 || n == 0)
			break;
		(void) nanosleep(&moment, NULL); /* shorter when a signal comes: no harm */
		r = look(l, now, &n_now, err);
		if (r == 0)
			n = sw_memory_locks_still(seen, n, now, n_now);
	}
	return r;
}

int sw_memory_locks_check(struct sw_memory_locks *l, int file_fd, struct sw_error *err)
{
	struct sw_iterate_lock holder;
	char name[NAME_BYTES];
	int r = sw_memory_locks_wait(l, file_fd, CHECK_NS, &holder, err);
	if (r <= 0)
		return r;
	name_of(file_fd, name);
	return sw_fail(err, SW_E_UNSUPPORTED,
		       "process %u (%.*s) holds the lock of its memory and waits; a probe in "
		       "%.60s would keep all processes of this machine from making others until "
		       "it lets go: end that process, or try again later",
		       holder.pid, (int) sizeof(holder.comm), holder.comm, name);
}
