/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_UNPACKER_H
#define SW_CONFINE_UNPACKER_H

#include <snapwalk/error.h>

/* Unpacked debug sections: root's. Below it is the daemon's directory. */
#define SW_SYSTEM_CACHE_DIR "/var/cache/snapwalk"

/* The calling process, which must have one thread, unpacks debug files from now on: it reads files below the one
 * directory, where the kernel has Landlock, makes and removes files in the other, and has no capability. After an
 * error it must not go on. */
int sw_confine_unpacker(const char *debug_dir, const char *directory, struct sw_error *err);

#endif
