/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks at tests/targets/jit_stress.c, which says what is right:
 *
 *	drive_ftable stops PID WORKER N		stops it N times and walks the thread that runs
 *						generated code
 *	drive_ftable one PID WORKER N		the same, and only that thread is stopped
 *	drive_ftable running PID REGISTRY MS	reads its registry again and again while it runs
 *
 * Prints what is wrong, and then
 *
 *	stops N with-jit N wrong N
 *	reads N tables N busy N inconsistent N
 */
#include "jit/ftable/read.h"
#include "jit/ftable/record.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <snapwalk/walk.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SHOWN = 10, PAUSE_US_MAX = 3000, NS_PER_MS = 1000000, WORDS_MAX = 64, NAME_MAX_BYTES = 64 };

static void die(const char *what)
{
	printf("error %s\n", what);
	exit(1);
}

/* ---- stops ------------------------------------------------------------------------------------- */

struct seen {
	unsigned long generation;
	unsigned level, depth;
	bool jit;
};

static bool name_parse(const char *name, struct seen *ret)
{
	return sscanf(name, "s %lu %u %u", &ret->generation, &ret->level, &ret->depth) == 3;
}

/* NULL, or what is wrong. Levels are all there, of one generation, each found by its table. */
static const char *judge(const struct sw_walks *walks, const struct sw_walk *walk, size_t *ret_jit)
{
	struct seen last = {0};
	bool any = false;
	if (walk->end != SW_END_COMPLETE)
		return walk->why != NULL ? walk->why : "not complete";
	for (size_t i = 0; i < walk->n_frames; i++) {
		const struct sw_frame *f = &walk->frames[i];
		struct sw_description *name = malloc(sizeof(*name));
		struct seen now = {0};
		if (name == NULL)
			die("malloc");
		now.jit = strcmp(f->kind, "jit") == 0;
		bool named = now.jit && sw_walk_describe(walks, f, name) == 1 &&
			     name_parse(name->function, &now);
		free(name);
		if (f->flags & SW_FRAME_MAY_MISS)
			return "frames may be missing";
		if (i > 0 && last.jit && strcmp(f->by, "ftable") != 0)
			return "a caller was not found by the table";
		if (last.jit && !now.jit && last.level != 0)
			return "outer levels are missing";
		if (now.jit && !named)
			return "a function has no name";
		if (now.jit && last.jit &&
		    (now.level + 1 != last.level || now.generation != last.generation))
			return "a level is missing";
		if (now.jit && !last.jit && i > 0 && now.level + 1 != now.depth)
			return "inner levels are missing";
		if (now.jit && !last.jit && any)
			return "generated code twice";
		any |= now.jit;
		last = now;
	}
	*ret_jit += any;
	return NULL;
}

static void show(const struct sw_walks *walks, const struct sw_walk *walk, const char *wrong)
{
	printf("wrong: %s\n", wrong);
	for (size_t i = 0; i < walk->n_frames; i++) {
		const struct sw_frame *f = &walk->frames[i];
		struct sw_description *name = calloc(1, sizeof(*name));
		if (name == NULL)
			die("calloc");
		(void) sw_walk_describe(walks, f, name); /* "" when it has none */
		printf("  0x%" PRIx64 " %s by %s %s\n", f->pc_avma, f->kind, f->by, name->function);
		free(name);
	}
}

static int stops(pid_t pid, pid_t worker, size_t n, bool only_one)
{
	struct sw_error err = {0};
	struct sw_context *ctx;
	struct sw_target *target;
	size_t jit = 0, wrong = 0;
	unsigned seed = 1;
	if (sw_context_create(&ctx, &err) < 0 || sw_target_open(pid, &target, &err) < 0)
		die(err.message);
	for (size_t i = 0; i < n; i++) {
		struct sw_snapshot *snap;
		struct sw_walks *walks;
		const struct sw_snapshot_options options = {.max_stop_ms = 10000,
							    .tids = only_one ? &worker : NULL,
							    .n_tids = only_one};
		if (sw_snapshot_take(ctx, target, &options, &snap, &err) < 0 ||
		    sw_walk_all(snap, NULL, &walks, &err) < 0)
			die(err.message);
		for (size_t k = 0; k < walks->n_walks; k++) {
			if (walks->walks[k].thread->tid != worker)
				continue;
			const char *what = judge(walks, &walks->walks[k], &jit);
			if (what != NULL && wrong++ < SHOWN)
				show(walks, &walks->walks[k], what);
		}
		sw_walks_destroy(walks);
		sw_snapshot_destroy(snap);
		usleep((useconds_t) (rand_r(&seed) % PAUSE_US_MAX)); /* not in step with it */
	}
	printf("stops %zu with-jit %zu wrong %zu\n", n, jit, wrong);
	sw_target_close(target);
	sw_context_destroy(ctx);
	return 0;
}

/* ---- running ----------------------------------------------------------------------------------- */

static bool process_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const pid_t *pid = arg;
	struct iovec to = {buffer, length}, from = {(void *) (uintptr_t) avma, length};
	return process_vm_readv(*pid, &to, 1, &from, 1, 0) == (ssize_t) length;
}

static bool nothing_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	return false;
}

struct counts {
	size_t reads, tables, busy, inconsistent;
};

/* Whether what a table points to belongs to it. */
static bool payload_right(const struct sw_ftable *t, const char *name, const uint64_t *words,
			  size_t n)
{
	uint64_t start, generation;
	struct seen seen;
	if (name_parse(name, &seen))
		return seen.level < seen.depth;
	if (sscanf(name, "m %" SCNx64 " %" SCNx64, &start, &generation) != 2 ||
	    start != t->start_avma)
		return false;
	for (size_t i = 0; i < n; i++)
		if (words[i] != (start ^ generation))
			return false;
	return n > 0;
}

static void table_look(struct sw_memory running, const struct sw_ftable *t, struct counts *c)
{
	char name[NAME_MAX_BYTES + 1] = "";
	uint64_t words[WORDS_MAX];
	size_t n = t->kind == SWFT_EH_FRAME ? (size_t) t->count / sizeof(words[0]) : 0;
	bool ok = t->names_bytes <= NAME_MAX_BYTES && n <= WORDS_MAX &&
		  sw_memory_read(running, t->names_avma, name, (size_t) t->names_bytes) &&
		  (n == 0 || sw_memory_read(running, t->data_avma, words, n * sizeof(words[0])));
	if (!sw_ftable_unchanged(running, t)) {
		c->busy++;
		return;
	}
	c->tables++;
	if (ok && payload_right(t, name, words, n))
		return;
	if (c->inconsistent++ < SHOWN)
		printf("inconsistent: table %" PRIu64 " at 0x%" PRIx64 ", seq %" PRIu64
		       ", name \"%s\"\n",
		       t->id, t->record_avma, t->seq, name);
}

static int running(pid_t pid, uint64_t registry_avma, long ms)
{
	static const struct sw_memory_ops process = {.read = process_read};
	static const struct sw_memory_ops nothing = {.read = nothing_read};
	struct sw_memory memory = {&process, &pid};
	struct counts c = {0};
	for (int64_t end_ns = sw_clock_ns() + ms * NS_PER_MS; sw_clock_ns() < end_ns; c.reads++) {
		struct sw_ftables tables = {0};
		size_t left = SW_FTABLE_RECORDS_BYTES;
		if (sw_ftables_read((struct sw_memory){&nothing, NULL}, memory, registry_avma,
				    &left, &tables) < 0)
			die("no memory");
		if (tables.problem != NULL)
			die(tables.problem);
		c.inconsistent += tables.n_bad;
		c.busy += tables.n_busy;
		for (size_t i = 0; i < tables.n; i++)
			table_look(memory, &tables.all[i], &c);
		sw_ftables_deinit(&tables);
	}
	printf("reads %zu tables %zu busy %zu inconsistent %zu\n", c.reads, c.tables, c.busy,
	       c.inconsistent);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "stops") == 0)
		return stops(atoi(argv[2]), atoi(argv[3]), strtoul(argv[4], NULL, 10), false);
	if (argc == 5 && strcmp(argv[1], "one") == 0)
		return stops(atoi(argv[2]), atoi(argv[3]), strtoul(argv[4], NULL, 10), true);
	if (argc == 5 && strcmp(argv[1], "running") == 0)
		return running(atoi(argv[2]), strtoull(argv[3], NULL, 16), atol(argv[4]));
	fprintf(stderr, "usage: drive_ftable stops|one PID WORKER N | running PID REGISTRY MS\n");
	return 2;
}
