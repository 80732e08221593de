/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dumps/then.h"
#include "bytes.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"
#include "run/apart.h"
#include "run/obtain.h"
#include "urgent.h"

#include <snapwalk/clock.h>
#include <snapwalk/iterator.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
	DUMP_MAX = 1 << 30, /* bytes of a dump */
	MAKE_S = 120,       /* a dump is not waited for longer than that and --timeout */
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
};

/* The header before the text of a dump. */
struct header {
	int status;
	int64_t time_ns;
	size_t text_bytes;
	char said[sizeof((struct sw_then_dump){0}.said)];
};

/* ---- the process that makes one dump ----------------------------------------------------------- */

struct maker {
	const struct sw_options *options;
	pid_t pid;
	int begin_fd; /* a byte comes there when the event has happened; the other end is other_fd */
	int other_fd;
};

/* Waits for a byte. False: the other end was closed. */
static bool byte_read(int fd)
{
	char byte;
	return sw_read_all(fd, &byte, sizeof(byte));
}

/* The program of the task iterator, before the event: it takes longer to load than the copy takes. */
static int iterator_open(pid_t pid)
{
	sw_cleanup(sw_close_p) int program_fd = -EBADF;
	int fd = -EBADF;
	if (sw_iterator_load(&program_fd, NULL) < 0 ||
	    sw_iterator_limit(program_fd, pid, &fd, NULL) < 0)
		return 0; /* not given: the capture says what it is refused */
	return fd;
}

static void dump(const struct maker *m, struct sw_session *session, int iterator_fd,
		 struct header *header, struct sw_text *text)
{
	struct sw_error err = {0};
	sw_cleanup(sw_pipeline_deinit) struct sw_pipeline got = {0};
	struct sw_subject subject = {.pid = m->pid};
	struct sw_options options = *m->options;
	options.reason = options.event_name;
	(void) snprintf(subject.name, sizeof(subject.name), "%d", (int) m->pid); /* fits */
	struct sw_pipeline_options how = sw_obtain_options(&options, sw_clock_ns());
	how.report.seq = 1;
	how.snapshot.peers = true;
	how.snapshot.iterator_fd = iterator_fd;
	struct sw_delivery delivery = {
		.options = &options,
		.format = options.format,
		.output = {.fd = -EBADF, .direct = true, .memory = text},
	};
	if (sw_obtain_confined(session, &subject, &options, &how, &got, &err) < 0) {
		header->status = sw_status_of(&err);
		(void) snprintf(header->said, sizeof(header->said), "%s",
				err.message); /* cut is fine */
		return;
	}
	header->time_ns = got.report->time_ns;
	header->status = sw_delivery_put(&delivery, subject.name, got.report, NULL, 0);
}

static int make(void *arg, int fd)
{
	const struct maker *m = arg;
	sw_cleanup(sw_session_destroy_p) struct sw_session *session = NULL;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct header header = {.status = SW_STATUS_NOTHING};
	sigset_t none;
	(void) close(m->other_fd);                    /* or the pipe would never end */
	(void) sigemptyset(&none);                    /* cannot fail */
	(void) sigprocmask(SIG_SETMASK, &none, NULL); /* likewise */
	if (sw_session_create(&session, NULL) < 0)
		return SW_STATUS_NOTHING;
	int iterator_fd = iterator_open(m->pid);
	if (!byte_read(m->begin_fd))
		return SW_STATUS_NOTHING;
	dump(m, session, iterator_fd, &header, &text);
	header.text_bytes = text.size;
	return sw_write_all(fd, &header, sizeof(header)) && sw_write_all(fd, text.data, text.size)
		       ? SW_STATUS_COMPLETE
		       : SW_STATUS_NOTHING;
}

/* ---- the child that is asked ------------------------------------------------------------------- */

static int64_t deadline_ns(const struct sw_options *options)
{
	return sw_clock_ns() + (int64_t) MAKE_S * NS_PER_S +
	       (int64_t) options->timeout_ms * NS_PER_MS;
}

/* Runs in the maker, which may be in the hands of the process that it has read. */
static void answer(struct sw_apart *maker, const struct sw_options *options, int fd)
{
	sw_cleanup(sw_text_deinit) struct sw_text all = {0};
	struct header header = {.status = SW_STATUS_NOTHING};
	struct sw_error err = {0};
	int status = 0;
	int r = sw_apart_finish_within(maker, deadline_ns(options), DUMP_MAX, &all, &status, &err);
	if (r == 0 && all.size >= sizeof(header))
		memcpy(&header, all.data, sizeof(header));
	else
		(void) snprintf(header.said, sizeof(header.said), "%s",
				r < 0 ? err.message
				      : "the process that makes it has ended"); /* cut is fine */
	size_t left = all.size >= sizeof(header) ? all.size - sizeof(header) : 0;
	if (header.text_bytes > left || header.status < 0 || header.status > SW_STATUS_DENIED)
		header = (struct header){.status = SW_STATUS_NOTHING};
	header.said[sizeof(header.said) - 1] = '\0';
	if (sw_write_all(fd, &header, sizeof(header)))
		(void) sw_write_all(fd, all.data + sizeof(header),
				    header.text_bytes); /* or nobody waits any more */
}

/* For each dump another process; the one that was not asked for ends with this one. */
static void serve(const struct sw_options *options, pid_t pid, int fd)
{
	for (;;) {
		int fds[2];
		struct sw_apart maker;
		if (pipe2(fds, O_CLOEXEC) < 0)
			return;
		struct maker m = {.options = options,
				  .pid = pid,
				  .begin_fd = fds[0],
				  .other_fd = fds[1]};
		int r = sw_apart_start(&maker, make, &m, NULL);
		(void) close(fds[0]); /* a pipe */
		if (r < 0 || !byte_read(fd)) {
			(void) close(fds[1]); /* the maker sees it, and ends */
			return;
		}
		(void) sw_write_all(fds[1], "",
				    1); /* a maker that has ended gives an empty answer */
		(void) close(fds[1]);   /* likewise */
		answer(&maker, options, fd);
	}
}

/* ---- asking ------------------------------------------------------------------------------------ */

int sw_then_start(struct sw_then *ret, const struct sw_options *options, pid_t pid,
		  struct sw_error *err)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pair of sockets");
	(void) fflush(NULL); /* the child must not write it again */
	pid_t child = fork();
	if (child == 0) {
		(void) close(fds[0]); /* a socket */
		serve(options, pid, fds[1]);
		_exit(0);
	}
	(void) close(fds[1]); /* likewise */
	if (child < 0) {
		int r = sw_fail_errno(err, SW_E_IO, "cannot fork");
		(void) close(fds[0]); /* likewise */
		return r;
	}
	*ret = (struct sw_then){.pid = child, .fd = fds[0]};
	return 0;
}

void sw_then_ask(struct sw_then *then)
{
	(void) sw_write_all(then->fd, "", 1); /* who has ended gives an empty answer */
	then->busy = true;
}

bool sw_then_is_there(const struct sw_then *then)
{
	struct pollfd fd = {.fd = then->fd, .events = POLLIN};
	return then->busy && poll(&fd, 1, 0) > 0;
}

void sw_then_answer(struct sw_then *then, struct sw_then_dump *ret)
{
	struct header header;
	char buffer[16384];
	*ret = (struct sw_then_dump){.status = SW_STATUS_NOTHING};
	then->busy = false;
	if (!sw_read_all(then->fd, &header, sizeof(header))) {
		(void) snprintf(ret->said, sizeof(ret->said),
				"the process that makes it has ended"); /* fits */
		return;
	}
	for (size_t left = header.text_bytes; left > 0;) {
		size_t n = left < sizeof(buffer) ? left : sizeof(buffer);
		if (!sw_read_all(then->fd, buffer, n))
			return;
		sw_text_append(&ret->text, buffer, n);
		left -= n;
	}
	ret->status = header.status;
	ret->time_ns = header.time_ns;
	memcpy(ret->said, header.said, sizeof(ret->said));
}

void sw_then_dump_deinit(struct sw_then_dump *dump)
{
	sw_text_deinit(&dump->text);
	*dump = (struct sw_then_dump){0};
}

void sw_then_end(struct sw_then *then)
{
	if (then->pid == 0)
		return;
	sw_close_p(&then->fd);
	while (waitpid(then->pid, NULL, 0) < 0 && errno == EINTR)
		;
	then->pid = 0;
}
