/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_JOBS_JOB_H
#define SW_DAEMON_JOBS_JOB_H

#include "jobs/dump.h"
#include "jobs/found.h"

/*
 * A capture that is queued or under way, and who waits for it. Captures of the same process with
 * the same options are one; captures of one process never run at the same time, because a process
 * has one tracer.
 *
 *	submit -> QUEUED -> RUNNING -> ENDED (told to everybody; its process may still be there)
 */

/* What makes captures different. Zero-initialised with all its padding: compared as bytes. */
struct sw_job_options {
	uint64_t stack_bytes;
	uint32_t max_stop_ms, names_timeout_ms, depth, symbols;
	uint32_t no_inlines;
	uint32_t zero;
};

struct sw_outcome {
	struct sw_dump *dump; /* borrowed; NULL: refused */
	bool coalesced;
	const struct sw_refusal *refusal; /* borrowed */
};

/* Somebody who waits. Zero-initialised but for its functions. */
struct sw_waiter {
	TAILQ_ENTRY(sw_waiter) link;
	struct sw_job *job; /* NULL: does not wait */
	bool coalesced;
	/* The job is "queued", "stopped", "resumed". */
	void (*state)(struct sw_waiter *waiter, const char *state);
	/* It does not wait any more, and may be freed in there. */
	void (*done)(struct sw_waiter *waiter, const struct sw_outcome *outcome);
};

struct sw_submission {
	const struct sw_caller *caller; /* it was judged already */
	struct sw_found *found;         /* its pidfd is taken when a new job begins */
	struct sw_job_options options;
	const char *reason;      /* NULL: none */
	const char *require_exe; /* of a rule; NULL: any */
	uint64_t seq;            /* number in its series, from 1 */
	bool fresh;              /* no dump that is there already */
	bool store;
	bool paid; /* the caller's rate was charged before */
};

enum sw_submitted {
	SW_SUBMITTED_WAIT,    /* waiter->done() will be called */
	SW_SUBMITTED_DUMP,    /* *ret_dump, a new reference: it was there */
	SW_SUBMITTED_REFUSED, /* *refusal */
};
enum sw_submitted sw_job_submit(struct sw_broker *broker, const struct sw_submission *submission,
				struct sw_waiter *waiter, struct sw_dump **ret_dump,
				struct sw_refusal *refusal);
/* Waits no more. A capture that runs goes on: its dump is kept. NULL job is fine. */
void sw_waiter_cancel(struct sw_waiter *waiter);
/* The same, but also a queued capture is made. */
void sw_waiter_detach(struct sw_waiter *waiter);
/* Ends all jobs, kills their workers. */
void sw_jobs_end(struct sw_broker *broker);

/* ---- inside broker_job*.c ---- */

enum sw_job_state { SW_JOB_QUEUED, SW_JOB_RUNNING, SW_JOB_ENDED };

struct sw_job {
	TAILQ_ENTRY(sw_job) link;
	struct sw_broker *broker; /* borrowed */
	enum sw_job_state state;
	struct sw_job_options options;
	struct sw_worker_request request;
	char comm[64];
	char *require_exe; /* owned; NULL: any */
	uid_t owner;       /* of its dump: sw_dump_owner() */
	bool store;
	int target_pidfd; /* owned */
	TAILQ_HEAD(, sw_waiter) waiters;
	sd_event_source *deadline; /* owned */

	/* The worker's. */
	int pidfd, stream;                    /* owned */
	sd_event_source *on_exit, *on_stream; /* owned */
	int64_t begin_ns, charged_us;
	bool resumed;
	struct sw_worker_event event; /* its header */
	size_t got;                   /* bytes of header and payload */
	char *payload;                /* owned */
};

/* broker_job.c: tells everybody. refusal is empty when there is a dump; what it holds is consumed;
 * dump is borrowed. The job may be freed. */
void sw_job_finish(struct sw_job *job, struct sw_dump *dump, struct sw_refusal *refusal);
void sw_job_tell(struct sw_job *job, const char *state);
/* It is over and its process is gone: frees it, and starts the next ones. */
void sw_job_gone(struct sw_job *job);
/* broker_job_run.c: -SW_E_*, nothing has begun then. */
int sw_job_run(struct sw_job *job, struct sw_error *err);
void sw_job_kill(struct sw_job *job);
void sw_job_run_deinit(struct sw_job *job);

/* broker_recent.c: dumps that are returned again while they are young. */
struct sw_dump *sw_recent_find(struct sw_broker *broker, pid_t pid, uint64_t starttime,
			       const struct sw_job_options *options);
void sw_recent_add(struct sw_broker *broker, struct sw_dump *dump,
		   const struct sw_job_options *options);
void sw_recent_clear(struct sw_broker *broker);
int sw_recent_init(struct sw_broker *broker);

/* broker_keep.c: what happens to every new dump: disk, OnDump=, subscribers, and (not quiet) the
 * journal. */
void sw_keep_dump(struct sw_broker *broker, struct sw_dump *dump, uid_t owner, bool store,
		  bool quiet, const char *reason);
void sw_keep_failure(struct sw_broker *broker, const struct sw_job *job,
		     const struct sw_refusal *refusal);
int sw_keep_store(struct sw_broker *broker, struct sw_dump *dump, uid_t owner);
int sw_keep_init(struct sw_broker *broker, struct sw_error *err);

#endif
