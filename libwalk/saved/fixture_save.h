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
	int store_fd;                      /* owned; modules are shared with it; -EBADF: none */
	uint64_t memory_bytes;             /* written so far */
	uint64_t *range_off;               /* owned; where each range lies in the memory file */
	struct sw_module **modules;        /* owned; distinct ones in order of their places */
	size_t n_modules;
	bool store_failed; /* it was the store that could not be written */
};

#endif
