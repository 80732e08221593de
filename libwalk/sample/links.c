/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/links.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/tasks.h"

void sw_sample_links_init(struct sw_sample_links *links, int program_fd, int all_fd)
{
	*links = (struct sw_sample_links){.program_fd = program_fd, .all_fd = all_fd};
	for (size_t i = 0; i < SW_SAMPLE_LINKS; i++)
		links->all[i].fd = -EBADF;
}

void sw_sample_links_deinit(struct sw_sample_links *links)
{
	for (size_t i = 0; i < SW_SAMPLE_LINKS; i++)
		sw_close_p(&links->all[i].fd);
}

static int link_of(struct sw_sample_links *links, pid_t tid, int *ret_fd, struct sw_error *err)
{
	struct sw_sample_link *oldest = &links->all[0];
	links->clock++;
	for (size_t i = 0; i < SW_SAMPLE_LINKS; i++) {
		struct sw_sample_link *link = &links->all[i];
		if (link->fd >= 0 && link->tid == tid) {
			link->used = links->clock;
			*ret_fd = link->fd;
			return 0;
		}
		if (link->used < oldest->used)
			oldest = link;
	}
	sw_close_p(&oldest->fd);
	oldest->used = 0;
	int r = sw_iterate_link_thread(links->program_fd, tid, &oldest->fd, err);
	if (r < 0)
		return r;
	oldest->tid = tid;
	oldest->used = links->clock;
	*ret_fd = oldest->fd;
	return 0;
}

static int pass(int link_fd, struct sw_iterate_record *records, size_t max,
		struct sw_iterate_pass *ret, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	int r = sw_iterate_open(link_fd, &fd, err);
	if (r < 0)
		return r;
	r = sw_iterate_read(fd, records, max, ret);
	return r < 0 ? sw_fail_errno(err, -r, "the task iterator cannot be read") : 0;
}

int sw_sample_link_read(struct sw_sample_links *links, pid_t tid, struct sw_iterate_record *record,
			size_t *ret_n, struct sw_error *err)
{
	struct sw_iterate_pass got = {0};
	int fd = -EBADF;
	int r = link_of(links, tid, &fd, err);
	if (r == 0)
		r = pass(fd, record, 1, &got, err);
	*ret_n = got.n;
	return r == -SW_E_NO_PROCESS ? 0 : r;
}

int sw_sample_links_read_all(struct sw_sample_links *links, struct sw_iterate_record *records,
			     size_t max, struct sw_iterate_pass *ret_pass, struct sw_error *err)
{
	return pass(links->all_fd, records, max, ret_pass, err);
}
