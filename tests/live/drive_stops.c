/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_stops PID TID N [code]: captures one thread N times, wherever it is, and prints for each time
 *
 *	stack END[TAB]WHY
 *	FUNCTION[TAB]LINE[TAB]KIND[TAB]BY[TAB]TRUST	innermost first, inlined ones before the function
 *
 * with "?" for what is not known. With "code", after "stack" also the registers, the instructions about the
 * place, and the same of the last frame with the words from its sp on ("last"): a stack ends because of it.
 * Thousands of stops take seconds; the command would take minutes.
 */
#include "memory.h"
#include "snapshot/read.h"

#include <snapwalk/symbolize.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AROUND = 96, WORDS = 24, PAUSE_NS = 1000000 };

static void die(const char *what, const struct sw_error *err)
{
	fprintf(stderr, "drive_stops: %s: %s\n", what, err != NULL ? err->message : "");
	exit(1);
}

static const char *known(const char *s)
{
	return s != NULL ? s : "?";
}

static void print_bytes(struct sw_snapshot_memory *source, uint64_t avma)
{
	uint8_t code[2 * AROUND];
	printf("code ");
	if (sw_memory_read(sw_snapshot_memory(source), avma - AROUND, code, sizeof(code)))
		for (size_t i = 0; i < sizeof(code); i++)
			printf("%02x", code[i]);
	printf("\n");
}

static void print_last(const struct sw_snapshot *snap, const struct sw_walk *w)
{
	struct sw_snapshot_memory source = {.snap = snap};
	const struct sw_frame *last = &w->frames[w->n_frames - 1];
	uint64_t word;
	printf("last pc=%" PRIx64 " sp=%" PRIx64 " words", last->pc_avma, last->sp_avma);
	for (size_t i = 0; i < WORDS; i++)
		if (sw_memory_u64(sw_snapshot_memory(&source), last->sp_avma + 8 * i, &word))
			printf(" %" PRIx64, word);
	printf("\n");
	print_bytes(&source, last->pc_avma);
}

static void print_code(const struct sw_snapshot *snap, const struct sw_regs *regs)
{
	struct sw_snapshot_memory source = {.snap = snap};
	printf("regs pc=%" PRIx64 " sp=%" PRIx64, regs->pc_avma, regs->sp_avma);
	for (size_t i = 0; i < SW_REGS_MAX; i++)
		if (regs->known & UINT32_C(1) << i)
			printf(" %zu=%" PRIx64, i, regs->val[i]);
	printf("\n");
	print_bytes(&source, regs->pc_avma);
}

static void print_frame(const struct sw_symbols *symbols, const struct sw_frame *frame)
{
	const struct sw_symbol *found;
	size_t n = sw_symbols_find(symbols, frame, &found);
	const char *trust = sw_trust_name(frame->trust);
	if (n == 0)
		printf("?\t0\t%s\t%s\t%s\n", frame->kind, frame->by, trust);
	for (size_t i = 0; i < n; i++)
		printf("%s\t%u\t%s\t%s\t%s\n", known(found[i].function), found[i].line, frame->kind,
		       frame->by, trust);
}

int main(int argc, char **argv)
{
	struct sw_context *ctx = NULL;
	struct sw_target *target = NULL;
	struct sw_symbolizer *symbolizer = NULL;
	struct sw_error err = {0};
	if (argc < 4)
		die("usage", NULL);
	pid_t tid = (pid_t) atoi(argv[2]);
	if (sw_context_create(&ctx, &err) < 0 || sw_symbolizer_create(ctx, &symbolizer, &err) < 0 ||
	    sw_target_open((pid_t) atoi(argv[1]), &target, &err) < 0)
		die("cannot begin", &err);
	for (int i = atoi(argv[3]); i > 0; i--) {
		struct sw_snapshot *snap;
		struct sw_walks *walks;
		struct sw_symbols *symbols;
		const struct sw_snapshot_options o = {.tids = &tid,
						      .n_tids = 1,
						      .max_stop_ms = 60000};
		const struct sw_walk_options wo = {0};
		const struct sw_symbolize_options so = {0};
		if (sw_snapshot_take(ctx, target, &o, &snap, &err) < 0 ||
		    sw_walk_all(snap, &wo, &walks, &err) < 0 ||
		    sw_symbolize(symbolizer, walks, &so, &symbols, &err) < 0)
			die("cannot capture", &err);
		for (size_t k = 0; k < walks->n_walks; k++) {
			const struct sw_walk *w = &walks->walks[k];
			printf("stack %s\t%s\n", sw_end_name(w->end), known(w->why));
			if (argc > 4) {
				print_code(snap, &w->thread->regs);
				if (w->n_frames > 0)
					print_last(snap, w);
			}
			for (size_t f = 0; f < w->n_frames; f++)
				print_frame(symbols, &w->frames[f]);
		}
		sw_symbols_destroy(symbols);
		sw_walks_destroy(walks);
		sw_snapshot_destroy(snap);
		/* Elsewhere by then. */
		(void) nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	sw_symbolizer_destroy(symbolizer);
	sw_target_close(target);
	sw_context_destroy(ctx);
	return 0;
}
