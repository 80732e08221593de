/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/passes.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/tasks.h"
#include "snapshot/module.h"

#include <fcntl.h>
#include <stdlib.h>

enum {
	MAX_THREADS = 32768,
	RECORDS_FIRST = 4096,
	PASSES_MAX = 4,      /* until one is not cut short */
	SPARE_THREADS = 256, /* that may come between two samples */
};

void sw_sample_passes_init(struct sw_sample_passes *p)
{
	*p = (struct sw_sample_passes){.program_fd = -EBADF,
				       .link_fd = -EBADF,
				       .all_link_fd = -EBADF,
				       .all_wanted = true};
	sw_sample_links_init(&p->links, -EBADF, -EBADF);
}

void sw_sample_passes_close(struct sw_sample_passes *p)
{
	sw_sample_links_deinit(&p->links);
	sw_close_p(&p->link_fd);
	sw_close_p(&p->all_link_fd);
	sw_close_p(&p->program_fd);
}

void sw_sample_passes_deinit(struct sw_sample_passes *p)
{
	sw_sample_passes_close(p);
	free(p->records);
	p->records = NULL;
	p->records_max = 0;
}

int sw_sample_passes_lend(struct sw_sample_passes *p, struct sw_context *ctx,
			  const struct sw_sampler_programs *programs, struct sw_error *err)
{
	p->program_fd = fcntl(programs->moved_fd, F_DUPFD_CLOEXEC, 3);
	if (ctx->iterator_fd < 0)
		ctx->iterator_fd = fcntl(programs->threads_fd, F_DUPFD_CLOEXEC, 3);
	if (p->program_fd < 0 || ctx->iterator_fd < 0)
		return sw_fail_errno(err, SW_E_LIMIT, "programs of the task iterator");
	return 0;
}

int sw_sample_passes_open(struct sw_sample_passes *p, struct sw_context *ctx,
			  const struct sw_target *target, struct sw_error *err)
{
	int r = 0;
	if (ctx->iterator_fd < 0)
		r = sw_iterate_load(SW_ITERATE_THREADS, &ctx->iterator_fd, err);
	if (r == 0 && p->program_fd < 0)
		r = sw_iterate_moved_program(MAX_THREADS, &p->program_fd, err);
	if (r == 0)
		r = sw_iterate_link_thread(p->program_fd, target->pid, &p->link_fd, err);
	if (r == 0)
		r = sw_iterate_link_pid(ctx->iterator_fd, target->pid, &p->all_link_fd, err);
	sw_sample_links_init(&p->links, ctx->iterator_fd, p->all_link_fd);
	return r;
}

static int records_reserve(struct sw_sample_passes *p)
{
	size_t wanted = p->n_listed + p->n_listed / 4 + SPARE_THREADS;
	if (wanted < RECORDS_FIRST)
		wanted = RECORDS_FIRST;
	if (wanted <= p->records_max)
		return 0;
	struct sw_iterate_record *grown = reallocarray(p->records, wanted, sizeof(*p->records));
	if (grown == NULL)
		return -SW_E_NOMEM;
	p->records = grown;
	p->records_max = wanted;
	return 0;
}

/* Records of all threads. False: of those behind a thread that ended meanwhile there are none. */
static int whole_read(struct sw_sample_passes *p, bool *ret_whole, struct sw_error *err)
{
	struct sw_iterate_pass pass = {0};
	for (int i = 0; i < PASSES_MAX; i++) {
		if (records_reserve(p) < 0)
			return sw_fail_nomem(err);
		int r = sw_sample_links_read_all(&p->links, p->records, p->records_max, &pass, err);
		if (r < 0)
			return r;
		p->n_records = pass.n;
		*ret_whole = !pass.cut && !pass.overflow;
		if (*ret_whole)
			break;
		if (pass.overflow)
			p->n_listed = pass.n * 2;
	}
	p->n_listed = pass.n;
	p->all_wanted = !*ret_whole;
	return 0;
}

int sw_sample_passes_read(struct sw_sample_passes *p, const struct sw_target *target,
			  bool *ret_whole, struct sw_error *err)
{
	struct sw_iterate_moved *moved = &p->moved;
	sw_cleanup(sw_close_p) int fd = -EBADF;
	*ret_whole = false;
	int r = sw_iterate_open(p->link_fd, &fd, err);
	if (r < 0)
		return r;
	r = sw_iterate_read_moved(fd, moved);
	if (r == -SW_E_NO_PROCESS)
		return sw_fail(err, SW_E_EXITED, "process %d exited", (int) target->pid);
	if (r < 0)
		return sw_fail_errno(err, -r, "the task iterator cannot be read");
	p->n_listed = moved->n_threads;
	p->n_records = 0;
	if (p->all_wanted || moved->more || moved->n_threads != moved->n_counted ||
	    moved->n > SW_SAMPLE_ONE_BY_ONE)
		return whole_read(p, ret_whole, err);
	if (records_reserve(p) < 0)
		return sw_fail_nomem(err);
	for (size_t i = 0; r == 0 && i < moved->n; i++) {
		size_t n = 0;
		r = sw_sample_link_read(&p->links, (pid_t) moved->tids[i],
					&p->records[p->n_records], &n, err);
		p->n_records += n;
	}
	return r;
}
