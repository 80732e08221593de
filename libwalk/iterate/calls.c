/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/calls.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/bpf.h"
#include "iterate/programs.h"
#include "iterate/refusal.h"
#include "iterate/tasks.h"

#include <string.h>

static int element_update(int map_fd, const void *value)
{
	uint32_t zero = 0;
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t) map_fd;
	attr.key = (uintptr_t) &zero;
	attr.value = (uintptr_t) value;
	return sw_bpf(BPF_MAP_UPDATE_ELEM, &attr) < 0 ? -errno : 0;
}

/* A descriptor, or a negative errno. */
static int attach(int program_fd, const char *trace_point)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uintptr_t) trace_point;
	attr.raw_tracepoint.prog_fd = (uint32_t) program_fd;
	int fd = sw_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	return fd < 0 ? -errno : fd;
}

/* Programs that a loader says nothing of: 0 is standard input. */
static void others_drop(struct sw_iterate_programs *p)
{
	for (size_t i = 0; i < SW_ITERATE_LINKS_MAX; i++) {
		if (p->program_fds[i] == 0)
			p->program_fds[i] = -EBADF;
		if (p->link_fds[i] == 0)
			p->link_fds[i] = -EBADF;
	}
	if (p->held_fd == 0)
		p->held_fd = -EBADF;
	if (p->list_program_fd == 0)
		p->list_program_fd = -EBADF;
	p->list_link_fd = -EBADF;
}

/* A program that shows the descriptors of all processes. Where the kernel refuses the link nothing is shown. */
static void list_link(struct sw_iterate_programs *p)
{
	union bpf_attr attr;
	union bpf_iter_link_info all;
	if (p->list_program_fd < 0)
		return;
	memset(&all, 0, sizeof(all));
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t) p->list_program_fd;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	attr.link_create.iter_info = (uintptr_t) &all;
	attr.link_create.iter_info_len = sizeof(all);
	p->list_link_fd = sw_bpf(BPF_LINK_CREATE, &attr);
}

int sw_iterate_calls_open(enum sw_iterate_calls which, const struct sw_iterate_sample_sizes *sizes,
			  const struct sw_sampled_setup *setup,
			  const struct sw_called_setup *called, struct sw_iterate_programs *ret,
			  struct sw_error *err)
{
	struct sw_iterate_programs p;
	struct sw_verifier_said said;
	int r = sw_iterate_calls_load(which, sizes, &p, &said);
	if (r == -ENOMEM)
		return sw_fail_nomem(err);
	if (r < 0)
		return sw_iterate_refused(-r, &said, err);
	others_drop(&p);
	r = element_update(p.sample.setup_fd, setup);
	if (r == 0)
		r = element_update(p.called_fd, called);
	if (r < 0) {
		sw_iterate_calls_close(&p);
		return r == -ENOMEM ? sw_fail_nomem(err) : sw_iterate_refused(-r, NULL, err);
	}
	list_link(&p);
	*ret = p;
	return 0;
}

int sw_iterate_calls_begin(struct sw_iterate_programs *p, struct sw_error *err)
{
	for (size_t i = 0; i < SW_ITERATE_LINKS_MAX; i++) {
		if (p->program_fds[i] < 0 || p->trace_points[i] == NULL || p->link_fds[i] >= 0 ||
		    p->ended)
			continue;
		int fd = attach(p->program_fds[i], p->trace_points[i]);
		if (fd == -ENOMEM)
			return sw_fail_nomem(err);
		if (fd < 0)
			return sw_iterate_refused(-fd, NULL, err);
		p->link_fds[i] = fd;
	}
	return 0;
}

void sw_iterate_held_end(struct sw_iterate_held_pass *pass)
{
	if (pass->fd > 0)
		(void) close(pass->fd); /* of a pass: nothing is lost */
	pass->fd = 0;
	pass->over = true;
}

/* The next records that a program shows. */
static long shown_next(const struct sw_iterate_programs *p, struct sw_iterate_held_pass *pass)
{
	if (!pass->begun && sw_iterate_open(p->list_link_fd, &pass->fd, NULL) < 0)
		return -errno;
	pass->begun = true;
	ssize_t n = read(pass->fd, pass->held, sizeof(pass->held));
	int error = errno;
	if (n <= 0)
		sw_iterate_held_end(pass);
	if (n < 0)
		return -error;
	return n % (ssize_t) sizeof(pass->held[0]) == 0 ? n / (ssize_t) sizeof(pass->held[0])
							: -EINVAL;
}

/* BPF_MAP_LOOKUP_BATCH: __htab_map_lookup_and_delete_batch() in kernel/bpf/hashtab.c, Linux 6.1. It hands out whole
 * buckets, says where it stopped, and ends with ENOENT, by then perhaps with some. */
long sw_iterate_held_next(const struct sw_iterate_programs *p, struct sw_iterate_held_pass *pass)
{
	struct sw_called_handle keys[SW_ITERATE_HELD_AT_ONCE];
	struct sw_called_held values[SW_ITERATE_HELD_AT_ONCE];
	uint32_t next = 0;
	union bpf_attr attr;
	if (pass->over)
		return 0;
	if (p->list_link_fd >= 0)
		return shown_next(p, pass);
	if (p->held_fd < 0)
		return -EBADF;
	memset(&attr, 0, sizeof(attr));
	attr.batch.map_fd = (uint32_t) p->held_fd;
	attr.batch.in_batch = pass->begun ? (uintptr_t) &pass->at : 0;
	attr.batch.out_batch = (uintptr_t) &next;
	attr.batch.keys = (uintptr_t) keys;
	attr.batch.values = (uintptr_t) values;
	attr.batch.count = SW_ITERATE_HELD_AT_ONCE;
	pass->over = sw_bpf(BPF_MAP_LOOKUP_BATCH, &attr) < 0;
	if (pass->over && errno != ENOENT)
		return -errno;
	pass->begun = true;
	pass->at = next;
	for (uint32_t i = 0; i < attr.batch.count; i++)
		pass->held[i] = (struct sw_called_outstanding){.key = keys[i], .held = values[i]};
	return attr.batch.count;
}

void sw_iterate_calls_end(struct sw_iterate_programs *p)
{
	p->ended = true;
	for (size_t i = 0; i < SW_ITERATE_LINKS_MAX; i++)
		sw_close_p(&p->link_fds[i]);
}

void sw_iterate_calls_close(struct sw_iterate_programs *p)
{
	sw_iterate_calls_end(p);
	for (size_t i = 0; i < SW_ITERATE_LINKS_MAX; i++)
		sw_close_p(&p->program_fds[i]);
	sw_close_p(&p->list_link_fd);
	sw_close_p(&p->list_program_fd);
	sw_close_p(&p->held_fd);
	sw_close_p(&p->called_fd);
	sw_iterate_sample_close(&p->sample);
}
