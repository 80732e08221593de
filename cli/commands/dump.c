/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All threads of one or several targets, once: by ourselves or through the daemon. */
#include "commands/commands.h"
#include "series/burst.h"
#include "daemon/dump.h"
#include "daemon/complaint.h"
#include "daemon/first.h"
#include "run/batch.h"
#include "run/deliver.h"
#include "run/keep.h"
#include "run/merging.h"
#include "run/naming.h"
#include "run/obtain.h"
#include "run/split.h"
#include "urgent.h"

#include <snapwalk/clock.h>

/* A run of the command over all its targets. */
struct dumper {
	const struct sw_options *options;
	struct sw_session *session;     /* owned */
	struct sw_selection *selection; /* borrowed; grows with --follow */
	bool followed;                  /* what is dumped was found by --follow */
	struct sw_delivery delivery;
	struct sw_batch batch;
	bool alone; /* nothing is left to be done with privileges once the target was captured */
};

/* A process for which threads of this one wait is dumped behind those that were asked for. One
 * level: those for which its own threads wait are not. */
static void follow(struct dumper *d, pid_t owner)
{
	struct sw_error ignored; /* the limit, or no memory: as far as it goes */
	if (d->options->follow && !d->followed)
		(void) sw_selection_add(d->selection, owner, "", &ignored);
}

static void follow_reported(struct dumper *d, const struct sw_report *report)
{
	for (size_t i = 0; i < report->n_threads; i++) {
		const struct sw_report_wait *wait = report->threads[i].blocked_on;
		if (wait != NULL && wait->owner_pid != 0 && wait->owner_pid != report->process.pid)
			follow(d, wait->owner_pid);
	}
}

static int put_of_daemon(struct dumper *d, const struct sw_subject *subject,
			 struct sw_daemon_dump *dump)
{
	if (dump->report != NULL)
		follow_reported(d, dump->report);
	int status =
		sw_delivery_put(&d->delivery, subject->name, dump->report, dump->text, dump->size);
	sw_daemon_dump_deinit(dump);
	return status;
}

static int dump_by_daemon(struct dumper *d, const struct sw_subject *subject)
{
	struct sw_daemon_dump dump;
	struct sw_complaint why;
	int64_t begin_ns = sw_realtime_ns();
	if (!sw_daemon_capture(d->options, subject->pid, d->options->reason, &dump, &why))
		return sw_complain_about(subject->name, &why);
	sw_daemon_say_coalesced(subject->name, &dump, begin_ns);
	return put_of_daemon(d, subject, &dump);
}

/*
 * Users without capabilities stop all threads of their processes, and the daemon none that waits. False: it does not do
 * it, or has only an earlier dump; then the command does it itself, and says what stands in the way.
 */
static bool dump_without_stop(struct dumper *d, const struct sw_subject *subject, int *ret_status)
{
	struct sw_options options = *d->options;
	struct sw_daemon_dump dump;
	struct sw_complaint ignored;
	int64_t begin_ns = sw_realtime_ns();
	if (!sw_daemon_is_first(&options))
		return false;
	options.not_stored = true; /* it was not asked to keep anything */
	if (!sw_daemon_capture(&options, subject->pid, options.reason, &dump, &ignored))
		return false;
	if (dump.coalesced && dump.time_ns < begin_ns) {
		sw_daemon_dump_deinit(&dump);
		return false;
	}
	*ret_status = put_of_daemon(d, subject, &dump);
	return true;
}

/* Whether a dump shows the awaiters of the async methods that threads run: --tasks has them, and
 * other ways to walk have nothing to find them by. */
static bool shows_awaits(const struct sw_options *o)
{
	return !o->walk.tasks && !o->libunwind && o->walk.mode != SW_WALK_SCAN;
}

/* The batch says what becomes of the process. */
static int dump_with_others(struct dumper *d, const struct sw_subject *subject,
			    const struct sw_pipeline_options *how, struct sw_error *err)
{
	const pid_t *owners;
	size_t n_owners;
	int r = sw_batch_add(&d->batch, subject, how, &owners, &n_owners, err);
	for (size_t i = 0; r == 0 && i < n_owners; i++)
		follow(d, owners[i]);
	return r;
}

/* Obtains and prints the only target; *ret_code is below 0 and nothing is printed when it cannot be had. */
static int dump_alone(struct dumper *d, const struct sw_subject *subject,
		      const struct sw_pipeline_options *how, int *ret_code, struct sw_error *err)
{
	sw_cleanup(sw_pipeline_deinit) struct sw_pipeline got = {0};
	struct sw_namer namer = {.fetcher.fd = -EBADF, .packager.fd = -EBADF};
	const bool named = sw_naming_is_asked(d->options);
	int status = named ? sw_namer_begin(&namer, d->options) : SW_STATUS_COMPLETE;
	*ret_code = 0;
	if (status == SW_STATUS_COMPLETE)
		*ret_code = sw_obtain_confined(d->session, subject, d->options, how, &got, err);
	if (named && got.report != NULL && *ret_code == 0)
		*ret_code = sw_namer_report(&namer, got.report, err);
	if (got.report != NULL && *ret_code == 0) {
		if (named)
			sw_namer_say_missing(&namer);
		status = sw_delivery_put(&d->delivery, subject->name, got.report, NULL, 0);
		status = sw_status_worse(status, sw_keep_beside(d->options, got.snap));
	}
	sw_namer_end(&namer);
	return status;
}

/* The kernel refuses it to the user: the daemon may be asked instead. */
static int say_refused(const struct dumper *d, const struct sw_subject *subject,
		       const struct sw_error *err, bool *ret_ask)
{
	char message[SW_ERROR_MESSAGE_MAX + 64];
	const enum sw_daemon_state state =
		d->options->via == SW_VIA_AUTO ? sw_daemon_state(d->options) : SW_DAEMON_ABSENT;
	*ret_ask = state == SW_DAEMON_ANSWERS;
	if (*ret_ask)
		return SW_STATUS_DENIED;
	if (state == SW_DAEMON_ABSENT)
		return sw_complain_error(subject->name, err);
	(void) snprintf(message, sizeof(message), "%s, and the daemon does not answer",
			err->message); /* fits */
	sw_complain_for(subject->name, message, sw_error_wire(err->code), SW_SAID_OF_SILENT);
	return SW_STATUS_DENIED;
}

static int dump_directly(struct dumper *d, const struct sw_subject *subject, int64_t begin_ns,
			 bool *ret_refused)
{
	struct sw_error err = {0};
	int r, status = SW_STATUS_COMPLETE;
	struct sw_pipeline_options how = sw_obtain_options(d->options, begin_ns);
	how.report.seq = d->delivery.n_written + 1;
	/* The capture spares its other threads, as soon as it knows them. */
	sw_urgent_spare(&subject->pid, 1);
	how.snapshot.peers = true;
	how.snapshot.awaits = how.walk.awaits = shows_awaits(d->options);
	/* With another --depth all frames are the innermost ones. */
	how.walk.outermost = how.walk.max_frames == 0 || how.walk.max_frames == SW_MAX_FRAMES;
	how.symbolize.package_lists = SW_PACKAGE_LISTS;
	if (d->alone)
		status = dump_alone(d, subject, &how, &r, &err);
	else
		r = dump_with_others(d, subject, &how, &err);
	*ret_refused = false;
	if (r == -SW_E_NOT_PERMITTED)
		return say_refused(d, subject, &err, ret_refused);
	return r < 0 ? sw_complain_error(subject->name, &err) : status;
}

static int dump_one(struct dumper *d, const struct sw_subject *subject, int64_t begin_ns)
{
	bool by_daemon = d->options->via == SW_VIA_DAEMON;
	if (d->options->via == SW_VIA_AUTO)
		by_daemon = !sw_may_capture_directly(subject->pid) &&
			    sw_daemon_state(d->options) == SW_DAEMON_ANSWERS;
	int status = SW_STATUS_COMPLETE;
	if (!by_daemon && dump_without_stop(d, subject, &status))
		return status;
	if (!by_daemon)
		status = dump_directly(d, subject, begin_ns, &by_daemon);
	if (!by_daemon)
		return status;
	sw_batch_flush(&d->batch); /* those before it come first */
	return dump_by_daemon(d, subject);
}

static void show_progress(size_t done, size_t all)
{
	fprintf(stderr, "\r%zu of %zu targets%s", done, all, done == all ? "\r\033[K" : "");
}

/* The subjects from first to end, and those that --follow adds behind them. */
static int dump_range(struct dumper *d, size_t first, size_t end, bool progress)
{
	int status = SW_STATUS_COMPLETE;
	size_t asked = d->selection->n_subjects;
	d->batch = (struct sw_batch){.session = d->session, .delivery = &d->delivery};
	for (size_t i = first; i < end + d->selection->n_subjects - asked && !d->delivery.broken;
	     i++) {
		d->followed = i >= asked;
		/* The selection may grow, and be elsewhere then. */
		const struct sw_subject subject = d->selection->subjects[i];
		int64_t begin_ns = i == 0 ? d->options->begin_ns : sw_clock_ns();
		status = sw_status_worse(status, dump_one(d, &subject, begin_ns));
		if (progress)
			show_progress(i + 1, d->selection->n_subjects);
	}
	sw_batch_flush(&d->batch);
	return sw_status_worse(status, d->batch.status);
}

static int dump_part(void *arg, struct sw_delivery *delivery, size_t first, size_t end)
{
	struct dumper *d = arg;
	d->delivery = *delivery;
	int status = dump_range(d, first, end, false);
	*delivery = d->delivery;
	return status;
}

static int dump_all(struct dumper *d, struct sw_selection *selection)
{
	enum { PROGRESS_FROM = 16 }; /* fewer are done before anybody could read it */
	size_t n = selection->n_subjects;
	bool progress = n >= PROGRESS_FROM && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	const struct sw_split_work work = {dump_part, d, progress ? show_progress : NULL};
	d->alone = n == 1 && d->delivery.output.direct && !d->options->follow && !d->options->merge;
	d->selection = selection;
	if (!d->options->follow && d->options->via != SW_VIA_DAEMON &&
	    sw_split_is_worth_it(&d->delivery, n)) {
		/* Each of the processes that share the work would wait for a daemon that is silent. */
		if (d->options->via == SW_VIA_AUTO && geteuid() != 0)
			(void) sw_daemon_state(d->options);
		return sw_split(&d->delivery, n, &work);
	}
	return dump_range(d, 0, n, progress);
}

/* All targets as one tree: their dumps go to who merges them. */
static int dump_merged(const struct sw_options *options)
{
	struct sw_merging merging;
	struct sw_options as_json = *options;
	struct dumper d = {.options = &as_json};
	struct sw_selection selection;
	struct sw_error err = {0};
	const char *about = "";
	int status = sw_merging_begin(&merging, options);
	if (status != SW_STATUS_COMPLETE)
		return status;
	as_json.format = SW_FORMAT_JSON;
	d.delivery = (struct sw_delivery){.options = &as_json,
					  .format = SW_FORMAT_JSON,
					  .output = {.fd = -EBADF,
						     .direct = true,
						     .take = sw_merging_take,
						     .take_arg = &merging}};
	if (sw_select(options, &selection, &about, &err) < 0)
		status = sw_complain_error(about, &err);
	else if (sw_session_create(&d.session, &err) < 0)
		status = sw_complain_error("snapwalk", &err);
	else {
		status = dump_all(&d, &selection);
		sw_session_destroy(d.session);
	}
	sw_selection_deinit(&selection);
	return sw_merging_end(&merging, status);
}

int sw_cmd_dump(const struct sw_options *options)
{
	struct sw_keeper keeper = {0};
	struct sw_options with_keeper = *options;
	struct dumper d = {.options = &with_keeper};
	struct sw_selection selection;
	struct sw_error err = {0};
	const char *about = "";
	int status;
	with_keeper.keeper = &keeper;
	if (options->burst_count > 0)
		return sw_burst(options);
	if (options->merge)
		return dump_merged(options);
	if (options->keep != NULL) {
		struct sw_subject only;
		status = sw_select_one(options, &only);
		if (status != SW_STATUS_COMPLETE)
			return status;
	}
	if (sw_select(options, &selection, &about, &err) < 0)
		status = sw_complain_error(about, &err);
	else if (sw_delivery_begin(&d.delivery, &with_keeper, options->format, options->output,
				   &err) < 0)
		status = sw_complain_error(sw_delivery_name(&d.delivery), &err);
	else if (sw_session_create(&d.session, &err) < 0)
		status = sw_delivery_end(&d.delivery, sw_complain_error("snapwalk", &err));
	else {
		status = sw_delivery_end(&d.delivery, dump_all(&d, &selection));
		sw_session_destroy(d.session);
	}
	sw_keeper_end(&keeper);
	sw_selection_deinit(&selection);
	return status;
}
