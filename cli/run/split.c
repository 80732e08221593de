/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/split.h"
#include "bytes.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "run/apart.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

enum {
	WORKERS_MAX = 4,
	PARTS_MIN = 2, /* for each worker */
	PIPE_BYTES = 1 << 20,
	COPY_BYTES = 1 << 16,
};

/* In the pipe before the text of a part. Workers parse nothing: they are believed. */
struct part {
	size_t n_written, n_matched, bytes;
	int status;
};

struct worker {
	const struct sw_split_work *work;
	struct sw_delivery delivery; /* a copy, which writes to memory */
	size_t index, n_workers, n;
	struct sw_apart apart;
};

static size_t workers_of(size_t n)
{
	cpu_set_t cpus;
	size_t parts = n / SW_SPLIT_SUBJECTS;
	size_t most =
		sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (size_t) CPU_COUNT(&cpus) : 1;
	if (most > WORKERS_MAX)
		most = WORKERS_MAX;
	return most < parts / PARTS_MIN ? most : parts / PARTS_MIN;
}

bool sw_split_is_worth_it(const struct sw_delivery *delivery, size_t n)
{
	return (delivery->format == SW_FORMAT_JSON || delivery->format == SW_FORMAT_FOLDED) &&
	       workers_of(n) > 1;
}

/* ---- in a worker -------------------------------------------------------------------------- */

static bool part_tell(struct worker *w, size_t first, struct sw_output *out)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct sw_error ignored; /* nobody reads any more */
	size_t end = first + SW_SPLIT_SUBJECTS < w->n ? first + SW_SPLIT_SUBJECTS : w->n;
	struct sw_delivery *d = &w->delivery;
	d->output = (struct sw_output){.fd = -EBADF, .direct = true, .memory = &text};
	d->n_written = first; /* for numbers of dumps: those before are another worker's */
	d->n_matched = 0;
	struct part part = {.status = w->work->dump(w->work->arg, d, first, end)};
	part.n_written = d->n_written - first;
	part.n_matched = d->n_matched;
	part.bytes = text.size;
	return sw_output_write(out, (const char *) &part, sizeof(part), &ignored) == 0 &&
	       sw_output_write(out, text.data, text.size, &ignored) == 0 && !out->reader_gone;
}

static int worker_run(void *arg, int fd)
{
	struct worker *w = arg;
	struct sw_output out = {.fd = fd, .direct = true};
	for (size_t first = w->index * SW_SPLIT_SUBJECTS; first < w->n;
	     first += w->n_workers * SW_SPLIT_SUBJECTS)
		if (!part_tell(w, first, &out))
			break;
	return SW_STATUS_COMPLETE;
}

/* ---- in the parent ------------------------------------------------------------------------ */

/* The whole of a part is there, or nothing of it: a worker that is killed leaves no half of a line. */
static bool part_take(int fd, struct part *part, struct sw_text *text)
{
	char buffer[COPY_BYTES];
	if (fd < 0 || !sw_read_all(fd, part, sizeof(*part)))
		return false;
	for (size_t left = part->bytes; left > 0 && !text->failed;) {
		size_t n = left < sizeof(buffer) ? left : sizeof(buffer);
		if (!sw_read_all(fd, buffer, n))
			return false;
		sw_text_append(text, buffer, n);
		left -= n;
	}
	return !text->failed;
}

static int part_put(struct sw_delivery *d, const struct part *part, const struct sw_text *text)
{
	struct sw_error err = {0};
	int r = sw_output_write(&d->output, text->data, text->size, &err);
	d->n_written += part->n_written;
	d->n_matched += part->n_matched;
	d->broken = r < 0 || d->output.reader_gone;
	return r < 0 ? sw_complain_error(sw_delivery_name(d), &err) : part->status;
}

/* Do here the work of a worker that has not been started, or has ended. */
static int part_make(struct sw_delivery *d, const struct sw_split_work *work, size_t first,
		     size_t end)
{
	size_t before = d->n_written;
	d->n_written = first; /* as in part_tell() */
	int status = work->dump(work->arg, d, first, end);
	d->n_written = before + d->n_written - first;
	return status;
}

static int parts_put(struct sw_delivery *d, struct worker *workers, size_t n_workers, size_t n,
		     const struct sw_split_work *work)
{
	int status = SW_STATUS_COMPLETE;
	for (size_t first = 0, i = 0; first < n && !d->broken; first += SW_SPLIT_SUBJECTS, i++) {
		sw_cleanup(sw_text_deinit) struct sw_text text = {0};
		struct sw_apart *apart = &workers[i % n_workers].apart;
		struct part part;
		size_t end = first + SW_SPLIT_SUBJECTS < n ? first + SW_SPLIT_SUBJECTS : n;
		if (part_take(apart->fd, &part, &text)) {
			status = sw_status_worse(status, part_put(d, &part, &text));
		} else {
			sw_close_p(&apart->fd);
			status = sw_status_worse(status, part_make(d, work, first, end));
		}
		if (work->progress != NULL)
			work->progress(end, n);
	}
	return status;
}

/* A worker that has something left to write sees that nobody reads it. */
static void workers_end(struct worker *workers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sw_close_p(&workers[i].apart.fd);
	for (size_t i = 0; i < n; i++) {
		int how = 0;
		while (workers[i].apart.pid > 0 && waitpid(workers[i].apart.pid, &how, 0) < 0 &&
		       errno == EINTR)
			;
		if (WIFSIGNALED(how))
			sw_complain_for("snapwalk", "a process that captures was killed",
					"internal", SW_SAID_OF_OTHERS);
	}
}

int sw_split(struct sw_delivery *delivery, size_t n, const struct sw_split_work *work)
{
	struct worker workers[WORKERS_MAX];
	struct sw_error ignored; /* a worker that is missing costs time, and nothing else */
	size_t n_workers = workers_of(n);
	for (size_t i = 0; i < n_workers; i++) {
		struct worker *w = &workers[i];
		*w = (struct worker){.work = work,
				     .delivery = *delivery,
				     .index = i,
				     .n_workers = n_workers,
				     .n = n};
		/* With a small pipe it waits sooner. */
		if (sw_apart_start(&w->apart, worker_run, w, &ignored) == 0)
			(void) fcntl(w->apart.fd, F_SETPIPE_SZ, PIPE_BYTES);
	}
	int status = parts_put(delivery, workers, n_workers, n, work);
	workers_end(workers, n_workers);
	return status;
}
