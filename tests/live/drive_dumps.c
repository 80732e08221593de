/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_dumps PID N [auto]: dumps a process N times with names, one JSON text a line. Facts on
 * programs and their tables are kept from one dump to the next, so that thousands of stops are a
 * matter of a minute. auto: stops only what must be.
 *
 * drive_dumps PID ask auto|always STORE [TID]: a dump for each empty line of standard input, of one thread alone
 * with TID. Any other line is a directory: the snapshot of the last dump is saved there with the modules of
 * STORE (sw_snapshot_save_shared()), and "kept" printed.
 */
#include <snapwalk/pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STOP_MS = 60000, PATH_BYTES = 4096 };

/* ret: freed first. */
static int dump_once(struct sw_session *session, struct sw_target *target, const pid_t *tid,
		     enum sw_stop_mode stop, struct sw_pipeline *ret, struct sw_error *err)
{
	const struct sw_origin origin = {.kind = SW_FROM_TARGET, .target = target};
	const struct sw_pipeline_options options = {
		.snapshot = {.max_stop_ms = MAX_STOP_MS,
			     .stop = stop,
			     .tids = tid,
			     .n_tids = tid != NULL},
		.symbolize = {.level = SW_SYMBOLS_NAMES},
	};
	char *text = NULL;
	size_t size;
	sw_pipeline_deinit(ret);
	int r = sw_pipeline_run(session, &origin, &options, ret, err);
	if (r == 0)
		r = sw_report_json(ret->report, &text, &size, err);
	if (r == 0)
		fputs(text, stdout); /* ends its line */
	free(text);
	return r;
}

/* Runs until the end of standard input. */
static int answer(struct sw_session *session, struct sw_target *target, char **words,
		  struct sw_error *err)
{
	char line[PATH_BYTES];
	struct sw_pipeline last = {0};
	enum sw_stop_mode stop = strcmp(words[0], "auto") == 0 ? SW_STOP_AUTO : SW_STOP_ALWAYS;
	const pid_t tid = words[2] != NULL ? atoi(words[2]) : 0;
	int r = 0;
	while (r == 0 && fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0')
			r = dump_once(session, target, tid != 0 ? &tid : NULL, stop, &last, err);
		else
			r = sw_snapshot_save_shared(last.snap, line, words[1], err);
		if (r == 0 && line[0] != '\0')
			puts("kept");
		(void) fflush(stdout); /* main() tells */
	}
	sw_pipeline_deinit(&last);
	return r;
}

static int dump_all(struct sw_session *session, struct sw_target *target, int n,
		    enum sw_stop_mode stop, struct sw_error *err)
{
	struct sw_pipeline last = {0};
	int r = 0;
	for (; n > 0 && r == 0; n--)
		r = dump_once(session, target, NULL, stop, &last, err);
	sw_pipeline_deinit(&last);
	return r;
}

int main(int argc, char **argv)
{
	struct sw_session *session;
	struct sw_target *target;
	struct sw_error err = {0};
	bool asks = argc >= 5 && strcmp(argv[2], "ask") == 0;
	if (argc < 3 || (argc > 4 && !asks))
		return 2;
	int r = sw_session_create(&session, &err);
	if (r == 0)
		r = sw_target_open(atoi(argv[1]), &target, &err);
	if (r == 0 && asks)
		r = answer(session, target, argv + 3, &err);
	else if (r == 0)
		r = dump_all(session, target, atoi(argv[2]),
			     argc == 4 ? SW_STOP_AUTO : SW_STOP_ALWAYS, &err);
	if (r < 0) {
		fprintf(stderr, "drive_dumps: %s\n", err.message);
		return 1;
	}
	sw_target_close(target);
	sw_session_destroy(session);
	return fflush(stdout) != 0;
}
