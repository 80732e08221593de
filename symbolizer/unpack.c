/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process that unpacks debug sections for those that may not write files. It reads nothing that a target
 * has, only what is below the debug directory; of a request it believes nothing but that there may be such a
 * file.
 */
#include "cleanup.h"
#include "debugfile.h"
#include "dwarf_file.h"
#include "unpacked/file.h"

/* The limit for a process that was taken over, and asks again and again for files that push each
 * other out. */
static const uint64_t SERVED_BYTES_MAX = UINT64_C(4) << 30;

struct server {
	const char *debug_dir;
	const struct sw_unpacked *unpacked;
	uint64_t n_bytes; /* written in all */
};

static void unpack(struct server *s, const struct sw_image *image, const struct sw_elf *elf)
{
	const struct sw_request request = {.debug_dir = s->debug_dir};
	struct sw_dwarf_file file;
	struct sw_unpacked_key key;
	struct sw_error ignored; /* who asked has unpacked it meanwhile */
	if (sw_dwarf_file_open(&file, image->fd, elf, &request) != SW_DWARF_OPENED)
		return;
	if (sw_dwarf_file_key(&file, image->fd, elf, &key) && sw_unpacked_may(s->unpacked, &key) &&
	    key.bytes <= SERVED_BYTES_MAX - s->n_bytes &&
	    sw_unpacked_write(s->unpacked, &key, file.unpacked.data, &ignored) == 0)
		s->n_bytes += key.bytes;
	sw_dwarf_file_close(&file);
}

static void answer(struct server *s, struct sw_bytes id)
{
	const struct sw_request request = {.debug_dir = s->debug_dir};
	struct sw_image image = {0};
	struct sw_elf elf;
	if (!sw_debugfile_by_build_id(&request, id, &image, &elf))
		return;
	unpack(s, &image, &elf);
	sw_image_deinit(&image);
}

void sw_unpack_serve(int fd, const char *debug_dir, const struct sw_unpacked *unpacked)
{
	struct server server = {
		.debug_dir = debug_dir != NULL ? debug_dir : SW_DEBUG_DIR,
		.unpacked = unpacked,
	};
	struct sw_unpacked_request request;
	for (;;) {
		ssize_t n = read(fd, &request, sizeof(request));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(request))
			return;
		if (request.n_bytes <= sizeof(request.build_id))
			answer(&server, (struct sw_bytes){request.build_id, request.n_bytes});
	}
}
