/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/merging.h"
#include "bytes.h"
#include "cleanup.h"
#include "common/complain.h"
#include "daemon/read_dump.h"
#include "errors.h"
#include "run/naming.h"
#include "run/obtain.h"
#include "run/sandbox.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

enum {
	PIPE_BYTES = 1 << 20,
	NAME_BYTES_MAX = 4096,
	FRAME_BYTES_MAX = 1 << 30,
	RESULT_BYTES_MAX = 1 << 30,
	NS_PER_MS = 1000000,
	WAIT_MAX_MS = 1000, /* then the time is looked at again */
};

/* In the pipe before a name and a text. Whoever wrote the dumps cannot write it. */
struct head {
	size_t name_bytes, bytes;
	bool refused; /* the text says why */
};

/* ---- in the child ------------------------------------------------------------------------- */

struct child {
	const struct sw_merging *merging;
	int fd; /* the frames come from it */
	struct sw_merge *merge;
	struct sw_namer *namer; /* borrowed; NULL: names are not asked for */
	char name[NAME_BYTES_MAX + 1];
	int status;
};

static void refuse(struct child *c, const char *name, const char *why)
{
	struct sw_error err;
	if (sw_merge_refuse(c->merge, name, why, &err) < 0)
		c->status = sw_status_worse(c->status, sw_complain_error(name, &err));
}

static void refuse_for(struct child *c, const char *name, const struct sw_error *why)
{
	(void) sw_complain_error(name, why); /* the result is of the others */
	refuse(c, name, why->message);
}

static void add_profile(struct child *c, const char *name)
{
	static const char why[] = "it is a profile, not a dump";
	sw_complain_for(name, why, "usage", SW_SAID_OF_PROFILE);
	refuse(c, name, why);
}

/* All dumps of a text. One that is broken does not stop the rest. */
static void add_dumps(struct child *c, struct sw_read_dump *dumps)
{
	struct sw_error err = {0};
	while (sw_read_dump_more(dumps)) {
		int r = sw_read_dump_parse(dumps, &err);
		const char *name = c->name[0] != '\0'      ? c->name
				   : dumps->report != NULL ? dumps->report->id
							   : "dump";
		if (r == 0 && dumps->report != NULL && c->namer != NULL)
			r = sw_namer_report(c->namer, dumps->report, &err);
		if (r == 0 && dumps->profile != NULL)
			add_profile(c, name);
		else if (r < 0 || (r = sw_merge_add(c->merge, dumps->report, name, &err)) < 0)
			refuse_for(c, name, &err);
		else if (!dumps->report->complete)
			c->status = sw_status_worse(c->status, SW_STATUS_MISSING);
	}
}

/* False: there is no more. */
static bool take_frame(struct child *c)
{
	struct head head;
	sw_cleanup(sw_read_dump_deinit) struct sw_read_dump dumps = {0};
	if (!sw_read_all(c->fd, &head, sizeof(head)) || head.name_bytes > NAME_BYTES_MAX ||
	    head.bytes > FRAME_BYTES_MAX || !sw_read_all(c->fd, c->name, head.name_bytes))
		return false;
	c->name[head.name_bytes] = '\0';
	dumps.text = (struct sw_text){.data = malloc(head.bytes + 1), .capacity = head.bytes + 1};
	if (dumps.text.data == NULL) {
		struct sw_error err;
		(void) sw_fail_nomem(&err);
		c->status = sw_status_worse(c->status, sw_complain_error(c->name, &err));
		return false;
	}
	if (!sw_read_all(c->fd, dumps.text.data, head.bytes))
		return false;
	dumps.text.size = head.bytes;
	dumps.text.data[head.bytes] = '\0';
	if (head.refused)
		refuse(c, c->name, dumps.text.data);
	else if (strspn(dumps.text.data, " \t\r\n") < head.bytes || c->name[0] != '\0')
		add_dumps(c, &dumps);
	return true;
}

static int render(const struct child *c, char **ret_text, size_t *ret_size, struct sw_error *err)
{
	const struct sw_options *o = c->merging->options;
	struct sw_text_options how = {.color = c->merging->delivery.color, .all = o->all};
	switch (o->format) {
	case SW_FORMAT_JSON: return sw_merge_json(c->merge, ret_text, ret_size, err);
	case SW_FORMAT_HTML: return sw_merge_html(c->merge, ret_text, ret_size, err);
	case SW_FORMAT_FOLDED: return sw_merge_folded(c->merge, ret_text, ret_size, err);
	case SW_FORMAT_TEXT: break;
	}
	return sw_merge_text(c->merge, &how, ret_text, ret_size, err);
}

static void say_older(const struct sw_merge *merge)
{
	size_t n = sw_merge_older(merge);
	if (n > 0)
		(void) fprintf(stderr,
			       "snapwalk: %zu dump%s not counted: the newest of a process "
			       "counts\n",
			       n, n == 1 ? " is" : "s are");
}

static int write_result(struct child *c, int fd)
{
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	struct sw_output out = {.fd = fd, .direct = true};
	if (sw_merge_processes(c->merge) == 0)
		return sw_status_worse(c->status, SW_STATUS_NOTHING);
	int r = render(c, &text, &size, &err);
	if (r == 0)
		r = sw_output_write(&out, text, size, &err);
	if (r < 0)
		return sw_complain_error("snapwalk", &err);
	if (c->merging->options->format == SW_FORMAT_FOLDED) /* the others say it themselves */
		say_older(c->merge);
	return sw_status_worse(c->status, sw_merge_is_complete(c->merge) ? SW_STATUS_COMPLETE
									 : SW_STATUS_MISSING);
}

static int child_run(void *arg, int fd)
{
	struct child *c = arg;
	const struct sw_options *o = c->merging->options;
	struct sw_error err = {0};
	const struct sw_merge_options how = {.label = o->label,
					     .noun = o->noun,
					     .functions = o->symbolize.level == SW_SYMBOLS_NAMES};
	(void) close(c->merging->fd); /* a pipe: its end is when the command has closed it */
	int r = c->namer != NULL ? sw_sandbox_enter_naming(o, &err)
				 : sw_sandbox_enter_parsing(o, &err);
	if (r < 0 || sw_merge_create(&how, &c->merge, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	while (take_frame(c))
		;
	int status = write_result(c, fd);
	sw_merge_destroy(c->merge);
	return status;
}

/* The same, with names that are added to each dump. */
static int child_run_naming(void *arg, int fd)
{
	struct child *c = arg;
	struct sw_namer namer = {.fetcher.fd = -EBADF, .packager.fd = -EBADF};
	int status = sw_namer_begin(&namer, c->merging->options);
	if (status == SW_STATUS_COMPLETE) {
		c->namer = &namer;
		status = child_run(c, fd);
		sw_namer_say_missing(&namer);
	}
	sw_namer_end(&namer);
	return status;
}

/* ---- in the command ----------------------------------------------------------------------- */

static int start(struct sw_merging *m, struct sw_error *err)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
	(void) fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES); /* or it waits sooner */
	(void) fcntl(fds[1], F_SETFL, O_NONBLOCK);      /* or it waits as long as the child likes */
	m->fd = fds[1];
	struct child child = {.merging = m, .fd = fds[0]};
	int r = sw_apart_start(&m->child,
			       sw_naming_is_asked(m->options) ? child_run_naming : child_run,
			       &child, err);
	(void) close(fds[0]); /* a pipe */
	if (r < 0)
		sw_close_p(&m->fd);
	return r;
}

int sw_merging_begin(struct sw_merging *ret, const struct sw_options *options)
{
	struct sw_error err = {0};
	*ret = (struct sw_merging){.options = options, .fd = -EBADF};
	if (sw_delivery_begin(&ret->delivery, options, options->format, options->output, &err) < 0)
		return sw_complain_error(sw_delivery_name(&ret->delivery), &err);
	if (start(ret, &err) == 0)
		return SW_STATUS_COMPLETE;
	sw_output_deinit(&ret->delivery.output);
	return sw_complain_error("snapwalk", &err);
}

/* Waits until the child has read something. False: it has not, in the time that there is for a dump. */
static bool wait_for_space(const struct sw_merging *m, int64_t deadline_ns)
{
	struct pollfd space = {.fd = m->fd, .events = POLLOUT};
	int64_t left_ms = WAIT_MAX_MS;
	if (deadline_ns != 0)
		left_ms = (deadline_ns - sw_clock_ns()) / NS_PER_MS;
	if (left_ms <= 0)
		return false;
	/* Or a signal comes: asked again. */
	(void) poll(&space, 1, left_ms < WAIT_MAX_MS ? (int) left_ms : WAIT_MAX_MS);
	return true;
}

/* The child may be in the hands of whoever has written a dump: it is not waited for for ever. Its end will be said. */
static int pipe_write(struct sw_merging *m, const char *data, size_t size, int64_t deadline_ns,
		      struct sw_error *err)
{
	while (size > 0 && !m->gone) {
		ssize_t n = write(m->fd, data, size);
		if (n >= 0) {
			data += n;
			size -= (size_t) n;
		} else if (errno == EPIPE) {
			m->gone = true;
		} else if (errno == EAGAIN) {
			m->late = m->gone = !wait_for_space(m, deadline_ns);
		} else if (errno != EINTR) {
			m->gone = true;
			return sw_fail_errno(err, SW_E_IO, "writing failed");
		}
	}
	return 0;
}

static int frame_send(struct sw_merging *m, const char *name, const char *text, size_t size,
		      bool refused, struct sw_error *err)
{
	const int64_t deadline_ns = sw_obtain_deadline_ns(m->options, 1);
	const struct head head = {.name_bytes = strnlen(name, NAME_BYTES_MAX),
				  .bytes = size,
				  .refused = refused};
	int r = pipe_write(m, (const char *) &head, sizeof(head), deadline_ns, err);
	if (r == 0)
		r = pipe_write(m, name, head.name_bytes, deadline_ns, err);
	if (r == 0)
		r = pipe_write(m, text, size, deadline_ns, err);
	return r;
}

int sw_merging_send(struct sw_merging *merging, const char *name, const char *json, size_t size,
		    struct sw_error *err)
{
	return frame_send(merging, name, json, size, false, err);
}

void sw_merging_refuse(struct sw_merging *merging, const char *name, const char *why)
{
	struct sw_error ignored; /* the end of the child will be said */
	(void) frame_send(merging, name, why, strlen(why), true, &ignored);
}

int sw_merging_take(void *arg, const char *data, size_t size, struct sw_error *err)
{
	return sw_merging_send(arg, "", data, size, err);
}

int sw_merging_end(struct sw_merging *merging, int status)
{
	struct sw_error err = {0};
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct sw_output *out = &merging->delivery.output;
	int child_status = SW_STATUS_NOTHING;
	/* The child has the time for one dump more: it has read the others. */
	const int64_t deadline_ns =
		merging->late ? sw_clock_ns() : sw_obtain_deadline_ns(merging->options, 1);
	sw_close_p(&merging->fd);
	int r = sw_apart_finish_within(&merging->child, deadline_ns, RESULT_BYTES_MAX, &text,
				       &child_status, &err);
	if (r < 0)
		status = sw_status_worse(status, sw_complain_error("snapwalk", &err));
	else if (text.size > 0) {
		r = sw_output_write(out, text.data, text.size, &err);
		if (r == 0)
			r = sw_output_commit(out, &err);
		if (r < 0)
			status = sw_status_worse(
				status,
				sw_complain_error(sw_delivery_name(&merging->delivery), &err));
	}
	sw_output_deinit(out);
	return sw_status_worse(status, child_status);
}
