/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_BPF_H
#define SW_ITERATE_BPF_H

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Descriptors of bpf(2) are close-on-exec by themselves: anon_inode_getfd(..., O_CLOEXEC). */
static inline int sw_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int) syscall(SYS_bpf, command, attr, sizeof(*attr));
}

#endif
