/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A live view of the threads of one process: what is seen is looks.c, how it looks top/view.c, the
 * terminal top/terminal.c. Here is what happens when. */
#include "commands/commands.h"
#include "cleanup.h"
#include "common/complain.h"
#include "commands/dumper.h"
#include "errors.h"
#include "series/looks.h"
#include "run/output.h"
#include "run/sandbox.h"
#include "run/trapped.h"
#include "top/terminal.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

enum {
	NS_PER_MS = 1000000,
	TITLE_LINES = 2, /* above the head of the table */
	HEAD_LINES = TITLE_LINES + 1,
	FIRST_MS = 200, /* from the first look to the second, which has shares */
};

struct top {
	const struct sw_options *options; /* borrowed */
	struct sw_looks live;
	struct sw_top_view view;
	struct sw_terminal terminal;
	struct sw_text lines;
	sigset_t signals;
	int signal_fd; /* owned */
	uint32_t n_looks;
	int64_t due_ns; /* of the next look */
	bool quit, ended;
	struct sw_dumper dumper;
};

/* ---- looks -------------------------------------------------------------------------------- */

static bool has_ended(int code)
{
	return code == -SW_E_EXITED || code == -SW_E_NO_PROCESS || code == -SW_E_ZOMBIE;
}

/* A look that fails is said, and the view is that before it. -SW_E_*: there is none at all. */
static int look(struct top *t, struct sw_error *err)
{
	int r = sw_looks_look(&t->live, err);
	int64_t now_ns = sw_clock_ns();
	int64_t interval_ns = (int64_t) t->options->interval_ms * NS_PER_MS;
	bool soon = r == 0 && t->n_looks == 0 && interval_ns > (int64_t) FIRST_MS * NS_PER_MS;
	t->due_ns = now_ns + (soon ? (int64_t) FIRST_MS * NS_PER_MS : interval_ns);
	t->n_looks += r == 0;
	if (r == 0)
		return 0;
	t->ended = has_ended(r);
	if (t->ended && t->n_looks > 0)
		return 0;
	if (t->n_looks == 0 || r == -SW_E_NOMEM)
		return r;
	(void) snprintf(t->view.message, sizeof(t->view.message), "%s", err->message);
	sw_utf8_make_plain(t->view.message);
	return 0;
}

static bool is_enough(const struct top *t)
{
	/* The first look has no shares, and is shown on a terminal alone. */
	return t->ended || (t->options->count > 0 && t->n_looks > t->options->count);
}

/* ---- a dump, by a child ------------------------------------------------------------------- */

static void dump_begin(struct top *t)
{
	if (t->dumper.busy)
		return;
	sw_dumper_ask(&t->dumper);
	(void) snprintf(t->view.message, sizeof(t->view.message), "dumping ...");
}

static void dump_read(struct top *t)
{
	struct sw_dumped dumped;
	sw_dumper_answer(&t->dumper, &dumped);
	if (dumped.status == SW_STATUS_COMPLETE || dumped.status == SW_STATUS_MISSING)
		(void) snprintf(t->view.message, sizeof(t->view.message), "dump written to %s%s",
				dumped.path,
				dumped.status == SW_STATUS_MISSING ? " (not complete)" : "");
	else
		(void) snprintf(t->view.message, sizeof(t->view.message), "no dump: %s",
				dumped.said);
	sw_utf8_make_plain(t->view.message);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void edit(struct sw_top_view *v, int key)
{
	size_t n = strlen(v->filter);
	if (key == SW_KEY_ENTER)
		v->editing = false;
	else if (key == SW_KEY_ESCAPE) {
		v->editing = false;
		v->filter[0] = '\0';
	} else if (key == SW_KEY_BACKSPACE && n > 0)
		v->filter[n - 1] = '\0';
	else if (key >= ' ' && key < SW_KEY_BACKSPACE && n + 1 < sizeof(v->filter)) {
		v->filter[n] = (char) key;
		v->filter[n + 1] = '\0';
	}
}

static void move(struct top *t, int key)
{
	struct sw_top_view *v = &t->view;
	size_t page = t->terminal.rows > HEAD_LINES ? t->terminal.rows - HEAD_LINES : 1;
	switch (key) {
	case SW_KEY_UP: v->first -= v->first > 0; break;
	case SW_KEY_DOWN: v->first++; break;
	case SW_KEY_PAGE_UP: v->first -= v->first < page ? v->first : page; break;
	case SW_KEY_PAGE_DOWN: v->first += page; break;
	case SW_KEY_HOME: v->first = 0; break;
	case SW_KEY_END: v->first = t->live.list.n_threads; break;
	}
}

static void press(struct top *t, int key)
{
	struct sw_top_view *v = &t->view;
	if (v->editing) {
		edit(v, key);
		return;
	}
	if (!t->dumper.busy)
		v->message[0] = '\0';
	v->help = key == '?' && !v->help;
	switch (key) {
	case 'q': t->quit = true; break;
	case 'c': v->sort = SW_TOP_BY_CPU; break;
	case 's': v->sort = SW_TOP_BY_STATE; break;
	case 'w': v->sort = SW_TOP_BY_SINCE; break;
	case 'n': v->sort = SW_TOP_BY_NAME; break;
	case '/': v->editing = true; break;
	case SW_KEY_ESCAPE: v->filter[0] = '\0'; break;
	case 'l': v->stacks = !v->stacks; break;
	case ' ':
	case 'f':
		v->frozen = !v->frozen;
		t->due_ns = 0; /* when it goes on: now */
		break;
	case 'd': dump_begin(t); break;
	default: move(t, key);
	}
}

/* ---- on a terminal ------------------------------------------------------------------------ */

static int on_signal(struct top *t, struct sw_error *err)
{
	struct signalfd_siginfo info;
	if (read(t->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGWINCH)
		sw_terminal_measure(&t->terminal);
	else if (info.ssi_signo == SIGTSTP) {
		sigset_t one;
		sw_terminal_leave(&t->terminal);
		(void) sigemptyset(&one); /* cannot fail, nor can the following */
		(void) sigaddset(&one, SIGTSTP);
		(void) raise(SIGTSTP);
		(void) sigprocmask(SIG_UNBLOCK, &one, NULL); /* stops, and goes on with SIGCONT */
		(void) sigprocmask(SIG_BLOCK, &one, NULL);
		return sw_terminal_enter(&t->terminal, err);
	} else
		t->quit = true;
	return 0;
}

static void show(struct top *t)
{
	t->lines.size = 0;
	sw_top_render(&t->live.list, &t->view, t->terminal.rows, t->terminal.columns, &t->lines);
	sw_terminal_draw(&t->terminal, &t->lines, t->view.help ? SIZE_MAX : TITLE_LINES);
}

static int wait_ms(const struct top *t)
{
	if (t->view.frozen || t->dumper.busy)
		return -1;
	int64_t left_ns = t->due_ns - sw_clock_ns();
	return left_ns > 0 ? (int) (left_ns / NS_PER_MS) + 1 : 0;
}

/* Waits for whatever comes first. */
static int step(struct top *t, struct sw_error *err)
{
	int events = POLLIN | (sw_terminal_is_busy(&t->terminal) ? POLLOUT : 0);
	struct pollfd fds[] = {{.fd = t->terminal.fd, .events = (short) events},
			       {.fd = t->signal_fd, .events = POLLIN},
			       {.fd = t->dumper.busy ? t->dumper.fd : -1, .events = POLLIN}};
	int r = poll(fds, SW_ARRAY_SIZE(fds), wait_ms(t));
	if (r < 0)
		return errno == EINTR ? 0 : sw_fail_errno(err, SW_E_IO, "cannot wait");
	if (fds[1].revents != 0 && on_signal(t, err) < 0)
		return -err->code;
	if (fds[0].revents & POLLOUT)
		sw_terminal_flush(&t->terminal);
	if (fds[0].revents & ~POLLOUT)
		sw_terminal_read(&t->terminal);
	for (int key; !t->quit && (key = sw_terminal_key(&t->terminal)) != SW_KEY_NONE;) {
		if (key == SW_KEY_GONE)
			t->quit = true;
		else
			press(t, key);
	}
	if (fds[2].revents != 0)
		dump_read(t);
	if (!t->quit && wait_ms(t) == 0 && look(t, err) < 0)
		return -err->code;
	return 0;
}

static int run_on_terminal(struct top *t, struct sw_error *err)
{
	int r = look(t, err);
	if (r == 0)
		r = sw_terminal_enter(&t->terminal, err);
	while (r == 0 && !t->quit && !is_enough(t)) {
		show(t);
		r = step(t, err);
	}
	sw_terminal_leave(&t->terminal);
	return r;
}

/* ---- elsewhere ---------------------------------------------------------------------------- */

/* Whether a signal says to end. */
static bool wait_for_signal(const struct top *t)
{
	struct pollfd fd = {.fd = t->signal_fd, .events = POLLIN};
	struct signalfd_siginfo info;
	while (poll(&fd, 1, wait_ms(t)) > 0)
		if (read(t->signal_fd, &info, sizeof(info)) == sizeof(info) &&
		    info.ssi_signo != SIGWINCH)
			return true;
	return false;
}

static void put_look(struct top *t, size_t limit)
{
	if (t->options->format == SW_FORMAT_JSON) {
		sw_top_json(&t->live.list, &t->view, limit, &t->lines);
		return;
	}
	sw_top_print(&t->live.list, &t->view, limit, &t->lines);
	sw_text_append(&t->lines, "\n", t->n_looks <= t->options->count || t->options->count == 0);
}

static int run_in_lines(struct top *t, struct sw_error *err)
{
	struct sw_output out;
	size_t limit = t->options->limit_given ? t->options->limit : SIZE_MAX;
	int r = sw_output_open(&out, NULL, err);
	if (r == 0)
		r = look(t, err); /* for the shares of the next one */
	t->due_ns = sw_clock_ns() + (int64_t) t->options->interval_ms * NS_PER_MS;
	while (r == 0 && !is_enough(t) && !wait_for_signal(t)) {
		r = look(t, err);
		if (r < 0 || t->ended)
			break;
		if (t->view.message[0] != '\0') { /* a look that failed */
			sw_complain(t->live.subject.name, t->view.message, "io", "");
			t->view.message[0] = '\0';
			continue;
		}
		t->lines.size = 0;
		put_look(t, limit);
		r = t->lines.failed ? sw_fail_nomem(err)
				    : sw_output_write(&out, t->lines.data, t->lines.size, err);
		if (out.reader_gone || (t->options->count > 0 && t->n_looks > t->options->count))
			break;
	}
	sw_output_deinit(&out);
	return r;
}

/* ---- all ---------------------------------------------------------------------------------- */

/* JSON is for programs, wherever it goes. */
static bool is_on_terminal(const struct sw_options *options)
{
	return options->format != SW_FORMAT_JSON && sw_terminal_is_there();
}

static int top_open(struct top *t, const struct sw_options *options, struct sw_error *err)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	*t = (struct top){.options = options,
			  .terminal = {.fd = -EBADF},
			  .signal_fd = -EBADF,
			  .view = {.sort = options->top_sort}};
	(void) snprintf(t->view.filter, sizeof(t->view.filter), "%s",
			options->text != NULL ? options->text : "");
	(void) sigemptyset(&t->signals); /* cannot fail */
	bool on_terminal = is_on_terminal(options);
	for (size_t i = 0; i < SW_ARRAY_SIZE(signals); i++)
		if (on_terminal || signals[i] != SIGTSTP)
			(void) sigaddset(&t->signals, signals[i]);
	(void) sigprocmask(SIG_BLOCK, &t->signals, NULL);
	t->signal_fd = signalfd(-1, &t->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->signal_fd < 0)
		return sw_fail_errno(err, SW_E_IO, "signals cannot be waited for");
	return 0;
}

static int finish(const struct top *t, int r, const struct sw_error *err)
{
	if (r < 0)
		return sw_complain_error(t->live.subject.name, err);
	if (!t->ended)
		return SW_STATUS_COMPLETE;
	sw_complain(t->live.subject.name, "it ended", "exited", "");
	return t->options->count > 0 ? SW_STATUS_MISSING : SW_STATUS_COMPLETE;
}

/* Work that needs privileges is done by then, or by the child. */
static int terminal_prepare(struct top *t, const struct sw_subject *subject, struct sw_error *err)
{
	int r = sw_dumper_start(&t->dumper, t->options, subject->pid, err);
	sw_trapped_first(sw_terminal_restore);
	return r < 0 ? r : sw_terminal_open(&t->terminal, err);
}

int sw_cmd_top(const struct sw_options *options)
{
	struct top t;
	struct sw_subject subject;
	struct sw_error err = {0};
	int status = sw_select_one(options, &subject);
	if (status != SW_STATUS_COMPLETE)
		return status;
	int r = top_open(&t, options, &err);
	if (r == 0)
		r = sw_looks_open(&t.live, options, &subject, &err);
	if (r == 0 && sw_recorder_refused(t.live.recorder)[0] != '\0')
		sw_complain_for(subject.name, sw_recorder_refused(t.live.recorder), "unsupported",
				SW_SAID_OF_SAMPLES);
	bool on_terminal = is_on_terminal(options);
	if (r == 0 && on_terminal)
		r = terminal_prepare(&t, &subject, &err);
	if (r == 0)
		r = sw_sandbox_enter_capturing(options, on_terminal, &err);
	if (r == 0)
		r = on_terminal ? run_on_terminal(&t, &err) : run_in_lines(&t, &err);
	t.live.subject = subject;
	status = finish(&t, r, &err);
	sw_looks_deinit(&t.live);
	sw_text_deinit(&t.lines);
	sw_terminal_close(&t.terminal);
	sw_dumper_end(&t.dumper);
	if (t.signal_fd >= 0)
		(void) close(t.signal_fd); /* nothing is lost */
	return status;
}
