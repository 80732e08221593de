/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/places.h"
#include "cleanup.h"
#include "iterate/bpf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* include/uapi/linux/bpf.h, v6.6 to v6.18; the headers that this is built with may be older. */
enum { TRACE_UPROBE_MULTI = 48 };
struct multi {
	uint32_t prog_fd, target_fd, attach_type, link_flags; /* of link_create */
	uint64_t path, offsets, ref_ctr_offsets, cookies;     /* pointers */
	uint32_t cnt, flags, pid, unused;
};
_Static_assert(offsetof(struct multi, path) == offsetof(union bpf_attr, link_create.target_btf_id),
	       "behind what all links have");

int sw_iterate_places_link(int program_fd, pid_t pid, const char *path,
			   const struct sw_iterate_places *places)
{
	union bpf_attr attr;
	const struct multi multi = {.prog_fd = (uint32_t) program_fd,
				    .attach_type = TRACE_UPROBE_MULTI,
				    .path = (uintptr_t) path,
				    .offsets = (uintptr_t) places->offs,
				    .ref_ctr_offsets = (uintptr_t) places->semaphores_off,
				    .cookies = (uintptr_t) places->cookies,
				    .cnt = (uint32_t) places->n,
				    .pid = (uint32_t) pid};
	memset(&attr, 0, sizeof(attr));
	memcpy(&attr, &multi, sizeof(multi));
	int fd = sw_bpf(BPF_LINK_CREATE, &attr);
	return fd < 0 ? -errno : fd;
}

/* A program that does nothing. A descriptor, or below. */
static int nothing_load(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.expected_attach_type = TRACE_UPROBE_MULTI;
	attr.insns = (uintptr_t) code;
	attr.insn_cnt = sizeof(code) / sizeof(code[0]);
	attr.license = (uintptr_t) "GPL";
	return sw_bpf(BPF_PROG_LOAD, &attr);
}

/* A directory is no file for it, which the kernel says when it has looked at all else; one that mends the threads of a process
 * refuses a negative pid before that: commit 46ba0e49b642, as libbpf's probe_uprobe_multi_link(). */
bool sw_iterate_places_there(void)
{
	static const uint64_t zero = 0;
	const struct sw_iterate_places one = {&zero, &zero, &zero, 1};
	sw_cleanup(sw_close_p) int program_fd = nothing_load();
	return program_fd >= 0 && sw_iterate_places_link(program_fd, 0, "/", &one) == -EBADF &&
	       sw_iterate_places_link(program_fd, -1, "/", &one) == -EINVAL;
}

int sw_iterate_places_nothing(pid_t pid, const char *path, uint64_t file_off)
{
	static const uint64_t zero = 0;
	int program_fd = nothing_load();
	if (program_fd < 0)
		return -errno;
	int fd = sw_iterate_places_link(
		program_fd, pid, path,
		&(struct sw_iterate_places){.offs = &file_off, &zero, &zero, .n = 1});
	(void) close(program_fd); /* the link has it */
	return fd;
}

size_t sw_iterate_places_data(void *data, size_t size)
{
	enum { ALIGNMENT = 8, ATTR_BYTES = offsetof(union bpf_attr, prog_btf_fd) };
	static const char ours[] = {'s', 'w', '_'};
	size_t n = 0;
	for (size_t at = 0; size >= ATTR_BYTES && at <= size - ATTR_BYTES; at += ALIGNMENT) {
		union bpf_attr attr;
		memset(&attr, 0, sizeof(attr));
		memcpy(&attr, (char *) data + at, ATTR_BYTES);
		if (attr.prog_type != BPF_PROG_TYPE_KPROBE || attr.insn_cnt == 0 ||
		    attr.expected_attach_type != 0 ||
		    memcmp(attr.prog_name, ours, sizeof(ours)) != 0)
			continue;
		attr.expected_attach_type = TRACE_UPROBE_MULTI;
		memcpy((char *) data + at, &attr, ATTR_BYTES);
		n++;
	}
	return n;
}
