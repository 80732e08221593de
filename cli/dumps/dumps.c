/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dumps/dumps.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "errors.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_MS = 1000000 };

int sw_event_dumps_start(struct sw_event_dumps *ret, const struct sw_options *options, pid_t pid,
			 struct sw_error *err)
{
	*ret = (struct sw_event_dumps){.options = options, .pid = pid};
	ret->all = calloc(options->count, sizeof(*ret->all));
	if (ret->all == NULL)
		return sw_fail_nomem(err);
	return sw_then_start(&ret->then, options, pid, err);
}

void sw_event_dumps_deinit(struct sw_event_dumps *d)
{
	sw_then_end(&d->then);
	for (size_t i = 0; i < d->n; i++)
		sw_then_dump_deinit(&d->all[i].dump);
	free(d->all);
	*d = (struct sw_event_dumps){0};
}

void sw_event_dumps_begin(struct sw_event_dumps *d)
{
	if (d->then.pid == 0 || d->then.busy || (d->waits && d->all[d->n - 1].time_ns == 0) ||
	    d->n == d->options->count)
		return;
	d->asked_ns = sw_clock_ns();
	sw_then_ask(&d->then);
	d->all[d->n++] = (struct sw_event_dump){0};
	d->waits = true;
}

void sw_event_dumps_event(struct sw_event_dumps *d, const struct sw_event *e)
{
	if (!d->waits)
		return;
	struct sw_event_dump *at = &d->all[d->n - 1];
	/* Events from before nobody looked: the last one that had happened by then is nearest to the dump. */
	if (at->time_ns != 0 && e->time_ns > d->asked_ns) {
		d->waits = false;
		return;
	}
	at->number = e->number;
	at->tid = e->tid;
	at->time_ns = sw_realtime_ns() - (sw_clock_ns() - e->time_ns);
}

void sw_event_dumps_take(struct sw_event_dumps *d, bool wait)
{
	if (d->then.busy && (wait || sw_then_is_there(&d->then)))
		sw_then_answer(&d->then, &d->all[d->n - 1].dump);
}

int sw_event_dumps_status(const struct sw_event_dumps *d)
{
	int status = SW_STATUS_COMPLETE;
	for (size_t i = 0; i < d->n; i++)
		status = sw_status_worse(status, d->all[i].dump.time_ns == 0
							 ? SW_STATUS_MISSING
							 : d->all[i].dump.status);
	return status;
}

static int64_t delay_ns(const struct sw_event_dump *at)
{
	return at->dump.time_ns - at->time_ns;
}

static bool has_delay(const struct sw_event_dump *at)
{
	return at->dump.time_ns != 0 && at->time_ns != 0;
}

void sw_event_dumps_text(const struct sw_event_dumps *d, struct sw_text *text)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct sw_event_dump *at = &d->all[i];
		sw_text_printf(text, "\nall threads");
		if (has_delay(at))
			sw_text_printf(text, ", %.3f ms after event %" PRIu64 " of thread %d",
				       (double) delay_ns(at) / NS_PER_MS, at->number,
				       (int) at->tid);
		if (at->dump.time_ns == 0) {
			sw_text_printf(text, ": not dumped: ");
			sw_utf8_append_plain(text, at->dump.said, strlen(at->dump.said));
			sw_text_append(text, "\n", 1);
			continue;
		}
		sw_text_printf(text, ":\n");
		sw_text_append(text, at->dump.text.data, at->dump.text.size);
	}
}

static void put_json(const struct sw_event_dump *at, struct sw_text *text)
{
	size_t size = at->dump.text.size;
	sw_text_printf(text, "\"seq\":%" PRIu64 ",\"tid\":%d,\"after_ns\":", at->number,
		       (int) at->tid);
	if (has_delay(at))
		sw_text_printf(text, "%" PRId64, delay_ns(at));
	else
		sw_text_printf(text, "null");
	if (at->dump.time_ns == 0)
		sw_json_text_member(text, "error", at->dump.said);
	sw_text_printf(text, ",\"dump\":");
	while (size > 0 && at->dump.text.data[size - 1] == '\n')
		size--;
	if (at->dump.time_ns != 0 && size > 0)
		sw_text_append(text, at->dump.text.data, size);
	else
		sw_text_printf(text, "null");
}

void sw_event_dumps_json(const struct sw_event_dumps *d, struct sw_text *text)
{
	if (d->all == NULL)
		return;
	sw_text_printf(text, ",\"dumps\":[");
	for (size_t i = 0; i < d->n; i++) {
		sw_text_printf(text, "%s{", i > 0 ? "," : "");
		put_json(&d->all[i], text);
		sw_text_append(text, "}", 1);
	}
	sw_text_append(text, "]", 1);
}

void sw_event_dumps_lines(const struct sw_event_dumps *d, struct sw_text *text)
{
	for (size_t i = 0; i < d->n; i++) {
		sw_text_printf(text, "{\"schema\":\"snapwalk.event_dump/1\",");
		put_json(&d->all[i], text);
		sw_text_append(text, "}\n", 2);
	}
}
