/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_capture PID [name=value...]: one snapshot as a program that embeds libwalk takes it. Options:
 * stack_bytes, total_bytes, max_threads, max_stop_ms, restart, running_only, no_realtime, tid (may be
 * repeated), count (snapshots to take), stop (enum sw_stop_mode), permit (0 refuses, 1 allows when
 * asked, 2 allows the first time only). Prints lines of words:
 *
 *	thread TID captured REASON STATE SP STACK END BYTES INTERRUPTED
 *	range START BYTES
 *	warning NAME TID REASON
 *	times ATTACH STOPPED LONGEST COPY TAKE
 *	word VALUE SOURCE	the first word of each captured stack: "copy" or "live"
 *	permit TID STATE N TIMES	the thread that permit was asked of, its state, threads with a
 *				tracer, how often it was asked
 *	by TID HOW		how a thread was captured
 *	stopped N		threads
 *	left WHAT		what a snapshot left behind in this process or on the target
 *	error WIRE_NAME		instead of all that
 */
#include "memory.h"
#include "snapshot/read.h"

#include <snapwalk/walk.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIDS_MAX = 64 };

static volatile sig_atomic_t children_heard;

static void child_heard(int signo)
{
	children_heard++;
}

static int entries(const char *path)
{
	int n = 0;
	DIR *dir = opendir(path);
	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		closedir(dir);
	return n;
}

struct traces {
	int fds, threads, policy;
	sigset_t mask;
};

static struct traces traces_now(void)
{
	struct traces t = {.fds = entries("/proc/self/fd"),
			   .threads = entries("/proc/self/task"),
			   .policy = sched_getscheduler(0)};
	sigprocmask(SIG_SETMASK, NULL, &t.mask);
	return t;
}

/* Threads of the target that have a tracer. */
static int traced(pid_t pid)
{
	char path[300], line[128];
	int n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int) pid);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int) pid, e->d_name);
		FILE *status = e->d_name[0] != '.' ? fopen(path, "re") : NULL;
		int tracer = 0;
		while (status != NULL && fgets(line, sizeof(line), status) != NULL)
			if (sscanf(line, "TracerPid: %d", &tracer) == 1)
				n += tracer != 0;
		if (status != NULL)
			fclose(status);
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

struct permit {
	pid_t pid;
	long answer;
	int asked, tid, traced;
	char state;
};

/* Runs while the process stands still: keeps what it sees for later. */
static bool permit(void *arg, int task_fd)
{
	struct permit *p = arg;
	char text[1024] = "";
	int fd = openat(task_fd, "stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	close(fd);
	const char *end = strrchr(text, ')');
	p->tid = atoi(text);
	p->state = end != NULL ? end[2] : '?';
	p->traced = traced(p->pid);
	p->asked++;
	return p->answer == 1 || (p->answer == 2 && p->asked == 1);
}

static void traces_compare(const struct traces *before, pid_t pid)
{
	/* First of all: it must hold at the instant at which the snapshot is there. */
	int held = traced(pid);
	if (held != 0)
		printf("left %d-threads-traced\n", held);
	struct traces now = traces_now();
	if (now.fds != before->fds)
		printf("left %d-fds\n", now.fds - before->fds);
	if (now.threads != before->threads)
		printf("left %d-threads\n", now.threads - before->threads);
	if (now.policy != before->policy)
		printf("left scheduling-policy\n");
	if (memcmp(&now.mask, &before->mask, sizeof(now.mask)) != 0)
		printf("left signal-mask\n");
	if (children_heard != 0)
		printf("left SIGCHLD\n");
}

/* While a snapshot is there, so may be a process that read memory for it: it has been told to end. */
static void children_check(void)
{
	if (waitpid(-1, NULL, __WALL | WNOHANG) != -1 || errno != ECHILD)
		printf("left a-child\n");
}

static void print_thread(const struct sw_snapshot *snap, const struct sw_thread *t)
{
	printf("thread %d %d %s %c %#" PRIx64 " %#" PRIx64 " %#" PRIx64 " %zu %d\n", (int) t->tid,
	       t->captured, t->reason != 0 ? sw_error_wire(t->reason) : "-", t->state,
	       t->regs.sp_avma, t->stack_avma, t->stack_end_avma, t->stack_bytes, t->interrupted);
	if (!t->captured)
		return;
	struct sw_snapshot_memory memory = {.snap = snap, .thread = t};
	uint64_t word, copied_end_avma = t->stack_avma + t->stack_bytes;
	/* The first that was not copied, or the last of the stack. */
	uint64_t avma =
		copied_end_avma < t->stack_end_avma ? copied_end_avma : t->stack_end_avma - 8;
	if (t->stack_end_avma > 8 && sw_memory_u64(sw_snapshot_memory(&memory), avma, &word))
		printf("word %d %s\n", (int) t->tid, memory.live_reads == 0 ? "copy" : "live");
}

static void print_snapshot(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_threads; i++)
		print_thread(snap, &snap->threads[i]);
	for (size_t i = 0; i < snap->n_ranges; i++)
		printf("range %#" PRIx64 " %zu\n", snap->ranges[i].start_avma,
		       snap->ranges[i].bytes);
	for (size_t i = 0; i < snap->n_warnings; i++)
		printf("warning %s %d %s\n", sw_warning_name(snap->warnings[i].code),
		       (int) snap->warnings[i].tid, sw_error_wire(snap->warnings[i].reason));
	for (size_t i = 0; i < snap->n_threads; i++)
		if (snap->threads[i].captured)
			printf("by %d %s\n", (int) snap->threads[i].tid,
			       sw_captured_by_name(snap->threads[i].captured_by));
	printf("stopped %zu\n", snap->n_stopped);
	const struct sw_times *t = &snap->times;
	printf("times %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", t->attach_ns,
	       t->stopped_ns, t->longest_thread_ns, t->copy_ns, t->take_ns);
}

static void option_set(struct sw_snapshot_options *o, pid_t *tids, long *count, const char *word)
{
	struct permit *asked = o->permit_arg;
	const char *value = strchr(word, '=');
	if (value == NULL)
		exit(2);
	size_t length = (size_t) (value - word);
	long number = strtol(value + 1, NULL, 0);
	if (strncmp(word, "stack_bytes", length) == 0)
		o->stack_bytes = (size_t) number;
	else if (strncmp(word, "total_bytes", length) == 0)
		o->total_bytes = (size_t) number;
	else if (strncmp(word, "max_threads", length) == 0)
		o->max_threads = (size_t) number;
	else if (strncmp(word, "max_stop_ms", length) == 0)
		o->max_stop_ms = (uint32_t) number;
	else if (strncmp(word, "stop", length) == 0)
		o->stop = (enum sw_stop_mode) number;
	else if (strncmp(word, "restart", length) == 0)
		o->restart = (enum sw_restart) number;
	else if (strncmp(word, "running_only", length) == 0)
		o->running_only = number != 0;
	else if (strncmp(word, "no_realtime", length) == 0)
		o->no_realtime = number != 0;
	else if (strncmp(word, "count", length) == 0)
		*count = number;
	else if (strncmp(word, "permit", length) == 0) {
		asked->answer = number;
		o->permit = permit;
	} else if (strncmp(word, "tid", length) == 0 && o->n_tids < TIDS_MAX)
		tids[o->n_tids++] = (pid_t) number;
	else
		exit(2);
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0, tids[TIDS_MAX];
	struct permit asked = {.pid = pid};
	struct sw_snapshot_options options = {.permit_arg = &asked};
	long count = 1;
	for (int i = 2; i < argc; i++)
		option_set(&options, tids, &count, argv[i]);
	options.tids = options.n_tids > 0 ? tids : NULL;
	const struct sigaction action = {.sa_handler = child_heard, .sa_flags = SA_RESTART};
	sigaction(SIGCHLD, &action, NULL);

	struct sw_error err = {0};
	struct sw_context *ctx = NULL;
	struct sw_target *target = NULL;
	struct traces before = traces_now();
	int r = sw_context_create(&ctx, &err);
	if (r == 0)
		r = sw_target_open(pid, &target, &err);
	for (long i = 0; r == 0 && i < count; i++) {
		struct sw_snapshot *snap = NULL;
		struct traces now = before;
		r = sw_snapshot_take(ctx, target, &options, &snap, &err);
		now.fds = entries("/proc/self/fd"); /* modules and memory stay open meanwhile */
		traces_compare(&now, pid);
		if (r == 0 && i == count - 1)
			print_snapshot(snap);
		sw_snapshot_destroy(snap);
		children_check();
	}
	if (r < 0)
		printf("error %s\n", sw_error_wire(r));
	if (asked.asked > 0)
		printf("permit %d %c %d %d\n", asked.tid, asked.state, asked.traced, asked.asked);
	sw_target_close(target);
	sw_context_destroy(ctx);
	traces_compare(&before, pid);
	children_check();
	return 0;
}
