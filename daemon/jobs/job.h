/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_JOB_H
#define SW_DAEMON_JOBS_JOB_H

#include "jobs/dump.h"
#include "jobs/found.h"
#include "jobs/options.h"
#include "worker/messages.h"

#include <sys/queue.h>
#include <systemd/sd-event.h>

struct sw_jobs;
struct sw_kept;

/*
 * A capture that is queued or under way, and who waits for it. Captures of the same process with
 * the same options are one; captures of one process never run at the same time, because a process
 * has one tracer.
 *
 *	submit -> QUEUED -> RUNNING -> ENDED (told to everybody; its process may still be there)
 */

struct sw_outcome {
	struct sw_dump *dump; /* borrowed; NULL: refused */
	bool coalesced;
	const struct sw_target_creds *target; /* borrowed: the process as it was captured; NULL:
					       * there was no capture */
	const struct sw_refusal *refusal;     /* borrowed */
	/* The samples of a worker that took them as long as it lived. */
	bool lasted;
	uint64_t n_sampled;
	bool by_clock; /* of struct sw_worker_sampled */
	const struct sw_worker_ended
		*ended; /* borrowed; of events: there is no dump, and no refusal */
};

/* Somebody who waits. Zero-initialised but for its functions. */
struct sw_waiter {
	TAILQ_ENTRY(sw_waiter) link;
	struct sw_job *job; /* NULL: does not wait */
	bool coalesced;
	/* The job is "queued", "stopped", "resumed". */
	void (*state)(struct sw_waiter *waiter, const char *state);
	/* Events, as a JSON object: "stacks", "events" and "lost". False: no more can be taken now, and
	 * sw_job_go_on() says when. Only of a job of events, which has one waiter. */
	bool (*events)(struct sw_waiter *waiter, const char *text, size_t size);
	/* The waiter does not wait any more, and may be freed in there. */
	void (*done)(struct sw_waiter *waiter, const struct sw_outcome *outcome);
};

struct sw_submission {
	const struct sw_caller *caller; /* it was authorized already */
	struct sw_found *found;         /* its pidfd is taken when a new job begins */
	struct sw_job_options options;
	const char *reason;      /* NULL: none */
	const char *require_exe; /* of a rule; NULL: any */
	uint64_t seq;            /* number in its series, from 1 */
	int names_fd;            /* of its series: worker/names.h; borrowed; 0: none */
	/* A sample of a profile: it is no capture for others, and what comes of the profile is up to the waiter. NULL:
	 * a dump. */
	const struct sw_worker_profile *profile;
	const struct sw_worker_events *events; /* likewise: events, and no dump; NULL: none */
	struct sw_kept *keeper; /* borrowed: of its series, for as long as that; NULL: none */
	bool fresh;             /* no dump that is there already */
	bool store;
	bool alert;    /* a rule asks, */
	bool by_event; /* at an event */
	bool pulled;   /* by a section [pull NAME] */
	bool sampled;  /* one of many */
	bool paid;     /* the caller's rate was charged before */
};

enum sw_submitted {
	SW_SUBMITTED_WAIT,    /* waiter->done() will be called */
	SW_SUBMITTED_DUMP,    /* *ret_dump, a new reference: it was there */
	SW_SUBMITTED_REFUSED, /* *refusal */
};
enum sw_submitted sw_job_submit(struct sw_jobs *jobs, const struct sw_submission *submission,
				struct sw_waiter *waiter, struct sw_dump **ret_dump,
				struct sw_refusal *refusal);
/* Waits no more. A capture that runs goes on: its dump is kept. NULL job is fine. */
void sw_waiter_cancel(struct sw_waiter *waiter);
/* The same, but also a queued capture is made. */
void sw_waiter_detach(struct sw_waiter *waiter);
/* A sample of a profile that is to end then (CLOCK_MONOTONIC), now: a worker that takes more is told so. */
void sw_job_end(struct sw_job *job, int64_t end_ns);
/* Tells those who sample that it is enough, and waits for what they have, not for long. */
void sw_jobs_settle(struct sw_jobs *jobs);
/* Ends all jobs, kills their workers. */
void sw_jobs_end(struct sw_jobs *jobs);

/* Errors after which there is nothing to wait for in a series. */
bool sw_refusal_is_final(const struct sw_refusal *refusal);

/* ---- inside jobs ---- */

enum sw_job_state { SW_JOB_QUEUED, SW_JOB_RUNNING, SW_JOB_ENDED };

struct sw_job {
	TAILQ_ENTRY(sw_job) link;
	struct sw_jobs *jobs; /* borrowed */
	enum sw_job_state state;
	struct sw_job_options options;
	struct sw_worker_request request;
	char comm[64];
	char *require_exe;             /* owned; NULL: any */
	struct sw_target_creds target; /* when it was stopped; before: when it was looked up */
	int program_fd;                /* owned: sw_program_fd() of before */
	bool store, alert, by_event, sampled;
	/* Takes samples, or events, as long as its worker lives: it has no slot, nobody waits for its end to capture the same
	 * process (worker/turn.h), and it ends when nobody waits for it. */
	bool lasts;
	struct sw_kept
		*keeper; /* borrowed: whose worker it takes, and gives back; NULL: nobody's */
	int target_pidfd, names_fd; /* owned; until it runs */
	TAILQ_HEAD(, sw_waiter) waiters;
	sd_event_source *deadline; /* owned */
	uint64_t deadline_ms;      /* from when it began to wait, or to run, on */

	/* The worker's. */
	int pidfd, stream;                    /* owned */
	sd_event_source *on_exit, *on_stream; /* owned */
	int64_t begin_ns;
	int64_t started_ns; /* CLOCK_MONOTONIC, when its process was */
	bool resumed;
	bool stays;                   /* it said that it waits for more */
	bool runs_required;           /* it said so: see struct sw_worker_resumed */
	bool kept;                    /* so it does: it has sent its dump */
	bool enough;                  /* it was told so */
	bool paused;                  /* its events are not read now */
	bool hidden;                  /* its caller may not see what came since some look */
	uint64_t n_hidden;            /* its events that came after that */
	bool by_clock;                /* it said so */
	uint64_t n_sampled;           /* as it says */
	bool left;                    /* killed, and not gone: it has no slot any more */
	bool late;                    /* its process should have ended long ago */
	struct sw_worker_event event; /* its header */
	size_t got;                   /* bytes of header and payload */
	char *payload;                /* owned */
};

/* Calls done() of all waiters. refusal is empty when there is a dump; what it holds is consumed;
 * dump is borrowed. The job may be freed. */
void sw_job_finish(struct sw_job *job, struct sw_dump *dump, struct sw_refusal *refusal);
/* The same of events, which have ended. */
void sw_job_finish_events(struct sw_job *job, const struct sw_worker_ended *ended);
void sw_job_tell(struct sw_job *job, const char *state);
/* Gives the worker of a job that lasts the time until its samples or events are to end. */
void sw_job_last(struct sw_job *job);
bool sw_job_is_sample(const struct sw_job *job); /* of a profile */
bool sw_job_is_events(const struct sw_job *job);
/* The job's process was killed. When it waits for what no signal ends, its slot is free
 * nevertheless. */
void sw_job_left(struct sw_job *job);
/* The job is over and its process is gone: frees it, and starts the next ones. */
void sw_job_gone(struct sw_job *job);
#endif
