/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The task iterator over a process that the test started. Each prints one line per fact:
 *
 *	drive_iterate list PID [MAX]     "thread TID INNER STATE ...", see list()
 *	drive_iterate pidfd PID          the same, the process named by a pidfd
 *	drive_iterate registers PID      each thread's registers against PTRACE_GETREGS
 *	drive_iterate time PID PASSES    how long a pass takes
 *	drive_iterate handover PID PASSES  passes by a process without capabilities or user
 *	drive_iterate refuse HOW         what is said when the kernel refuses: caps, bpf, perfmon, eperm, enosys
 *	drive_iterate torn PID COPIES LOOP STORED COUNTED END TURNS    the proof against tests/targets/restless.c
 *	drive_iterate captured PID COPIES LOOP STORED COUNTED END STOP whole captures of it, by enum sw_stop_mode
 */
#include "cleanup.h"
#include "iterate/proof.h"
#include "iterate/read.h"
#include "iterate/tasks.h"
#include "iterate/thread.h"

#include <snapwalk/clock.h>
#include <snapwalk/walk.h>

#include <err.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { THREADS_MAX = 16384, NOBODY = 65534 };

/* EOPNOTSUPP: the programs are not in this build. Every test of the iterator skips then. */
enum { EXIT_WITHOUT = 77 };

static struct sw_iterate_record records[2][THREADS_MAX];

static void fail(const struct sw_error *error)
{
	printf("error %s: %s\n", sw_error_wire(error->code), error->message);
	exit(error->code == SW_E_UNSUPPORTED || error->code == SW_E_NOT_PERMITTED ? EXIT_WITHOUT
										  : 1);
}

static int link_to(enum sw_iterate_program program, pid_t pid, bool by_pidfd)
{
	struct sw_error error = {0};
	int program_fd, link_fd, r;
	if (sw_iterate_load(program, &program_fd, &error) != 0)
		fail(&error);
	if (by_pidfd) {
		sw_cleanup(sw_close_p) int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
		if (pidfd < 0)
			err(1, "pidfd_open");
		r = sw_iterate_link(program_fd, pidfd, &link_fd, &error);
	} else {
		r = sw_iterate_link_pid(program_fd, pid, &link_fd, &error);
	}
	if (r != 0)
		fail(&error);
	(void) close(program_fd);
	return link_fd;
}

static int open_pass(int link_fd)
{
	struct sw_error error = {0};
	int fd;
	if (sw_iterate_open(link_fd, &fd, &error) != 0)
		fail(&error);
	return fd;
}

static struct sw_iterate_pass pass_max(int link_fd, struct sw_iterate_record *to, size_t max)
{
	struct sw_iterate_pass pass;
	int fd = open_pass(link_fd);
	int r = sw_iterate_read(fd, to, max, &pass);
	if (r != 0)
		errx(1, "sw_iterate_read: %s", sw_error_wire(-r));
	(void) close(fd);
	return pass;
}

static struct sw_iterate_pass pass(int link_fd, struct sw_iterate_record *to)
{
	return pass_max(link_fd, to, THREADS_MAX);
}

static void list(int link_fd, size_t max)
{
	struct sw_iterate_pass p = pass_max(link_fd, records[0], max);
	for (size_t i = 0; i < p.n; i++) {
		const struct sw_iterate_record *r = &records[0][i];
		struct user_regs_struct regs;
		char comm[SW_ITERATE_COMM + 1];
		sw_iterate_registers(r, &regs);
		sw_iterate_comm(r, comm);
		printf("thread tid=%u inner=%u state=%c on_cpu=%u registers=%d worker=%d bits=%d "
		       "pc=%#llx sp=%#llx call=%lld tracer=%u in_exec=%u last=%u flags=%u "
		       "cpu_ns=%" PRIu64 " waits_ns=%" PRId64 " start_ns=%" PRIu64
		       " switches=%" PRIu64 ",%" PRIu64 " exec=%" PRIu64 " comm=%s\n",
		       r->tid, r->inner_tid, sw_iterate_state(r), r->on_cpu,
		       sw_iterate_has_registers(r), sw_iterate_is_worker(r),
		       sw_iterate_is_32bit(r) ? 32 : 64, regs.rip, regs.rsp,
		       (long long) regs.orig_rax, r->tracer, r->in_exec, r->is_last, r->flags,
		       r->runtime_ns, sw_iterate_waits_ns(r), r->start_ns, r->n_voluntary,
		       r->n_involuntary, r->exec_id, comm);
	}
	printf("pass threads=%zu overflow=%d\n", p.n, p.overflow);
}

/* The registers of a thread that waits, by ptrace. False: it would not stop. */
static bool ptrace_registers(pid_t tid, struct user_regs_struct *ret)
{
	int status;
	bool ok = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 &&
		  ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 &&
		  waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) &&
		  ptrace(PTRACE_GETREGS, tid, NULL, ret) == 0;
	(void) ptrace(PTRACE_DETACH, tid, NULL, NULL); /* not held if it failed */
	return ok;
}

static void registers(int link_fd)
{
	static const size_t rax = offsetof(struct user_regs_struct, rax) / sizeof(uint64_t);
	struct sw_iterate_pass p = pass(link_fd, records[0]);
	size_t compared = 0, different = 0, results = 0;
	for (size_t i = 0; i < p.n; i++) {
		struct user_regs_struct ours, wanted;
		if (!sw_iterate_has_registers(&records[0][i]) ||
		    !ptrace_registers((pid_t) records[0][i].tid, &wanted))
			continue;
		sw_iterate_registers(&records[0][i], &ours);
		compared++;
		const uint64_t *a = (const uint64_t *) &ours, *b = (const uint64_t *) &wanted;
		for (size_t k = 0; k < SW_ITERATE_REGS; k++) {
			if (a[k] == b[k])
				continue;
			/* In a call the kernel keeps -ENOSYS there until it has a result; the stop
			 * that ptrace needs ends the call, or makes it begin again. */
			if (k == rax && (int64_t) a[k] == -ENOSYS && (int64_t) ours.orig_rax >= 0) {
				results++;
				continue;
			}
			different++;
			printf("different tid=%u register=%zu iterator=%#" PRIx64
			       " ptrace=%#" PRIx64 "\n",
			       records[0][i].tid, k, a[k], b[k]);
		}
	}
	printf("registers threads=%zu compared=%zu different=%zu restarts=%zu\n", p.n, compared,
	       different, results);
}

static int64_t cpu_ns(void)
{
	return sw_clock_read(CLOCK_THREAD_CPUTIME_ID);
}

static void time_passes(int link_fd, int passes)
{
	int64_t best = INT64_MAX, sum = 0, best_cpu = INT64_MAX, sum_cpu = 0;
	size_t threads = 0;
	for (int i = 0; i < passes; i++) {
		int64_t wall = sw_clock_ns(), cpu = cpu_ns();
		threads = pass(link_fd, records[0]).n;
		cpu = cpu_ns() - cpu;
		wall = sw_clock_ns() - wall;
		best = wall < best ? wall : best;
		best_cpu = cpu < best_cpu ? cpu : best_cpu;
		sum += wall;
		sum_cpu += cpu;
	}
	printf("time threads=%zu best_us=%.1f mean_us=%.1f best_cpu_us=%.1f mean_cpu_us=%.1f\n",
	       threads, (double) best / 1e3, (double) sum / passes / 1e3, (double) best_cpu / 1e3,
	       (double) sum_cpu / passes / 1e3);
	struct sw_error error = {0};
	best_cpu = INT64_MAX;
	for (int i = 0; i < 5; i++) {
		int64_t cpu = cpu_ns();
		int fd;
		if (sw_iterate_load(SW_ITERATE_THREADS, &fd, &error) != 0)
			fail(&error);
		cpu = cpu_ns() - cpu;
		best_cpu = cpu < best_cpu ? cpu : best_cpu;
		(void) close(fd);
	}
	printf("load best_cpu_us=%.1f\n", (double) best_cpu / 1e3);
}

/* ---- who may do what ----------------------------------------------------------------------- */

static void capabilities_keep(uint64_t mask)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, data) != 0)
		err(1, "capget");
	for (int i = 0; i < 2; i++) {
		data[i].effective &= (uint32_t) (mask >> (32 * i));
		data[i].permitted &= (uint32_t) (mask >> (32 * i));
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, data) != 0)
		err(1, "capset");
}

static void fd_send(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr message = {.msg_iov = &io,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	if (sendmsg(socket, &message, 0) != 1)
		err(1, "sendmsg");
}

static int fd_receive(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec io = {&byte, 1};
	struct msghdr message = {.msg_iov = &io,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	int fd;
	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || CMSG_FIRSTHDR(&message) == NULL)
		err(1, "recvmsg");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static void pass_once(const char *what, int fd)
{
	struct sw_iterate_pass p;
	int r = sw_iterate_read(fd, records[0], THREADS_MAX, &p);
	printf("%s result=%s threads=%zu registers=%d\n", what, r == 0 ? "ok" : sw_error_wire(-r),
	       r == 0 ? p.n : 0, r == 0 && p.n > 0 && sw_iterate_has_registers(&records[0][0]));
}

/* Without user, groups or capabilities; holds what it was sent. */
static void unprivileged(int socket, int passes)
{
	int link_fd = fd_receive(socket), iterator_fd = fd_receive(socket);
	struct sw_error error = {0};
	int fd;
	if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		err(1, "setuid");
	capabilities_keep(0);
	(void) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("unprivileged load=%s\n",
	       sw_error_wire(sw_iterate_load(SW_ITERATE_THREADS, &fd, &error)));
	pass_once("iterator", iterator_fd);
	printf("rewind offset=%ld\n", (long) lseek(iterator_fd, 0, SEEK_SET));
	pass_once("iterator again", iterator_fd);
	for (int i = 0; i < passes; i++)
		pass_once("link", open_pass(link_fd));
}

static void handover(pid_t pid, int passes)
{
	int sockets[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		err(1, "socketpair");
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		unprivileged(sockets[1], passes);
		fflush(stdout);
		_exit(0);
	}
	int link_fd = link_to(SW_ITERATE_THREADS, pid, true);
	fd_send(sockets[0], link_fd);
	fd_send(sockets[0], open_pass(link_fd));
	int status;
	if (waitpid(child, &status, 0) != child || status != 0)
		errx(1, "the child failed: %#x", status);
}

static void filter_bpf(uint32_t error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {SW_ARRAY_SIZE(filter), filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		err(1, "seccomp");
}

static void refuse(const char *how)
{
	uint64_t admin = UINT64_C(1) << CAP_SYS_ADMIN, bpf = UINT64_C(1) << CAP_BPF,
		 perfmon = UINT64_C(1) << CAP_PERFMON;
	if (strcmp(how, "caps") == 0)
		capabilities_keep(~(admin | bpf | perfmon));
	else if (strcmp(how, "bpf") == 0)
		capabilities_keep(~(admin | bpf));
	else if (strcmp(how, "perfmon") == 0)
		capabilities_keep(~(admin | perfmon));
	else if (strcmp(how, "least") == 0)
		capabilities_keep(bpf | perfmon);
	else
		filter_bpf(strcmp(how, "enosys") == 0 ? ENOSYS : EPERM);
	struct sw_error error = {0};
	int fd, r = sw_iterate_load(SW_ITERATE_THREADS, &fd, &error);
	printf("load result=%s code=%s message=%s\n", r == 0 ? "ok" : "refused",
	       sw_error_wire(error.code), error.message);
}

/* ---- the proof ------------------------------------------------------------------------------ */

enum {
	WORDS = 1024,
	COPY_BYTES = 12 * 1024,
	TEAM_MAX = 512,
	TORN_SHOWN = 5,
	RUNNING_MAX = 10, /* captures of some hundreds */
};
static const uint64_t MAGIC = 0x70617474726e2121;

struct checker {
	pid_t pid;
	uint64_t loop_avma, stored_avma, counted_avma, end_avma, turns_avma;
	uint64_t accepted, rejected, unfounded;
	uint64_t torn_accepted, torn_rejected, without_accepted;
	uint64_t in_loop;                                                /* of accepted */
	uint64_t quiescent, moved_quiescent, disturbed, moved_disturbed; /* windows */
	uint64_t early; /* passes that ended early or overflowed */
};

static uint8_t copies[TEAM_MAX][COPY_BYTES];
static size_t copied[TEAM_MAX];

static size_t copy(const struct checker *c, uint64_t avma, void *to, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *) (uintptr_t) avma, bytes};
	ssize_t n = process_vm_readv(c->pid, &local, 1, &remote, 1, 0);
	return n < 0 ? 0 : (size_t) n;
}

static uint64_t turns(const struct checker *c)
{
	uint64_t value = 0;
	(void) copy(c, c->turns_avma, &value, sizeof(value)); /* gone: 0 each time */
	return value;
}

static bool pattern_is_whole(const struct checker *c, const struct user_regs_struct *regs,
			     const uint64_t *words, uint64_t words_avma)
{
	uint64_t n_new = 0, number = words[0] + 1; /* all are old */
	if (regs->rip >= c->loop_avma && regs->rip < c->end_avma) {
		if (regs->r12 != words_avma || regs->r13 > WORDS)
			return false;
		n_new = regs->r13 + (regs->rip >= c->stored_avma && regs->rip < c->counted_avma);
		number = regs->r14;
	}
	for (uint64_t i = 0; i < WORDS; i++)
		if (words[i] != (i < n_new ? number : number - 1))
			return false;
	return true;
}

enum verdict { VERDICT_WHOLE, VERDICT_TORN, VERDICT_WITHOUT };

/* stack: the bytes from the stack pointer on. */
static enum verdict verdict_of(const struct checker *c, const struct user_regs_struct *regs,
			       const uint8_t *stack, size_t bytes)
{
	for (size_t at = 0; at + (1 + WORDS) * sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
		uint64_t avma = regs->rsp + at, pattern[1 + WORDS];
		memcpy(pattern, stack + at, sizeof(pattern[0]));
		if (pattern[0] != (avma ^ MAGIC))
			continue;
		memcpy(pattern, stack + at, sizeof(pattern));
		return pattern_is_whole(c, regs, pattern + 1, avma + sizeof(uint64_t))
			       ? VERDICT_WHOLE
			       : VERDICT_TORN;
	}
	return VERDICT_WITHOUT;
}

static void torn_show(const struct sw_iterate_record *r)
{
	struct user_regs_struct regs;
	sw_iterate_registers(r, &regs);
	printf("torn tid=%u state=%#x pc=%#llx sp=%#llx call=%lld\n", r->tid, r->state, regs.rip,
	       regs.rsp, (long long) regs.orig_rax);
}

static const struct sw_iterate_record *find(const struct sw_iterate_record *wanted,
					    const struct sw_iterate_record *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (in[i].tid == wanted->tid && in[i].start_ns == wanted->start_ns)
			return &in[i];
	return NULL;
}

static void judge(struct checker *c, size_t i, const struct sw_iterate_record *later)
{
	const struct sw_iterate_record *r = &records[0][i];
	if (!sw_iterate_has_registers(r)) {
		c->unfounded++;
		return;
	}
	struct user_regs_struct regs;
	sw_iterate_registers(r, &regs);
	enum verdict verdict = verdict_of(c, &regs, copies[i], copied[i]);
	if (later == NULL || !sw_iterate_is_unchanged(r, later)) {
		c->rejected++;
		c->torn_rejected += verdict == VERDICT_TORN;
		return;
	}
	c->accepted++;
	c->in_loop += regs.rip >= c->loop_avma && regs.rip < c->end_avma;
	c->without_accepted += verdict == VERDICT_WITHOUT;
	if (verdict == VERDICT_TORN && c->torn_accepted++ < TORN_SHOWN)
		torn_show(r);
}

static void window(struct checker *c, int link_fd)
{
	struct sw_iterate_pass before = pass_max(link_fd, records[0], TEAM_MAX);
	if (before.n == 0)
		errx(1, "the target is gone");
	uint64_t turns_before = turns(c);
	for (size_t i = 0; i < before.n; i++) {
		struct user_regs_struct regs;
		sw_iterate_registers(&records[0][i], &regs);
		copied[i] = sw_iterate_has_registers(&records[0][i])
				    ? copy(c, regs.rsp, copies[i], COPY_BYTES)
				    : 0;
	}
	uint64_t turns_after = turns(c);
	struct sw_iterate_pass after = pass_max(link_fd, records[1], TEAM_MAX);
	for (size_t i = 0; i < before.n; i++)
		judge(c, i, find(&records[0][i], records[1], after.n));

	c->early += before.overflow || before.cut;
	bool moved = turns_before != turns_after;
	if (!before.overflow && !after.overflow &&
	    sw_iterate_is_quiescent(records[0], before.n, records[1], after.n)) {
		c->quiescent++;
		c->moved_quiescent += moved;
	} else {
		c->disturbed++;
		c->moved_disturbed += moved;
	}
}

static struct checker checker_of(pid_t pid, char **arguments)
{
	return (struct checker){
		.pid = pid,
		.loop_avma = strtoull(arguments[1], NULL, 16),
		.stored_avma = strtoull(arguments[2], NULL, 16),
		.counted_avma = strtoull(arguments[3], NULL, 16),
		.end_avma = strtoull(arguments[4], NULL, 16),
		.turns_avma = strtoull(arguments[5], NULL, 16),
	};
}

static void torn(pid_t pid, char **arguments)
{
	struct checker c = checker_of(pid, arguments);
	uint64_t wanted = strtoull(arguments[0], NULL, 10);
	int link_fd = link_to(SW_ITERATE_THREADS, pid, true);
	while (c.accepted + c.rejected < wanted)
		window(&c, link_fd);
	printf("copies accepted=%" PRIu64 " torn_accepted=%" PRIu64 " rejected=%" PRIu64
	       " torn_rejected=%" PRIu64 " in_loop=%" PRIu64 " without=%" PRIu64
	       " unfounded=%" PRIu64 "\n",
	       c.accepted, c.torn_accepted, c.rejected, c.torn_rejected, c.in_loop,
	       c.without_accepted, c.unfounded);
	printf("windows quiescent=%" PRIu64 " moved_quiescent=%" PRIu64 " disturbed=%" PRIu64
	       " moved_disturbed=%" PRIu64 " early=%" PRIu64 "\n",
	       c.quiescent, c.moved_quiescent, c.disturbed, c.moved_disturbed, c.early);
}

struct tally {
	uint64_t snapshots, gone, iterator, ptrace, missing, torn, in_loop, without, stopped,
		running;
};

/* A captured thread, in the numbering of DWARF. */
static void thread_judge(const struct checker *c, const struct sw_thread *t, struct tally *n)
{
	enum { RSP = 7, R12 = 12, R13 = 13, R14 = 14 };
	if (!t->captured) {
		n->missing++;
		return;
	}
	n->iterator += t->captured_by == SW_CAPTURED_ITERATOR;
	n->ptrace += t->captured_by == SW_CAPTURED_PTRACE;
	const struct user_regs_struct regs = {.rip = t->regs.pc_avma,
					      .rsp = t->regs.val[RSP],
					      .r12 = t->regs.val[R12],
					      .r13 = t->regs.val[R13],
					      .r14 = t->regs.val[R14]};
	n->in_loop += regs.rip >= c->loop_avma && regs.rip < c->end_avma;
	size_t below = regs.rsp - t->stack_avma;
	enum verdict verdict = t->stack_bytes < below ? VERDICT_WITHOUT
						      : verdict_of(c, &regs, t->stack + below,
								   t->stack_bytes - below);
	n->without += verdict == VERDICT_WITHOUT;
	if (verdict == VERDICT_TORN && n->torn++ < TORN_SHOWN)
		printf("torn tid=%d by=%s state=%c pc=%#llx sp=%#llx\n", (int) t->tid,
		       sw_captured_by_name(t->captured_by), t->state, regs.rip, regs.rsp);
}

static void captured(pid_t pid, char **arguments)
{
	struct checker c = checker_of(pid, arguments);
	uint64_t wanted = strtoull(arguments[0], NULL, 10);
	const struct sw_snapshot_options options = {.stop = (enum sw_stop_mode) c.turns_avma};
	struct sw_context *context;
	struct sw_target *target;
	struct sw_error error = {0};
	struct tally n = {0};
	if (sw_context_create(&context, &error) != 0 || sw_target_open(pid, &target, &error) != 0)
		fail(&error);
	while (n.iterator + n.ptrace < wanted) {
		struct sw_snapshot *snapshot;
		int r = sw_snapshot_take(context, target, &options, &snapshot, &error);
		/* The process becomes another program, though always the same one: some captures
		 * meet that. */
		if (r == -SW_E_CHANGED || r == -SW_E_EXITED) {
			n.gone++;
			continue;
		}
		/* Behind an execve() it has one thread, which may run for as long as a capture takes. */
		if (r == -SW_E_RUNNING && options.stop == SW_STOP_NEVER &&
		    n.running++ < RUNNING_MAX)
			continue;
		if (r != 0)
			fail(&error);
		n.snapshots++;
		n.stopped += snapshot->n_stopped;
		for (size_t i = 0; i < snapshot->n_threads; i++)
			thread_judge(&c, &snapshot->threads[i], &n);
		sw_snapshot_destroy(snapshot);
	}
	printf("captured snapshots=%" PRIu64 " gone=%" PRIu64 " iterator=%" PRIu64
	       " ptrace=%" PRIu64 " missing=%" PRIu64 " torn=%" PRIu64 " in_loop=%" PRIu64
	       " without=%" PRIu64 " stopped=%" PRIu64 " running=%" PRIu64 "\n",
	       n.snapshots, n.gone, n.iterator, n.ptrace, n.missing, n.torn, n.in_loop, n.without,
	       n.stopped, n.running);
	sw_target_close(target);
	sw_context_destroy(context);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		errx(2, "see the top of drive_iterate.c");
	const char *what = argv[1];
	pid_t pid = atoi(argv[2]);
	int number = argc > 3 ? atoi(argv[3]) : THREADS_MAX;
	if (strcmp(what, "list") == 0)
		list(link_to(SW_ITERATE_THREADS, pid, false), (size_t) number);
	else if (strcmp(what, "pidfd") == 0)
		list(link_to(SW_ITERATE_THREADS, pid, true), (size_t) number);
	else if (strcmp(what, "registers") == 0)
		registers(link_to(SW_ITERATE_THREADS, pid, false));
	else if (strcmp(what, "time") == 0)
		time_passes(link_to(SW_ITERATE_THREADS, pid, false), number);
	else if (strcmp(what, "handover") == 0)
		handover(pid, number);
	else if (strcmp(what, "refuse") == 0)
		refuse(argv[2]);
	else if (strcmp(what, "torn") == 0 && argc == 9)
		torn(pid, argv + 3);
	else if (strcmp(what, "captured") == 0 && argc == 9)
		captured(pid, argv + 3);
	else
		errx(2, "see the top of drive_iterate.c");
	return 0;
}
