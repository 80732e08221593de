/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The wait of a thread is told by its system call's arguments, and for a futex by the function that
 * is known to wait so. libwalk tells who holds a lock of which kind, if it is one; the name of the
 * function proves that it is one.
 */
#include "report/waits.h"
#include "cleanup.h"
#include "report/activity.h"
#include "report/frame_kind.h"
#include "report/library_waits.h"
#include "report/undecided.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	REG_RSI = 4,
	REG_RDI = 5,
	REG_R10 = 10,
	FRAMES_SEEN = SW_UNDECIDED_FRAMES,
	STD_FRAMES_SEEN = 8, /* a program's own functions may have such types in their names, too */
	ONCES_MAX = 16,
	LOST_NS = 100 * 1000 * 1000, /* a thread that has just begun is not listed yet */
};

/* A function that waits on a futex. Names as glibc 2.31 to 2.42 and musl 1.2 have them, in debug
 * information and in symbol tables, without the underscores in front. */
static const struct {
	const char *function, *kind;
} futex_functions[] = {
	{"pthread_mutex_lock", "mutex"},
	{"pthread_mutex_lock_full", "mutex"},
	{"pthread_mutex_timedlock", "mutex"},
	{"pthread_mutex_clocklock", "mutex"},
	{"pthread_mutex_clocklock_common", "mutex"},
	{"pthread_mutex_cond_lock", "mutex"},
	{"pthread_rwlock_rdlock", "rwlock"},
	{"pthread_rwlock_wrlock", "rwlock"},
	{"pthread_rwlock_timedrdlock", "rwlock"},
	{"pthread_rwlock_timedwrlock", "rwlock"},
	{"pthread_cond_wait", "condition"},
	{"pthread_cond_timedwait", "condition"},
	{"pthread_cond_clockwait", "condition"},
	{"pthread_barrier_wait", "barrier"},
	{"sem_wait", "semaphore"},
	{"new_sem_wait", "semaphore"},
	{"new_sem_wait_slow64", "semaphore"},
	{"new_sem_wait_slow", "semaphore"},
	{"sem_timedwait", "semaphore"},
	{"sem_clockwait", "semaphore"},
	{"pthread_join", "thread"},
	{"pthread_timedjoin_np", "thread"},
	{"pthread_clockjoin_ex", "thread"},
	{"lockfile", "stdio"}, /* musl; glibc's is known by its words */
	{"pthread_once", "once"},
	{"pthread_once_slow", "once"},
	{"pthread_once_full", "once"},
	{"cxa_guard_acquire", "static_init"},
};

/*
 * The functions by which C++20 waits, by a part of the name: libstdc++ (10 to 14) has the type in
 * the arguments of its templates, where it is not inlined. A thread that waits for an atomic is in
 * functions that the others call.
 */
static const struct {
	const char *part, *kind;
} std_functions[] = {
	{"std::latch::", "std_latch"},
	{"std::__tree_barrier<", "std_barrier"},
	{"std::barrier<", "std_barrier"},
	{"std::__atomic_semaphore", "std_semaphore"},
	{"std::__platform_semaphore", "std_semaphore"},
	{"std::counting_semaphore<", "std_semaphore"},
	{"std::__atomic_futex_unsigned_base::", "std_future"},
	{"std::__atomic_base<", "std_atomic"},
	{"std::atomic<", "std_atomic"},
	{"std::atomic_flag::", "std_atomic"},
};

/* System calls and what they wait for; the first argument is a file descriptor, a process or
 * nothing of interest. */
static const struct {
	const char *call, *kind;
	bool fd;
} calls[] = {
	{"read", "file", true},
	{"write", "file", true},
	{"readv", "file", true},
	{"writev", "file", true},
	{"pread64", "file", true},
	{"pwrite64", "file", true},
	{"fsync", "file", true},
	{"open", "file", false},
	{"openat", "file", false},
	{"openat2", "file", false},
	{"creat", "file", false},
	{"recvfrom", "socket", true},
	{"recvmsg", "socket", true},
	{"recvmmsg", "socket", true},
	{"sendto", "socket", true},
	{"sendmsg", "socket", true},
	{"sendmmsg", "socket", true},
	{"connect", "socket", true},
	{"accept", "connection", true},
	{"accept4", "connection", true},
	{"epoll_wait", "epoll", true},
	{"epoll_pwait", "epoll", true},
	{"epoll_pwait2", "epoll", true},
	{"flock", "file_lock", true},
	{"fcntl", "file_lock", true},
	{"poll", "poll", false},
	{"ppoll", "poll", false},
	{"select", "poll", false},
	{"pselect6", "poll", false},
	{"msgrcv", "message_queue", false},
	{"msgsnd", "message_queue", false},
	{"semop", "semaphore_set", false},
	{"semtimedop", "semaphore_set", false},
	{"nanosleep", "timer", false},
	{"clock_nanosleep", "timer", false},
	{"wait4", "child", false},
	{"waitid", "child", false},
	{"pause", "signal", false},
	{"rt_sigsuspend", "signal", false},
	{"rt_sigtimedwait", "signal", false},
};

/* NULL: it waits with nothing of the standard library. */
static const char *std_kind(const struct sw_report_stack *s)
{
	size_t n = s == NULL ? 0 : s->n_frames < STD_FRAMES_SEEN ? s->n_frames : STD_FRAMES_SEEN;
	for (size_t i = 0; i < n; i++) {
		const char *name = s->frames[i].function;
		const char *own = name != NULL ? strstr(name, "std::") : NULL;
		/* Behind what it returns, and neither in its arguments nor in those of a template. */
		if (own == NULL || strcspn(name, "<(") < (size_t) (own - name))
			continue;
		for (size_t k = 0; k < SW_ARRAY_SIZE(std_functions); k++)
			if (strstr(name, std_functions[k].part) != NULL)
				return std_functions[k].kind;
	}
	return NULL;
}

static const char *kind_of_functions(const struct sw_report *r, const struct sw_report_stack *s)
{
	size_t n = s == NULL ? 0 : s->n_frames < FRAMES_SEEN ? s->n_frames : FRAMES_SEEN;
	for (size_t i = 0; i < n; i++) {
		const char *name = s->frames[i].function;
		if (name == NULL)
			continue;
		name += strspn(name, "_");
		name = strncmp(name, "GI_", 3) == 0 ? name + 3 + strspn(name + 3, "_") : name;
		for (size_t k = 0; k < SW_ARRAY_SIZE(futex_functions); k++) {
			size_t size = strlen(futex_functions[k].function);
			/* a symbol may have its version behind it, or what the compiler made of it
			 */
			if (strncmp(name, futex_functions[k].function, size) == 0 &&
			    (name[size] == '\0' || name[size] == '@' || name[size] == '.'))
				return futex_functions[k].kind;
		}
	}
	if (sw_is_at_rust_once(r, s))
		return "rust_once";
	const char *kind = std_kind(s);
	return kind != NULL ? kind : "futex";
}

/* By the innermost function of the program's language. */
static bool is_asleep(const struct sw_report_stack *s, const char *kind)
{
	static const char *const ways[] = {"condition", "futex", "poll"};
	size_t n = s == NULL ? 0 : s->n_frames < FRAMES_SEEN ? s->n_frames : FRAMES_SEEN, way = 0;
	while (way < SW_ARRAY_SIZE(ways) && strcmp(kind, ways[way]) != 0)
		way++;
	for (size_t i = 0; way < SW_ARRAY_SIZE(ways) && i < n; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		if (sw_frame_is_managed(f) && !f->internal && f->function != NULL)
			return sw_frame_is_sleep(f);
	}
	return false;
}

static bool is_guard(const struct sw_report_frame *f)
{
	return f->function != NULL && strcmp(f->function, "__cxa_guard_acquire") == 0;
}

/* The function whose static variable a thread waits for; NULL: it is not known. */
static const char *static_function(const struct sw_report_stack *s)
{
	for (size_t i = 0; s != NULL && i + 1 < s->n_frames && i < FRAMES_SEEN; i++)
		if (is_guard(&s->frames[i]))
			return s->frames[i + 1].function;
	return NULL;
}

/* Whether a thread is in the function, and does not wait there for its variable. */
static bool is_inside(const struct sw_report_stack *s, const char *function)
{
	for (size_t i = 0; i < s->n_frames; i++)
		if (sw_same_text(s->frames[i].function, function) &&
		    (i == 0 || !is_guard(&s->frames[i - 1])))
			return true;
	return false;
}

/*
 * The thread that initialises the static variable for which another one waits: it is stored
 * nowhere, but that thread is in the same function. 0: there are several, which may have another
 * variable of it or be behind it, or not all stacks are known.
 */
static pid_t static_runner(const struct sw_report *r, const struct sw_report_thread *thread)
{
	const char *function = static_function(sw_stack_of(r, thread));
	pid_t found = 0;
	for (size_t i = 0; function != NULL && i < r->n_stacks; i++) {
		const struct sw_report_stack *s = &r->stacks[i];
		if (s->n_threads == 0) /* of no thread */
			continue;
		bool inside = is_inside(s, function);
		if (s->why != NULL || (inside && (found != 0 || s->n_threads > 1)))
			return 0;
		if (inside)
			found = r->threads[s->threads[0]].tid;
	}
	return found;
}

static const char *lost_text(struct sw_report_builder *b, uint32_t owner)
{
	char text[80];
	(void) snprintf(text, sizeof(text),
			"its owner (%" PRIu32 ") has ended, or was left behind by a fork",
			owner); /* fits */
	return sw_report_copy(b, text);
}

static bool is_rust_once(const char *kind)
{
	return strcmp(kind, "rust_once") == 0;
}

/* The threads that run the functions of pthread_once() and of Rust's Once: all stacks are searched for each, so that a
 * process decides how long that takes. */
struct onces {
	size_t n;
	uint64_t avma[ONCES_MAX];
	pid_t tid[ONCES_MAX];
};

static void once_search(struct sw_report_builder *b, struct onces *onces,
			const struct sw_thread *from, const char *kind,
			struct sw_report_futex *futex)
{
	for (size_t i = 0; i < onces->n; i++) {
		if (onces->avma[i] == futex->word_avma) {
			futex->once_owner = onces->tid[i];
			return;
		}
	}
	if (onces->n == ONCES_MAX) {
		futex->once_unknown = true;
		return;
	}
	const struct sw_snapshot *snap = b->walks->snap;
	pid_t tid = is_rust_once(kind)
			    ? sw_rust_once_runner(b->report, snap, from, futex->word_avma)
			    : sw_once_runner(snap, from, futex->word_avma);
	if (tid < 0)
		return;
	futex->once_owner = tid;
	onces->avma[onces->n] = futex->word_avma;
	onces->tid[onces->n++] = futex->once_owner;
}

/* False: the thread is not in a futex. */
static bool futex_read(struct sw_report_builder *b, struct onces *onces,
		       const struct sw_thread *from, const struct sw_report_thread *thread,
		       struct sw_report_futex *ret)
{
	struct sw_futex_wait wait;
	const struct sw_report_stack *s = sw_stack_of(b->report, thread);
	if (!sw_futex_wait(b->walks->snap, from, &wait))
		return false;
	*ret = (struct sw_report_futex){
		.word_avma = wait.word_avma,
		.mutex_owner = wait.mutex_owner,
		.rwlock_owner = wait.rwlock_owner,
		.joined = wait.joined,
		.stdio_owner = wait.stdio_owner,
		.lost_owner = from->since_ns > LOST_NS ? wait.lost_owner : 0,
		.is_stdio = wait.is_stdio,
	};
	const char *kind = kind_of_functions(b->report, s);
	if (strcmp(kind, "once") == 0 || is_rust_once(kind) ||
	    (strcmp(kind, "futex") == 0 && !ret->is_stdio && !sw_stack_is_settled(b->report, s)))
		once_search(b, onces, from, kind, ret);
	return true;
}

static pid_t futex_owner(const struct sw_report *r, const struct sw_report_thread *thread,
			 const struct sw_report_futex *futex, const char *kind)
{
	const struct {
		const char *kind;
		pid_t owner;
	} owners[] = {
		{"mutex", futex->mutex_owner}, {"rwlock", futex->rwlock_owner},
		{"thread", futex->joined},     {"once", futex->once_owner},
		{"stdio", futex->stdio_owner}, {"rust_once", futex->once_owner},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(owners); i++)
		if (strcmp(owners[i].kind, kind) == 0)
			return owners[i].owner;
	return strcmp(kind, "static_init") == 0 ? static_runner(r, thread) : 0;
}

/* Functions on the stack decide which of the facts holds. */
static void futex_decide(struct sw_report_builder *b, const struct sw_report_thread *thread,
			 const struct sw_report_futex *futex, struct sw_report_wait *ret)
{
	const char *kind = kind_of_functions(b->report, sw_stack_of(b->report, thread));
	if (strcmp(kind, "futex") == 0 && futex->is_stdio)
		kind = "stdio";
	*ret = (struct sw_report_wait){.kind = kind,
				       .has_address = true,
				       .address_avma = futex->word_avma,
				       .fd = -1,
				       .owner_tid = futex_owner(b->report, thread, futex, kind),
				       .trust = "syscall"};
	if ((strcmp(kind, "once") == 0 || is_rust_once(kind)) && futex->once_unknown)
		ret->target = "who runs it was not searched for: threads wait for too many of them";
	if (strcmp(kind, "mutex") == 0 && futex->lost_owner != 0)
		ret->target = lost_text(b, futex->lost_owner);
	if (ret->owner_tid != 0) {
		ret->trust = strcmp(kind, "static_init") == 0 ? "stack" : "memory";
		ret->owner_pid = b->report->process.pid;
	}
}

/* Fill in what the kernel says of the process that it waits for. */
static void kernel_fill(struct sw_report_builder *b, const struct sw_wait_for *from,
			struct sw_report_wait *ret)
{
	if (from == NULL)
		return;
	if (from->kind != NULL)
		ret->kind = from->kind;
	if (from->fd >= 0)
		ret->fd = from->fd;
	ret->target = sw_report_copy(b, from->target);
	ret->owner_pid = from->owner_pid;
	ret->owner_tid = from->owner_tid;
	if (from->kind != NULL || from->target != NULL)
		ret->trust = from->others && from->owner_pid != 0 ? "visible" : "kernel";
}

static bool call_fill(struct sw_report_builder *b, const struct sw_thread *from,
		      const struct sw_report_thread *thread, struct sw_report_wait *ret)
{
	size_t i = 0;
	while (i < SW_ARRAY_SIZE(calls) &&
	       (thread->syscall == NULL || strcmp(calls[i].call, thread->syscall) != 0))
		i++;
	if (i == SW_ARRAY_SIZE(calls))
		return false;
	*ret = (struct sw_report_wait){.kind = calls[i].kind, .fd = -1, .trust = "syscall"};
	if (calls[i].fd && from->captured && (from->regs.known & (1u << REG_RDI)) &&
	    from->regs.val[REG_RDI] <= INT32_MAX)
		ret->fd = (int64_t) from->regs.val[REG_RDI];
	kernel_fill(b, from->wait_for, ret);
	return true;
}

/* Object.wait() for a java.lang.Thread: Thread.join() calls it, and so may others. */
static bool is_at_join(const struct sw_report_stack *s)
{
	enum { MANAGED_SEEN = 4 }; /* Object.wait(), Object.wait0(), and what calls them */
	size_t n_managed = 0;
	for (size_t i = 0; s != NULL && i < s->n_frames && n_managed < MANAGED_SEEN; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		if (!sw_frame_is_managed(f) || f->internal || f->function == NULL)
			continue;
		n_managed++;
		if (strcmp(f->function, "java.lang.Thread.join") == 0)
			return true;
	}
	return false;
}

/* Fill in the wait of the language's library. Returns false if the program itself waits, or that is
 * not known. */
static bool library_fill(const struct sw_report *r, const struct sw_report_thread *thread,
			 struct sw_report_wait *wait)
{
	const char *kind = sw_library_wait(r, sw_stack_of(r, thread), wait);
	if (kind != NULL && strcmp(wait->kind, "java_park") == 0)
		wait->kind = kind;
	else if (kind != NULL) /* the object is one that only the library knows */
		*wait = (struct sw_report_wait){.kind = kind, .fd = -1, .trust = "syscall"};
	return kind != NULL;
}

/* Kinds that functions on the stack have to prove. */
static void runtime_prove(const struct sw_report_stack *s, struct sw_report_wait *wait)
{
	if (strcmp(wait->kind, "java_join") != 0)
		return;
	bool joins = is_at_join(s);
	wait->kind = joins ? "thread" : "java_wait";
	wait->owner_tid = joins ? wait->owner_tid : 0;
	wait->target = joins ? NULL : wait->target;
}

/* Fill in what its runtime says, which knows more than the call by which it waits. */
static bool runtime_fill(struct sw_report_builder *b, const struct sw_runtime_wait *from,
			 const struct sw_report_thread *thread, struct sw_report_wait *ret)
{
	if (from == NULL)
		return false;
	*ret = (struct sw_report_wait){.kind = from->kind,
				       .has_address = from->address_avma != 0,
				       .address_avma = from->address_avma,
				       .fd = -1,
				       .target = sw_report_copy_known(b, from->target),
				       .owner_tid = from->owner_tid,
				       .owner_name = sw_report_copy_known(b, from->owner_name),
				       .trust = from->trust != NULL ? from->trust : "runtime"};
	runtime_prove(sw_stack_of(b->report, thread), ret);
	if (ret->owner_tid != 0)
		ret->owner_pid = b->report->process.pid;
	return true;
}

/* A wait that a thread does not give up, even where it is runnable because its call's time is over: it begins to wait again,
 * or finds that the lock is there. */
static bool is_repeated(const struct sw_runtime_wait *runtime)
{
	return runtime != NULL && strcmp(runtime->kind, "python_gil") == 0 &&
	       runtime->owner_tid != 0;
}

/* Runtimes whose locks have no time limit for programs, but whose calls have one of their own: they look around, and call again. */
static bool limits_itself(const char *kind)
{
	static const char *const kinds[] = {"python_gil", "java_monitor", "ruby_gvl", "ruby_mutex"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i], kind) == 0)
			return true;
	return false;
}

/* Whether a thread gives its wait up after some time: the fourth argument of its futex() is a time. */
static bool is_limited(const struct sw_thread *from, const struct sw_report_thread *thread,
		       const char *kind)
{
	const unsigned timeout = from->syscall >= SW_SYSCALL_I386 ? REG_RSI : REG_R10;
	return thread->syscall != NULL && strncmp(thread->syscall, "futex", strlen("futex")) == 0 &&
	       (from->regs.known & (1u << timeout)) && from->regs.val[timeout] != 0 &&
	       !limits_itself(kind);
}

/* The call that SIGSTOP has interrupted goes on when the process does. The states in a core file
 * are not known. */
static bool may_wait(char state)
{
	return state == 'S' || state == 'D' || state == 'T' || state == '?';
}

/* When the owner was read that a wait has: for a futex with the thread, for a runtime when its data were copied, for other
 * calls after the capture. */
static uint32_t instant_of(const struct sw_thread *thread, const struct sw_runtime_wait *runtime)
{
	if (runtime != NULL)
		return thread->instant == SW_INSTANT_OF_RUNTIMES ? thread->instant : 0;
	return thread->wait_for == NULL ? thread->instant : 0;
}

/* A wait in the library of the language, or in its sleep, is one of another kind. */
static void wait_refine(struct sw_report_builder *b, const struct sw_report_thread *t,
			struct sw_report_wait *wait)
{
	if (!library_fill(b->report, t, wait) && wait->owner_tid == 0 && wait->owner_pid == 0 &&
	    is_asleep(sw_stack_of(b->report, t), wait->kind))
		*wait = (struct sw_report_wait){.kind = "sleep", .fd = -1, .trust = "syscall"};
}

static void wait_keep(struct sw_report_builder *b, struct sw_report_thread *t,
		      const struct sw_report_wait *wait)
{
	struct sw_report_wait *kept = sw_report_calloc(b, 1, sizeof(*kept));
	if (kept == NULL)
		return;
	*kept = *wait;
	t->blocked_on = kept;
}

void sw_report_decide_futex(struct sw_report_builder *b, struct sw_report_thread *t,
			    const struct sw_report_futex *futex)
{
	struct sw_report_wait wait;
	futex_decide(b, t, futex, &wait);
	wait_refine(b, t, &wait);
	wait_keep(b, t, &wait);
}

/* proof: of the thread. */
static void wait_build(struct sw_report_builder *b, struct onces *onces,
		       const struct sw_thread *from, struct sw_report_thread *t,
		       struct sw_wait_proof *proof)
{
	struct sw_report_wait wait;
	struct sw_report_futex futex;
	const struct sw_walk *walk = sw_report_walk_of(b->walks, from);
	const struct sw_runtime_wait *runtime = walk != NULL ? walk->wait : NULL;
	bool is_futex = false;
	if (!from->captured || !(may_wait(t->state) || is_repeated(runtime)))
		return;
	if (!runtime_fill(b, runtime, t, &wait)) {
		is_futex = futex_read(b, onces, from, t, &futex);
		if (is_futex)
			futex_decide(b, t, &futex, &wait);
		else if (!call_fill(b, from, t, &wait))
			return;
	}
	wait_refine(b, t, &wait);
	wait_keep(b, t, &wait);
	*proof = (struct sw_wait_proof){
		.proven = (runtime != NULL || from->wait_for == NULL || from->wait_for->proven) &&
			  !is_limited(from, t, wait.kind),
		.stayed = from->stayed,
		.instant = instant_of(from, runtime),
	};
	sw_undecided_note(b, t, is_futex ? &futex : NULL, proof);
}

void sw_report_build_waits(struct sw_report_builder *b)
{
	const struct sw_snapshot *snap = b->walks->snap;
	struct onces onces = {.n = 0};
	struct sw_wait_proof *proofs = sw_report_calloc(b, snap->n_threads, sizeof(*proofs));
	for (size_t i = 0; !b->failed && i < snap->n_threads; i++)
		wait_build(b, &onces, &snap->threads[i], &b->report->threads[i], &proofs[i]);
	if (!b->failed)
		sw_report_build_wait_graph(b, proofs);
	sw_undecided_finish(b->report);
}
