/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_UNPACKER_H
#define SW_CLI_UNPACKER_H

#include "common/options.h"

#include <limits.h>

/*
 * Unpacked debug sections are kept from one run of the command to the next: as root in
 * /var/cache/snapwalk, else in $XDG_CACHE_HOME/snapwalk or ~/.cache/snapwalk. They are made by a
 * child, which knows nothing of the target: what parses the target's files may only read them.
 */
struct sw_unpacker {
	struct sw_unpacked unpacked;
	char directory[PATH_MAX];
	int end_fd; /* says that the child has ended; negative: there is none */
};

/* Starts the child, unless the options say that nothing is captured here or no lines are wanted.
 * Before anything is captured, as long as the process is small. The options use it until
 * sw_unpacker_end(). */
void sw_unpacker_begin(struct sw_unpacker *ret, struct sw_options *options);
/* Waits for the child, if it has anything to do, but not long: it goes on alone. */
void sw_unpacker_end(struct sw_unpacker *unpacker);

#endif
