/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_dumps PID N [auto]: dumps a process N times with names, one JSON text a line. What programs and
 * their tables say is kept from one to the next, so that thousands of stops are a matter of a minute. auto:
 * stops only what must be.
 */
#include <snapwalk/pipeline.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_STOP_MS = 60000 };

static int dump_once(struct sw_session *session, struct sw_target *target, enum sw_stop_mode stop,
		     struct sw_error *err)
{
	const struct sw_origin origin = {.kind = SW_FROM_TARGET, .target = target};
	const struct sw_pipeline_options options = {
		.snapshot = {.max_stop_ms = MAX_STOP_MS, .stop = stop},
		.symbolize = {.level = SW_SYMBOLS_NAMES},
	};
	struct sw_pipeline pipeline = {0};
	char *text = NULL;
	size_t size;
	int r = sw_pipeline_run(session, &origin, &options, &pipeline, err);
	if (r == 0)
		r = sw_report_json(pipeline.report, &text, &size, err);
	if (r == 0)
		fputs(text, stdout); /* ends its line */
	free(text);
	sw_pipeline_deinit(&pipeline);
	return r;
}

int main(int argc, char **argv)
{
	struct sw_session *session;
	struct sw_target *target;
	struct sw_error err = {0};
	if (argc != 3 && argc != 4)
		return 2;
	int r = sw_session_create(&session, &err);
	if (r == 0)
		r = sw_target_open(atoi(argv[1]), &target, &err);
	for (int n = atoi(argv[2]); n > 0 && r == 0; n--)
		r = dump_once(session, target, argc == 4 ? SW_STOP_AUTO : SW_STOP_ALWAYS, &err);
	if (r < 0) {
		fprintf(stderr, "drive_dumps: %s\n", err.message);
		return 1;
	}
	sw_target_close(target);
	sw_session_destroy(session);
	return fflush(stdout) != 0;
}
