/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_UNPACKER_H
#define SW_CONFINE_UNPACKER_H

#include <snapwalk/error.h>

#include <stddef.h>

/* Unpacked debug sections: root's. Below it is the daemon's directory. */
#define SW_SYSTEM_CACHE_DIR "/var/cache/snapwalk"

/* The calling process, which must have one thread, unpacks debug files from now on: it reads files below these directories,
 * where the kernel has Landlock, makes and removes files in the other one, and has no capability. At most
 * SW_UNPACKER_FROM_MAX directories. After an error it must not go on. */
enum { SW_UNPACKER_FROM_MAX = 64 };
int sw_confine_unpacker(const char *const *from, size_t n, const char *directory,
			struct sw_error *err);

#endif
