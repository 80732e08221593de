/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines about dumps, for list and watch. */
#include "daemon/row.h"
#include "daemon/call.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

enum { ID_WIDTH = 37, COMM_WIDTH = 15 };

void sw_row_header(struct sw_text *text)
{
	sw_text_printf(text, "%-*s %-20s %7s %-*s %7s %7s %8s %s\n", ID_WIDTH, "ID", "TIME", "PID",
		       COMM_WIDTH, "COMM", "THREADS", "STACKS", "STOP-MS", "REASON");
}

/* "2026-11-20T10:35:50.084579Z" without the part of the second. */
static void put_time(struct sw_text *text, const char *time)
{
	size_t seconds = strcspn(time, ".Z");
	sw_text_printf(text, "%.*s%s", (int) (seconds < 19 ? seconds : 19), time,
		       seconds > 0 ? "Z" : "");
}

void sw_row(struct sw_text *text, struct json_object *summary)
{
	struct json_object *process = json_object_object_get(summary, "process");
	struct json_object *timings = json_object_object_get(summary, "timings");
	int64_t stopped_us = sw_json_int(timings, "stopped_us");
	struct json_object *complete = json_object_object_get(summary, "complete");
	bool pinned = json_object_get_boolean(json_object_object_get(summary, "pinned"));
	bool partial = complete != NULL && !json_object_get_boolean(complete);
	bool profile = strcmp(sw_json_string(summary, "kind"), "profile") == 0;
	const char *reason = sw_json_string(summary, "reason");
	sw_text_printf(text, "%-*s ", ID_WIDTH, sw_json_string(summary, "id"));
	put_time(text, sw_json_string(summary, "time"));
	sw_text_printf(text,
		       " %7" PRId64 " %-*s %7" PRId64 " %7" PRId64 " %6" PRId64 ".%d%s%s%s%s%s\n",
		       sw_json_int(process, "pid"), COMM_WIDTH, sw_json_string(process, "comm"),
		       sw_json_int(summary, "n_threads"), sw_json_int(summary, "n_stacks"),
		       stopped_us / 1000, (int) (stopped_us % 1000 / 100),
		       profile ? " (profile)" : "", partial ? " (incomplete)" : "",
		       pinned ? " (pinned)" : "", reason[0] != '\0' ? " " : "", reason);
}

void sw_row_json(struct sw_text *text, struct json_object *object)
{
	size_t size = 0;
	const char *line = json_object_to_json_string_length(
		object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &size);
	if (line == NULL)
		text->failed = true;
	else
		sw_utf8_append_json(text, line, size);
	sw_text_append(text, "\n", 1);
}
