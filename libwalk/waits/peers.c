/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each distinct file descriptor that threads wait on is followed once, by one thread that is seen to wait
 * on it before and after: that its context switches are the same in number proves that it did not return
 * from its call in between, so that the descriptor was the same file. Where the iterator took the thread,
 * the first look is the capture's. Processes at the other ends that have one thread are followed in the
 * same way, as far as they wait, too.
 */
#include "waits/peers.h"
#include "arch/arch.h"
#include "arch/syscall.h"
#include "cleanup.h"
#include "duration.h"
#include "process/proc.h"
#include "snapshot/module.h"
#include "snapshot/read.h"
#include "waits/calls.h"
#include "waits/fifo.h"
#include "waits/holders.h"
#include "waits/locks.h"
#include "waits/opens.h"
#include "waits/own_tids.h"
#include "waits/sockets.h"
#include "waits/unowned.h"
#include "waits/visible.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

enum {
	SCAN_CPU_NS = 40 * 1000 * 1000, /* for the scan of all processes */
	SCAN_NS = 400 * 1000 * 1000,
	NEAR_CPU_NS = 20 * 1000 * 1000, /* for the nearest processes, where that was not enough */
	NEAR_NS = 100 * 1000 * 1000,    /* sw_snapshot_take() lasts longer by both at most */
	FOLLOWED_MAX = 64,              /* distinct descriptors */
	PEERS_MAX = 64,
	STATUS_BYTES = 4096,
	LINK_BYTES = 512,
	LOCKS_BYTES = 65536,
	NS_PER_S = 1000000000,
	MS_PER_S = 1000,
};

/* The result for one descriptor. */
struct followed {
	struct sw_blocking_call call;
	size_t thread; /* the one that was looked at */
	uint64_t switches;
	struct sw_wait_for found;
	bool valid;
};

struct resolver {
	struct sw_snapshot *snap;
	const struct sw_snapshot_options *options;
	int proc_fd;
	struct sw_budget budget;
	bool scanned, tcp_read, locks_read;
	bool used_kept; /* a scan of before the capture: an end may have been handed on since */
	bool anew;      /* none but a scan of its own serves */
	struct sw_holders_kept *kept; /* borrowed: the context's, or own */
	struct sw_holders_kept own;
	struct sw_iterate_loading *files; /* borrowed */
	struct sw_budget
		near_budget; /* of all searches in the nearest processes; end_ns 0: not begun */
	struct sw_near_processes near;
	int64_t since_ns; /* for how long the thread that is resolved now has waited; -1: unknown */
	struct sw_tcp_ends tcp;
	char *locks; /* owned; NULL: none */
	struct followed followed[FOLLOWED_MAX];
	size_t n_followed;
	uint64_t peer_switches[PEERS_MAX];
};

bool sw_proc_syscall_parse(const char *text, struct sw_proc_syscall *ret)
{
	uint64_t *a = ret->arguments;
	return sscanf(text,
		      "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		      " %" SCNx64 " %" SCNx64 " %" SCNx64,
		      &ret->number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &ret->sp_avma,
		      &ret->pc_avma) == 9 &&
	       ret->number >= 0;
}

/* The number is as in sw_thread.syscall. */
static bool syscall_read(int proc_fd, const char *name, struct sw_proc_syscall *ret)
{
	char text[256];
	if (sw_proc_read_small(proc_fd, name, text, sizeof(text)) <= 0 ||
	    !sw_proc_syscall_parse(text, ret))
		return false;
	/* Programs for i386 have other numbers, and their stacks here; others nearly never. */
	if (ret->sp_avma <= UINT32_MAX && sw_proc_elf_class(proc_fd) == 32)
		ret->number += SW_SYSCALL_I386;
	return true;
}

/* How often a thread was switched out; 0: unknown, or it runs. */
static uint64_t switches_read(int proc_fd, const char *name)
{
	char text[STATUS_BYTES];
	return sw_proc_read_small(proc_fd, name, text, sizeof(text)) > 0 ? sw_proc_switches(text)
									 : 0;
}

static const struct sw_holders *holders(struct resolver *r)
{
	struct sw_holders_kept *kept = r->kept;
	int64_t now_ns = sw_clock_ns();
	if (r->scanned)
		return &kept->holders;
	if (!r->anew && sw_holders_kept_serve(kept, r->since_ns, now_ns)) {
		r->used_kept = true;
		return &kept->holders;
	}
	sw_holders_deinit(&kept->holders);
	kept->begin_ns = now_ns;
	/* By an iterator where this process has loaded one: the daemon's workers may not. */
	const struct sw_holders_way way = {.by_iterator = r->snap->ctx->iterator_fd >= 0,
					   .loading = r->files};
	sw_holders_scan(&kept->holders, r->snap->process.pid, &way, &r->budget);
	r->scanned = true;
	return &kept->holders;
}

static int proc_open(pid_t pid)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid); /* fits */
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool may_name(const struct resolver *r, pid_t pid)
{
	if (r->options->may_name == NULL || pid == r->snap->process.pid)
		return true;
	sw_cleanup(sw_close_p) int fd = proc_open(pid);
	return fd >= 0 && r->options->may_name(r->options->may_name_arg, fd);
}

static const char *keep(struct resolver *r, const char *text)
{
	return text[0] != '\0' ? sw_arena_strdup(&r->snap->priv->arena, text) : NULL;
}

/* The only thread of a process; 0: it has more, or is gone. */
static pid_t only_thread(pid_t pid)
{
	char path[64];
	struct stat st;
	(void) snprintf(path, sizeof(path), "/proc/%d/task", (int) pid); /* fits */
	return stat(path, &st) == 0 && st.st_nlink == 3 ? pid : 0;
}

static void owner_set(struct resolver *r, pid_t self, pid_t owner, struct sw_wait_for *ret)
{
	if (owner <= 0 || !may_name(r, owner))
		return;
	ret->owner_pid = owner;
	/* A thread may wait for itself: a signal handler may come, another thread may be
	 * started. */
	ret->owner_tid = owner != self ? only_thread(owner) : 0;
}

/*
 * The processes that have an end where not all files of the machine could be looked at: those that were seen, and of the
 * nearest processes what the rest of the time allows, which is one for all descriptors.
 */
static size_t near_ends_count(struct resolver *r, const struct sw_holders *all, pid_t self,
			      uint64_t inode, bool reads, pid_t *ret_owner)
{
	struct sw_holders near;
	if (r->near_budget.end_ns == 0)
		r->near_budget = sw_budget_begin(NEAR_CPU_NS, NEAR_NS);
	if (!sw_budget_spent(&r->near_budget))
		sw_near_processes_list(&r->near, self, r->snap->process.ppid);
	sw_holders_scan_near(&near, &r->near, inode, &r->near_budget);
	/* An end in the scanned part alone is often an old process that has inherited it. */
	size_t distinct = sw_holders_count_ends(&near, NULL, inode, !reads, ret_owner);
	if (distinct == 1)
		distinct = sw_holders_count_ends(all, &near, inode, !reads, ret_owner);
	sw_holders_deinit(&near);
	if (distinct == 0)
		sw_snapshot_note_limit(
			r->snap,
			"snapwalk looked for the other end of a pipe or socket in a part of "
			"the machine's open files, of which there are too many for 40 ms");
	return distinct;
}

/* The process that has the other end; of a pipe only its readers, or its writers, count. */
static void other_end(struct resolver *r, pid_t self, uint64_t inode, bool reads,
		      struct sw_wait_for *ret)
{
	const struct sw_holders *all = holders(r);
	pid_t owner = 0;
	size_t distinct = sw_holders_count_ends(all, NULL, inode, !reads, &owner);
	ret->proven = all->complete && r->scanned;
	ret->others = !all->complete;
	if (all->cut && distinct < 2)
		distinct = near_ends_count(r, all, self, inode, reads, &owner);
	if (distinct == 1)
		owner_set(r, self, owner, ret);
}

static void other_end_of_fifo(struct resolver *r, pid_t self, const struct sw_fifo *fifo,
			      const char *link, bool reads, struct sw_wait_for *ret)
{
	const struct sw_fifo_ends ends = sw_fifo_ends_find(fifo, link, reads, &r->budget);
	ret->kind = "fifo";
	ret->target = keep(r, link);
	ret->proven = ends.complete && sw_all_processes_listed();
	ret->others = !ret->proven;
	if (ends.distinct == 1 && !ends.cut)
		owner_set(r, self, ends.owner, ret);
}

/* A connection that waits for the process that listens to accept it, which may be the one that has made it. */
static void resolve_unaccepted(struct resolver *r, pid_t self, const struct sw_tcp_end *listener,
			       const char *address, struct sw_wait_for *ret)
{
	char text[SW_ADDRESS_TEXT_BYTES + 96];
	other_end(r, self, listener->inode, false, ret);
	(void) snprintf(text, sizeof(text),
			"%s, %s listening socket: %u connection%s to be accepted", address,
			ret->owner_pid == self ? "its own" : "a", listener->queued,
			listener->queued == 1 ? " waits" : "s wait"); /* fits */
	ret->target = keep(r, text);
}

static void resolve_tcp(struct resolver *r, int proc_fd, pid_t self, uint64_t inode,
			struct sw_wait_for *ret)
{
	char text[SW_ADDRESS_TEXT_BYTES];
	if (!r->tcp_read)
		sw_tcp_ends_read(&r->tcp, proc_fd, &r->budget);
	r->tcp_read = true;
	const struct sw_tcp_end *end = sw_tcp_ends_find(&r->tcp, inode);
	if (end == NULL || end->listens)
		return;
	const struct sw_tcp_end *peer = sw_tcp_ends_peer(&r->tcp, end);
	ret->kind = "tcp";
	sw_tcp_end_text(end, text);
	ret->target = keep(r, text);
	const struct sw_tcp_end *listener =
		peer != NULL && peer->inode == 0 ? sw_tcp_ends_listener(&r->tcp, peer) : NULL;
	if (listener != NULL)
		resolve_unaccepted(r, self, listener, text, ret);
	else if (peer != NULL && peer->inode != 0)
		other_end(r, self, peer->inode, false, ret);
}

/* The link of a descriptor. Returns false if the descriptor is not there any more. */
static bool fd_link_read(int proc_fd, int64_t fd, char ret[static LINK_BYTES])
{
	char name[32];
	(void) snprintf(name, sizeof(name), "fd/%" PRId64, fd); /* fits */
	ssize_t n = readlinkat(proc_fd, name, ret, LINK_BYTES - 1);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

static void resolve_descriptor(struct resolver *r, int proc_fd, pid_t self,
			       const struct sw_blocking_call *call, struct sw_wait_for *ret)
{
	char link[LINK_BYTES];
	uint64_t inode = 0;
	struct sw_fifo fifo;
	if (!fd_link_read(proc_fd, call->fd, link))
		return;
	if (sw_fd_link_parse(link, "pipe", &inode)) {
		ret->kind = "pipe";
		other_end(r, self, inode, call->writes, ret);
	} else if (sw_fd_link_parse(link, "socket", &inode)) {
		uint64_t peer = sw_unix_peer(inode);
		if (peer != 0) {
			ret->kind = "unix_socket";
			other_end(r, self, peer, false, ret);
		} else {
			resolve_tcp(r, proc_fd, self, inode, ret);
		}
	} else if (link[0] == '/' && sw_fifo_of(proc_fd, call->fd, &fifo)) {
		other_end_of_fifo(r, self, &fifo, link, !call->writes, ret);
	} else if (!call->writes && strcmp(link, "anon_inode:[timerfd]") == 0) {
		char text[SW_UNOWNED_TEXT_BYTES];
		ret->kind = "timer";
		if (sw_timerfd_text(proc_fd, call->fd, text))
			ret->target = keep(r, text);
	} else {
		ret->target = keep(r, link);
	}
}

static void resolve_ipc(struct resolver *r, int proc_fd, const struct sw_blocking_call *call,
			struct sw_wait_for *ret)
{
	char text[SW_UNOWNED_TEXT_BYTES];
	bool messages = call->kind == SW_BLOCKS_MESSAGES;
	ret->kind = messages ? "message_queue" : "semaphore_set";
	sw_ipc_text(proc_fd, messages, call->id, call->writes, text);
	ret->target = keep(r, text);
}

/* As much as there is space for; the kernel gives a page or so at a time. */
static void locks_read(char text[static LOCKS_BYTES])
{
	sw_cleanup(sw_close_p) int fd = open("/proc/locks", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n = fd;
	while (n >= 0 && size < LOCKS_BYTES - 1) {
		n = read(fd, text + size, LOCKS_BYTES - 1 - size);
		if (n <= 0)
			break;
		size += (size_t) n;
	}
	text[size] = '\0';
}

static void resolve_lock(struct resolver *r, int proc_fd, pid_t self,
			 const struct sw_blocking_call *call, struct sw_wait_for *ret)
{
	char name[32], text[STATUS_BYTES];
	uint64_t inode = 0;
	ret->kind = "file_lock";
	(void) snprintf(name, sizeof(name), "fdinfo/%" PRId64, call->fd); /* fits */
	if (sw_proc_read_small(proc_fd, name, text, sizeof(text)) <= 0 ||
	    !sw_proc_status_number(text, "ino", &inode)) /* Linux 5.14 */
		return;
	if (!r->locks_read)
		r->locks = calloc(1, LOCKS_BYTES);
	if (!r->locks_read && r->locks != NULL)
		locks_read(r->locks);
	r->locks_read = true;
	if (r->locks == NULL)
		return;
	ret->proven = true;
	owner_set(r, self, sw_file_lock_owner(r->locks, self, inode, call->kind == SW_BLOCKS_FLOCK),
		  ret);
	char link[LINK_BYTES];
	if (fd_link_read(proc_fd, call->fd, link))
		ret->target = keep(r, link);
}

/* The child of that number in the pid namespace of the process; wanted 0: the only one. */
static pid_t child_find(const struct resolver *r, int proc_fd, pid_t self, pid_t wanted)
{
	char name[64], text[STATUS_BYTES];
	pid_t found = 0;
	size_t n = 0;
	for (size_t i = 0; i < r->snap->n_threads; i++) {
		pid_t tid = self == r->snap->process.pid ? r->snap->threads[i].tid : self;
		(void) snprintf(name, sizeof(name), "task/%d/children", (int) tid); /* fits */
		if (sw_proc_read_small(proc_fd, name, text, sizeof(text)) > 0) {
			char *at = text, *end;
			for (long child; (child = strtol(at, &end, 10)) > 0 && end != at;
			     at = end) {
				char status[STATUS_BYTES];
				size_t levels = 0;
				pid_t own = (pid_t) child;
				(void) snprintf(name, sizeof(name), "/proc/%ld/status",
						child); /* fits */
				if (r->snap->threads[0].own_tid != 0 &&
				    sw_proc_read_small(AT_FDCWD, name, status, sizeof(status)) > 0)
					own = sw_own_tid_parse(status, &levels);
				if (wanted == own || wanted == 0) {
					found = (pid_t) child;
					n++;
				}
			}
		}
		if (self != r->snap->process.pid)
			break;
	}
	return n == 1 ? found : 0;
}

static void resolve(struct resolver *r, int proc_fd, pid_t self,
		    const struct sw_blocking_call *call, struct sw_wait_for *ret)
{
	*ret = (struct sw_wait_for){.fd = call->fd};
	switch (call->kind) {
	case SW_BLOCKS_DESCRIPTOR: resolve_descriptor(r, proc_fd, self, call, ret); break;
	case SW_BLOCKS_FLOCK:
	case SW_BLOCKS_FCNTL: resolve_lock(r, proc_fd, self, call, ret); break;
	case SW_BLOCKS_WAIT:
		ret->proven = true;
		ret->kind = "child";
		owner_set(r, self, child_find(r, proc_fd, self, call->pid), ret);
		break;
	case SW_BLOCKS_MESSAGES:
	case SW_BLOCKS_SEMAPHORES: resolve_ipc(r, proc_fd, call, ret); break;
	case SW_BLOCKS_OPEN:
	case SW_BLOCKS_NOT: break;
	}
	ret->proven = ret->proven && !call->limited;
}

/* ---- the process's own threads ---------------------------------------------------------------- */

static bool in_same_call(const struct resolver *r, const struct sw_thread *t)
{
	struct sw_proc_syscall now;
	char name[64];
	uint64_t first = 0;
	(void) snprintf(name, sizeof(name), "task/%d/syscall", (int) t->tid); /* fits */
	return syscall_read(r->proc_fd, name, &now) &&
	       (now.number == t->syscall || now.number == SYS_restart_syscall) &&
	       sw_regs_get(&t->regs, sw_arch_syscall_register(false, 0), &first) &&
	       now.arguments[0] == first && now.sp_avma == t->regs.sp_avma &&
	       now.pc_avma == t->regs.pc_avma;
}

static uint64_t switches_of(const struct resolver *r, const struct sw_thread *t)
{
	char name[64];
	(void) snprintf(name, sizeof(name), "task/%d/status", (int) t->tid); /* fits */
	return switches_read(r->proc_fd, name);
}

static bool same_call(const struct sw_blocking_call *a, const struct sw_blocking_call *b)
{
	return a->kind == b->kind && a->fd == b->fd && a->writes == b->writes && a->pid == b->pid &&
	       a->id == b->id && a->path_avma == b->path_avma && a->limited == b->limited;
}

/* The one that is known for the call; NULL: there is no space for another one. */
static struct followed *followed_find(struct resolver *r, const struct sw_blocking_call *call,
				      size_t thread)
{
	for (size_t i = 0; i < r->n_followed; i++)
		if (same_call(&r->followed[i].call, call))
			return &r->followed[i];
	if (r->n_followed == FOLLOWED_MAX)
		sw_snapshot_note_limit(r->snap, "snapwalk looked for the other end of 64 "
						"descriptors; threads wait on more");
	if (r->n_followed == FOLLOWED_MAX || sw_budget_spent(&r->budget))
		return NULL;
	struct followed *f = &r->followed[r->n_followed++];
	const struct sw_thread *t = &r->snap->threads[thread];
	*f = (struct followed){.call = *call, .thread = thread};
	f->switches = t->switches != 0 ? t->switches : switches_of(r, t);
	if (f->switches == 0 || (t->switches == 0 && !in_same_call(r, t)))
		return f;
	f->valid = true;
	if (call->kind == SW_BLOCKS_OPEN)
		f->valid = sw_open_waits(r->snap, t, call->path_avma, &f->found);
	else {
		r->since_ns = t->since_ns;
		resolve(r, r->proc_fd, r->snap->process.pid, call, &f->found);
	}
	return f;
}

/* ---- others ------------------------------------------------------------------------------------ */

static struct sw_peer *peer_find(const struct sw_snapshot *snap, pid_t pid)
{
	for (size_t i = 0; i < snap->n_peers; i++)
		if (snap->peers[i].pid == pid)
			return &snap->peers[i];
	return NULL;
}

static void peer_add(struct resolver *r, const struct sw_wait_for *wait)
{
	struct sw_snapshot *snap = r->snap;
	char path[64];
	struct sw_proc_stat stat;
	if (wait->owner_pid == 0 || wait->owner_pid == snap->process.pid ||
	    peer_find(snap, wait->owner_pid) != NULL)
		return;
	if (snap->n_peers == PEERS_MAX) {
		sw_snapshot_note_limit(snap, "snapwalk looked for what 64 other processes wait "
					     "for; threads wait for more of them");
		return;
	}
	(void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) wait->owner_pid); /* fits */
	if (!sw_proc_stat_read(AT_FDCWD, path, &stat))
		return;
	struct sw_peer *peer = &snap->peers[snap->n_peers++];
	*peer = (struct sw_peer){.pid = wait->owner_pid,
				 .tid = wait->owner_tid,
				 .state = stat.state,
				 .syscall = -1};
	memcpy(peer->comm, stat.comm, sizeof(peer->comm));
}

/* The wait of a process with one thread. The call comes first: its descriptor is of that time. */
static void peer_follow(struct resolver *r, struct sw_peer *peer, uint64_t *ret_switches)
{
	sw_cleanup(sw_close_p) int fd = peer->tid != 0 ? proc_open(peer->pid) : -EBADF;
	struct sw_proc_syscall now;
	struct sw_blocking_call call;
	if (fd < 0)
		return;
	uint64_t switches = switches_read(fd, "status");
	if (switches == 0 || !syscall_read(fd, "syscall", &now))
		return;
	peer->syscall = now.number;
	*ret_switches = switches;
	r->since_ns = -1;
	if (sw_blocking_call_of(now.number, now.arguments, &call))
		resolve(r, fd, peer->pid, &call, &peer->wait_for);
}

/* Forgets what was found for those that moved meanwhile. */
static void check_again(struct resolver *r)
{
	struct sw_snapshot *snap = r->snap;
	for (size_t i = 0; i < snap->n_peers; i++) {
		struct sw_peer *peer = &snap->peers[i];
		sw_cleanup(sw_close_p) int fd =
			peer->wait_for.owner_pid != 0 ? proc_open(peer->pid) : -EBADF;
		if (fd < 0 || switches_read(fd, "status") != r->peer_switches[i])
			peer->wait_for = (struct sw_wait_for){.fd = -1};
	}
	for (size_t i = 0; i < r->n_followed; i++) {
		struct followed *f = &r->followed[i];
		f->valid = f->valid && switches_of(r, &snap->threads[f->thread]) == f->switches;
	}
}

/* ---- all --------------------------------------------------------------------------------------- */

static bool is_blocked(const struct sw_thread *t)
{
	return t->captured && (t->state == 'S' || t->state == 'D' || t->state == 'T') &&
	       t->syscall >= 0;
}

static bool call_of_thread(const struct sw_snapshot *snap, const struct sw_thread *t,
			   struct sw_blocking_call *ret)
{
	uint64_t arguments[6] = {0};
	for (unsigned i = 0; i < SW_ARRAY_SIZE(arguments); i++)
		if (!sw_regs_get(&t->regs, sw_arch_syscall_register(false, i), &arguments[i]))
			return false;
	struct sw_snapshot_memory memory = {.snap = snap, .no_live = true};
	struct sw_memory m = sw_snapshot_memory(&memory);
	struct pollfd one;
	/* A poll() of one descriptor is a read or a write with a time limit. */
	if ((t->syscall == SYS_poll || t->syscall == SYS_ppoll) && arguments[1] == 1 &&
	    m.ops->read(m.arg, arguments[0], &one, sizeof(one)) && one.fd >= 0) {
		*ret = (struct sw_blocking_call){.kind = SW_BLOCKS_DESCRIPTOR,
						 .fd = one.fd,
						 .writes = (one.events & POLLIN) == 0,
						 .limited = t->syscall == SYS_poll
								    ? (int) arguments[2] >= 0
								    : arguments[2] != 0};
		return true;
	}
	return sw_blocking_call_of(t->syscall, arguments, ret);
}

/* When a sleep ends: what was asked for, less what has passed. */
static void resolve_timer(struct resolver *r, struct sw_thread *t)
{
	struct timespec asked, now = {0};
	uint64_t clock = 0, flags = 0, avma = 0;
	bool plain = t->syscall == SYS_nanosleep;
	struct sw_snapshot_memory memory = {.snap = r->snap, .no_live = true};
	struct sw_memory m = sw_snapshot_memory(&memory);
	if ((!plain && t->syscall != SYS_clock_nanosleep) ||
	    !sw_regs_get(&t->regs, sw_arch_syscall_register(false, 0), &clock) ||
	    !sw_regs_get(&t->regs, sw_arch_syscall_register(false, 1), &flags) ||
	    !sw_regs_get(&t->regs, sw_arch_syscall_register(false, plain ? 0 : 2), &avma) ||
	    !m.ops->read(m.arg, avma, &asked, sizeof(asked)) || asked.tv_sec < 0)
		return;
	bool absolute = !plain && (flags & TIMER_ABSTIME) != 0;
	if (absolute ? clock > CLOCK_BOOTTIME || clock_gettime((clockid_t) clock, &now) < 0
		     : t->since_ns < 0)
		return;
	double left = (double) asked.tv_sec + (double) asked.tv_nsec / NS_PER_S -
		      (absolute ? (double) now.tv_sec + (double) now.tv_nsec / NS_PER_S
				: (double) t->since_ns / NS_PER_S);
	struct sw_wait_for *wait =
		left >= 0 ? sw_arena_calloc(&r->snap->priv->arena, 1, sizeof(*wait)) : NULL;
	if (wait == NULL)
		return;
	char duration[SW_DURATION_BYTES], text[64];
	double left_ms =
		left < (double) INT64_MAX / NS_PER_S ? left * MS_PER_S : (double) INT64_MAX / 2;
	sw_duration_format(duration, (int64_t) left_ms);
	(void) snprintf(text, sizeof(text), "ends in %s", duration); /* fits */
	*wait = (struct sw_wait_for){.kind = "timer", .target = keep(r, text), .fd = -1};
	t->wait_for = wait;
}

/* From threads to what they wait for, and from processes that they wait for to theirs. */
static void follow(struct resolver *r, struct followed **by_thread)
{
	struct sw_snapshot *snap = r->snap;
	for (size_t i = 0; by_thread != NULL && i < snap->n_threads; i++) {
		struct sw_blocking_call call;
		if (is_blocked(&snap->threads[i]))
			resolve_timer(r, &snap->threads[i]);
		if (is_blocked(&snap->threads[i]) && call_of_thread(snap, &snap->threads[i], &call))
			by_thread[i] = followed_find(r, &call, i);
	}
	for (size_t i = 0; i < r->n_followed; i++)
		if (r->followed[i].valid)
			peer_add(r, &r->followed[i].found);
	for (size_t i = 0; i < snap->n_peers; i++) { /* grows */
		peer_follow(r, &snap->peers[i], &r->peer_switches[i]);
		peer_add(r, &snap->peers[i].wait_for);
	}
}

/* Whether another process waits for this one, so that there may be a deadlock, which has to be proven. */
static bool leads_back(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_peers; i++)
		if (snap->peers[i].wait_for.owner_pid == snap->process.pid)
			return true;
	return false;
}

static void run(struct resolver *r)
{
	struct sw_snapshot *snap = r->snap;
	struct followed **by_thread =
		sw_arena_calloc(&snap->priv->arena, snap->n_threads, sizeof(*by_thread));
	follow(r, by_thread);
	if (r->used_kept && leads_back(snap)) {
		r->anew = true;
		r->n_followed = snap->n_peers = 0;
		follow(r, by_thread);
	}
	check_again(r);
	for (size_t i = 0; by_thread != NULL && i < snap->n_threads; i++) {
		const struct followed *f = by_thread[i];
		struct sw_wait_for *wait =
			f != NULL && f->valid
				? sw_arena_calloc(&snap->priv->arena, 1, sizeof(*wait))
				: NULL;
		if (wait == NULL)
			continue;
		*wait = f->found;
		wait->proven = f->thread == i && f->found.proven;
		snap->threads[i].wait_for = wait;
	}
}

static void kept_destroy(void *value)
{
	struct sw_holders_kept *kept = value;
	sw_holders_deinit(&kept->holders);
	free(kept);
}

/* The scan of the snapshots of a context; NULL: there is no memory for it. */
static struct sw_holders_kept *kept_find(struct sw_context *ctx)
{
	static const char key;
	void **value = sw_slots_get(&ctx->slots, &key, kept_destroy);
	if (value != NULL && *value == NULL)
		*value = calloc(1, sizeof(struct sw_holders_kept));
	return value != NULL ? *value : NULL;
}

void sw_peers_foresee(struct sw_snapshot *snap, int proc_fd, struct sw_iterate_loading *files)
{
	const struct sw_holders_kept *kept = kept_find(snap->ctx);
	struct sw_proc_syscall now;
	struct sw_blocking_call call;
	char link[LINK_BYTES];
	uint64_t inode;
	if (kept != NULL && kept->begin_ns != 0) /* it may serve */
		return;
	if (syscall_read(proc_fd, "syscall", &now) &&
	    sw_blocking_call_of(now.number, now.arguments, &call) &&
	    call.kind == SW_BLOCKS_DESCRIPTOR && fd_link_read(proc_fd, call.fd, link) &&
	    (sw_fd_link_parse(link, "pipe", &inode) || sw_fd_link_parse(link, "socket", &inode)))
		sw_iterate_loading_begin(files, SW_ITERATE_FILES);
}

void sw_peers_fill(struct sw_snapshot *snap, int proc_fd, const struct sw_snapshot_options *options,
		   struct sw_iterate_loading *files)
{
	struct resolver *r = calloc(1, sizeof(*r));
	snap->peers = sw_arena_calloc(&snap->priv->arena, PEERS_MAX, sizeof(*snap->peers));
	if (r != NULL && snap->peers != NULL) {
		r->snap = snap;
		r->options = options;
		r->proc_fd = proc_fd;
		r->files = files;
		r->budget = sw_budget_begin(SCAN_CPU_NS, SCAN_NS);
		r->kept = kept_find(snap->ctx);
		if (r->kept == NULL)
			r->kept = &r->own;
		run(r);
		sw_holders_deinit(&r->own.holders);
		sw_tcp_ends_deinit(&r->tcp);
		sw_near_processes_deinit(&r->near);
		free(r->locks);
	}
	free(r);
}
