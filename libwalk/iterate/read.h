/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_READ_H
#define SW_ITERATE_READ_H

#include "iterate/called.h"
#include "iterate/record.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A pass over the threads of a process, into memory that is there. read(2) is all that is called, so
 * it may be done while threads are held. The kernel hands out at most 32 KiB at a time (91 threads):
 * the pass is not one instant; see iterate/proof.h for what it proves.
 */

struct sw_iterate_pass {
	size_t n; /* records that were filled: oldest thread first, the process's first one (its
			  tid is the pid) at their head; 0: no such process */
	bool overflow; /* there are more threads than space; n is the space */
	bool cut;      /* there was a younger thread than the last one: the kernel ended the pass
			  early, as the thread at which it stood ended. Another pass is needed for
			  the others. Said by sw_iterate_read() only */
};

/**
 * @param fd       From sw_iterate_open() of SW_ITERATE_THREADS, not read from yet.
 * @param records  Space for max, at least 1.
 * @return 0; -SW_E_NOMEM; -SW_E_IO with errno; -SW_E_INVALID: not such a descriptor.
 */
int sw_iterate_read(int fd, struct sw_iterate_record *records, size_t max,
		    struct sw_iterate_pass *ret_pass);

/** Reads a pass of sw_iterate_moved_program(). As sw_iterate_read(); -SW_E_NO_PROCESS: there is no such process. */
int sw_iterate_read_moved(int fd, struct sw_iterate_moved *moved);

/** The same for SW_ITERATE_RETURNS, of which a thread has several, or none. */
int sw_iterate_read_returns(int fd, struct sw_iterate_return *returns, size_t max,
			    struct sw_iterate_pass *ret_pass);

/**
 * The next ones of a pass over files: as many as the kernel hands out at a time.
 *
 * @param fd  From sw_iterate_files_open().
 * @return How many, at most max; 0: there are no more; negative errno.
 */
long sw_iterate_read_files(int fd, struct sw_iterate_file *files, size_t max);

/** Reads a pass of sw_iterate_locks_link(). As sw_iterate_read(). */
int sw_iterate_read_locks(int fd, struct sw_iterate_lock *locks, size_t max,
			  struct sw_iterate_pass *ret_pass);

#endif
