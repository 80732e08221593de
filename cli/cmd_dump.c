/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All threads of one or several targets, once: by ourselves or through the daemon. */
#include "commands.h"
#include "burst.h"
#include "daemon/call.h"
#include "daemon/dump.h"
#include "daemon/complaint.h"
#include "deliver.h"
#include "obtain.h"

#include <snapwalk/clock.h>
#include <sys/stat.h>

/* One run of the command over all its targets. */
struct dumper {
	const struct sw_options *options;
	struct sw_session *session; /* owned */
	struct sw_delivery delivery;
};

static int dump_by_daemon(struct dumper *d, const struct sw_subject *subject)
{
	struct sw_daemon_dump dump;
	struct sw_complaint why;
	int64_t begin_ns = sw_realtime_ns();
	if (!sw_daemon_capture(d->options, subject->pid, d->options->reason, &dump, &why))
		return sw_complain_about(subject->name, &why);
	sw_daemon_say_coalesced(subject->name, &dump, begin_ns);
	int status =
		sw_delivery_put(&d->delivery, subject->name, dump.report, dump.text, dump.size);
	sw_daemon_dump_deinit(&dump);
	return status;
}

/* Whether trying is worth it: the kernel has the last word. */
static bool may_be_direct(const struct sw_subject *subject)
{
	char path[32];
	struct stat st;
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) subject->pid);
	return geteuid() == 0 || (stat(path, &st) == 0 && st.st_uid == geteuid());
}

static int dump_directly(struct dumper *d, const struct sw_subject *subject, int64_t begin_ns,
			 bool *ret_refused)
{
	struct sw_error err = {0};
	sw_cleanup(sw_pipeline_deinit) struct sw_pipeline got = {0};
	struct sw_pipeline_options how = sw_obtain_options(d->options, begin_ns);
	how.report.seq = d->delivery.n_written + 1;
	int r = sw_obtain(d->session, subject, d->options, &how, &got, &err);
	*ret_refused = r == -SW_E_NOT_PERMITTED && d->options->via == SW_VIA_AUTO &&
		       sw_daemon_listens(d->options);
	if (r < 0)
		return *ret_refused ? SW_STATUS_DENIED : sw_complain_error(subject->name, &err);
	return sw_delivery_put(&d->delivery, subject->name, got.report, NULL, 0);
}

static int dump_one(struct dumper *d, const struct sw_subject *subject, int64_t begin_ns)
{
	bool by_daemon = d->options->via == SW_VIA_DAEMON;
	if (d->options->via == SW_VIA_AUTO)
		by_daemon = !may_be_direct(subject) && sw_daemon_listens(d->options);
	int status = SW_STATUS_COMPLETE;
	if (!by_daemon)
		status = dump_directly(d, subject, begin_ns, &by_daemon);
	return by_daemon ? dump_by_daemon(d, subject) : status;
}

static void show_progress(size_t done, size_t all)
{
	fprintf(stderr, "\r%zu of %zu targets%s", done, all, done == all ? "\r\033[K" : "");
}

static int dump_all(struct dumper *d, const struct sw_selection *selection)
{
	enum { PROGRESS_FROM = 16 }; /* fewer are done before anybody could read it */
	bool progress = selection->n_subjects >= PROGRESS_FROM && isatty(STDERR_FILENO) &&
			!isatty(STDOUT_FILENO);
	int status = SW_STATUS_COMPLETE;
	for (size_t i = 0; i < selection->n_subjects && !d->delivery.broken; i++) {
		int64_t begin_ns = i == 0 ? d->options->begin_ns : sw_clock_ns();
		status = sw_status_worse(status, dump_one(d, &selection->subjects[i], begin_ns));
		if (progress)
			show_progress(i + 1, selection->n_subjects);
	}
	return status;
}

int sw_cmd_dump(const struct sw_options *options)
{
	struct dumper d = {.options = options};
	struct sw_selection selection;
	struct sw_error err = {0};
	const char *about = "";
	int status;
	if (options->burst_count > 0)
		return sw_burst(options);
	if (sw_select(options, &selection, &about, &err) < 0)
		status = sw_complain_error(about, &err);
	else if (sw_delivery_begin(&d.delivery, options, options->format, options->output, &err) <
		 0)
		status = sw_complain_error(sw_delivery_name(&d.delivery), &err);
	else if (sw_session_create(&d.session, &err) < 0)
		status = sw_delivery_end(&d.delivery, sw_complain_error("snapwalk", &err));
	else {
		status = sw_delivery_end(&d.delivery, dump_all(&d, &selection));
		sw_session_destroy(d.session);
	}
	sw_selection_deinit(&selection);
	return status;
}
