/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/obtain.h"
#include "run/apart.h"
#include "cleanup.h"
#include "common/complain.h"
#include "run/owner_files.h"
#include "errors.h"
#include "run/keep.h"
#include "run/naming.h"
#include "run/sandbox.h"
#include "own_fd.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	NS_PER_MS = 1000000,
	DESCRIBE_MS = 1000, /* the least for what threads do: libwalk's default */
	/* The least for a child that walks and names, beside --timeout of each process: 10,000 threads on a busy machine.
	 * Several processes have fewer, SW_BATCH_THREADS. */
	CHILD_S = 120,
	NS_PER_S = 1000000000,
	TEXT_MAX = 1 << 30, /* bytes of what a child writes: the command has them in memory */
};

int64_t sw_deadline_ns(const struct sw_options *options, int64_t begin_ns)
{
	if (options->timeout_ms == 0)
		return 0;
	return begin_ns + (int64_t) options->timeout_ms * 1000000;
}

struct sw_pipeline_options sw_obtain_options(const struct sw_options *options, int64_t begin_ns)
{
	struct sw_pipeline_options how = {
		.snapshot = options->snapshot,
		.walk = options->walk,
		.libunwind = options->libunwind,
		.symbolize = options->symbolize,
		.report = {.reason = options->reason, .seq = 1, .begin_ns = begin_ns},
		.limit_ns = (int64_t) options->timeout_ms * NS_PER_MS,
		.end_ns = options->whole_ms == 0
				  ? 0
				  : options->begin_ns + (int64_t) options->whole_ms * NS_PER_MS,
	};
	how.snapshot.saved = options->keep != NULL;
	how.snapshot.lock_ms = options->timeout_ms;
	if (options->timeout_ms == 0)
		how.snapshot.describe_ms = UINT32_MAX;
	else if (options->timeout_ms / 2 > DESCRIBE_MS)
		how.snapshot.describe_ms = options->timeout_ms / 2;
	/* For walks without the pipeline. */
	how.walk.deadline_ns = how.symbolize.deadline_ns = sw_deadline_ns(options, begin_ns);
	return how;
}

int sw_obtain(struct sw_session *session, const struct sw_subject *subject,
	      const struct sw_options *options, const struct sw_pipeline_options *how,
	      struct sw_pipeline *ret, struct sw_error *err)
{
	sw_cleanup(sw_target_close_p) struct sw_target *target = NULL;
	struct sw_origin origin = {.path = subject->path,
				   .core = {.exe_path = options->exe,
					    .images = options->images,
					    .n_images = options->n_images}};
	*ret = (struct sw_pipeline){0};
	if (subject->kind == SW_WANT_CORE)
		origin.kind = SW_FROM_CORE;
	else if (subject->kind == SW_WANT_FIXTURE)
		origin.kind = SW_FROM_FIXTURE;
	else {
		int r = sw_target_open(subject->pid, &target, err);
		if (r < 0)
			return r;
		origin.kind = SW_FROM_TARGET;
		origin.target = target;
	}
	return sw_pipeline_run(session, &origin, how, ret, err);
}

struct confine {
	const struct sw_options *options;
	struct sw_owner_files owner_files;
};

static bool may_have_dwo(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++) {
		const struct sw_module *module = snap->places[i].module;
		if (module == NULL || sw_module_kind(module) != SW_MODULE_ELF)
			continue;
		const char *path = sw_module_path(module);
		if (path[0] == '/' && !sw_dwo_is_of_distribution(path) &&
		    sw_dwo_may_be_named(sw_module_fd(module)))
			return true;
	}
	return false;
}

/* The parser of a snapshot that is kept has root's permissions, to write it: see sw_sandbox_enter(). */
static bool reads_as_root(const struct confine *c)
{
	return c->options->keep != NULL && geteuid() == 0;
}

/* Before the sandbox is entered, which permits no fork. */
static void owner_files_start(struct confine *c, const struct sw_snapshot *snap)
{
	const struct sw_owner_files_user user = {.uid = snap->process.uid,
						 .gid = snap->process.gid,
						 .opens = reads_as_root(c)};
	const enum sw_symbol_level level = c->options->symbolize.level;
	if (c->options->no_sandbox)
		return;
	if ((user.opens && level != SW_SYMBOLS_NONE) ||
	    (level == SW_SYMBOLS_LINES && may_have_dwo(snap)))
		sw_owner_files_start(&c->owner_files, &user);
}

static void owner_files_use(struct confine *c, struct sw_pipeline_options *how)
{
	if (c->options->no_sandbox)
		return;
	how->symbolize.dwo_read = sw_owner_files_read_dwo;
	how->symbolize.dwo_arg = &c->owner_files;
	if (reads_as_root(c)) {
		how->symbolize.may_read = sw_owner_files_may_open;
		how->symbolize.may_read_arg = &c->owner_files;
	}
}

static int confine(void *arg, const struct sw_snapshot *snap, struct sw_error *err)
{
	struct confine *c = arg;
	if (c->options->keeper != NULL && !c->options->no_sandbox)
		sw_keeper_begin(c->options->keeper, c->options);
	owner_files_start(c, snap);
	return sw_sandbox_enter(c->options, snap, err);
}

/* Messages name the file that was asked for, and not the link by which it was opened. */
static void name_again(struct sw_error *err, const char *link, const char *path)
{
	char rest[SW_ERROR_MESSAGE_MAX];
	size_t n = strlen(link);
	if (strncmp(err->message, link, n) != 0 || strchr(":/", err->message[n]) == NULL)
		return;
	(void) snprintf(rest, sizeof(rest), "%s", err->message + n); /* fits */
	(void) snprintf(err->message, sizeof(err->message), "%s%s", path, rest);
}

int sw_obtain_confined(struct sw_session *session, const struct sw_subject *subject,
		       const struct sw_options *options, const struct sw_pipeline_options *how,
		       struct sw_pipeline *ret, struct sw_error *err)
{
	struct confine arg = {.options = options, .owner_files.fd = -EBADF};
	struct sw_pipeline_options confined = *how;
	*ret = (struct sw_pipeline){0};
	sw_keep_prepare(options);
	int r = how->libunwind ? sw_walk_libunwind_load(err) : 0; /* the sandbox loads no code */
	sw_cleanup(sw_close_p) int fd =
		sw_subject_is_saved(subject) ? open(subject->path, O_PATH | O_CLOEXEC) : -EBADF;
	if (r == 0 && sw_subject_is_saved(subject))
		r = sw_sandbox_enter_saved(options, subject, fd, err);
	if (r < 0)
		return r;
	struct sw_subject found = *subject;
	char link[SW_OWN_FD_BYTES];
	sw_own_fd_name(fd, link);
	if (fd >= 0) {
		/* The file whose owner decided about our permissions, which its path may no longer lead to. */
		found.path = link;
	} else if (!sw_subject_is_saved(subject)) {
		confined.resumed = confine;
		confined.resumed_arg = &arg;
		owner_files_use(&arg, &confined);
	}
	r = sw_obtain(session, &found, options, &confined, ret, err);
	if (r < 0 && fd >= 0)
		name_again(err, link, subject->path);
	sw_owner_files_end(&arg.owner_files);
	return r;
}

/* ---- by a child --------------------------------------------------------------------------- */

struct job {
	struct sw_session *session;
	const struct sw_capture *captures;
	size_t n;
	struct sw_delivery delivery; /* a copy, which writes to memory */
	struct confine confine;
	struct sw_namer *namer; /* borrowed; NULL: names are those that the capture found */
	size_t n_written;
};

/* The header of each text in the pipe. */
struct header {
	char id[sizeof((struct sw_obtained){0}.id)], comm[SW_COMM_MAX];
	size_t n_matched, text_bytes;
	struct sw_delivery_seen seen;
	int status;
};

static int render(struct job *job, const struct sw_capture *c, const struct sw_report *report,
		  struct header *header)
{
	(void) snprintf(header->id, sizeof(header->id), "%s", report->id);
	(void) snprintf(header->comm, sizeof(header->comm), "%s", report->process.comm);
	header->seen = sw_delivery_seen(&job->delivery, report);
	header->n_matched = sw_delivery_matches(&job->delivery, report);
	job->delivery.n_written =
		0; /* what is between two texts is added by who puts them together */
	int status = sw_delivery_put(&job->delivery, c->subject.name, report, NULL, 0);
	job->n_written += job->delivery.n_written;
	return status;
}

/* The sandbox is entered with the first one: it fits for all. */
static int read_one(struct job *job, const struct sw_capture *c, struct sw_pipeline *ret,
		    struct sw_error *err)
{
	const struct sw_options *options = job->delivery.options;
	struct sw_pipeline_options how = c->how;
	how.report.seq = job->n_written + 1;
	if (c->snap == NULL)
		return sw_obtain_confined(job->session, &c->subject, options, &how, ret, err);
	const struct sw_origin origin = {.kind = SW_FROM_SNAPSHOT, .snapshot = c->snap};
	owner_files_use(&job->confine, &how);
	int r = c == job->captures ? confine(&job->confine, c->snap, err) : 0;
	return r < 0 ? r : sw_pipeline_run(job->session, &origin, &how, ret, err);
}

static bool tell_one(struct job *job, const struct sw_capture *c, struct sw_output *out)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	sw_cleanup(sw_pipeline_deinit) struct sw_pipeline made = {0};
	struct header header = {0};
	struct sw_error err = {0};
	job->delivery.output = (struct sw_output){.fd = -EBADF, .direct = true, .memory = &text};
	int r = read_one(job, c, &made, &err);
	if (r == 0 && job->namer != NULL)
		r = sw_namer_report(job->namer, made.report, &err);
	if (r < 0)
		header.status = sw_complain_error(c->subject.name, &err);
	else
		header.status = sw_status_worse(render(job, c, made.report, &header),
						sw_keep_beside(job->delivery.options, made.snap));
	header.text_bytes = text.size;
	return sw_output_write(out, (const char *) &header, sizeof(header), &err) == 0 &&
	       sw_output_write(out, text.data, text.size, &err) == 0;
}

/* In the child. */
static int tell(void *arg, int fd)
{
	struct job *job = arg;
	const struct sw_options *options = job->delivery.options;
	struct sw_output out = {.fd = fd, .direct = true};
	job->n_written = job->delivery.n_written;
	job->confine = (struct confine){.options = options, .owner_files.fd = -EBADF};
	struct sw_namer namer = {.fetcher.fd = -EBADF, .packager.fd = -EBADF};
	if (sw_naming_is_asked(options)) {
		int status = sw_namer_begin(&namer, options);
		if (status != SW_STATUS_COMPLETE) {
			sw_namer_end(&namer);
			return status;
		}
		job->namer = &namer;
	}
	for (size_t i = 0; i < job->n && tell_one(job, &job->captures[i], &out); i++)
		;
	if (job->namer != NULL)
		sw_namer_say_missing(&namer);
	sw_namer_end(&namer);
	if (options->keeper != NULL)
		sw_keeper_end(options->keeper);
	return SW_STATUS_COMPLETE;
}

int sw_obtain_begin(struct sw_session *session, const struct sw_capture *captures, size_t n,
		    const struct sw_delivery *delivery, struct sw_apart *ret, struct sw_error *err)
{
	struct job job = {.session = session, .captures = captures, .n = n, .delivery = *delivery};
	return sw_apart_start(ret, tell, &job, err);
}

/* The child may be in the hands of those whose process it read: nothing of a header is believed. */
static bool obtained_take(const struct sw_text *all, size_t *at, struct sw_obtained *ret)
{
	struct header header;
	if (all->size - *at < sizeof(header))
		return false;
	memcpy(&header, all->data + *at, sizeof(header));
	if (all->size - *at - sizeof(header) < header.text_bytes || header.status < 0 ||
	    header.status > SW_STATUS_DENIED)
		return false;
	sw_text_append(&ret->text, all->data + *at + sizeof(header), header.text_bytes);
	header.id[sizeof(header.id) - 1] = header.comm[sizeof(header.comm) - 1] = '\0';
	memcpy(ret->id, header.id, sizeof(ret->id));
	memcpy(ret->comm, header.comm, sizeof(ret->comm));
	ret->n_matched = header.n_matched;
	ret->seen = header.seen;
	ret->seen.comm[sizeof(ret->seen.comm) - 1] = ret->seen.call[sizeof(ret->seen.call) - 1] =
		'\0';
	ret->status = header.status;
	*at += sizeof(header) + header.text_bytes;
	return !ret->text.failed;
}

int64_t sw_obtain_deadline_ns(const struct sw_options *options, size_t n)
{
	const int64_t names_ns = (int64_t) n * options->timeout_ms * NS_PER_MS;
	return options->timeout_ms == 0 ? 0
					: sw_clock_ns() + CHILD_S * (int64_t) NS_PER_S + names_ns;
}

int sw_obtain_end(struct sw_apart *child, int64_t deadline_ns, struct sw_obtained *ret, size_t n,
		  size_t *ret_n, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text all = {0};
	int status = 0;
	size_t at = 0;
	int r = sw_apart_finish_within(child, deadline_ns, TEXT_MAX, &all, &status, err);
	*ret_n = 0;
	while (*ret_n < n && obtained_take(&all, &at, &ret[*ret_n]))
		++*ret_n;
	return r < 0 || *ret_n == n ? r
				    : sw_fail(err, SW_E_INTERNAL,
					      "what read its files has ended before its end");
}

static int owners_take(struct sw_capture *c, struct sw_error *err)
{
	const struct sw_snapshot *snap = c->snap;
	c->owners = calloc(snap->n_threads + 1, sizeof(*c->owners));
	if (c->owners == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_wait_for *w = snap->threads[i].wait_for;
		if (w != NULL && w->proven && w->owner_pid != 0 &&
		    w->owner_pid != snap->process.pid)
			c->owners[c->n_owners++] = w->owner_pid;
	}
	return 0;
}

int sw_capture_make(struct sw_session *session, const struct sw_subject *subject,
		    const struct sw_pipeline_options *how, const struct sw_options *options,
		    struct sw_capture *ret, struct sw_error *err)
{
	struct sw_pipeline_options take = *how;
	struct sw_pipeline taken = {0};
	*ret = (struct sw_capture){.subject = *subject, .how = *how};
	take.last = SW_PIPELINE_TAKE;
	sw_keep_prepare(options);
	int r = how->libunwind ? sw_walk_libunwind_load(err) : 0;
	if (r < 0 || sw_subject_is_saved(subject))
		return r;
	r = sw_obtain(session, subject, options, &take, &taken, err);
	ret->snap = taken.snap; /* NULL where it failed */
	if (r == 0)
		r = owners_take(ret, err);
	if (r < 0)
		sw_capture_deinit(ret);
	return r;
}

void sw_capture_deinit(struct sw_capture *capture)
{
	if (capture->snap != NULL)
		sw_snapshot_destroy(capture->snap);
	free(capture->owners);
	*capture = (struct sw_capture){0};
}

int sw_obtain_apart(struct sw_session *session, const struct sw_subject *subject,
		    const struct sw_pipeline_options *how, const struct sw_delivery *delivery,
		    struct sw_obtained *ret, struct sw_error *err)
{
	sw_cleanup(sw_capture_deinit) struct sw_capture capture = {0};
	struct sw_apart child;
	size_t n;
	*ret = (struct sw_obtained){0};
	int r = sw_capture_make(session, subject, how, delivery->options, &capture, err);
	if (r == 0)
		r = sw_obtain_begin(session, &capture, 1, delivery, &child, err);
	if (r == 0)
		r = sw_obtain_end(&child, sw_obtain_deadline_ns(delivery->options, 1), ret, 1, &n,
				  err);
	if (r < 0)
		sw_obtained_deinit(ret);
	return r;
}

void sw_obtained_deinit(struct sw_obtained *obtained)
{
	sw_text_deinit(&obtained->text);
}

size_t sw_count_missing(const struct sw_snapshot *snap)
{
	size_t n = 0;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		bool expected = t->reason == 0 || t->reason == SW_E_SKIPPED ||
				t->reason == SW_E_IO_WORKER || t->reason == SW_E_KERNEL_THREAD ||
				t->reason == SW_E_ZOMBIE || t->reason == SW_E_EXITED;
		n += !t->captured && !expected;
	}
	return n;
}
