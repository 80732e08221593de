/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_MODULE_H
#define SNAPWALK_MODULE_H

/* Modules without a snapshot. */

#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A module that no snapshot has, for who knows a process by its dump alone.
 *
 * @param path            As the dump names it.
 * @param fd              Its file, opened for reading; taken over, also on failure. Negative: it is not here, and the
 *                        module has no image.
 * @param build_id        Of a module without a file; borrowed until the call returns. A file has its own.
 * @param build_id_bytes  At most 64.
 * @return 0; -SW_E_NOMEM; -SW_E_IO: fd cannot be looked at; -SW_E_LIMIT: the build-id is too long.
 */
SW_PUBLIC int sw_context_module(struct sw_context *ctx, enum sw_module_kind kind, const char *path,
				int fd, const uint8_t *build_id, size_t build_id_bytes,
				struct sw_module **ret, struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
