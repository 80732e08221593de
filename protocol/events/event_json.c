/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "errors.h"
#include "text.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <snapwalk/event_text.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t sw_event_result(const struct sw_event *e)
{
	enum { ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516 };
	if (e->kind == SW_EVENT_LEFT) /* of a function: what it is nobody knows */
		return 0;
	bool again = e->result <= -ERESTARTSYS && e->result >= -ERESTART_RESTARTBLOCK;
	return again ? -EINTR : e->result;
}

bool sw_event_is_error(int64_t result)
{
	return result < 0 && result >= -SW_EVENT_ERROR_MAX;
}

int64_t sw_event_real_ns(const struct sw_event *e)
{
	return sw_realtime_ns() - (sw_clock_ns() - e->time_ns);
}

bool sw_event_detail(const struct sw_event *e, char ret[SW_EVENT_DETAIL_BYTES])
{
	if (e->text != NULL) {
		(void) snprintf(ret, SW_EVENT_DETAIL_BYTES, "%.*s",
				(int) strnlen(e->text, e->text_size),
				(const char *) e->text); /* cut */
		return ret[0] != '\0';
	}
	return e->bytes != NULL &&
	       sw_event_address(e->bytes, e->bytes_size, ret, SW_EVENT_DETAIL_BYTES);
}

const char *sw_event_access_name(enum sw_event_access access)
{
	switch (access) {
	case SW_EVENT_READS: return "read";
	case SW_EVENT_WRITES: return "write";
	case SW_EVENT_EXECUTES: return "execute";
	}
	return NULL;
}

/* A member with a text of the process, which may be any bytes; nothing when it is NULL. */
static void put_member(struct sw_text *text, const char *name, const char *s)
{
	if (s == NULL)
		return;
	sw_text_printf(text, ",\"%s\":", name);
	sw_utf8_append_json_string(text, s);
}

static void put_arguments(struct sw_text *text, const struct sw_event *e)
{
	sw_text_printf(text, ",\"arguments\":[");
	for (size_t i = 0; i < e->n_arguments; i++)
		if (e->arguments_unknown >> i & 1)
			sw_text_printf(text, "%snull", i > 0 ? "," : "");
		else
			sw_text_printf(text, "%s\"0x%" PRIx64 "\"", i > 0 ? "," : "",
				       e->arguments[i]);
	sw_text_append(text, "]", 1);
}

int sw_event_json(const struct sw_event *e, const struct sw_event_naming *naming, char **ret_text,
		  size_t *ret_size, struct sw_error *err)
{
	char detail[SW_EVENT_DETAIL_BYTES];
	struct sw_text text = {0};
	sw_text_printf(&text, "\"seq\":%" PRIu64 ",\"time_ns\":%" PRId64 ",\"pid\":%d,\"tid\":%d",
		       e->number, sw_event_real_ns(e), (int) naming->pid, (int) e->tid);
	put_member(&text, naming->member, naming->name);
	put_arguments(&text, e);
	if (e->kind == SW_EVENT_LEFT)
		sw_text_printf(&text, ",\"result\":\"0x%" PRIx64 "\",\"lasted_ns\":%" PRId64,
			       (uint64_t) e->result, e->lasted_ns);
	else if (e->kind == SW_EVENT_FAULTED)
		sw_text_printf(&text, ",\"address\":\"0x%" PRIx64 "\",\"access\":\"%s\"",
			       e->address_avma, sw_event_access_name(e->access));
	else if (e->kind == SW_EVENT_WAITED)
		sw_text_printf(&text, ",\"lasted_ns\":%" PRId64, e->lasted_ns);
	else if (e->returned)
		sw_text_printf(&text, ",\"result\":%" PRId64, sw_event_result(e));
	if (e->returned && sw_event_is_error(sw_event_result(e)))
		put_member(&text, "errno", sw_errno_name((int) -sw_event_result(e)));
	if (sw_event_detail(e, detail))
		put_member(&text, e->text != NULL ? "path" : "address", detail);
	if (text.failed) {
		sw_text_deinit(&text);
		return sw_fail_nomem(err);
	}
	*ret_text = text.data; /* handed over */
	*ret_size = text.size;
	return 0;
}
