/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/table.h"
#include "methods/context.h"
#include "methods/target.h"
#include "rpc/params.h"
#include "cleanup.h"

struct subscription {
	struct sw_subscriber subscriber;
	struct sw_call *call; /* borrowed; owns us */
	bool dropped;         /* something was not sent: it reads too slowly */
};

static struct json_object *event_new(const char *event)
{
	return sw_object_string("event", event);
}

static struct sw_publisher *publisher_of(const struct sw_call *call)
{
	const struct sw_methods *methods = call->context;
	return &methods->jobs->publisher;
}

static void tell(struct sw_subscriber *subscriber, const struct sw_subject *subject,
		 const struct sw_dump *dump, const char *failure)
{
	struct subscription *s = (struct subscription *) subscriber; /* its first member */
	const struct sw_methods *methods = s->call->context;
	if (!sw_methods_may_see(methods, &s->call->connection->caller, subject))
		return;
	if (!sw_call_has_space(s->call) || s->dropped) {
		s->dropped = true;
		return;
	}
	struct json_object *event = event_new(dump != NULL ? "captured" : "failed");
	if (dump != NULL)
		sw_object_add(event, "summary", json_object_get(dump->summary));
	else
		sw_object_add(event, "error", json_object_new_string(failure));
	sw_call_reply(s->call, event, true);
}

static void cancel(struct sw_call *call)
{
	struct subscription *s = call->state;
	sw_publish_unsubscribe(publisher_of(call), &s->subscriber);
	free(s);
}

/* The call's output has space again. */
static bool pump(struct sw_call *call)
{
	struct subscription *s = call->state;
	if (!s->dropped)
		return false;
	s->dropped = false;
	sw_call_reply(call, event_new("dropped"), true);
	return false;
}

void sw_method_subscribe(struct sw_call *call)
{
	const char *bad;
	if (!sw_params_read(call->message.parameters, NULL, 0, NULL, &bad)) {
		sw_call_invalid(call, bad);
		return;
	}
	struct subscription *s = calloc(1, sizeof(*s));
	if (s == NULL) {
		sw_call_failed(call, "not enough memory");
		return;
	}
	s->subscriber.tell = tell;
	s->call = call;
	call->state = s;
	call->cancel = cancel;
	call->pump = pump;
	sw_publish_subscribe(publisher_of(call), &s->subscriber);
	sw_call_reply(call, event_new("ready"), true);
}
