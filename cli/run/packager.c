/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/packager.h"
#include "cleanup.h"
#include "errors.h"
#include "run/asked.h"

#include <confine/caps.h>
#include <confine/descriptors.h>
#include <confine/seccomp.h>
#include <confine/unpacker.h>
#include <snapwalk/clock.h>
#include <snapwalk/packages.h>

#include <fcntl.h>
#include <fts.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { QUESTION_BYTES = 192, EXPECTED_BYTES_MAX = 1 << 18 };
/* The time in which who is late may still say so. */
static const int64_t GRACE_NS = 300000000;

/* The first byte of a question, and an answer. */
enum { EXPECT = 'e', UNPACK = 'u' };
enum { ANSWER_NONE = 'n', ANSWER_FOUND = 'f', ANSWER_UNSUPPORTED = 'u' };

/* A limit for what libarchive allocates: a package chooses the size of its packer's dictionary. */
static const rlim_t MEMORY_BYTES_MAX = (rlim_t) 2 << 30;

struct packaged {
	const char *const *directories; /* borrowed */
	size_t n;
	int64_t deadline_ns;
	int fd; /* owned; the other end of struct sw_packager's */
	char directory[SW_PACKAGER_DIRECTORY_BYTES];
};

static int64_t end_ns(int64_t deadline_ns)
{
	return deadline_ns == 0 ? 0 : deadline_ns + GRACE_NS;
}

/* ---- who unpacks ------------------------------------------------------------------------------ */

static void memory_limit(void)
{
#ifndef __SANITIZE_ADDRESS__ /* whose shadow is larger */
	const struct rlimit limit = {MEMORY_BYTES_MAX, MEMORY_BYTES_MAX};
	(void) setrlimit(RLIMIT_DATA, &limit); /* fails if it is lower already */
#endif
}

static void questions_answer(const struct packaged *d, struct sw_packages *packages,
			     int directory_fd)
{
	char question[QUESTION_BYTES];
	for (;;) {
		ssize_t n = read(d->fd, question, sizeof(question) - 1);
		if (n <= 0)
			return;
		question[n] = '\0';
		if (question[0] == EXPECT) {
			sw_packages_expect(packages, question + 1);
			continue;
		}
		struct sw_packager_reply reply = {.answer = ANSWER_NONE};
		if (sw_packages_unpack(packages, question + 1, directory_fd))
			reply.answer = ANSWER_FOUND;
		const char *why = sw_packages_why(packages);
		(void) snprintf(reply.directory, sizeof(reply.directory), "%s",
				d->directory); /* fits */
		(void) snprintf(reply.why, sizeof(reply.why), "%s", why != NULL ? why : "");
		if (write(d->fd, &reply, sizeof(reply)) != sizeof(reply))
			return;
	}
}

__attribute__((noreturn)) static void unpacker_main(const struct packaged *d,
						    struct sw_packages *packages)
{
	struct sw_error ignored; /* nothing is unpacked, then */
	int directory_fd = open(d->directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	memory_limit();
	if (directory_fd >= 0 &&
	    sw_confine_unpacker(d->directories, d->n, d->directory, &ignored) == 0)
		questions_answer(d, packages, directory_fd);
	_exit(0);
}

/* ---- who waits for it ------------------------------------------------------------------------- */

static bool directory_make(struct packaged *d)
{
	const char *temporary = getenv("TMPDIR");
	if (temporary == NULL || temporary[0] != '/')
		temporary = "/var/tmp"; /* debug files are large: file-hierarchy(7) */
	int n = snprintf(d->directory, sizeof(d->directory), "%s/snapwalk-XXXXXX", temporary);
	return n > 0 && (size_t) n < sizeof(d->directory) && mkdtemp(d->directory) != NULL;
}

static void directory_remove(char *directory)
{
	char *const roots[] = {directory, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	while (tree != NULL && (entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_DP)
			(void) rmdir(entry->fts_accpath);
		else if (entry->fts_info != FTS_D)
			(void) unlink(entry->fts_accpath);
	if (tree != NULL)
		(void) fts_close(tree); /* was read */
}

/* Waits until it ends, the command has ended, or the deadline. */
static void unpacker_wait(const struct packaged *d, pid_t pid)
{
	sw_cleanup(sw_close_p) int pid_fd = (int) syscall(SYS_pidfd_open, pid, 0);
	struct pollfd polled[] = {{.fd = pid_fd, .events = POLLIN}, {.fd = d->fd}};
	if (pid_fd >= 0)
		(void) poll(polled, SW_ARRAY_SIZE(polled),
			    sw_clock_left_ms(end_ns(d->deadline_ns)));
	(void) kill(pid, SIGKILL); /* ours, and not waited for yet */
	(void) waitpid(pid, NULL, 0);
}

/* Reads what was said first: who ends with a message that was not read takes the answer back (unix(7), ECONNRESET). */
static void refuse(const struct packaged *d, char answer, const char *why)
{
	struct sw_packager_reply reply = {.answer = answer};
	char question[QUESTION_BYTES];
	ssize_t n;
	do
		n = read(d->fd, question, sizeof(question));
	while (n > 0 && question[0] != UNPACK);
	(void) snprintf(reply.why, sizeof(reply.why), "%s", why); /* cut if longer */
	(void) !write(d->fd, &reply, sizeof(reply));              /* who asked has ended, then */
}

/* Returns at the end of the command. */
static void serve(struct packaged *d)
{
	struct pollfd asked = {.fd = d->fd, .events = POLLIN};
	struct sw_packages *packages = NULL;
	struct sw_error err = {0};
	if (poll(&asked, 1, sw_clock_left_ms(d->deadline_ns)) <= 0 || !(asked.revents & POLLIN))
		return;
	int r = sw_packages_create(d->directories, d->n, d->deadline_ns, &packages, &err);
	if (r < 0)
		refuse(d, ANSWER_UNSUPPORTED, err.message);
	if (r < 0 || packages == NULL)
		return;
	if (!directory_make(d)) {
		refuse(d, ANSWER_NONE, "there is no place for files that are unpacked");
		return;
	}
	pid_t pid = fork();
	if (pid == 0)
		unpacker_main(d, packages);
	if (pid > 0)
		unpacker_wait(d, pid);
	directory_remove(d->directory);
	sw_packages_destroy(packages);
}

static void child(const void *arg, int fd)
{
	struct packaged d = *(const struct packaged *) arg;
	/* A key for the terminal is for the command, whose end ends this process. */
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	struct sigaction as_usual = {.sa_handler = SIG_DFL};
	struct sw_error err;
	for (size_t i = 0; i < SW_ARRAY_SIZE(ignored); i++)
		(void) signal(ignored[i], SIG_IGN);
	(void) sigaction(SIGBUS, &as_usual, NULL); /* ours speaks to the user */
	(void) prctl(PR_SET_NAME, "snapwalk-pack");
	d.fd = fd;
	sw_confine_descriptors((int *const[]){&d.fd}, 1);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && sw_caps_keep(0, &err) == 0 &&
	    sw_seccomp_program(&err) == 0)
		serve(&d);
}

/* ---- the command ------------------------------------------------------------------------------ */

int sw_packager_start(struct sw_packager *ret, const char *const *directories, size_t n,
		      int64_t deadline_ns, struct sw_error *err)
{
	const struct packaged d = {.directories = directories,
				   .n = n,
				   .deadline_ns = deadline_ns,
				   .fd = -EBADF};
	*ret = (struct sw_packager){.fd = -EBADF, .deadline_ns = deadline_ns};
	return sw_asked_start(child, &d, &ret->fd, err);
}

static bool question_send(const struct sw_packager *p, char kind, const char *build_id)
{
	char question[QUESTION_BYTES];
	int n = snprintf(question, sizeof(question), "%c%s", kind, build_id);
	return n > 0 && (size_t) n < sizeof(question) && write(p->fd, question, (size_t) n) == n;
}

/* Nothing is started for directories that have all that is asked for: the first question comes with all that may follow. */
void sw_packager_expect(void *arg, const char *build_id)
{
	struct sw_packager *p = arg;
	if (p->fd >= 0 && p->expected.size < EXPECTED_BYTES_MAX)
		sw_text_append(&p->expected, build_id, strlen(build_id) + 1);
}

/* A failure costs time alone: a package is read again. */
static void expected_send(struct sw_packager *p)
{
	for (size_t i = 0; i < p->expected.size; i += strlen(p->expected.data + i) + 1)
		(void) question_send(p, EXPECT, p->expected.data + i);
	sw_text_deinit(&p->expected);
}

const char *sw_packager_unpack(void *arg, const char *build_id)
{
	struct sw_packager *p = arg;
	struct pollfd answered = {.fd = p->fd, .events = POLLIN};
	ssize_t n = 0;
	if (p->fd < 0)
		return NULL;
	expected_send(p);
	if (question_send(p, UNPACK, build_id)) {
		if (poll(&answered, 1, sw_clock_left_ms(end_ns(p->deadline_ns))) == 1)
			n = read(p->fd, &p->last, sizeof(p->last));
		p->is_late = n != sizeof(p->last) && sw_clock_left_ms(p->deadline_ns) == 0;
	}
	p->last.directory[SW_PACKAGER_DIRECTORY_BYTES - 1] = '\0';
	p->last.why[SW_PACKAGER_WHY_BYTES - 1] = '\0';
	if (n == sizeof(p->last) && p->last.answer == ANSWER_FOUND)
		return p->last.directory;
	p->is_unsupported = n == sizeof(p->last) && p->last.answer == ANSWER_UNSUPPORTED;
	if (n != sizeof(p->last) || p->is_unsupported)
		sw_close_p(&p->fd); /* there are no packages, or the answer would come too late */
	return NULL;
}

void sw_packager_end(struct sw_packager *p)
{
	sw_close_p(&p->fd);
	sw_text_deinit(&p->expected);
}
