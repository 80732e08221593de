/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_LISTING_H
#define SNAPWALK_LISTING_H

/*
 * Files below /proc/PID, and directories of the process, whose reading may wait for ever: for a lock that the process holds while
 * it waits for a page, or for a file system that does not answer. A process that nobody waits for longer than a second reads
 * them.
 */

#include <snapwalk/error.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_listing;

/**
 * Begin. The process that reads shares the memory of the caller, and has the rights that the caller has by now: a caller that
 * gives rights up and parses ends it before.
 *
 * @param proc_fd  /proc/PID; borrowed until the end.
 * @param ret      Set only on success; free with sw_listing_destroy().
 * @return 0; -SW_E_IO; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_listing_create(int proc_fd, struct sw_listing **ret, struct sw_error *err);
SW_PUBLIC void sw_listing_destroy(struct sw_listing *listing);

/**
 * Read a file below /proc/PID.
 *
 * @param name  As "fdinfo/3".
 * @param ret   Its text, with a 0 behind it; borrowed until the next call. Set only on success.
 * @return 0; -SW_E_NOT_FOUND; -SW_E_IO with errno; -SW_E_TIMEOUT: it does not answer, as everything that is asked for after it; -SW_E_LIMIT: it is
 *         too large; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_listing_read(struct sw_listing *listing, const char *name, const char **ret,
			      struct sw_error *err);

/**
 * Tell of each name in a directory of the process.
 *
 * @param path  From the root directory of the process on, where links lead in there.
 * @param each  Told of a name and the inode that the directory has for it.
 * @return As sw_listing_read().
 */
SW_PUBLIC int sw_listing_names(struct sw_listing *listing, const char *path,
			       void (*each)(void *arg, const char *name, uint64_t inode), void *arg,
			       struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
