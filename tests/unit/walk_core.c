/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk_core.h"
#include "cleanup.h"
#include "bytes.h"

#include <sys/mman.h>

void walk_core_by(const uint8_t *data, size_t size, walk_core_fn *walk,
		  const struct sw_walk_options *options)
{
	sw_cleanup(sw_close_p) int fd = memfd_create("core", MFD_CLOEXEC);
	struct sw_context *ctx;
	struct sw_snapshot *snap;
	struct sw_walks *walks;
	char path[32];
	if (fd < 0 || !sw_write_all(fd, data, size) || sw_context_create(&ctx, NULL) < 0)
		return;
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* fits */
	if (sw_snapshot_from_core(ctx, path, NULL, &snap, NULL) == 0) {
		if (walk(snap, options, &walks, NULL) == 0)
			sw_walks_destroy(walks);
		sw_snapshot_destroy(snap);
	}
	sw_context_destroy(ctx);
}

void walk_core(const uint8_t *data, size_t size, const struct sw_walk_options *options)
{
	walk_core_by(data, size, sw_walk_all, options);
}
