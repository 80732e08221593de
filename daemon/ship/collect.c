/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon's store is where everything waits: a full spool is no reason to lose anything that the daemon still has. What
 * it tells by Subscribe, and what List shows after each connection, is asked for by Read one by one, oldest first.
 */
#include "ship/collect.h"
#include "ship/convert.h"
#include "ship/log.h"
#include "ship/pending.h"
#include "ship/retry.h"
#include "arena.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <snapwalk/clock.h>
#include <snapwalk/varlink.h>

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

enum {
	ANSWER_MS = 30 * 1000,
	CONNECT_MIN_MS = 100,
	CONNECT_MAX_MS = 30 * 1000,
	LIST_MAX = 1 << 20,        /* the most files that the daemon's store may have */
	BATCH_BYTES_MAX = 4 << 20, /* of several dumps, before they are packed */
	BATCH_DUMPS_MAX = SW_SHIP_BATCH_IDS,
};

/* The state beside what the caller has set up. */
struct state {
	struct sw_ship_collector *c;
	struct sw_varlink_client *events; /* owned; NULL: the daemon is away */
	struct sw_varlink_client *calls;  /* owned; NULL likewise */
	struct sw_ship_pending pending;
	struct sw_ship_retry retry;
	bool list; /* ask for what there is */
};

static void client_close(struct sw_varlink_client **client)
{
	if (*client != NULL)
		sw_varlink_client_close(*client);
	*client = NULL;
}

static void disconnect(struct state *s)
{
	client_close(&s->events);
	client_close(&s->calls);
	s->c->shared->connected = 0;
}

/* ---- what there is --------------------------------------------------------------------------- */

static const char *string_of(struct json_object *object, const char *name)
{
	struct json_object *value = NULL;
	if (!json_object_object_get_ex(object, name, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

/* Whether a summary is of something that is to be sent and is not known. */
static bool is_wanted(const struct state *s, struct json_object *summary, const char **ret_id,
		      enum sw_ship_kind *ret_kind)
{
	const char *id = string_of(summary, "id"), *kind = string_of(summary, "kind");
	*ret_kind = kind != NULL && strcmp(kind, "profile") == 0 ? SW_SHIP_PROFILES : SW_SHIP_DUMPS;
	*ret_id = id;
	return id != NULL && sw_ship_id_valid(id) && s->c->config->targets[*ret_kind].url != NULL &&
	       !sw_ship_known_has(&s->c->known, id);
}

static int want(struct state *s, const char *id, enum sw_ship_kind kind)
{
	int r = sw_ship_pending_add(&s->pending, id, kind);
	if (r == -SW_E_LIMIT) {
		s->list = true; /* there will be space when the first ones are read */
		return 0;
	}
	return r == 0 ? sw_ship_known_add(&s->c->known, id) : r;
}

/* The summaries of a List, which come newest first. */
struct listed {
	struct sw_ship_wanted *items; /* owned */
	size_t n, capacity;
};

static int listed_add(struct listed *listed, const char *id, enum sw_ship_kind kind)
{
	struct sw_ship_wanted *grown =
		sw_grow(listed->items, listed->n, &listed->capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	listed->items = grown;
	struct sw_ship_wanted *item = &listed->items[listed->n++];
	(void) snprintf(item->id.text, sizeof(item->id.text), "%s", id); /* it is valid: it fits */
	item->kind = kind;
	return 0;
}

static int receive_listed(const struct state *s, struct listed *listed, struct sw_error *err)
{
	for (size_t i = 0; i < LIST_MAX; i++) {
		struct sw_varlink_answer answer = {0};
		struct json_object *summary = NULL;
		enum sw_ship_kind kind;
		const char *id;
		int r = sw_varlink_client_receive(s->calls, ANSWER_MS, &answer, err);
		if (r < 0)
			return r;
		const bool refused = answer.error != NULL, continues = answer.continues;
		if (!refused && json_object_object_get_ex(answer.parameters, "summary", &summary) &&
		    is_wanted(s, summary, &id, &kind))
			r = listed_add(listed, id, kind);
		if (refused)
			r = sw_fail(err, SW_E_NOT_PERMITTED, "List: %.100s", answer.error);
		sw_varlink_answer_deinit(&answer);
		if (r < 0 || !continues)
			return r == -SW_E_NOMEM ? sw_fail_nomem(err) : r;
	}
	return sw_fail(err, SW_E_LIMIT, "List: it does not end");
}

static int list(struct state *s, struct sw_error *err)
{
	struct listed listed = {0};
	s->list = false;
	int r = sw_varlink_client_send(s->calls, "io.snapwalk.List", json_object_new_object(), true,
				       -1, err);
	if (r == 0)
		r = receive_listed(s, &listed, err);
	for (size_t i = listed.n; r == 0 && i > 0; i--)
		r = want(s, listed.items[i - 1].id.text, listed.items[i - 1].kind);
	free(listed.items);
	return r == -SW_E_NOMEM ? sw_fail_nomem(err) : r;
}

/* ---- what comes ------------------------------------------------------------------------------ */

static int take_event(struct state *s, const struct sw_varlink_answer *answer, struct sw_error *err)
{
	struct json_object *summary = NULL;
	enum sw_ship_kind kind;
	const char *id;
	if (answer->error != NULL)
		return sw_fail(err, SW_E_NOT_PERMITTED, "Subscribe: %.100s", answer->error);
	const char *event = string_of(answer->parameters, "event");
	if (event == NULL || !answer->continues)
		return sw_fail(err, SW_E_FORMAT, "Subscribe: an answer that is no event");
	/* Before "ready" things may have been made that nobody told of. */
	if (strcmp(event, "ready") == 0 || strcmp(event, "dropped") == 0)
		s->list = true;
	if (strcmp(event, "captured") != 0 ||
	    !json_object_object_get_ex(answer->parameters, "summary", &summary) ||
	    !is_wanted(s, summary, &id, &kind))
		return 0;
	int r = want(s, id, kind);
	return r == -SW_E_NOMEM ? sw_fail_nomem(err) : r;
}

/* Takes the events that are there. */
static int take_events(struct state *s, struct sw_error *err)
{
	for (;;) {
		struct sw_varlink_answer answer = {0};
		int r = sw_varlink_client_receive(s->events, 0, &answer, err);
		if (r == -SW_E_TIMEOUT)
			return 0;
		if (r == 0)
			r = take_event(s, &answer, err);
		sw_varlink_answer_deinit(&answer);
		if (r < 0)
			return r;
	}
}

static int connect_daemon(struct state *s, struct sw_error *err)
{
	int r = sw_varlink_client_open(s->c->socket_path, ANSWER_MS, &s->events, err);
	if (r == 0)
		r = sw_varlink_client_open(s->c->socket_path, ANSWER_MS, &s->calls, err);
	if (r == 0)
		r = sw_varlink_client_send(s->events, "io.snapwalk.Subscribe",
					   json_object_new_object(), true, -1, err);
	if (r == 0)
		s->c->shared->connected = 1;
	return r;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* An error of Read: what it is counted as, or -1 when it is to be asked again. */
static int loss_of(const char *error)
{
	if (strcmp(error, "io.snapwalk.NoSuchDump") == 0)
		return SW_SHIP_GONE;
	if (strcmp(error, "io.snapwalk.TooLarge") == 0)
		return SW_SHIP_TOO_LARGE;
	return strcmp(error, "io.snapwalk.Busy") == 0 ? -1 : SW_SHIP_UNREADABLE;
}

static void lose(const struct state *s, const struct sw_ship_wanted *wanted,
		 enum sw_ship_count count, const char *why)
{
	sw_ship_count(s->c->shared, wanted->kind, count, 1);
	sw_ship_log("lost: %s %s: %s", wanted->kind == SW_SHIP_PROFILES ? "profile" : "dump",
		    wanted->id.text, why);
}

/* The request for one of them in *ret; NULL: it is lost, and that was said. */
static int fetch(const struct state *s, const struct sw_ship_wanted *wanted, char **ret,
		 size_t *ret_size, struct sw_error *err)
{
	struct json_object *parameters = json_object_new_object();
	struct sw_varlink_answer answer = {0};
	const char *text = NULL;
	size_t size = 0;
	if (parameters == NULL ||
	    json_object_object_add(parameters, "id", json_object_new_string(wanted->id.text)) < 0) {
		(void) json_object_put(parameters); /* NULL is legal */
		return sw_fail_nomem(err);
	}
	*ret = NULL;
	int r = sw_varlink_client_send(s->calls, "io.snapwalk.Read", parameters, false, -1, err);
	if (r == 0)
		r = sw_varlink_client_receive_text(s->calls, ANSWER_MS, &answer, &text, &size, err);
	if (r < 0)
		return r;
	if (text == NULL) {
		int loss = loss_of(answer.error);
		if (loss >= 0)
			lose(s, wanted, (enum sw_ship_count) loss, answer.error);
		else
			r = sw_fail(err, SW_E_IO, "Read: %.100s", answer.error);
	} else {
		struct sw_error why = {0};
		r = sw_ship_convert(wanted->kind, wanted->id.text, text, size, ret, ret_size, &why);
		if (r == -SW_E_FORMAT || r == -SW_E_NOT_FOUND) {
			lose(s, wanted, SW_SHIP_UNREADABLE, why.message);
			r = 0;
		} else if (r < 0)
			*err = why;
	}
	sw_varlink_answer_deinit(&answer);
	return r;
}

static void wake(int fd)
{
	(void) eventfd_write(fd, 1); /* fails when it is full: then it is awake */
}

/* A batch that is read but waits for space is given up: it is read again then. */
static int store(struct state *s, enum sw_ship_kind kind, struct sw_ship_batch *batch,
		 struct sw_error *err)
{
	struct sw_ship_shared *shared = s->c->shared;
	const uint64_t cost = sw_spool_cost(batch), used = shared->spool_bytes;
	const uint64_t max = s->c->config->spool_bytes_max;
	if (cost <= max && (used > max || cost > max - used)) {
		shared->spool_full = 1;
		return 0;
	}
	if (cost > max || batch->size > SW_SHIP_BODY_MAX) {
		for (size_t i = 0; i < batch->n_ids; i++) {
			lose(s, sw_ship_pending_at(&s->pending, 0), SW_SHIP_TOO_LARGE,
			     "it is larger than the spool may be");
			sw_ship_pending_drop(&s->pending, 0);
		}
		return 0;
	}
	/* Before the file is there: the sender may remove it at once, and the sum must not be below 0. */
	atomic_fetch_add(&shared->spool_bytes, cost);
	atomic_fetch_add(&shared->spool_files, 1);
	int r = sw_spool_add(s->c->spool, kind, batch, err);
	if (r < 0) {
		atomic_fetch_sub(&shared->spool_bytes, cost);
		atomic_fetch_sub(&shared->spool_files, 1);
		return r;
	}
	for (size_t i = 0; i < batch->n_ids; i++)
		sw_ship_pending_drop(&s->pending, 0);
	sw_ship_count(shared, kind, SW_SHIP_COLLECTED, batch->n_ids);
	wake(s->c->batch_fds[kind]);
	return 0;
}

/* Reads the first one, and dumps that follow it as long as they fit into a batch. What is lost is dropped at once. */
static int read_batch(struct state *s, struct sw_text *raw, struct sw_ship_batch *batch,
		      enum sw_ship_kind *ret_kind, struct sw_error *err)
{
	while (batch->n_ids < BATCH_DUMPS_MAX && batch->n_ids < s->pending.n) {
		const struct sw_ship_wanted *wanted = sw_ship_pending_at(&s->pending, batch->n_ids);
		sw_cleanup(sw_free_p) char *request = NULL;
		size_t size = 0;
		if (batch->n_ids > 0 && wanted->kind != SW_SHIP_DUMPS)
			break;
		int r = fetch(s, wanted, &request, &size, err);
		if (r < 0)
			return r;
		if (request == NULL) {
			sw_ship_pending_drop(&s->pending, batch->n_ids);
			continue;
		}
		sw_text_append(raw, request, size);
		batch->ids[batch->n_ids++] = wanted->id;
		*ret_kind = wanted->kind;
		if (wanted->kind != SW_SHIP_DUMPS || raw->size >= BATCH_BYTES_MAX)
			break;
	}
	return raw->failed ? sw_fail_nomem(err) : 0;
}

static int collect_one(struct state *s, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text raw = {0};
	struct sw_ship_batch *batch = calloc(1, sizeof(*batch));
	enum sw_ship_kind kind = SW_SHIP_DUMPS;
	if (batch == NULL)
		return sw_fail_nomem(err);
	int r = read_batch(s, &raw, batch, &kind, err);
	if (r == 0 && batch->n_ids > 0)
		r = sw_ship_pack(raw.data, raw.size, &batch->body, &batch->size, err);
	if (r == 0 && batch->n_ids > 0)
		r = store(s, kind, batch, err);
	sw_ship_batch_deinit(batch);
	free(batch);
	return r;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Waits for an event, or for space. */
static void wait_for_more(struct state *s)
{
	struct pollfd fds[] = {
		{.fd = s->events != NULL ? sw_varlink_client_fd(s->events) : -1, .events = POLLIN},
		{.fd = s->c->wake_fd, .events = POLLIN},
	};
	eventfd_t ignored;
	(void) poll(fds, SW_ARRAY_SIZE(fds), -1); /* after a signal all is looked at again */
	if ((fds[1].revents & POLLIN) != 0) {
		(void) eventfd_read(s->c->wake_fd, &ignored); /* it says that it is not 0 */
		s->c->shared->spool_full = 0;
	}
}

static bool may_read(const struct state *s)
{
	return s->pending.n > 0 && s->c->shared->spool_full == 0;
}

/* Does what there is to do at once. Most errors are of the connection to the daemon, which is made anew then. */
static int turn(struct state *s, struct sw_error *err)
{
	int r = s->events == NULL ? connect_daemon(s, err) : 0;
	if (r == 0)
		r = take_events(s, err);
	if (r == 0 && s->list && s->pending.n == 0)
		r = list(s, err);
	if (r == 0 && may_read(s))
		r = collect_one(s, err);
	if (r < 0)
		return r;
	sw_ship_retry_succeeded(&s->retry);
	if (!may_read(s) && !(s->list && s->pending.n == 0))
		wait_for_more(s);
	return 0;
}

/* Whether waiting may help: the daemon is away, or does not let us yet. */
static bool may_pass(int r)
{
	return r == -SW_E_NOT_FOUND || r == -SW_E_EXITED || r == -SW_E_TIMEOUT || r == -SW_E_IO ||
	       r == -SW_E_NOT_PERMITTED || r == -SW_E_FORMAT || r == -SW_E_LIMIT;
}

int sw_ship_collect(struct sw_ship_collector *collector, struct sw_error *err)
{
	struct state s = {.c = collector};
	int r;
	sw_ship_retry_init(&s.retry, CONNECT_MIN_MS, CONNECT_MAX_MS, (uint64_t) sw_clock_ns());
	while ((r = turn(&s, err)) == 0 || may_pass(r)) {
		if (r == 0)
			continue;
		if (s.retry.failures == 0)
			sw_ship_log("%s: trying again", err->message);
		disconnect(&s);
		(void) poll(NULL, 0, (int) sw_ship_retry_next(&s.retry, 0)); /* a signal: earlier */
	}
	disconnect(&s);
	sw_ship_pending_deinit(&s.pending);
	return r;
}
