/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a process that are read before its threads are looked at, and what changes
 * meanwhile. */
#include "capture/before.h"
#include "fake.h"
#include "fake_process.h"
#include "snapshot/snapshot.h"
#include "test.h"

static const char old_maps[] = "10000-20000 rw-p 00000000 00:00 0 \n",
		  new_maps[] = "10000-20000 rw-p 00000000 00:00 0 \n"
			       "30000-40000 r-xp 00000000 00:00 0 \n";

static char directory[32];
static int n_read, n_changes; /* of maps, so often */

static void file_write(const char *name, const char *text)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "%s/%s", directory, name); /* fits */
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Code is mapped when the old maps were read; from then on only the size changes. */
static void reading(const char *name)
{
	char size[32];
	if (strcmp(name, "maps") != 0 || ++n_read > n_changes)
		return;
	(void) snprintf(size, sizeof(size), "%d 1 1 1 0 1 0\n", 100 + n_read); /* fits */
	file_write("statm", size);
	file_write("maps", new_maps);
}

static void maps_read(int changes, int wanted_reads, size_t wanted_maps)
{
	struct sw_target target = {.pid = 11, .pidfd = -EBADF, .proc_fd = -EBADF};
	struct sw_take take = {.target = &target, .snap = fake_snapshot_create()};
	char path[64];
	strcpy(directory, "/tmp/snapwalk-test-XXXXXX");
	assert_non_null(mkdtemp(directory));
	file_write("statm", "100 1 1 1 0 1 0\n");
	file_write("maps", old_maps);
	take.live_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void) snprintf(path, sizeof(path), "%s/statm", directory); /* fits */
	take.stop.statm_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(take.live_fd >= 0 && take.stop.statm_fd >= 0);
	n_read = 0;
	n_changes = changes;
	fake_process = (struct fake_process){.reading = reading};
	assert_int_equal(sw_take_maps(&take), 0);
	fake_process = (struct fake_process){0};
	assert_int_equal(n_read, wanted_reads);
	assert_int_equal(take.snap->n_maps, wanted_maps);
	assert_int_equal(take.maps_pages, 100 + (changes < wanted_reads ? changes : wanted_reads));
	assert_int_equal(close(take.live_fd) + close(take.stop.statm_fd), 0);
	assert_int_equal(unlink(path), 0);
	(void) snprintf(path, sizeof(path), "%s/maps", directory); /* fits */
	assert_int_equal(unlink(path) + rmdir(directory), 0);
	fake_snapshot_destroy(take.snap);
}

/* Maps that change while they are read are read again, three times at most. */
TEST(test_maps_change)
{
	maps_read(0, 1, 1);
	maps_read(1, 2, 2);
	maps_read(2, 3, 2);
	maps_read(9, 4, 2);
}
