/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_names FILE [names]: names addresses of a PE file, without a process. Reads svma (RVAs) in
 * hexadecimal from standard input, all at once, and prints for each
 *
 *	SVMA FUNCTION OFFSET FILE:LINE [| FUNCTION FILE:LINE ...]	innermost first
 *
 * with "?" for what is not known; then "source NAME" and "us MICROSECONDS" of the look-up. With
 * "names" no lines are asked for.
 */
#include "snapshot/module.h"

#include <snapwalk/symbolize.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FRAMES_MAX = 1 << 20, BIAS = 0x7f0000000000 };

static void die(const char *what)
{
	fprintf(stderr, "drive_names: %s\n", what);
	exit(1);
}

static const char *known(const char *s)
{
	return s != NULL ? s : "?";
}

static void print_frame(const struct sw_symbols *symbols, const struct sw_frame *frame)
{
	const struct sw_symbol *found;
	size_t n = sw_symbols_find(symbols, frame, &found);
	printf("%" PRIx64, frame->pc_avma - (uint64_t) BIAS);
	if (n == 0)
		printf("\t?\t0\t?:0");
	for (size_t i = 0; i < n; i++)
		printf("%s\t%s\t%" PRIu64 "\t%s:%u", i > 0 ? "\t|" : "", known(found[i].function),
		       found[i].function_offset, known(found[i].file), found[i].line);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct sw_context *ctx = NULL;
	struct sw_module *module = NULL;
	struct sw_symbolizer *symbolizer = NULL;
	struct sw_symbols *symbols = NULL;
	struct stat st;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || fstat(fd, &st) < 0)
		die("no file");
	if (sw_context_create(&ctx, NULL) < 0 ||
	    sw_context_module_file(ctx, SW_MODULE_PE, argv[1], false, fd, &st, &module) < 0 ||
	    sw_symbolizer_create(ctx, &symbolizer, NULL) < 0)
		die("no memory");
	struct sw_frame *frames = calloc(FRAMES_MAX, sizeof(*frames));
	struct sw_place place = {.module = module,
				 .end_avma = UINT64_MAX,
				 .bias = BIAS,
				 .resolved = 1};
	struct sw_walk walk = {.frames = frames};
	struct sw_walks walks = {.walks = &walk, .n_walks = 1};
	uint64_t svma;
	if (frames == NULL)
		die("no memory");
	while (walk.n_frames < FRAMES_MAX && scanf("%" SCNx64, &svma) == 1)
		frames[walk.n_frames++] = (struct sw_frame){.pc_avma = svma + BIAS,
							    .place = &place,
							    .flags = SW_FRAME_EXACT_PC};
	struct sw_symbolize_options o = {.level = argc > 2 && strcmp(argv[2], "names") == 0
							  ? SW_SYMBOLS_NAMES
							  : SW_SYMBOLS_LINES};
	if (sw_symbolize(symbolizer, &walks, &o, &symbols, NULL) < 0)
		die("no memory");
	for (size_t i = 0; i < walk.n_frames; i++)
		print_frame(symbols, &frames[i]);
	printf("source %s\n", sw_symbol_source_name(sw_symbols_source(symbols, &place)));
	printf("us %" PRId64 "\n", symbols->symbolize_ns / 1000);
	sw_symbols_destroy(symbols);
	sw_symbolizer_destroy(symbolizer);
	sw_context_destroy(ctx);
	free(frames);
	return 0;
}
