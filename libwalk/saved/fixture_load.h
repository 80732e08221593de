/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_FIXTURE_LOAD_H
#define SW_FIXTURE_LOAD_H

#include "saved/fixture_text.h"
#include "snapshot/snapshot.h"

/* A fixture while it is read: between saved/load.c, which opens it and goes from line to line, and
 * saved/fixture_records.c, which knows what each line says. */

struct sw_fixture_loader {
	struct sw_snapshot *snap;
	const char *directory;
	int dir_fd, modules_fd;
	struct sw_module **modules; /* the arena's */
	size_t n_modules;
	struct sw_thread *thread; /* of the last thread line; its registers follow */
	bool nomem, cut;          /* cut: memory was shorter than the text says */
	bool ended;
};

/* Known from a first pass over the keywords. */
struct sw_fixture_counts {
	size_t threads, ranges, modules, places, maps;
};

/* A keyword. Counted ones have space for as many elements as there are lines. */
struct sw_fixture_record {
	const char *keyword;
	void (*take)(struct sw_fixture_loader *l, struct sw_fixture_line *line);
	size_t count_off; /* member of struct sw_fixture_counts; SIZE_MAX: not counted */
	size_t max;
};

/* NULL: unknown. */
const struct sw_fixture_record *sw_fixture_record_find(const char *word, size_t size);

#endif
