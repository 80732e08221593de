/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_PINS_H
#define SW_ITERATE_PINS_H

#include "iterate/tasks.h"

/*
 * Programs that stay loaded for processes that come later, as to load one takes 1 to 2 ms: files of the BPF file system,
 * in a directory that is root's alone. A name there is NAME-DIGEST-TAG: which program, of which build
 * (sw_iterate_program_identity()), and what the kernel made of it (BPF_OBJ_GET_INFO_BY_FD). Whoever could put a wrong
 * program there is root.
 */
#define SW_PINS_DIRECTORY "/sys/fs/bpf/snapwalk"

/*
 * Open the program of this build. The directory has to be root's, mode 0700, and in a BPF file system; the file has to be
 * root's alone; type, name and tag of the program have to be those of the file's name, and it has no maps.
 *
 * @return 0; -ENOENT: there is none that may be used.
 */
int sw_pins_open(const char *directory, enum sw_iterate_program program, int *ret_program_fd);

/*
 * Load all programs and pin them, in the place of those that are there.
 *
 * @return 0; as sw_iterate_load(); -SW_E_NOT_PERMITTED: the directory is not root's alone; -SW_E_UNSUPPORTED: it is in no
 *         BPF file system; -SW_E_IO.
 */
int sw_pins_make(const char *directory, struct sw_error *err);

/* Remove them and the directory. 0, also where there is none; -SW_E_NOT_PERMITTED; -SW_E_UNSUPPORTED; -SW_E_IO. */
int sw_pins_remove(const char *directory, struct sw_error *err);

#endif
