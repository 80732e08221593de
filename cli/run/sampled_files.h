/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SAMPLED_FILES_H
#define SW_CLI_SAMPLED_FILES_H

#include "common/options.h"

/*
 * Debug files, for commands that parse between captures: they may read all files. .dwo files, whose names a process
 * chose, are read by a child with the permissions of that process's user (run/owner_files.h); of the files beside a
 * program (NAME.debug, .debug/NAME, NAME.dwp) it says whether that user may read them. There is one child
 * for the command. Where it samples processes of several users, or of any, the permissions are those of nobody.
 */

/* The process will be sampled, too. */
void sw_sampled_files_of(pid_t pid);
/* The symbolizer of the samples will ask the child. */
void sw_sampled_files_use(const struct sw_options *options, struct sw_symbolize_options *symbolize);
/* Starts the child, when all processes are known; before the filter, which permits no fork. */
void sw_sampled_files_begin(const struct sw_options *options);

#endif
