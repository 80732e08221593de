/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/deaths.h"
#include "cleanup.h"
#include "common/json_text.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <snapwalk/protocol.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum { NS_PER_MS = 1000000 };

int sw_deaths_event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct sw_deaths *d = arg;
	(void) err;
	if (e->kind != SW_EVENT_DIED)
		return 0;
	d->event = *e;
	d->event.text = d->event.bytes = NULL;
	d->row = row;
	d->seen = true;
	d->run->enough = true;
	return 0;
}

static const struct sw_event_stack *stack_of(const struct sw_deaths *d)
{
	return d->seen && d->row < d->run->stacks.n ? &d->run->stacks.stacks[d->row] : NULL;
}

static void put_signal_name(struct sw_text *text, int signal)
{
	const char *name = sw_signal_name(signal);
	if (name != NULL)
		sw_text_printf(text, "%s", name);
	else
		sw_text_printf(text, "signal %d", signal);
}

static void put_sender(struct sw_text *text, const struct sw_event_death *death, pid_t pid)
{
	if (death->sender_pid == pid) {
		sw_text_printf(text, ", sent by itself");
		return;
	}
	sw_text_printf(text, ", sent by ");
	sw_utf8_append_plain(text, death->sender_comm, strlen(death->sender_comm));
	if (death->sender_pid != 0)
		sw_text_printf(text, ", pid %d", (int) death->sender_pid);
	sw_text_printf(text, ", uid %u", (unsigned) death->sender_uid);
}

static void put_signal(struct sw_text *text, const struct sw_deaths *d)
{
	const struct sw_event_death *death = &d->event.death;
	const char *name = NULL, *why = sw_signal_code_text(death->signal, death->code, &name);
	if (death->no_memory) {
		sw_text_printf(text, "killed by the kernel: out of memory");
		return;
	}
	sw_text_printf(text, "killed by ");
	put_signal_name(text, death->signal);
	if (death->has_address) {
		sw_text_printf(text, " at address 0x%" PRIx64, death->address_avma);
		if (why != NULL)
			sw_text_printf(text, " (%s)", why);
	} else if (death->by_kernel) {
		sw_text_printf(text, " of the kernel");
		if (why != NULL && death->code != SI_KERNEL)
			sw_text_printf(text, " (%s)", why);
	} else if (death->has_sender) {
		put_sender(text, death, d->run->subject.pid);
	}
}

/* The caller of exit(): the first function of the program's own. */
static void put_exit(struct sw_text *text, const struct sw_deaths *d)
{
	const struct sw_event_stack *stack = stack_of(d);
	sw_text_printf(text, "exit status %d", d->event.death.status);
	if (stack == NULL || stack->own[0] == '\0')
		return;
	sw_text_printf(text, " by exit() from ");
	sw_text_printf(text, "%s", stack->own);
}

int sw_deaths_text(const struct sw_deaths *d, struct sw_text *text)
{
	const struct sw_event_run *run = d->run;
	const struct sw_event_stack *stack = stack_of(d);
	sw_event_run_title(run, text);
	sw_text_printf(text, ": ");
	if (!d->seen) {
		sw_text_printf(text, run->ended ? "ended, and how was not seen\n" : "lives\n");
		return text->failed ? -SW_E_NOMEM : 0;
	}
	if (d->event.death.signal != 0)
		put_signal(text, d);
	else
		put_exit(text, d);
	sw_text_printf(text, "\nthread %d  ", (int) d->event.tid);
	if (stack != NULL)
		sw_event_label(stack->label, 0, text);
	else
		sw_text_printf(text, "(no stack)");
	sw_text_append(text, "\n", 1);
	return text->failed ? -SW_E_NOMEM : 0;
}

static void json_signal(struct sw_text *text, const struct sw_event_death *death)
{
	const char *name = NULL;
	sw_text_printf(text, ",\"signal\":\"");
	put_signal_name(text, death->signal);
	sw_text_append(text, "\"", 1);
	if (sw_signal_code_text(death->signal, death->code, &name) != NULL)
		sw_json_text_member(text, "code", name);
	if (death->has_address)
		sw_text_printf(text, ",\"address\":\"0x%" PRIx64 "\"", death->address_avma);
	if (!death->has_sender)
		return;
	sw_text_printf(text, ",\"sender\":{\"pid\":%d,\"uid\":%u", (int) death->sender_pid,
		       (unsigned) death->sender_uid);
	sw_json_text_member(text, "comm", death->sender_comm);
	sw_text_append(text, "}", 1);
}

static const char *cause_of(const struct sw_deaths *d)
{
	if (!d->seen)
		return d->run->ended ? "unknown" : "lives";
	if (d->event.death.no_memory)
		return "out_of_memory";
	return d->event.death.signal != 0 ? "signal" : "exit";
}

int sw_deaths_json(const struct sw_deaths *d, struct sw_text *text)
{
	const struct sw_event_run *run = d->run;
	const struct sw_event_stack *stack = stack_of(d);
	sw_text_printf(text, "{\"schema\":\"snapwalk.death/1\",\"pid\":%d", (int) run->subject.pid);
	sw_json_text_member(text, "comm", run->subject.comm);
	sw_text_printf(text, ",\"begin_ns\":%" PRId64 ",\"duration_ms\":%" PRId64,
		       run->begin_real_ns, (run->end_ns - run->begin_ns) / NS_PER_MS);
	sw_json_text_member(text, "cause", cause_of(d));
	if (d->seen) {
		sw_text_printf(text, ",\"time_ns\":%" PRId64 ",\"tid\":%d",
			       sw_realtime_ns() - (sw_clock_ns() - d->event.time_ns),
			       (int) d->event.tid);
		if (d->event.death.signal != 0)
			json_signal(text, &d->event.death);
		else
			sw_text_printf(text, ",\"status\":%d", d->event.death.status);
		sw_text_printf(text, ",\"stack\":");
		if (stack != NULL)
			sw_text_append(text, stack->json, stack->json_size);
		else
			sw_text_printf(text, "null");
	}
	sw_text_printf(text, "}\n");
	return text->failed ? -SW_E_NOMEM : 0;
}
