/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A job's worker: what it sends is bounded and checked. It parsed
 * the files of a process that may be hostile.
 */
#include "jobs/run.h"
#include "jobs/kept.h"
#include "jobs/state.h"
#include "rpc/reply.h"
#include "rules/match.h"
#include "child.h"
#include "cleanup.h"
#include "errors.h"
#include "json.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { READS_AT_ONCE = 64 };

static void worker_failed(struct sw_job *job, const struct sw_worker_failed *failed)
{
	pid_t pid = job->request.pid;
	struct sw_refusal refusal = {0};
	struct json_object *parameters = sw_object_int("pid", pid);
	const char *name = NULL, *why = NULL;
	char message[sizeof(failed->message)];
	(void) snprintf(message, sizeof(message), "%.*s", (int) sizeof(failed->message) - 1,
			failed->message);
	switch (failed->code) {
	case SW_E_NO_PROCESS: name = SW_INTERFACE ".NoSuchProcess"; break;
	case SW_E_EXITED: name = SW_INTERFACE ".TargetExited"; break;
	case SW_E_CHANGED: name = SW_INTERFACE ".ProcessChanged"; break;
	case SW_E_STOP_TIMEOUT: name = SW_INTERFACE ".StopTimeout"; break;
	case SW_E_NOT_PERMITTED:
		name = SW_INTERFACE ".NotPermitted";
		why = sw_deny_name(failed->rule > SW_DENY_NONE && failed->rule <= SW_DENY_ROOT_ONLY
					   ? failed->rule
					   : SW_DENY_KERNEL);
		parameters = sw_object_add(parameters, "rule", json_object_new_string(why));
		job->jobs->counters->denied_total++;
		break;
	case SW_E_TRACED:
		name = SW_INTERFACE ".AlreadyTraced";
		if (failed->tracer > 0)
			parameters = sw_object_add(parameters, "tracer",
						   json_object_new_int(failed->tracer));
		break;
	case SW_E_KERNEL_THREAD: why = "kernel_thread"; break;
	case SW_E_ZOMBIE: why = "zombie"; break;
	case SW_E_SELF: why = "self"; break;
	case SW_E_ARCH: why = "architecture"; break;
	default:
		name = failed->code == SW_E_UNSUPPORTED &&
				       (sw_job_is_sample(job) || sw_job_is_events(job))
			       ? SW_INTERFACE ".Unsupported"
			       : SW_INTERFACE ".Failed";
		(void) json_object_put(parameters); /* the only reference */
		parameters = sw_object_add(json_object_new_object(), "detail",
					   json_object_new_string(message));
		break;
	}
	if (name == NULL) {
		name = SW_INTERFACE ".NotTraceable";
		parameters = sw_object_add(parameters, "why", json_object_new_string(why));
	}
	(void) sw_refuse(&refusal, name, parameters, "%s",
			 message[0] != '\0' ? message : sw_error_text(failed->code));
	sw_job_finish(job, NULL, &refusal);
}

static void failed_ourselves(struct sw_job *job, const char *detail)
{
	struct sw_refusal refusal = {0};
	(void) sw_refuse(&refusal, SW_INTERFACE ".Failed", sw_object_string("detail", detail), "%s",
			 detail);
	sw_job_finish(job, NULL, &refusal);
}

static void charge(struct sw_job *job, int64_t stopped_us, int64_t longest_us)
{
	job->resumed = true;
	if (stopped_us < 0)
		stopped_us = 0;
	job->jobs->counters->stopped_us_total += (uint64_t) stopped_us;
	sw_limits_stopped(job->jobs->limits, job->request.pid, job->request.starttime, stopped_us,
			  longest_us < stopped_us ? longest_us : stopped_us, sw_clock_ns());
}

/* Deny= with what the broker could not see without the worker's capabilities, the path of the executable. */
static enum sw_deny_rule judge(const struct sw_job *job, const struct sw_subject *subject)
{
	const struct sw_caller caller = {.privileged = true, .same_user_ns = true};
	return sw_authorize(job->jobs->config, &caller, subject);
}

/* As it was when the process stood still, and as the dump says. */
static enum sw_deny_rule judge_dump(const struct sw_job *job, const struct sw_dump *dump)
{
	struct sw_subject subject = sw_target_subject(&job->target);
	enum sw_deny_rule rule = judge(job, &subject);
	if (rule != SW_DENY_NONE)
		return rule;
	for (int i = 0; i < 3; i++)
		subject.rights.uid[i] = dump->uid;
	subject.comm = dump->comm;
	subject.exe = dump->exe;
	return judge(job, &subject);
}

static void denied(struct sw_job *job, enum sw_deny_rule rule)
{
	struct sw_refusal refusal = {0};
	job->jobs->counters->denied_total++;
	(void) sw_refuse_denied(&refusal, job->request.pid, rule);
	sw_job_finish(job, NULL, &refusal);
}

/* RequireExe= and a program that the worker tells of, which may not be the one that it looked at. */
static bool exe_allowed(const struct sw_job *job, const char *exe)
{
	const struct sw_rule rule = {.require_exe = job->require_exe};
	if (job->require_exe == NULL)
		return true;
	if (job->runs_required && strcmp(job->target.exe, exe) == 0)
		return true;
	return sw_rule_exe_allowed(&rule, job->target.exe) && sw_rule_exe_allowed(&rule, exe);
}

static void exe_forbidden(struct sw_job *job)
{
	struct sw_refusal refusal = {0};
	(void) sw_refuse_denied(&refusal, job->request.pid, SW_DENY_LIST);
	(void) snprintf(refusal.message, sizeof(refusal.message),
			"RequireExe= forbids its executable");
	sw_job_finish(job, NULL, &refusal);
}

/* Set-user-ID programs change their user between the two looks at them. */
static bool is_another_user(const struct sw_job *job, const struct sw_dump *dump)
{
	const uint32_t *uid = job->target.rights.uid;
	return dump->uid != uid[0] && dump->uid != uid[1] && dump->uid != uid[2];
}

/* Whether the dump is what the job asked for: a dump, or the profile that the job knows. */
static bool is_asked_for(const struct sw_job *job, const struct sw_dump *dump)
{
	const struct sw_worker_profile *profile = &job->request.profile;
	return dump->profile == sw_job_is_sample(job) &&
	       (profile->id[0] == '\0' || strcmp(profile->id, dump->id) == 0);
}

/* A worker without privileges sees the ids of the process, and not whether it protects itself by now. */
static bool is_hidden_now(const struct sw_job *job, struct sw_target_rights *ret)
{
	return sw_found_rights_now(job->request.pid, job->request.starttime, ret) &&
	       !sw_rights_imply(&job->target.rights, ret);
}

void sw_job_look_again(struct sw_job *job)
{
	struct sw_target_creds now = job->target;
	if (job->state == SW_JOB_RUNNING && job->resumed && is_hidden_now(job, &now.rights))
		sw_target_creds_mix(&job->target, &now);
}

/* Workers that take samples of each thread look at the process each time; those that the kernel gives samples do not. */
static bool was_looked_at_once(const struct sw_job *job)
{
	return job->lasts &&
	       (sw_job_is_events(job) || sw_config_mode_is_cpu(job->request.profile.mode));
}

/* Whether the caller may not see what has come since the last look. The worker ends then; another one begins if the caller
 * still may. */
static bool is_hidden(struct sw_job *job)
{
	struct sw_target_rights now;
	if (!job->hidden && was_looked_at_once(job) && !job->request.privileged &&
	    is_hidden_now(job, &now)) {
		job->hidden = true;
		sw_job_enough(job);
	}
	return job->hidden;
}

static void hidden(struct sw_job *job)
{
	struct sw_refusal refusal = {0};
	job->jobs->counters->denied_total++;
	(void) sw_refuse_denied(&refusal, job->request.pid, SW_DENY_DUMPABLE);
	sw_job_finish(job, NULL, &refusal);
}

static void account(struct sw_job *job, const struct sw_dump *dump)
{
	struct sw_counters *n = job->jobs->counters;
	if (job->n_sampled == 0) { /* else they were counted as they were taken */
		n->captures_total++;
		n->captures_incomplete_total += !dump->complete;
		n->threads_total += (uint64_t) dump->n_threads;
		sw_histogram_add(&n->stop_us, (uint64_t) dump->stopped_us);
		sw_histogram_add(&n->capture_us, (uint64_t) dump->total_us);
	}
	n->capture_us_total += (uint64_t) dump->total_us;
	n->dump_bytes_total += dump->size;
}

/* The worker of an event adds to the reason which event it was: the rule knows that no earlier. */
static const char *reason_of(const struct sw_job *job, const struct sw_dump *dump)
{
	struct json_object *found = NULL;
	const char *asked = job->request.reason;
	const size_t n = strlen(asked);
	if (!sw_job_is_events(job) || !json_object_object_get_ex(dump->summary, "reason", &found) ||
	    !json_object_is_type(found, json_type_string))
		return asked;
	const char *said = json_object_get_string(found);
	return strncmp(said, asked, n) == 0 && strncmp(said + n, ": ", 2) == 0 ? said : asked;
}

static void publish(struct sw_job *job, struct sw_dump *dump)
{
	struct sw_jobs *jobs = job->jobs;
	const char *reason = reason_of(job, dump);
	/* The first of a sample is worth a line, the thousand that follow are not. */
	bool quiet = job->request.seq > 1 && !job->store;
	const struct sw_origin origin = {.target = &job->target,
					 .by = job->request.caller_uid,
					 .alert = job->alert,
					 .by_event = job->by_event,
					 .sampled = job->sampled};
	sw_publish_dump(&jobs->publisher, dump, &origin, job->store, quiet,
			reason[0] != '\0' ? reason : NULL);
	if (job->require_exe == NULL && !sw_job_is_events(job)) /* that is one thread */
		sw_recent_add(&jobs->recent, dump, job, jobs->config->min_interval_ms);
}

/* Consumes the payload. */
static void worker_dumped(struct sw_job *job)
{
	struct sw_error err = {0};
	struct sw_refusal refusal = {0};
	struct sw_dump *dump = NULL;
	if (sw_dump_create(sw_take_ptr(job->payload), job->event.size, &dump, &err) < 0) {
		failed_ourselves(job, err.message);
		return;
	}
	enum sw_deny_rule rule = judge_dump(job, dump);
	if (was_looked_at_once(job) && job->request.privileged)
		sw_job_look_again(job);
	if (dump->pid != job->request.pid || dump->starttime != job->request.starttime)
		failed_ourselves(job, "the worker told of another process");
	else if (!is_asked_for(job, dump))
		failed_ourselves(job, "the worker told of something else than it was asked for");
	else if (rule != SW_DENY_NONE)
		denied(job, rule);
	else if (!exe_allowed(job, dump->exe))
		exe_forbidden(job);
	else if (is_hidden(job))
		hidden(job);
	else {
		if (is_another_user(job, dump))
			job->target.rights.mixed |= SW_MIXED_USERS;
		account(job, dump);
		if (!sw_job_is_sample(job))
			publish(job, dump);
		job->kept = job->stays;
		sw_job_finish(job, dump, &refusal);
	}
	sw_dump_unref(dump);
}

/* The worker itself tells its samples: no value is believed that they could not have. */
static void worker_sampled(struct sw_job *job, const struct sw_worker_sampled *more)
{
	enum { SAMPLES_MAX = 1 << 20, THREADS_MAX = 1 << 30 };
	struct sw_jobs *jobs = job->jobs;
	const struct sw_worker_request *request = &job->request;
	uint64_t n = more->n_samples < SAMPLES_MAX ? more->n_samples : SAMPLES_MAX;
	job->n_sampled += n;
	job->by_clock |= more->by_clock;
	jobs->counters->captures_total += n;
	jobs->counters->threads_total +=
		more->n_threads < THREADS_MAX ? more->n_threads : THREADS_MAX;
	int64_t most_us = (int64_t) (n * request->max_stop_ms * 1000);
	charge(job, more->stopped_us < most_us ? more->stopped_us : most_us, more->longest_us);
	if (!is_hidden(job) &&
	    sw_limits_target(jobs->limits, request->pid, request->starttime, sw_clock_ns()) > 0)
		sw_job_enough(job);
}

/* The text is checked for being JSON, and what it says of the process is the worker's word, as in a dump. */
static void worker_told(struct sw_job *job)
{
	enum { DEPTH_MAX = 16 };
	static const char *const names[] = {"stacks", "events", "lost"};
	struct sw_waiter *waiter = TAILQ_FIRST(&job->waiters);
	struct sw_json_scan scan = sw_json_scan_begin(job->payload, job->event.size, DEPTH_MAX);
	struct sw_json_part name, value;
	size_t n = 0, n_events = 0;
	int r = sw_json_check(job->payload, job->event.size, DEPTH_MAX, NULL);
	while (r >= 0 && (r = sw_json_scan_next(&scan, &name, &value, NULL)) > 0) {
		bool known = n < SW_ARRAY_SIZE(names) && name.size == strlen(names[n]) &&
			     memcmp(name.data, names[n], name.size) == 0;
		if (!known)
			r = -SW_E_FORMAT;
		if (n == 1)
			n_events = value.n;
		n++;
	}
	if (r < 0 || n != SW_ARRAY_SIZE(names)) {
		sw_job_kill(job);
		failed_ourselves(job, "the worker told of something else than it was asked for");
		return;
	}
	if (is_hidden(job))
		job->n_hidden += n_events;
	if (job->hidden || waiter == NULL || waiter->events(waiter, job->payload, job->event.size))
		return;
	job->paused = true;
	(void) sd_event_source_set_enabled(job->on_stream, SD_EVENT_OFF); /* was on */
}

static void worker_resumed(struct sw_job *job, const struct sw_worker_resumed *resumed)
{
	/* As it stood still, rather than when it was looked up. */
	job->target = resumed->target;
	job->target.comm[sizeof(job->target.comm) - 1] = '\0';
	job->target.exe[sizeof(job->target.exe) - 1] = '\0';
	job->stays = resumed->stays;
	job->runs_required = resumed->runs_required;
	charge(job, resumed->stopped_us, resumed->stopped_us);
	/* Events are refused before the first of them comes, a dump when it comes. */
	const struct sw_subject subject = sw_target_subject(&job->target);
	enum sw_deny_rule rule = sw_job_is_events(job) ? judge(job, &subject) : SW_DENY_NONE;
	const bool allowed = !sw_job_is_events(job) || exe_allowed(job, job->target.exe);
	if (rule == SW_DENY_NONE && allowed) {
		if (sw_job_is_events(job))
			sw_job_last(job);
		sw_job_tell(job, "resumed");
		return;
	}
	sw_job_kill(job);
	if (rule != SW_DENY_NONE)
		denied(job, rule);
	else
		exe_forbidden(job);
}

static void worker_ended(struct sw_job *job, const struct sw_worker_ended *ended)
{
	struct sw_worker_ended checked = *ended;
	if (checked.end >= SW_WORKER_ENDS)
		checked.end = SW_WORKER_END_TIME;
	if (job->hidden) {
		const uint64_t n = job->n_hidden < checked.n ? job->n_hidden : checked.n;
		checked.n -= n;
		checked.n_lost += n;
		if (checked.end != SW_WORKER_END_EXITED)
			checked.end = SW_WORKER_END_CHANGED;
	}
	sw_job_finish_events(job, &checked);
}

void sw_job_go_on(struct sw_job *job)
{
	if (!job->paused)
		return;
	job->paused = false;
	if (job->on_stream != NULL)
		(void) sd_event_source_set_enabled(job->on_stream, SD_EVENT_ON); /* was off */
	(void) sd_event_source_set_enabled(job->on_exit, SD_EVENT_ON);           /* or it was on */
}

static void on_event(struct sw_job *job)
{
	struct sw_worker_ended ended;
	struct sw_worker_resumed resumed;
	struct sw_worker_sampled sampled;
	struct sw_worker_failed failed;
	switch (job->event.type) {
	case SW_WORKER_RESUMED:
		memcpy(&resumed, job->payload, sizeof(resumed));
		worker_resumed(job, &resumed);
		break;
	case SW_WORKER_SAMPLED:
		memcpy(&sampled, job->payload, sizeof(sampled));
		worker_sampled(job, &sampled);
		break;
	case SW_WORKER_EVENTS: worker_told(job); break;
	case SW_WORKER_ENDED:
		memcpy(&ended, job->payload, sizeof(ended));
		worker_ended(job, &ended);
		break;
	case SW_WORKER_FAILED:
		memcpy(&failed, job->payload, sizeof(failed));
		worker_failed(job, &failed);
		break;
	default: worker_dumped(job); break;
	}
	free(job->payload);
	job->payload = NULL;
	job->got = 0;
}

static bool header_is_good(const struct sw_job *job)
{
	const struct sw_worker_event *e = &job->event;
	switch (e->type) {
	case SW_WORKER_RESUMED: return e->size == sizeof(struct sw_worker_resumed) && !job->resumed;
	case SW_WORKER_SAMPLED:
		return e->size == sizeof(struct sw_worker_sampled) && job->resumed &&
		       sw_job_is_sample(job);
	case SW_WORKER_EVENTS:
		return e->size > 0 && e->size <= SW_WORKER_EVENTS_BYTES && job->resumed &&
		       sw_job_is_events(job) && !job->request.events.kept;
	case SW_WORKER_ENDED:
		return e->size == sizeof(struct sw_worker_ended) && job->resumed &&
		       sw_job_is_events(job);
	case SW_WORKER_FAILED: return e->size == sizeof(struct sw_worker_failed);
	case SW_WORKER_DUMP: /* nobody knows who may see one without the event before it */
		return e->size > 0 && e->size <= job->jobs->config->dump_bytes_max &&
		       job->resumed && (!sw_job_is_events(job) || job->request.events.kept);
	default: return false;
	}
}

/* The first descriptor that comes is that of the program; there is no other. */
static ssize_t receive(struct sw_job *job, void *to, size_t size)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec bytes = {to, size};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 /* The kernel closes what has no space: CMSG_SPACE() has some for
				  * one more, which nobody would close. */
				 .msg_controllen = CMSG_LEN(sizeof(int))};
	ssize_t n = recvmsg(job->stream, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int))) {
		sw_close_p(&job->program_fd);
		memcpy(&job->program_fd, CMSG_DATA(c), sizeof(int));
	}
	return n;
}

/* 1: something came; 0: nothing now; -1: the end. */
static int read_some(struct sw_job *job)
{
	bool header = job->got < sizeof(job->event);
	size_t in_payload = header ? 0 : job->got - sizeof(job->event);
	char *to = header ? (char *) &job->event + job->got : job->payload + in_payload;
	size_t space = header ? sizeof(job->event) - job->got : job->event.size - in_payload;
	ssize_t n = receive(job, to, space);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	job->got += (size_t) n;
	if (job->got == sizeof(job->event)) {
		job->payload = header_is_good(job) ? malloc(job->event.size) : NULL;
		if (job->payload == NULL)
			return -1;
	}
	return 1;
}

static void stream_ends(struct sw_job *job)
{
	(void) sd_event_source_disable_unref(job->on_stream);
	job->on_stream = NULL;
	sw_close_p(&job->stream);
	if (job->state != SW_JOB_RUNNING)
		return;
	job->jobs->counters->workers_died_total++;
	sw_job_kill(job);
	sw_job_left(job); /* it may only have closed its stream */
	failed_ourselves(job, "the worker died");
}

/* The worker has sent its dump and waits: its series has it, and the job is over. */
static bool leave(struct sw_job *job)
{
	if (!job->kept || job->keeper == NULL || !sw_kept_put(job->keeper, job))
		return false;
	sw_job_gone(job);
	return true;
}

/* 1: there may be more; 0: not now, or nobody listens any more; -1: the end. */
static int drain(struct sw_job *job)
{
	int r = 1;
	for (int i = 0; r > 0 && i < READS_AT_ONCE && job->state == SW_JOB_RUNNING && !job->paused;
	     i++) {
		r = read_some(job);
		if (r > 0 && job->got >= sizeof(job->event) &&
		    job->got == sizeof(job->event) + job->event.size)
			on_event(job);
	}
	return job->state == SW_JOB_RUNNING ? r : 0;
}

static int on_stream(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_job *job = arg;
	(void) source;
	(void) fd;
	(void) events;
	/* Bytes that the worker sends after its dump are not read. */
	const int r = drain(job);
	if (r == 0 && leave(job))
		return 0;
	if (r < 0 || job->state != SW_JOB_RUNNING)
		stream_ends(job);
	return 0;
}

static int on_exit_event(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct sw_job *job = arg;
	(void) source;
	(void) fd;
	(void) events;
	/* Bytes that the worker wrote before it ended are still in the stream, which is finite. */
	while (job->state == SW_JOB_RUNNING && !job->paused && drain(job) > 0)
		;
	if (job->state == SW_JOB_RUNNING && job->paused) {                      /* sw_job_go_on() */
		(void) sd_event_source_set_enabled(job->on_exit, SD_EVENT_OFF); /* was on */
		return 0;
	}
	stream_ends(job);
	sw_job_gone(job);
	return 0;
}

void sw_job_kill(struct sw_job *job)
{
	/* How long it held the target is not known: not longer than this. */
	int64_t held_us = (sw_clock_ns() - job->begin_ns) / 1000;
	int64_t most_us = job->options.max_stop_ms * INT64_C(1000);
	if (!job->resumed && !sw_job_is_events(job)) /* events stop nobody */
		charge(job, held_us < most_us ? held_us : most_us, most_us);
	sw_child_kill(job->pidfd);
}

void sw_job_enough(struct sw_job *job)
{
	if (!job->enough)
		(void) shutdown(job->stream, SHUT_WR); /* fails when it is gone */
	job->enough = true;
}

void sw_job_await(struct sw_job *job, int64_t end_ms)
{
	while (job->state == SW_JOB_RUNNING && !job->paused) {
		struct pollfd event = {.fd = job->stream, .events = POLLIN};
		int64_t left_ms = end_ms - sw_clock_ms();
		if (left_ms <= 0 || poll(&event, 1, (int) left_ms) == 0)
			return;
		if (drain(job) < 0)
			return;
	}
}

/* The worker of the job's series is used, if it waits; else a new one. */
static int worker_find(struct sw_job *job, struct sw_error *err)
{
	if (job->keeper != NULL && sw_kept_take(job->keeper, job))
		return 0;
	job->started_ns = job->begin_ns;
	return sw_spawner_spawn(job->jobs->spawner, &job->request, job->target_pidfd, job->names_fd,
				&job->pidfd, &job->stream, err);
}

int sw_job_run(struct sw_job *job, struct sw_error *err)
{
	sd_event *event = job->jobs->event;
	job->begin_ns = sw_clock_ns();
	int r = worker_find(job, err);
	if (r < 0)
		return r;
	sw_close_p(&job->target_pidfd);
	sw_close_p(&job->names_fd);
	int flags = fcntl(job->stream, F_GETFL);
	if (flags < 0 || fcntl(job->stream, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    sd_event_add_io(event, &job->on_stream, job->stream, EPOLLIN, on_stream, job) < 0 ||
	    sd_event_add_io(event, &job->on_exit, job->pidfd, EPOLLIN, on_exit_event, job) < 0) {
		sw_job_kill(job);
		return sw_fail_nomem(err);
	}
	return 0;
}

void sw_job_run_deinit(struct sw_job *job)
{
	(void) sd_event_source_disable_unref(job->on_stream);
	(void) sd_event_source_disable_unref(job->on_exit);
	sw_close_p(&job->stream);
	sw_close_p(&job->pidfd);
	free(job->payload);
}
