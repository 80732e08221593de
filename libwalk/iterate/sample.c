/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/sample.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/programs.h"
#include "iterate/refusal.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>

static int element_update(int map_fd, uint32_t key, const void *value)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t) map_fd;
	attr.key = (uintptr_t) &key;
	attr.value = (uintptr_t) value;
	return syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int sw_iterate_sample_open(const struct sw_iterate_sample_sizes *sizes,
			   const struct sw_sampled_setup *setup, struct sw_iterate_sample *ret,
			   struct sw_error *err)
{
	struct sw_iterate_sample sample;
	struct sw_verifier_said said;
	int r = sw_iterate_sample_load(sizes, &sample, &said);
	if (r == -ENOMEM)
		return sw_fail_nomem(err);
	if (r < 0)
		return sw_iterate_refused(-r, &said, err);
	r = element_update(sample.setup_fd, 0, setup);
	if (r < 0) {
		sw_iterate_sample_close(&sample);
		return sw_iterate_refused(-r, NULL, err);
	}
	*ret = sample;
	return 0;
}

void sw_iterate_sample_close(struct sw_iterate_sample *sample)
{
	sw_close_p(&sample->program_fd);
	sw_close_p(&sample->setup_fd);
	sw_close_p(&sample->processes_fd);
	sw_close_p(&sample->recipes_fd);
	sw_close_p(&sample->counts_fd);
	sw_close_p(&sample->ring_fd);
	sw_close_p(&sample->known_fd);
}

int sw_iterate_sample_process(const struct sw_iterate_sample *sample, pid_t pid, uint32_t number,
			      struct sw_error *err)
{
	int r = element_update(sample->processes_fd, (uint32_t) pid, &number);
	switch (-r) {
	case 0: return 0;
	case ENOMEM: return sw_fail_nomem(err);
	case E2BIG: return sw_fail(err, SW_E_LIMIT, "more processes than can be sampled at once");
	case EPERM:
	case EACCES:
		errno = -r;
		return sw_fail_errno(err, SW_E_NOT_PERMITTED, "bpf() is refused for process %d",
				     (int) pid);
	default:
		errno = -r;
		return sw_fail_errno(err, SW_E_IO, "cannot sample process %d", (int) pid);
	}
}

void sw_iterate_sample_forget(const struct sw_iterate_sample *sample, pid_t pid)
{
	uint32_t key = (uint32_t) pid;
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t) sample->processes_fd;
	attr.key = (uintptr_t) &key;
	(void) syscall(SYS_bpf, BPF_MAP_DELETE_ELEM, &attr,
		       sizeof(attr)); /* it was not there: the same */
}
