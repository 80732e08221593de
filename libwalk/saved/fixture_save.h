/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FIXTURE_SAVE_H
#define SW_FIXTURE_SAVE_H

#include "saved/fixture_text.h"
#include "snapshot/snapshot.h"

/* A fixture in the making. */
struct sw_fixture_saver {
	const struct sw_snapshot *snap;
	struct sw_text text;
	int dir_fd, modules_fd, memory_fd; /* owned */
	uint64_t memory_bytes;             /* written so far */
	uint64_t *range_off;               /* owned; where each range lies in the memory file */
	struct sw_module **modules;        /* owned; distinct ones in order of their places */
	size_t n_modules;
};

/* What the lines say, saved/fixture_lines.c. */
void sw_fixture_save_process(struct sw_fixture_saver *s);
void sw_fixture_save_maps(struct sw_fixture_saver *s);
void sw_fixture_save_warnings(struct sw_fixture_saver *s);
/* These write their memory, too; false with errno. */
bool sw_fixture_save_ranges(struct sw_fixture_saver *s);
bool sw_fixture_save_threads(struct sw_fixture_saver *s);

/* Copies of files, and their lines, saved/fixture_files.c; false with errno. */
bool sw_fixture_save_places(struct sw_fixture_saver *s);
bool sw_fixture_save_side_files(struct sw_fixture_saver *s);

#endif
