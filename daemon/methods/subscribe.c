/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/params.h"
#include "methods/subscribe.h"
#include "cleanup.h"

struct sw_subscription {
	TAILQ_ENTRY(sw_subscription) link;
	struct sw_call *call; /* borrowed; owns us */
	bool dropped;         /* something was not sent: it reads too slowly */
};

static struct json_object *event_new(const char *event)
{
	return sw_object_string("event", event);
}

static void tell(struct sw_subscription *s, const struct sw_dump *dump, const char *failure)
{
	if (!sw_call_has_room(s->call) || s->dropped) {
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

void sw_subscribers_tell(struct sw_broker *broker, uid_t owner, const struct sw_dump *dump,
			 const char *failure)
{
	struct sw_subscription *s;
	TAILQ_FOREACH(s, &broker->subscriptions, link)
	if (sw_authorize_dump(&s->call->connection->caller, owner))
		tell(s, dump, failure);
}

static void cancel(struct sw_call *call)
{
	struct sw_subscription *s = call->state;
	TAILQ_REMOVE(&call->broker->subscriptions, s, link);
	call->broker->n_subscriptions--;
	free(s);
}

/* There is room again. */
static bool pump(struct sw_call *call)
{
	struct sw_subscription *s = call->state;
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
	struct sw_subscription *s = calloc(1, sizeof(*s));
	if (s == NULL) {
		sw_call_failed(call, "not enough memory");
		return;
	}
	s->call = call;
	call->state = s;
	call->cancel = cancel;
	call->pump = pump;
	TAILQ_INSERT_TAIL(&call->broker->subscriptions, s, link);
	call->broker->n_subscriptions++;
	sw_call_reply(call, event_new("ready"), true);
}
