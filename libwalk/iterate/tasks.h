/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_TASKS_H
#define SW_ITERATE_TASKS_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <sys/types.h>

struct sw_iterate_loading;

/*
 * The BPF task iterator: registers, state and counters of all threads of a process, without touching
 * them. Linux 6.1 or newer with BTF.
 *
 *	sw_iterate_load    a program, once. Needs CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN) in the first
 *	                   user namespace.
 *	sw_iterate_link    limits it to one process. Needs nothing but the program's descriptor.
 *	sw_iterate_open    an iterator: one pass over the threads; it cannot be rewound. Needs nothing but
 *	                   the link's descriptor: the system call bpf(BPF_ITER_CREATE) must be allowed.
 *	sw_iterate_read    the pass (iterate/read.h).
 *
 * All four give descriptors that may be passed to another process. So a process without capabilities,
 * which must not see any other process, is given the link, or as many iterators as it needs passes
 * (each costs a file and, from its first read on, 32 KiB of kernel memory). Reading asks for no
 * permission: who holds the link sees the registers of that process for as long as it holds it.
 *
 * The kernel keeps a process id, not the process: when it ends and the id is taken by another process,
 * that one is shown. After the last pass the pidfd tells: as long as it does not poll readable the id
 * was never free. The id is looked up in the pid namespace of whoever calls sw_iterate_link(), and
 * followed in that of whoever calls sw_iterate_open(): these must be the same.
 * Source: linux kernel/bpf/task_iter.c, kernel/bpf/bpf_iter.c, kernel/bpf/syscall.c __sys_bpf(), v6.1.
 */

enum sw_iterate_program {
	SW_ITERATE_THREADS, /* struct sw_iterate_record */
	SW_ITERATE_RETURNS, /* struct sw_iterate_return */
	SW_ITERATE_FILES,   /* struct sw_iterate_file, of all processes: sw_iterate_files_open() */
	SW_ITERATE_LOCKS,   /* struct sw_iterate_lock, of all processes: sw_iterate_locks_link() */
};

/**
 * Load a program into the kernel: 1 to 2 ms; or take the one that the daemon keeps there (iterate/pins.h).
 *
 * @param ret_program_fd  Owned by the caller.
 * @return 0; -SW_E_NOT_PERMITTED or -SW_E_UNSUPPORTED with the reason in words; -SW_E_NOMEM.
 */
int sw_iterate_load(enum sw_iterate_program program, int *ret_program_fd, struct sw_error *err);

/**
 * Limit a loaded program to one process.
 *
 * @param program_fd  Borrowed; not needed any more afterwards.
 * @param pidfd       Borrowed; of a process in our pid namespace or below. A process that is not there
 *                    gives a link whose passes are empty.
 * @return 0; -SW_E_NO_PROCESS; -SW_E_UNSUPPORTED: the kernel cannot limit it; -SW_E_NOT_PERMITTED;
 *         -SW_E_NOMEM; -SW_E_IO.
 */
int sw_iterate_link(int program_fd, int pidfd, int *ret_link_fd, struct sw_error *err);

/** The same by the process id in our pid namespace. Nothing is checked: see above. */
int sw_iterate_link_pid(int program_fd, pid_t pid, int *ret_link_fd, struct sw_error *err);

/* The same to one thread, by its id in our pid namespace. */
int sw_iterate_link_thread(int program_fd, pid_t tid, int *ret_link_fd, struct sw_error *err);

/**
 * Load the program for a series of passes over one process, each of which gives a struct sw_iterate_moved
 * (sw_iterate_read_moved()). It keeps what it saw: one program for each process, and a link to its first
 * thread (sw_iterate_link_thread() with the process id).
 *
 * @param max_threads  Of so many it keeps that, at least 4096; further ones are always told.
 * @return As sw_iterate_load().
 */
int sw_iterate_moved_program(size_t max_threads, int *ret_program_fd, struct sw_error *err);

/**
 * Begin a pass over the pipes and sockets of all processes that our pid namespace shows; loads its program:
 * about 1 ms, and a tenth of a microsecond for each open file of the machine. The kernel asks for no
 * permission to see a process.
 *
 * @param loading  The program, where a thread loads it already (iterate/loading.h); NULL: it does not.
 * @param ret_fd  Owned by the caller; for sw_iterate_read_files().
 * @return As sw_iterate_load() and sw_iterate_open().
 */
int sw_iterate_files_open(struct sw_iterate_loading *loading, int *ret_fd, struct sw_error *err);

/**
 * Load the program that tells which processes have their memory locked, of all that our pid namespace shows: for
 * sw_iterate_open() and sw_iterate_read_locks(). No lock is waited for.
 *
 * @return As sw_iterate_load() and sw_iterate_link().
 */
int sw_iterate_locks_link(int *ret_link_fd, struct sw_error *err);

/* Makes the records of a pass that has begun and is not read yet have wait_key, for a microsecond a thread. */
void sw_iterate_want_wait_keys(int fd);

/**
 * Begin a pass.
 *
 * @param link_fd  Borrowed.
 * @return 0; -SW_E_NOT_PERMITTED (a system call filter); -SW_E_NOMEM; -SW_E_IO.
 */
int sw_iterate_open(int link_fd, int *ret_fd, struct sw_error *err);

#endif
