/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROC_H
#define SW_PROC_H

#include <snapwalk/walk.h>

/* The files of /proc/PID, proc(5). All parsers take hostile text: a thread names itself. */

/* Bits of the flags word, field 9 of stat. Source: linux include/linux/sched.h, v6.1. */
enum { SW_PF_IO_WORKER = 0x10, SW_PF_KTHREAD = 0x200000 };

struct sw_proc_stat {
	char comm[SW_COMM_MAX];
	char state;
	pid_t ppid;
	uint32_t flags;
	uint64_t cpu_ticks; /* user + system */
	uint64_t starttime;
	uint64_t vsize_bytes;
	uint64_t start_stack_avma; /* sp of the program's first instruction; 0: not told */
};

/* The text of /proc/PID/stat or /proc/PID/task/TID/stat. */
bool sw_proc_stat_parse(const char *text, size_t size, struct sw_proc_stat *ret);

/* The same, read from name below dirfd. False when it is gone. */
bool sw_proc_stat_read(int dirfd, const char *name, struct sw_proc_stat *ret);

/* First number after "key:" at the start of a line, as in /proc/PID/status. */
bool sw_proc_status_number(const char *text, const char *key, uint64_t *ret);

/* The effective capabilities in the text of /proc/PID/status, a bit for each CAP_*; 0 where that line is not whole. */
uint64_t sw_proc_status_capabilities(const char *text);
/* Whether the calling thread has a capability, CAP_*, now. */
bool sw_proc_is_capable(unsigned capability);

/* How often the thread of a /proc/PID/status had left a CPU, + 1; 0: unknown, or it runs now. The kernel
 * writes the state first, so that whoever ran in between has left its CPU once more. */
uint64_t sw_proc_switches(const char *text);

/* The path in /proc/PID/cgroup: of the unified hierarchy (0::), else of name=systemd, else the
 * first. *ret is borrowed from text, not terminated. */
bool sw_proc_cgroup_find(const char *text, const char **ret, size_t *ret_length);

/*
 * Thread ids below an open /proc/PID/task, in the kernel's order (oldest first). Allocates nothing:
 * may run while the target is stopped. Fills at most max, *ret_n is how many there were.
 */
bool sw_proc_tids(int task_fd, pid_t *tids, size_t max, size_t *ret_n);

/* The first number of /proc/PID/statm, proc(5): the size of all mappings, in pages; 0 for none. */
uint64_t sw_proc_statm_pages(const char *text);

/* 32 or 64: of the program that runs now, by its auxiliary vector, which the kernel has: its file may be
 * on a file system that does not answer. 64 when that cannot be read. */
int sw_proc_elf_class(int dirfd);

/* Whole files of /proc that fit a small buffer; NUL-terminated. Length, or -1 with errno. */
ssize_t sw_proc_read_small(int dirfd, const char *name, char *buffer, size_t size);

#endif
