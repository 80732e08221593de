/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUNTIME_NAMES_H
#define SW_RUNTIME_NAMES_H

#include <snapwalk/walk.h>

/* Runtimes that make code, by the names of the files that are mapped: each once, with a version when
 * the file's name or its symbols say it. Fills at most max. */
size_t sw_runtime_names(const struct sw_snapshot *snap, struct sw_runtime *ret, size_t max);

/*
 * Whether all generated code of the process keeps frame pointers, as far as is known: a runtime is
 * recognised that does, and none that does not. Return addresses that such a chain leaps over are
 * stale or data then.
 */
bool sw_runtime_keeps_fp(const struct sw_snapshot *snap);

/* Whether a file is that of such a runtime: code that was generated when it was built is in it (V8's
 * builtins). */
bool sw_runtime_file_keeps_fp(const struct sw_module *module);

#endif
