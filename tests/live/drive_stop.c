/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_stop PID COUNT GAP_US [PROGRAM]: COUNT snapshots of a busy process at random instants, up to
 * GAP_US apart, each walked and named. PROGRAM is the path of the program's module where it is not
 * the process's executable: a Windows program under Wine. Prints, one per line:
 *
 *	bad ...		a walk that is not complete, or not by tables alone
 *	chain N COMM f ...	N walks had these functions of the program, innermost first;
 *				what has no name is ?OFFSET
 *	outer N COMM m+off ...	N walks had these frames outside the program's first function
 *	top N MODULE		N walks were in this module when stopped
 *	nameless N MODULE+off	N frames of Windows code have no function's name (with PROGRAM)
 *	gone N exited		N threads ended before they could be stopped
 *	cut N COMM f ...	the same of walks that are not complete
 *	stops N walks N longest N us bad N	totals
 */
#include <snapwalk/symbolize.h>
#include <snapwalk/walk.h>

#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_BYTES = 8192, BAD_MAX = 500 };

struct tally {
	size_t count;
	char line[];
};

struct driver {
	struct sw_context *ctx;
	struct sw_target *target;
	struct sw_symbolizer *symbolizer;
	void *tallies;       /* tsearch() tree of struct tally */
	const char *program; /* NULL: the executable */
	bool is_32bit;
	size_t n_walks, n_bad;
	int64_t longest_ns;
};

static int tally_compare(const void *a, const void *b)
{
	return strcmp(((const struct tally *) a)->line, ((const struct tally *) b)->line);
}

static void tally_add(struct driver *d, const char *line)
{
	size_t bytes = strlen(line) + 1;
	struct tally *tally = malloc(sizeof(*tally) + bytes);
	if (tally == NULL)
		abort();
	tally->count = 1;
	memcpy(tally->line, line, bytes);
	struct tally *found = *(struct tally **) tsearch(tally, &d->tallies, tally_compare);
	if (found != tally) {
		found->count++;
		free(tally);
	}
}

static void tally_print(const void *node, VISIT visit, int depth)
{
	const struct tally *tally = *(const struct tally *const *) node;
	if (visit == postorder || visit == leaf) {
		const char *rest = strchr(tally->line, ' ');
		printf("%.*s %zu%s\n", (int) (rest - tally->line), tally->line, tally->count, rest);
	}
}

static void append(char *line, const char *format, const char *word, uint64_t number)
{
	size_t used = strlen(line);
	snprintf(line + used, LINE_BYTES - used, format, word, (unsigned long long) number);
	char *cold = strstr(line + used, " [clone");
	if (cold != NULL)
		*cold = '\0'; /* words are separated by spaces */
}

static const char *path_of(const struct sw_frame *frame)
{
	return frame->place == NULL ? "nowhere" : sw_module_path(frame->place->module);
}

static const char *function_of(const struct sw_symbols *symbols, const struct sw_frame *frame)
{
	const struct sw_symbol *found;
	size_t n = sw_symbols_find(symbols, frame, &found);
	return n == 0 || found[n - 1].function == NULL ? "?" : found[n - 1].function;
}

/* A walk is good by tables alone: for a Windows program also by those of PE, and by what leads from
 * stack to stack. The functions that make Wine's system calls in 32-bit programs have no tables:
 * their instructions are as good. */
static bool is_good(const struct driver *d, const struct sw_walk *walk)
{
	unsigned windows = d->is_32bit ? SW_TRUST_INSTRUCTIONS : SW_TRUST_RUNTIME;
	unsigned worst = d->program == NULL ? SW_TRUST_CFI : windows;
	if (walk->end != SW_END_COMPLETE)
		return false;
	for (size_t i = 0; i < walk->n_frames; i++)
		if (walk->frames[i].trust > worst)
			return false;
	return true;
}

static void print_bad(struct driver *d, const struct sw_walk *walk,
		      const struct sw_symbols *symbols)
{
	if (d->n_bad++ >= BAD_MAX)
		return;
	printf("bad %s: %s:", sw_end_name(walk->end), walk->why == NULL ? "" : walk->why);
	for (size_t i = 0; i < walk->n_frames; i++) {
		const struct sw_frame *frame = &walk->frames[i];
		printf(" [%s %#llx %s %s]", sw_trust_name(frame->trust),
		       (unsigned long long) (frame->pc_avma -
					     (frame->place == NULL ? 0 : frame->place->bias)),
		       path_of(frame), function_of(symbols, frame));
	}
	printf("\n");
}

static void tally_walk(struct driver *d, const struct sw_walk *walk,
		       const struct sw_symbols *symbols, const char *exe)
{
	bool complete = walk->end == SW_END_COMPLETE;
	char chain[LINE_BYTES] = "", outer[LINE_BYTES] = "outer ", top[LINE_BYTES] = "top ";
	size_t last = walk->n_frames;
	append(chain, "%s", complete ? "chain " : "cut ", 0);
	append(chain, "%s", walk->thread->comm, 0);
	append(outer, "%s", walk->thread->comm, 0);
	for (size_t i = 0; i < walk->n_frames; i++)
		if (strcmp(path_of(&walk->frames[i]), exe) == 0 &&
		    strcmp(function_of(symbols, &walk->frames[i]), "_start") != 0)
			last = i;
	for (size_t i = 0; i < walk->n_frames; i++) {
		const struct sw_frame *frame = &walk->frames[i];
		uint64_t bias = frame->place == NULL ? 0 : frame->place->bias;
		if (i > last || last == walk->n_frames)
			append(outer, " %s+%#llx", path_of(frame), frame->pc_avma - bias);
		else if (frame->flags & SW_FRAME_SIGNAL)
			append(chain, " %s", "<signal>", 0);
		else if (strcmp(path_of(frame), exe) == 0)
			append(chain, " %s", function_of(symbols, frame), 0);
		if (i <= last && strcmp(path_of(frame), exe) == 0 &&
		    strcmp(function_of(symbols, frame), "?") == 0)
			append(chain, "%s%#llx", "", frame->pc_avma - bias);
	}
	append(top, "%s", path_of(&walk->frames[0]), 0);
	tally_add(d, chain);
	tally_add(d, outer);
	tally_add(d, top);
}

static void tally_nameless(struct driver *d, const struct sw_walk *walk,
			   const struct sw_symbols *symbols)
{
	for (size_t i = 0; i < walk->n_frames; i++) {
		const struct sw_frame *frame = &walk->frames[i];
		char line[LINE_BYTES] = "nameless ";
		if (strcmp(frame->kind, "pe") != 0 || strcmp(function_of(symbols, frame), "?") != 0)
			continue;
		append(line, "%s+%#llx", path_of(frame),
		       frame->pc_avma - (frame->place == NULL ? 0 : frame->place->bias));
		tally_add(d, line);
	}
}

static int stop_once(struct driver *d, struct sw_error *err)
{
	struct sw_snapshot *snap = NULL;
	struct sw_walks *walks = NULL;
	struct sw_symbols *symbols = NULL;
	/* On a machine that has more to do than it can, a busy thread may wait long for its turn to
	 * stop: that is not what is tested here. */
	const struct sw_snapshot_options patient = {.max_stop_ms = 60000};
	const struct sw_symbolize_options names = {.level = SW_SYMBOLS_NAMES};
	int r = sw_snapshot_take(d->ctx, d->target, &patient, &snap, err);
	if (r == 0)
		r = sw_walk_all(snap, NULL, &walks, err);
	if (r == 0)
		r = sw_symbolize(d->symbolizer, walks, &names, &symbols, err);
	for (size_t i = 0; r == 0 && i < snap->n_threads; i++) {
		if (snap->threads[i].captured)
			continue;
		int reason = snap->threads[i].reason;
		if (reason == SW_E_EXITED || reason == SW_E_ZOMBIE)
			tally_add(d, "gone exited");
		else if (d->n_bad++ < BAD_MAX)
			printf("bad not captured: %s %d\n", snap->threads[i].comm, reason);
	}
	for (size_t i = 0; r == 0 && i < walks->n_walks; i++) {
		const struct sw_walk *walk = &walks->walks[i];
		d->is_32bit = snap->process.elf_class == 32;
		d->n_walks++;
		tally_walk(d, walk, symbols, d->program != NULL ? d->program : snap->process.exe);
		if (!is_good(d, walk))
			print_bad(d, walk, symbols);
		if (d->program != NULL)
			tally_nameless(d, walk, symbols);
	}
	if (r == 0 && snap->times.stopped_ns > d->longest_ns)
		d->longest_ns = snap->times.stopped_ns;
	sw_symbols_destroy(symbols);
	sw_walks_destroy(walks);
	sw_snapshot_destroy(snap);
	return r;
}

static void wait_random(long gap_us)
{
	struct timespec t = {.tv_nsec = random() % (gap_us * 1000)};
	nanosleep(&t, NULL); /* the random instant, not a wait for something */
}

int main(int argc, char **argv)
{
	struct driver d = {0};
	struct sw_error err = {0};
	if (argc != 4 && argc != 5)
		return 2;
	long count = atol(argv[2]), gap_us = atol(argv[3]);
	d.program = argc == 5 ? argv[4] : NULL;
	int r = sw_context_create(&d.ctx, &err);
	if (r == 0)
		r = sw_symbolizer_create(d.ctx, &d.symbolizer, &err);
	if (r == 0)
		r = sw_target_open(atoi(argv[1]), &d.target, &err);
	for (long i = 0; r == 0 && i < count; i++) {
		wait_random(gap_us);
		r = stop_once(&d, &err);
	}
	if (r < 0) {
		printf("bad error %d: %s\n", r, err.message);
		return 1;
	}
	twalk(d.tallies, tally_print);
	printf("stops %ld walks %zu longest %lld us bad %zu\n", count, d.n_walks,
	       (long long) d.longest_ns / 1000, d.n_bad);
	tdestroy(d.tallies, free);
	sw_target_close(d.target);
	sw_symbolizer_destroy(d.symbolizer);
	sw_context_destroy(d.ctx);
	return 0;
}
