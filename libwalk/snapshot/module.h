/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MODULE_H
#define SW_MODULE_H

#include "arena.h"
#include "formats/elf_file.h"
#include "map.h"
#include "slots.h"

#include <snapwalk/walk.h>

#include <sys/stat.h>

/*
 * A file (or memory image) that code comes from. Belongs to the context and is shared by all its
 * snapshots; where it is mapped is the snapshot's business (struct sw_place).
 * Everything lazy remembers its failure: it is tried once.
 */
struct sw_module {
	enum sw_module_kind kind;
	char *path; /* owned */
	bool deleted;
	dev_t dev; /* identity of the file, with inode, size and mtime; 0 for memory images */
	ino_t inode;
	off_t size;
	struct timespec mtime;
	int fd; /* owned; -EBADF for memory images and when it could not be opened */

	bool image_tried;
	const uint8_t *image; /* owned: mmap of fd, or malloc when image_copied; NULL: problem */
	size_t image_size;
	bool image_copied;
	const char *problem; /* static; why there is no image */

	bool elf_tried, is_elf;
	struct sw_elf elf; /* over image */

	bool build_id_tried;
	uint8_t build_id[SW_BUILD_ID_MAX];
	size_t build_id_bytes;

	struct sw_slots slots; /* what unwinders and runtimes know of it, by their ops */
};

/* The data that outlives one snapshot. */
struct sw_context {
	struct sw_module **modules; /* owned */
	size_t n_modules, capacity;
	struct sw_map64 by_identity;    /* mix of device, inode, mtime, size -> index */
	int iterator_fd;                /* owned: program of the task iterator; -EBADF: none */
	struct sw_error iterator_error; /* why it was not loaded; code 0: it was not tried */
	int returns_fd;                 /* owned: that of SW_ITERATE_RETURNS; -EBADF: none */
	bool returns_tried;
	struct sw_local *local; /* owned */
	struct sw_slots slots; /* what folders behind this one keep from one snapshot to the next */
};

/* Takes over fd (also on failure) of a regular file whose fstat is *st; the same file gives the
 * same module. */
int sw_context_module_file(struct sw_context *ctx, enum sw_module_kind kind, const char *path,
			   bool deleted, int fd, const struct stat *st, struct sw_module **ret);

/* An image that was copied from memory; takes over image (malloc'ed, also on failure), NULL when
 * it could not be had and problem says why. The same bytes give the same module. */
int sw_context_module_memory(struct sw_context *ctx, enum sw_module_kind kind, const char *path,
			     bool deleted, uint8_t *image, size_t image_size, const char *problem,
			     struct sw_module **ret);

/* The ELF view of the image, NULL when there is none. */
const struct sw_elf *sw_module_elf(struct sw_module *module);

#endif
