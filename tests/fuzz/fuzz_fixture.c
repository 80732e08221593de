/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fixtures: reading and walking. The input is the text up to its first NUL; the rest is both the
 * memory and the only module file, named "m". */
#include "fuzz.h"

#include <snapwalk/walk.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory is one for all inputs, in memory where that is possible; files are written over. */
static char directory[] = "/dev/shm/fuzz_fixture.XXXXXX";
static int dir_fd = -1;

static void remove_directory(void)
{
	(void) unlinkat(dir_fd, "modules/m", 0);
	(void) unlinkat(dir_fd, "modules", AT_REMOVEDIR);
	(void) unlinkat(dir_fd, "memory", 0);
	(void) unlinkat(dir_fd, "snapshot", 0);
	(void) rmdir(directory);
}

static int prepare(void)
{
	if (dir_fd >= 0)
		return 0;
	if (mkdtemp(directory) == NULL) {
		strcpy(directory, "/tmp/fuzz_fixture.XXXXXX"); /* shorter */
		if (mkdtemp(directory) == NULL)
			return -1;
	}
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void) atexit(remove_directory);
	return dir_fd < 0 ? -1 : mkdirat(dir_fd, "modules", 0700);
}

static int put(const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	ssize_t n = write(fd, data, size);
	(void) close(fd);
	return n == (ssize_t) size ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
	size_t text_size = nul != NULL ? (size_t) (nul - data) : size;
	const uint8_t *rest = nul != NULL ? nul + 1 : data + size;
	size_t rest_size = size - (size_t) (rest - data);
	struct sw_context *ctx;
	struct sw_snapshot *snap;
	struct sw_walks *walks;
	struct sw_error err;
	const struct sw_walk_options options = {.max_frames = 64};

	if (prepare() < 0 || put("snapshot", data, text_size) < 0 ||
	    put("memory", rest, rest_size) < 0 || put("modules/m", rest, rest_size) < 0 ||
	    sw_context_create(&ctx, &err) < 0)
		return 0;
	if (sw_snapshot_load(ctx, directory, &snap, &err) == 0) {
		if (sw_walk_all(snap, &options, &walks, &err) == 0)
			sw_walks_destroy(walks);
		sw_snapshot_destroy(snap);
	}
	sw_context_destroy(ctx);
	return 0;
}
