/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_same PID COUNT GAP_US: COUNT times, at random instants up to GAP_US apart, a busy process is stopped
 * by SIGSTOP, captured with enum sw_stop_mode always, auto and never, walked each time, and goes on.
 * Prints "differs ..." for each walk that is not that of always, "stopped N" where a capture stopped
 * threads though all waited, and at the end "same N walks N frames N".
 */
#include <snapwalk/walk.h>

#include <dirent.h>
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALWAYS, AUTO, NEVER, MODES, DIFFERENT_MAX = 20, LOOK_NS = 200000, LOOKS_MAX = 300000 };

static const enum sw_stop_mode modes[MODES] = {SW_STOP_ALWAYS, SW_STOP_AUTO, SW_STOP_NEVER};
static const char *const mode_names[MODES] = {"always", "auto", "never"};

struct captured {
	struct sw_snapshot *snap;
	struct sw_walks *walks;
};

static size_t n_walks, n_frames, n_different;

static char state_of(int pid, const char *tid)
{
	char path[64], text[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/task/%.12s/stat", pid, tid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return 'X';
	size_t n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	const char *end = strrchr(text, ')');
	return end != NULL && strlen(end) > 2 ? end[2] : 'X';
}

static bool is_stopped(int pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *tasks = opendir(path);
	if (tasks == NULL)
		err(1, "%s", path);
	bool stopped = true;
	for (const struct dirent *task; stopped && (task = readdir(tasks)) != NULL;)
		stopped = task->d_name[0] == '.' ||
			  strchr("TXZ", state_of(pid, task->d_name)) != NULL;
	closedir(tasks);
	return stopped;
}

static void stop(int pid)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	if (kill(pid, SIGSTOP) < 0)
		err(1, "kill");
	for (int i = 0; !is_stopped(pid); i++) {
		if (i == LOOKS_MAX)
			errx(1, "it does not stop");
		nanosleep(&look, NULL);
	}
}

static bool is_same_frame(const struct sw_frame *a, const struct sw_frame *b)
{
	return a->pc_avma == b->pc_avma && a->sp_avma == b->sp_avma && strcmp(a->by, b->by) == 0 &&
	       strcmp(a->kind, b->kind) == 0 && a->trust == b->trust && a->flags == b->flags;
}

static bool is_same_text(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool is_same_walk(const struct sw_walk *a, const struct sw_walk *b)
{
	if (a->thread->tid != b->thread->tid || a->n_frames != b->n_frames || a->end != b->end ||
	    !is_same_text(a->why, b->why))
		return false;
	for (size_t i = 0; i < a->n_frames; i++)
		if (!is_same_frame(&a->frames[i], &b->frames[i]))
			return false;
	return true;
}

static void print_walk(const struct sw_walk *walk)
{
	printf(" [%s", sw_end_name(walk->end));
	for (size_t i = 0; i < walk->n_frames; i++)
		printf(" %#llx/%#llx/%s", (unsigned long long) walk->frames[i].pc_avma,
		       (unsigned long long) walk->frames[i].sp_avma, walk->frames[i].by);
	printf("]");
}

static void differs(const char *mode, const struct sw_walk *a, const struct sw_walk *b)
{
	if (n_different++ >= DIFFERENT_MAX)
		return;
	printf("differs %s %s", mode, a->thread->comm);
	print_walk(a);
	print_walk(b);
	printf("\n");
}

static void compare(const struct captured *of)
{
	for (int m = AUTO; m < MODES; m++) {
		const struct sw_walks *a = of[ALWAYS].walks, *b = of[m].walks;
		if (a->n_walks != b->n_walks) {
			n_different++;
			printf("differs %s: %zu walks, always %zu\n", mode_names[m], b->n_walks,
			       a->n_walks);
			continue;
		}
		for (size_t i = 0; i < a->n_walks; i++)
			if (!is_same_walk(&a->walks[i], &b->walks[i]))
				differs(mode_names[m], &a->walks[i], &b->walks[i]);
		if (of[m].snap->n_stopped > 0)
			printf("stopped %s %zu\n", mode_names[m], of[m].snap->n_stopped);
	}
	for (size_t i = 0; i < of[ALWAYS].walks->n_walks; i++)
		n_frames += of[ALWAYS].walks->walks[i].n_frames;
	n_walks += of[ALWAYS].walks->n_walks;
}

static void stop_once(struct sw_context *ctx, struct sw_target *target, int pid)
{
	struct captured of[MODES] = {0};
	struct sw_error error = {0};
	int r = 0;
	stop(pid);
	for (int m = 0; r == 0 && m < MODES; m++) {
		const struct sw_snapshot_options options = {.stop = modes[m], .max_stop_ms = 60000};
		r = sw_snapshot_take(ctx, target, &options, &of[m].snap, &error);
		if (r == 0)
			r = sw_walk_all(of[m].snap, NULL, &of[m].walks, &error);
	}
	if (kill(pid, SIGCONT) < 0)
		err(1, "kill");
	if (r < 0)
		errx(1, "%d: %s", r, error.message);
	compare(of);
	for (int m = 0; m < MODES; m++) {
		sw_walks_destroy(of[m].walks);
		sw_snapshot_destroy(of[m].snap);
	}
}

static void wait_random(long gap_us)
{
	struct timespec t = {.tv_nsec = random() % (gap_us * 1000)};
	nanosleep(&t, NULL); /* the random instant, not a wait for something */
}

int main(int argc, char **argv)
{
	struct sw_context *ctx;
	struct sw_target *target;
	struct sw_error error = {0};
	if (argc != 4)
		return 2;
	int pid = atoi(argv[1]);
	long count = atol(argv[2]), gap_us = atol(argv[3]);
	if (sw_context_create(&ctx, &error) < 0 || sw_target_open(pid, &target, &error) < 0)
		errx(1, "%s", error.message);
	for (long i = 0; i < count; i++) {
		wait_random(gap_us);
		stop_once(ctx, target, pid);
	}
	printf("same %ld walks %zu frames %zu different %zu\n", count, n_walks, n_frames,
	       n_different);
	sw_target_close(target);
	sw_context_destroy(ctx);
	return 0;
}
