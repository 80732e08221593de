/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_ITERATOR_H
#define SNAPWALK_ITERATOR_H

/*
 * The kernel's task iterator, without which SW_STOP_AUTO stops all threads, for somebody who gives it
 * to those who may not load it:
 *
 *	with privileges		sw_iterator_load(), once
 *	for each process	sw_iterator_limit(), then sw_snapshot_options.iterator_fd
 */

#include <snapwalk/error.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Whether this process may use the task iterator: loads it, and lets it go.
 * @return 0; -SW_E_NOT_PERMITTED or -SW_E_UNSUPPORTED with the reason in words; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_iterator_check(struct sw_error *err);

/**
 * Load it. Needs CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, in the first user namespace.
 *
 * @param ret_program_fd  Owned by the caller. Who has it may limit it to any process: it is for the
 *                        privileged only.
 * @return As sw_iterator_check().
 */
SW_PUBLIC int sw_iterator_load(int *ret_program_fd, struct sw_error *err);

/**
 * The same for a second program, by which a sampler (sampler.h) knows who ran since the last sample. It
 * keeps what it saw: one sampler at a time.
 */
SW_PUBLIC int sw_iterator_load_moved(int *ret_program_fd, struct sw_error *err);

/**
 * The same for a third one, which tells the return addresses that the kernel has replaced for tools:
 * sw_snapshot_options.returns_fd.
 */
SW_PUBLIC int sw_iterator_load_returns(int *ret_program_fd, struct sw_error *err);

/**
 * Limit it to one process. Needs no privilege.
 *
 * @param program_fd       Borrowed; not needed any more afterwards.
 * @param pid              In our own pid namespace. Nothing is checked: sw_snapshot_take() finds out
 *                         whether the process is the one that was meant.
 * @param ret_iterator_fd  Owned by the caller. Who has it sees the registers of that process, whatever
 *                         else they may do.
 * @return 0; -SW_E_INVALID; -SW_E_UNSUPPORTED; -SW_E_NOT_PERMITTED; -SW_E_NOMEM; -SW_E_IO.
 */
SW_PUBLIC int sw_iterator_limit(int program_fd, pid_t pid, int *ret_iterator_fd,
				struct sw_error *err);

/**
 * Keep the programs loaded below /sys/fs/bpf/snapwalk, where sw_iterator_load() and captures of root find them, in the
 * place of what is there; and let them go. For root; parses nothing.
 *
 * @return 0; as sw_iterator_check(); -SW_E_UNSUPPORTED: there is no BPF file system; -SW_E_NOT_PERMITTED; -SW_E_IO.
 */
SW_PUBLIC int sw_iterator_keep(struct sw_error *err);
SW_PUBLIC int sw_iterator_drop(struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
