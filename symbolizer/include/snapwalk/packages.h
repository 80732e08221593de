/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_PACKAGES_H
#define SNAPWALK_PACKAGES_H

/* Debug files out of packages that lie in directories: .deb, .ddeb and .rpm. */

#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Packages that debug files are taken out of. Their bytes may be anybody's: the process that reads them has no privilege,
 * and is not the one that reads names. libarchive unpacks them; only ELF files are looked at, and only debug files with
 * build-ids that were asked for are kept.
 */
struct sw_packages;

/**
 * Find the packages below directories, by the ends of their names. Links are not followed, and no file is opened.
 *
 * @param directories  Borrowed for this call.
 * @param deadline_ns  CLOCK_MONOTONIC, of all that is done later, too; 0: none. What is found by then is the result.
 * @param ret  Free with sw_packages_destroy(). NULL: there are none.
 * @return 0; -SW_E_NOMEM; -SW_E_UNSUPPORTED: there are some, but libarchive is not installed.
 */
SW_PUBLIC int sw_packages_create(const char *const *directories, size_t n, int64_t deadline_ns,
				 struct sw_packages **ret, struct sw_error *err);
SW_PUBLIC void sw_packages_destroy(struct sw_packages *packages);

/** Say that a debug file with this build-id, in hex, may be asked for: it is kept when its package is read for another
 * one. More than 4096 are not remembered. */
SW_PUBLIC void sw_packages_expect(struct sw_packages *packages, const char *build_id);

/**
 * Have a debug file unpacked: into BUILD-ID/debuginfo of the directory, as the debuginfod client has its files. Packages
 * are read in the order of their names, each up to its end, until the file is found.
 *
 * @param directory_fd  A directory that nobody else writes to.
 * @return whether it is there.
 */
SW_PUBLIC bool sw_packages_unpack(struct sw_packages *packages, const char *build_id,
				  int directory_fd);

/** The first package that could not be read to its end: NAME: REASON; NULL: there is none. The packages'. */
SW_PUBLIC const char *sw_packages_why(const struct sw_packages *packages);

#ifdef __cplusplus
}
#endif

#endif
