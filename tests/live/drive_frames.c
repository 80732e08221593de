/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_frames PID STOPS GAP_US: captures the process again and again at no particular instant, and
 * prints for its first thread each time
 *
 *	stop END TAKE_US WALK_US
 *	frame PC TRUST KIND FLAGS FUNCTION LINE FILE	innermost first, what was compiled in as well
 *
 * by what runtimes say of it; "?" for what nobody knows. A capture that fails is "failed WHY".
 */
#include <snapwalk/clock.h>
#include <snapwalk/walk.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The time of a stop is for a machine that has far more to do than it can. */
enum { NS_PER_US = 1000, LEVELS_MAX = 64, MAX_STOP_MS = 60000 };

static void die(const char *what)
{
	fprintf(stderr, "drive_frames: %s\n", what);
	exit(1);
}

static void line_print(const struct sw_frame *f, const struct sw_description *d, unsigned flags)
{
	printf("frame\t%" PRIx64 "\t%s\t%s\t%x\t%s\t%u\t%s\n", f->pc_avma, sw_trust_name(f->trust),
	       f->kind, flags, d->function[0] != '\0' ? d->function : "?", d->line,
	       d->file[0] != '\0' ? d->file : "?");
}

static void frame_print(const struct sw_walks *walks, const struct sw_frame *f)
{
	static struct sw_description d;
	size_t level = 0;
	for (; level < LEVELS_MAX && sw_walk_describe_inlined(walks, f, level, &d) == 1; level++)
		line_print(f, &d, f->flags);
	if (level > 0)
		return;
	if (sw_walk_describe(walks, f, &d) != 1)
		d = (struct sw_description){0};
	line_print(f, &d, f->flags);
}

static void stop(struct sw_context *ctx, struct sw_target *target, pid_t pid)
{
	struct sw_error err = {0};
	struct sw_snapshot *snap = NULL;
	struct sw_walks *walks = NULL;
	const struct sw_snapshot_options options = {.max_stop_ms = MAX_STOP_MS};
	if (sw_snapshot_take(ctx, target, &options, &snap, &err) < 0) {
		printf("failed\t%s\n", err.message);
		return;
	}
	if (sw_walk_all(snap, NULL, &walks, &err) < 0)
		die("no memory");
	for (size_t i = 0; i < walks->n_walks; i++) {
		const struct sw_walk *w = &walks->walks[i];
		if (w->thread->tid != pid)
			continue;
		printf("stop\t%s\t%" PRId64 "\t%" PRId64 "\n", sw_end_name(w->end),
		       snap->times.copy_ns / NS_PER_US, walks->walk_ns / NS_PER_US);
		for (size_t k = 0; k < w->n_frames; k++)
			frame_print(walks, &w->frames[k]);
	}
	sw_walks_destroy(walks);
	sw_snapshot_destroy(snap);
}

int main(int argc, char **argv)
{
	struct sw_context *ctx = NULL;
	struct sw_target *target = NULL;
	if (argc != 4)
		die("PID STOPS GAP_US");
	pid_t pid = (pid_t) atol(argv[1]);
	long stops = atol(argv[2]), gap_us = atol(argv[3]);
	if (sw_context_create(&ctx, NULL) < 0 || sw_target_open(pid, &target, NULL) < 0)
		die("no process");
	for (long i = 0; i < stops; i++) {
		struct timespec gap = {0, (gap_us + i % 97) * NS_PER_US};
		(void) nanosleep(&gap, NULL); /* shorter when a signal comes: no matter */
		stop(ctx, target, pid);
	}
	sw_target_close(target);
	sw_context_destroy(ctx);
	return 0;
}
