/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DEBUGFILE_H
#define SW_DEBUGFILE_H

#include "unit.h"

struct sw_request;

/* Where Debian and its kin install debug files. */
#define SW_DEBUG_DIR "/usr/lib/debug"

/* Bytes that a unit keeps open: a mapped file or decompressed data. */
struct sw_image {
	struct sw_bytes bytes;
	bool mapped; /* munmap, else free */
	int fd;      /* owned; of a mapped file, to map it once more */
};

void sw_image_deinit(struct sw_image *image);
/* Maps directory/name for reading. False when it is not a regular file, is too large, lies outside of
 * directory, on a file system that may not answer, or cannot be opened. Nothing but a regular file is ever opened:
 * names may be hostile. The process's user may read it, whosever it is (may_read of the request's options). */
bool sw_image_map(struct sw_image *image, const struct sw_request *request, const char *directory,
		  const char *name);
/* The same for a file beside a module, whose directory may be anybody's: nothing on the way there is a symbolic link. */
bool sw_image_map_beside(struct sw_image *image, const struct sw_request *request,
			 const char *directory, const char *name);

/* directory/name, if it is an ELF file with that build-id. image is the caller's; elf is over it. */
bool sw_image_map_id(const struct sw_request *request, const char *directory, const char *name,
		     struct sw_bytes id, struct sw_image *image, struct sw_elf *elf);

/* Whether a file has more names than those that it exports, or lines. */
bool sw_elf_has_symbols(const struct sw_elf *elf);
/* Whether a file has symbols without code: what objcopy --only-keep-debug leaves, or dwz puts into a file of its own. */
bool sw_elf_is_debug_file(const struct sw_elf *elf);

enum { SW_ID_BYTES_LEAST = 3, SW_ID_BYTES_MOST = 64 };
/* A build-id of these sizes as text. */
void sw_build_id_hex(struct sw_bytes id, char ret[static 2 * SW_ID_BYTES_MOST + 1]);

/* A module's separate debug file, or the knowledge that there is none. */
struct sw_debugfile {
	bool found;
	bool refused; /* it may be beside the module, in a directory that is closed to us */
	struct sw_image image; /* owned */
	struct sw_elf elf;     /* over image */
};

/* A search for debug files elsewhere. */
struct sw_debug_search {
	/* The debug file with that build-id; or_whole: else a file that was not stripped. image is the caller's. */
	bool (*find)(const struct sw_debug_search *search, struct sw_bytes id,
		     struct sw_image *image, struct sw_elf *elf, bool or_whole);
};

/* The unit's separate debug file, looked for once; NULL when there is none. */
const struct sw_debugfile *sw_unit_debugfile(struct sw_unit *unit,
					     const struct sw_request *request);
void sw_debugfile_destroy(struct sw_debugfile *file);

/* Whether the module's path leads us to the very file that the target has mapped. In a container it may lead
 * to another file of the host: what is beside that one, or is known of it, is none of the target's. */
bool sw_unit_is_here(const struct sw_unit *unit, struct sw_local *local);

/* .build-id/ab/cdef….debug of the debug directory, if it has that build-id itself. image is the caller's. */
bool sw_debugfile_by_build_id(const struct sw_request *request, struct sw_bytes id,
			      struct sw_image *image, struct sw_elf *elf);

#endif
