/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_UNPACKED_FILE_H
#define SW_UNPACKED_FILE_H

#include "bytes.h"

#include <snapwalk/symbolize.h>

#include <sys/stat.h>

/*
 * Unpacked debug sections on disk, one file for each debug file: DIRECTORY/BUILD-ID.sections. It begins with a
 * page that says what it was made of; the sections follow as they lie in memory, so that they are mapped.
 *
 * A file counts only if it belongs to root or the owner, nobody else may write it, and it was made since the
 * machine started, of the debug file as it is now. Since the machine started: then it need not be forced to
 * the disk when it is made, and what a power failure left half-written is not believed.
 */

enum {
	SW_UNPACKED_PAGE_BYTES = 4096,
	SW_UNPACKED_ID_BYTES_MIN = 8, /* of a build-id; sha1 has 20 */
	SW_UNPACKED_ID_BYTES_MAX = 64,
	SW_UNPACKED_WORTH_BYTES = 1 << 20, /* less is unpacked faster than it is worth a file */
};
static const uint64_t SW_UNPACKED_BYTES_MAX = UINT64_C(256) << 20; /* of one file */

/* The file and the sections that a file of unpacked sections belongs to. */
struct sw_unpacked_key {
	struct sw_bytes build_id; /* borrowed */
	struct stat of;           /* the debug file */
	uint64_t layout;          /* changes when the sections lie elsewhere */
	uint64_t bytes;           /* of the sections; whole pages */
};

/* Whether it is worth a file, and may have one: only what root or the owner installed. Other files may change
 * while they are unpacked. */
bool sw_unpacked_may(const struct sw_unpacked *unpacked, const struct sw_unpacked_key *key);

/* Maps the sections of that file at an address, for reading; they replace what is mapped there. False: there are
 * none, and nothing changed. */
bool sw_unpacked_map(const struct sw_unpacked *unpacked, const struct sw_unpacked_key *key,
		     void *at);

/* The message that is written to sw_unpacked.ask_fd. */
struct sw_unpacked_request {
	uint8_t n_bytes, build_id[SW_UNPACKED_ID_BYTES_MAX];
};
/* Has the sections of that file unpacked by the process that reads the pipe; not when it has too much to do. */
void sw_unpacked_ask(struct sw_unpacked *unpacked, const struct sw_unpacked_key *key);

/* Writes BUILD-ID.sections of the first directory in one step. Makes space, if it must, by removing what was not
 * used for the longest time. 0; -SW_E_IO; -SW_E_LIMIT: there is too little space on the disk. */
int sw_unpacked_write(const struct sw_unpacked *unpacked, const struct sw_unpacked_key *key,
		      const void *sections, struct sw_error *err);

#endif
