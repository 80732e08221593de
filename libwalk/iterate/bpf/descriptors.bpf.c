/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each way in which a process gets and gives up descriptors, by its system calls: a copy of the thread where it gets one,
 * a short record where it gives one up.
 *
 * A descriptor is given up in the record before the kernel frees its number, that is when the call begins: whoever gets the number next
 * writes its own record later. It is got when the call returns. A number alone is no identity: each record has
 * the file, too.
 *
 * Not seen here: descriptors of io_uring, of seccomp's notifications and of ioctl(2), and what other processes
 * do with another table.
 */
#include "iterate/bpf/descriptors.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
	NR_open = 2,
	NR_close = 3,
	NR_pipe = 22,
	NR_dup = 32,
	NR_dup2 = 33,
	NR_socket = 41,
	NR_accept = 43,
	NR_recvmsg = 47,
	NR_socketpair = 53,
	NR_clone = 56,
	NR_execve = 59,
	NR_fcntl = 72,
	NR_creat = 85,
	NR_epoll_create = 213,
	NR_mq_open = 240,
	NR_inotify_init = 253,
	NR_openat = 257,
	NR_signalfd = 282,
	NR_timerfd_create = 283,
	NR_eventfd = 284,
	NR_accept4 = 288,
	NR_signalfd4 = 289,
	NR_eventfd2 = 290,
	NR_epoll_create1 = 291,
	NR_dup3 = 292,
	NR_pipe2 = 293,
	NR_inotify_init1 = 294,
	NR_perf_event_open = 298,
	NR_recvmmsg = 299,
	NR_fanotify_init = 300,
	NR_open_by_handle_at = 304,
	NR_memfd_create = 319,
	NR_bpf = 321,
	NR_execveat = 322,
	NR_userfaultfd = 323,
	NR_io_uring_setup = 425,
	NR_open_tree = 428,
	NR_fsopen = 430,
	NR_fsmount = 432,
	NR_fspick = 433,
	NR_pidfd_open = 434,
	NR_clone3 = 435,
	NR_close_range = 436,
	NR_openat2 = 437,
	NR_pidfd_getfd = 438,
	NR_landlock_create_ruleset = 444,
	NR_memfd_secret = 447,
	NR_open_tree_attr = 467,
};

/* include/uapi/linux/: fcntl.h, close_range.h, sched.h, socket.h (kernel's own) */
enum {
	F_DUPFD = 0,
	F_DUPFD_CLOEXEC = 1030,
	CLOSE_RANGE_UNSHARE = 2,
	CLOSE_RANGE_CLOEXEC = 4,
	CLONE_PIDFD = 0x1000,
	SOL_SOCKET = 1,
	SCM_RIGHTS = 1,
	SCM_PIDFD = 4,
};

/* Commands of bpf(2) that give a descriptor, as bits. */
static const uint64_t bpf_gives = UINT64_C(1) << 0 | UINT64_C(1) << 5 | UINT64_C(1) << 7 |
				  UINT64_C(1) << 13 | UINT64_C(1) << 14 | UINT64_C(1) << 17 |
				  UINT64_C(1) << 18 | UINT64_C(1) << 19 | UINT64_C(1) << 28 |
				  UINT64_C(1) << 30 | UINT64_C(1) << 32 | UINT64_C(1) << 33 |
				  UINT64_C(1) << 36;

struct user_msghdr {
	uint64_t name, name_bytes, iov, n_iov, control, control_bytes, flags;
};

struct user_cmsghdr {
	uint64_t bytes;
	int32_t level, type;
};

/* ---- the table -------------------------------------------------------------------------------- */

/* The table that /proc/PID/fd shows, of whoever makes the call; NULL: it is another one. *foreign: another process has
 * it, too. */
static __always_inline const struct files_struct *
table_of(struct sw_called_setup *called, const struct task_struct *task, bool *foreign)
{
	const struct files_struct *files = pointer_at(&task->files);
	*foreign = !is_process(called, task);
	if (*foreign)
		return called->files != 0 && (uint64_t) files == called->files ? files : NULL;
	if (called->files == (uint64_t) files)
		return files;
	const struct task_struct *leader = pointer_at(&task->group_leader);
	uint64_t of_leader = word_at(&leader->files);
	if (of_leader != (uint64_t) files && (of_leader != 0 || called->files != 0))
		return NULL;
	called->files = (uint64_t) files;
	return files;
}

/* ---- records ---------------------------------------------------------------------------------- */

/* Descriptors that one call gives, in one record. What is counted of them is in the buffer: the verifier would follow
 * each value of a counter on the stack. */
struct giving {
	struct scratch *s;
	struct sw_called_setup *called;
	const struct files_struct *files;
	uint64_t number;  /* of the event */
	uint64_t one;     /* descriptor, without at_avma */
	uint64_t at_avma; /* where their numbers stand */
};

static long handle_put(uint32_t index, void *arg)
{
	struct giving *g = arg;
	int32_t fd = (int32_t) g->one;
	if (g->s->n_parts >= SW_CALLED_HANDLES_MAX) {
		g->s->flags |= SW_SAMPLED_CUT;
		return 1;
	}
	if (g->at_avma != 0 &&
	    bpf_probe_read_user(&fd, sizeof(fd), (const void *) (g->at_avma + 4 * index)) != 0)
		return 1; /* the check at the end finds it */
	if (g->s->n_parts == 0)
		g->number = __sync_fetch_and_add(&g->called->n_events, 1);
	uint64_t file = file_of(g->files, (uint32_t) fd);
	const struct sw_called_event event = {
		.number = g->number,
		.what = SW_CALLED_ACQUIRED,
		.value = {(uint32_t) fd, inode_of(file), file},
	};
	event_put(g->s, &event);
	return 0;
}

/* Descriptors, with the thread that got them. Those that another process gave to the table have no stack. */
static __always_inline void giving_end(struct taking *t, bool foreign)
{
	if (t->s->n_parts == 0) {
		taking_drop(t);
		return;
	}
	if (t->s->flags & SW_SAMPLED_CUT)
		t->counts->n_no_space++;
	if (foreign)
		head_alone(t);
	else
		sample_make(t->s, t->task, t->setup, t->recipe, true);
	(void) taking_end(t); /* what was lost is counted */
}

/* ---- calls ------------------------------------------------------------------------------------ */

SEC("raw_tp/sys_enter")
int sw_descriptor_enter(const uint64_t *ctx)
{
	uint32_t zero = 0;
	uint64_t number = ctx[1];
	bool foreign;
	if (number != NR_close && number != NR_close_range)
		return 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	if (called == NULL || (user->cs & SELECTOR) == USER32_CS)
		return 0;
	const struct files_struct *files = table_of(called, task, &foreign);
	if (files == NULL)
		return 0;
	uint32_t first = (uint32_t) user->di, last = (uint32_t) user->si;
	if (number == NR_close) {
		uint64_t file = file_of(files, first);
		if (file != 0)
			alone_put(called, task, SW_CALLED_RELEASED, first, inode_of(file), file);
		return 0;
	}
	if (first <= last &&
	    ((uint32_t) user->dx & (CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE)) == 0)
		alone_put(called, task, SW_CALLED_RANGE, first, last, 0);
	return 0;
}

/* Descriptors in the control messages of one message. */
struct messages {
	struct giving g;
	uint64_t at, end;
	uint64_t first; /* of several messages */
};

enum { CONTROLS_MAX = 256 }; /* of all messages of one call */

static long message_look(uint32_t index, void *arg)
{
	struct messages *m = arg;
	struct user_cmsghdr head;
	(void) index;
	if (m->at + sizeof(head) > m->end)
		return 1;
	if (m->g.s->n_looked++ >= CONTROLS_MAX) {
		m->g.s->flags |= SW_SAMPLED_CUT;
		return 1;
	}
	if (bpf_probe_read_user(&head, sizeof(head), (const void *) m->at) != 0 ||
	    head.bytes < sizeof(head))
		return 1;
	uint64_t n = (head.bytes - sizeof(head)) / 4;
	if (n > SW_CALLED_HANDLES_MAX)
		n = SW_CALLED_HANDLES_MAX;
	m->g.at_avma = m->at + sizeof(head);
	if (n > 0 && head.level == SOL_SOCKET &&
	    (head.type == SCM_RIGHTS || head.type == SCM_PIDFD))
		(void) bpf_loop((uint32_t) n, handle_put, &m->g, 0);
	m->at += (head.bytes + 7) & ~UINT64_C(7);
	return 0;
}

static long batch_look(uint32_t index, void *arg)
{
	enum { MMSGHDR_BYTES = 64 };
	struct messages *m = arg;
	struct user_msghdr header;
	if ((m->g.s->flags & SW_SAMPLED_CUT) != 0 ||
	    bpf_probe_read_user(&header, sizeof(header),
				(const void *) (m->first + (uint64_t) index * MMSGHDR_BYTES)) != 0)
		return 1;
	m->at = header.control;
	m->end = header.control + header.control_bytes;
	(void) bpf_loop(CONTROLS_MAX + 1, message_look, m, 0);
	return 0;
}

/* Whether the result is a descriptor that is new. */
static __always_inline bool result_is_new(uint64_t number, const struct pt_regs *user)
{
	uint32_t first = (uint32_t) user->di, second = (uint32_t) user->si;
	switch (number) {
	case NR_dup2: return first != second;
	case NR_fcntl: return second == F_DUPFD || second == F_DUPFD_CLOEXEC;
	case NR_signalfd:
	case NR_signalfd4: return (int32_t) first == -1;
	case NR_bpf: return first < 64 && (bpf_gives >> first & 1);
	case NR_open:
	case NR_dup:
	case NR_socket:
	case NR_accept:
	case NR_creat:
	case NR_epoll_create:
	case NR_mq_open:
	case NR_inotify_init:
	case NR_openat:
	case NR_timerfd_create:
	case NR_eventfd:
	case NR_accept4:
	case NR_eventfd2:
	case NR_epoll_create1:
	case NR_dup3:
	case NR_inotify_init1:
	case NR_perf_event_open:
	case NR_fanotify_init:
	case NR_open_by_handle_at:
	case NR_memfd_create:
	case NR_userfaultfd:
	case NR_io_uring_setup:
	case NR_open_tree:
	case NR_fsopen:
	case NR_fsmount:
	case NR_fspick:
	case NR_pidfd_open:
	case NR_openat2:
	case NR_pidfd_getfd:
	case NR_landlock_create_ruleset:
	case NR_memfd_secret:
	case NR_open_tree_attr: return true;
	default: return false;
	}
}

/* Where a call has written new descriptors; 0: nowhere. */
static __always_inline uint64_t written_at(uint64_t number, const struct pt_regs *user,
					   int64_t result, uint32_t *ret_n)
{
	uint64_t words[2] = {0};
	*ret_n = 2;
	switch (number) {
	case NR_pipe:
	case NR_pipe2: return user->di;
	case NR_socketpair: return user->r10;
	case NR_clone: *ret_n = 1; return result > 0 && (user->di & CLONE_PIDFD) ? user->dx : 0;
	case NR_clone3:
		*ret_n = 1;
		if (result <= 0 ||
		    bpf_probe_read_user(words, sizeof(words), (const void *) user->di) != 0)
			return 0;
		return words[0] & CLONE_PIDFD ? words[1] : 0;
	default: return 0;
	}
}

/* Calls by which a process gets descriptors, or others than before. */
static __always_inline bool call_matters(uint64_t number, const struct pt_regs *user)
{
	switch (number) {
	case NR_pipe:
	case NR_pipe2:
	case NR_socketpair:
	case NR_clone:
	case NR_clone3:
	case NR_recvmsg:
	case NR_recvmmsg:
	case NR_execve:
	case NR_execveat: return true;
	default: return result_is_new(number, user);
	}
}

SEC("raw_tp/sys_exit")
int sw_descriptor_exit(const uint64_t *ctx)
{
	enum { BATCH_MAX = 1024 }; /* net/socket.c: UIO_MAXIOV */
	uint32_t zero = 0;
	int64_t result = (int64_t) ctx[1];
	bool foreign;
	if (result < 0)
		return 0;
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *user = (const struct pt_regs *) bpf_task_pt_regs((void *) task);
	uint64_t number = user->orig_ax;
	if (!call_matters(number, user) || (user->cs & SELECTOR) == USER32_CS)
		return 0;
	struct sw_called_setup *called = bpf_map_lookup_elem(&sw_called, &zero);
	const struct files_struct *files = called != NULL ? table_of(called, task, &foreign) : NULL;
	if (called == NULL || files == NULL)
		return 0;
	if (number == NR_execve || number == NR_execveat) {
		if (!foreign)
			table_put(called, files);
		return 0;
	}
	struct taking t;
	struct messages m = {.g = {.called = called, .files = files, .one = (uint64_t) result}};
	uint32_t n = 1;
	bool message = number == NR_recvmsg || number == NR_recvmmsg;
	if (!message && !result_is_new(number, user)) {
		m.g.at_avma = written_at(number, user, result, &n);
		if (m.g.at_avma == 0)
			return 0;
	}
	if (!(foreign ? taking_begin(&t, true) : taking_known(&t, called)))
		return 0;
	m.g.s = t.s;
	m.first = user->si;
	if (number == NR_recvmmsg)
		n = result < BATCH_MAX ? (uint32_t) result : BATCH_MAX;
	if (message)
		(void) bpf_loop(n, batch_look, &m, 0);
	else
		(void) bpf_loop(n, handle_put, &m.g, 0);
	giving_end(&t, foreign);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int sw_descriptor_ends(const uint64_t *ctx)
{
	(void) ctx;
	return thread_ends();
}
