/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_KNOWN_FILES_H
#define SW_KNOWN_FILES_H

#include <snapwalk/walk.h>

/* The runtime that a file is of, by the file's name: a static wire name, or NULL; version is set when
 * the name says it. */
const char *sw_known_file_runtime(const char *path, char *version, size_t size);

/*
 * Whether all generated code of the process keeps frame pointers, as far as is known: a runtime is
 * recognised that does, and none that does not. Return addresses that such a chain leaps over are
 * stale or data then.
 */
bool sw_known_files_keep_fp(const struct sw_snapshot *snap);

/* Whether a file is that of such a runtime: code that was generated when it was built is in it (V8's
 * builtins). */
bool sw_known_file_keeps_fp(const struct sw_module *module);

/* Whether a file of a 64-bit process runs the 32-bit code of a Windows program (WoW64): frames of that, which are not
 * read, lie between this file's and their callers. */
bool sw_known_file_runs_32bit(const struct sw_module *module);

#endif
