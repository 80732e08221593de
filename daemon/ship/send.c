/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/send.h"
#include "ship/log.h"
#include "ship/retry.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

static const int64_t between_words_ns = INT64_C(60) * 1000000000;

static const char *url_of(const struct sw_ship_sender *sender)
{
	return sender->config->targets[sender->kind].url;
}

/* A batch is no longer in the spool. */
static void leave(const struct sw_ship_sender *sender, uint64_t bytes)
{
	atomic_fetch_sub(&sender->shared->spool_bytes, bytes);
	atomic_fetch_sub(&sender->shared->spool_files, 1);
	(void) eventfd_write(sender->wake_fd, 1); /* fails when it is full: then it is awake */
}

static void describe(const struct sw_ship_answer *answer, char *ret, size_t size)
{
	if (answer->status != 0)
		(void) snprintf(ret, size, "it answers %ld", answer->status); /* fits */
	else
		(void) snprintf(ret, size, "%s", answer->why); /* cut is fine: it is prose */
}

/* A reason for trying again, as far as the log tells one from the other. */
enum trouble { TROUBLE_NONE, TROUBLE_FAILS, TROUBLE_DENIED, TROUBLES };

/* The state beside what the caller has set up. */
struct state {
	const struct sw_ship_sender *sender;
	struct sw_ship_retry retry;
	int64_t said_ns[TROUBLES]; /* when it was said last; 0: never */
	enum trouble said;         /* and not that it is over */
	bool token_unreadable;     /* likewise */
};

/* Says the first failure of a row, but each trouble not more than once in a minute: an end may fail at every other
 * request. */
static void say_failure(struct state *s, const struct sw_ship_answer *answer)
{
	char why[sizeof(answer->why)];
	const int64_t now_ns = sw_clock_ns();
	const enum trouble what = sw_ship_denied(answer->status) ? TROUBLE_DENIED : TROUBLE_FAILS;
	if (s->said == what ||
	    (s->said_ns[what] != 0 && now_ns - s->said_ns[what] < between_words_ns))
		return;
	s->said_ns[what] = now_ns;
	s->said = what;
	describe(answer, why, sizeof(why));
	sw_ship_log("%s: %s: trying again", url_of(s->sender), why);
}

/* Reads the file of the token again, which may have been renewed there. */
static void renew_token(struct state *s)
{
	struct sw_ship_target *target = &s->sender->config->targets[s->sender->kind];
	struct sw_error err = {0};
	bool changed = false;
	if (target->token_file == NULL)
		return;
	int r = sw_ship_config_renew(target, &changed, &err);
	if (r == 0)
		r = sw_ship_http_renew(s->sender->http, target, &err);
	if (r < 0 && !s->token_unreadable)
		sw_ship_log("%s: the token stays as it was", err.message);
	s->token_unreadable = r < 0;
	if (changed)
		sw_ship_log("%s: there is another token in %s", url_of(s->sender),
			    target->token_file);
}

static void note_end(const struct sw_ship_sender *sender, const struct sw_ship_batch *batch,
		     const struct sw_ship_answer *answer)
{
	const uint64_t n = batch->n_ids;
	if (sw_ship_judge(answer->status) == SW_SHIP_REFUSAL) {
		sw_ship_count(sender->shared, sender->kind, SW_SHIP_REFUSED, n);
		sw_ship_log("lost: %s answers %ld to the batch that begins with %s", url_of(sender),
			    answer->status, batch->ids[0].text);
		return;
	}
	const uint64_t rejected = answer->rejected < n ? answer->rejected : n;
	sw_ship_count(sender->shared, sender->kind, SW_SHIP_SENT, n - rejected);
	sw_ship_count(sender->shared, sender->kind, SW_SHIP_REJECTED, rejected);
	if (rejected > 0)
		sw_ship_log("lost: %s has rejected %llu of the batch that begins with %s",
			    url_of(sender), (unsigned long long) rejected, batch->ids[0].text);
}

/* Sends it until it is taken or refused. */
static void deliver(struct state *s, const struct sw_ship_batch *batch)
{
	const struct sw_ship_sender *sender = s->sender;
	struct sw_ship_answer answer;
	for (;;) {
		sw_ship_http_post(sender->http, batch, &answer);
		const bool denied = sw_ship_denied(answer.status);
		if (answer.status != 0)
			sender->shared->denied[sender->kind] = denied;
		if (sw_ship_judge(answer.status) != SW_SHIP_AGAIN)
			break;
		say_failure(s, &answer);
		sw_ship_count(sender->shared, sender->kind, SW_SHIP_RETRIES, 1);
		(void) poll(NULL, 0, (int) sw_ship_retry_next(&s->retry, answer.retry_after_ms));
		if (denied)
			renew_token(s);
	}
	if (s->said != TROUBLE_NONE)
		sw_ship_log("%s: it answers again", url_of(sender));
	s->said = TROUBLE_NONE;
	sw_ship_retry_succeeded(&s->retry);
	note_end(sender, batch, &answer);
}

static int send_one(struct state *s, uint64_t number, struct sw_error *err)
{
	const struct sw_ship_sender *sender = s->sender;
	struct sw_ship_batch *batch = calloc(1, sizeof(*batch));
	if (batch == NULL)
		return sw_fail_nomem(err);
	int r = sw_spool_read(sender->spool, sender->kind, number, batch, err);
	if (r == -SW_E_FORMAT) {
		sw_ship_log("lost: %s", err->message);
		sw_ship_count(sender->shared, sender->kind, SW_SHIP_UNREADABLE, 1);
		leave(sender, sw_spool_discard(sender->spool, sender->kind, number));
		r = 0;
	} else if (r == 0) {
		deliver(s, batch);
		r = sw_spool_done(sender->spool, sender->kind, number, batch, err);
		if (r == 0)
			leave(sender, batch->file_bytes);
	}
	sw_ship_batch_deinit(batch);
	free(batch);
	return r;
}

/* Sends what is in the spool. */
static int send_all(struct state *s, struct sw_error *err)
{
	const struct sw_ship_sender *sender = s->sender;
	sw_cleanup(sw_free_p) uint64_t *numbers = NULL;
	size_t n = 0;
	int r = sw_spool_list(sender->spool, sender->kind, &numbers, &n, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = send_one(s, numbers[i], err);
	return r;
}

int sw_ship_send(const struct sw_ship_sender *sender, struct sw_error *err)
{
	const struct sw_ship_config *config = sender->config;
	struct pollfd fd = {.fd = sender->batch_fd, .events = POLLIN};
	struct state s = {.sender = sender};
	eventfd_t ignored;
	sw_ship_retry_init(&s.retry, config->retry_min_ms, config->retry_max_ms,
			   (uint64_t) sw_clock_ns());
	for (;;) {
		int r = send_all(&s, err);
		if (r < 0)
			return r;
		(void) poll(&fd, 1, -1); /* after a signal all is looked at again */
		if ((fd.revents & POLLIN) != 0)
			(void) eventfd_read(sender->batch_fd, &ignored); /* it is not 0 */
	}
}
