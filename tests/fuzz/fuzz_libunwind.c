/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The second opinion over tables that anybody wrote: libunwind itself is not hardened, so that what
 * we let through to it matters. The input is a core file; it is walked by libunwind alone.
 */
#include <snapwalk/walk.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[32];
	struct sw_context *ctx;
	struct sw_snapshot *snap;
	struct sw_walks *walks;
	struct sw_error err;
	const struct sw_walk_options options = {.mode = SW_WALK_LIBUNWIND, .max_frames = 64};

	int fd = memfd_create("core", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (write(fd, data, size) != (ssize_t) size || sw_context_create(&ctx, &err) < 0) {
		(void) close(fd);
		return 0;
	}
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (sw_snapshot_from_core(ctx, path, NULL, &snap, &err) == 0) {
		if (sw_walk_all(snap, &options, &walks, &err) == 0)
			sw_walks_destroy(walks);
		sw_snapshot_destroy(snap);
	}
	sw_context_destroy(ctx);
	(void) close(fd);
	return 0;
}
