/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_toy live PID DIR | fixture DIR | core FILE: the frames of the first thread with the toy runtime
 * as one more row in the table; "live" records the snapshot, too. Prints a line for each frame,
 * "FUNCTION KIND BY TRUST FLAGS [FILE:LINE]", then "note RUNTIME", "runtime NAME VERSION", "end END".
 */
#include "capture/take.h"
#include "cleanup.h"
#include "saved/core.h"
#include "toy/runtime.h"
#include "walk/tables.h"
#include "walk/walks.h"

#include <snapwalk/symbolize.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 32 };

static int obtain(char **argv, struct sw_context *ctx, const struct sw_tables *tables,
		  struct sw_snapshot **ret)
{
	struct sw_target *target;
	if (strcmp(argv[1], "fixture") == 0)
		return sw_snapshot_load(ctx, argv[2], ret, NULL);
	if (strcmp(argv[1], "core") == 0)
		return sw_core_snapshot(ctx, argv[2], &(struct sw_core_options){0}, tables, ret,
					NULL);
	const struct sw_snapshot_options options = {.max_stop_ms = 10000};
	int r = sw_target_open(atoi(argv[2]), &target, NULL);
	if (r == 0) {
		r = sw_capture_take(ctx, target, &options, tables, ret, NULL);
		sw_target_close(target);
	}
	return r;
}

static void show(const struct sw_walks *walks, const struct sw_symbols *names)
{
	const struct sw_walk *walk = &walks->walks[0];
	for (size_t i = 0; i < walk->n_frames; i++) {
		const struct sw_frame *f = &walk->frames[i];
		const struct sw_symbol *symbol = NULL;
		size_t n = sw_symbols_find(names, f, &symbol);
		printf("%s %s %s %s %x", n > 0 ? symbol[n - 1].function : "?", f->kind, f->by,
		       sw_trust_name(f->trust),
		       f->flags & (SW_FRAME_LANGUAGE | SW_FRAME_INTERNAL | SW_FRAME_LIVE_READ));
		if (n > 0 && symbol[n - 1].file != NULL && (f->flags & SW_FRAME_LANGUAGE))
			printf(" %s:%u", symbol[n - 1].file, symbol[n - 1].line);
		printf("\n");
	}
	if (walk->info != NULL)
		printf("note %s\n", walk->info->runtime);
	for (size_t i = 0; i < walks->n_runtimes; i++)
		printf("runtime %s %s\n", walks->runtimes[i].name, walks->runtimes[i].version);
	printf("end %s\n", sw_end_name(walk->end));
}

int main(int argc, char **argv)
{
	const struct sw_runtime_ops *runtimes[ROWS_MAX];
	struct sw_tables tables = sw_tables;
	struct sw_context *ctx;
	struct sw_snapshot *snap = NULL;
	struct sw_walks *walks;
	struct sw_symbolizer *symbolizer;
	struct sw_symbols *names;
	if (argc < 3 || tables.n_runtimes >= ROWS_MAX)
		return 2;
	memcpy(runtimes, tables.runtimes, tables.n_runtimes * sizeof(*runtimes));
	runtimes[tables.n_runtimes++] = &sw_runtime_toy;
	tables.runtimes = runtimes;
	if (sw_context_create(&ctx, NULL) < 0 || obtain(argv, ctx, &tables, &snap) < 0 ||
	    sw_walk_all_with(snap, &tables, NULL, &walks, NULL) < 0 ||
	    sw_symbolizer_create(ctx, &symbolizer, NULL) < 0 ||
	    sw_symbolize(symbolizer, walks, NULL, &names, NULL) < 0 || walks->n_walks == 0)
		return 1;
	show(walks, names);
	int r = argc > 3 ? sw_snapshot_save(snap, argv[3], NULL) : 0;
	sw_symbols_destroy(names);
	sw_symbolizer_destroy(symbolizer);
	sw_walks_destroy(walks);
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
	return r < 0;
}
