/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The activity of a thread, told by its state, its system call and the functions on its stack.
 */
#include "report/activity.h"
#include "report/idle.h"
#include "cleanup.h"

#include <string.h>

enum {
	FRAMES_SEEN = 32, /* from the innermost: a place to wait in is not far from it */
	CALL_FRAMES = 2,  /* a call and its wrapper in the C library */
};

/* A system call or a function, and what a thread in it waits for. */
struct known {
	const char *name;
	enum sw_activity activity;
};

static const struct known known_calls[] = {
	{"read", SW_ACTIVITY_IO},         {"write", SW_ACTIVITY_IO},
	{"readv", SW_ACTIVITY_IO},        {"writev", SW_ACTIVITY_IO},
	{"pread64", SW_ACTIVITY_IO},      {"pwrite64", SW_ACTIVITY_IO},
	{"recvfrom", SW_ACTIVITY_IO},     {"recvmsg", SW_ACTIVITY_IO},
	{"recvmmsg", SW_ACTIVITY_IO},     {"sendto", SW_ACTIVITY_IO},
	{"sendmsg", SW_ACTIVITY_IO},      {"connect", SW_ACTIVITY_IO},
	{"poll", SW_ACTIVITY_IO},         {"ppoll", SW_ACTIVITY_IO},
	{"select", SW_ACTIVITY_IO},       {"pselect6", SW_ACTIVITY_IO},
	{"epoll_wait", SW_ACTIVITY_IO},   {"epoll_pwait", SW_ACTIVITY_IO},
	{"epoll_pwait2", SW_ACTIVITY_IO}, {"io_uring_enter", SW_ACTIVITY_IO},
	{"fsync", SW_ACTIVITY_IO},        {"flock", SW_ACTIVITY_LOCK},
	{"wait4", SW_ACTIVITY_CHILD},     {"waitid", SW_ACTIVITY_CHILD},
	{"nanosleep", SW_ACTIVITY_TIMER}, {"clock_nanosleep", SW_ACTIVITY_TIMER},
};

/* The C library's, and others' whose wait is a futex. The innermost one that is known counts. */
static const struct known known_functions[] = {
	{"pthread_mutex_lock", SW_ACTIVITY_LOCK},
	{"__pthread_mutex_lock", SW_ACTIVITY_LOCK},
	{"___pthread_mutex_lock", SW_ACTIVITY_LOCK},
	{"__GI___pthread_mutex_lock", SW_ACTIVITY_LOCK},
	{"__pthread_mutex_lock_full", SW_ACTIVITY_LOCK},
	{"pthread_mutex_timedlock", SW_ACTIVITY_LOCK},
	{"__pthread_mutex_timedlock", SW_ACTIVITY_LOCK},
	{"pthread_mutex_clocklock", SW_ACTIVITY_LOCK},
	{"pthread_rwlock_rdlock", SW_ACTIVITY_LOCK},
	{"pthread_rwlock_wrlock", SW_ACTIVITY_LOCK},
	{"__pthread_rwlock_rdlock", SW_ACTIVITY_LOCK},
	{"__pthread_rwlock_wrlock", SW_ACTIVITY_LOCK},
	{"___pthread_rwlock_rdlock", SW_ACTIVITY_LOCK},
	{"___pthread_rwlock_wrlock", SW_ACTIVITY_LOCK},
	{"pthread_cond_wait", SW_ACTIVITY_CONDITION},
	{"pthread_cond_timedwait", SW_ACTIVITY_CONDITION},
	{"pthread_cond_clockwait", SW_ACTIVITY_CONDITION},
	{"___pthread_cond_wait", SW_ACTIVITY_CONDITION},
	{"___pthread_cond_timedwait", SW_ACTIVITY_CONDITION},
	{"___pthread_cond_clockwait", SW_ACTIVITY_CONDITION},
	{"pthread_barrier_wait", SW_ACTIVITY_CONDITION},
	{"__pthread_barrier_wait", SW_ACTIVITY_CONDITION},
	{"___pthread_barrier_wait", SW_ACTIVITY_CONDITION},
	{"sem_wait", SW_ACTIVITY_CONDITION},
	{"sem_timedwait", SW_ACTIVITY_CONDITION},
	{"__new_sem_wait", SW_ACTIVITY_CONDITION},
	{"pthread_join", SW_ACTIVITY_CHILD},
	{"___pthread_join", SW_ACTIVITY_CHILD},
	{"__pthread_clockjoin_ex", SW_ACTIVITY_CHILD},
};

/* The kinds of waits (sw_report_wait.kind) that tell more than a call. */
static const struct known known_waits[] = {
	{"mutex", SW_ACTIVITY_LOCK},
	{"rwlock", SW_ACTIVITY_LOCK},
	{"file_lock", SW_ACTIVITY_LOCK},
	{"stdio", SW_ACTIVITY_LOCK},
	{"static_init", SW_ACTIVITY_LOCK},
	{"once", SW_ACTIVITY_CONDITION},
	{"rust_once", SW_ACTIVITY_LOCK},
	{"semaphore_set", SW_ACTIVITY_CONDITION},
	{"condition", SW_ACTIVITY_CONDITION},
	{"semaphore", SW_ACTIVITY_CONDITION},
	{"barrier", SW_ACTIVITY_CONDITION},
	{"std_semaphore", SW_ACTIVITY_CONDITION},
	{"std_latch", SW_ACTIVITY_CONDITION},
	{"std_barrier", SW_ACTIVITY_CONDITION},
	{"std_atomic", SW_ACTIVITY_CONDITION},
	{"std_future", SW_ACTIVITY_CONDITION},
	{"event", SW_ACTIVITY_CONDITION},
	{"latch", SW_ACTIVITY_CONDITION},
	{"queue_get", SW_ACTIVITY_CONDITION},
	{"queue_put", SW_ACTIVITY_CONDITION},
	{"queue_join", SW_ACTIVITY_CONDITION},
	{"sleep", SW_ACTIVITY_TIMER},
	{"java_monitor", SW_ACTIVITY_LOCK},
	{"java_lock", SW_ACTIVITY_LOCK},
	{"python_gil", SW_ACTIVITY_LOCK},
	{"python_rlock", SW_ACTIVITY_LOCK},
	{"python_lock", SW_ACTIVITY_LOCK},
	{"java_wait", SW_ACTIVITY_CONDITION},
	{"java_park", SW_ACTIVITY_CONDITION},
	{"java_class", SW_ACTIVITY_LOCK},
	{"java_task", SW_ACTIVITY_CHILD},
	{"dotnet_monitor", SW_ACTIVITY_LOCK},
	{"dotnet_rwlock", SW_ACTIVITY_LOCK},
	{"dotnet_mutex", SW_ACTIVITY_LOCK},
	{"dotnet_lock", SW_ACTIVITY_LOCK},
	{"dotnet_class", SW_ACTIVITY_LOCK},
	{"dotnet_wait", SW_ACTIVITY_CONDITION},
	{"python_import", SW_ACTIVITY_LOCK},
	{"thread", SW_ACTIVITY_CHILD},
	{"ruby_gvl", SW_ACTIVITY_LOCK},
	{"ruby_mutex", SW_ACTIVITY_LOCK},
};

const struct sw_report_stack *sw_stack_of(const struct sw_report *r,
					  const struct sw_report_thread *t)
{
	return t->stack >= 0 && (size_t) t->stack < r->n_stacks ? &r->stacks[t->stack] : NULL;
}

const struct sw_report_thread *sw_thread_of(const struct sw_report *r, pid_t tid)
{
	for (size_t i = 0; i < r->n_threads; i++)
		if (r->threads[i].tid == tid)
			return &r->threads[i];
	return NULL;
}

static enum sw_activity look_up(const struct known *known, size_t n, const char *name)
{
	for (size_t i = 0; name != NULL && i < n; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].activity;
	return SW_ACTIVITY_OTHER;
}

static enum sw_activity of_wait(const struct sw_report_thread *t)
{
	return look_up(known_waits, SW_ARRAY_SIZE(known_waits),
		       t->blocked_on != NULL ? t->blocked_on->kind : NULL);
}

bool sw_waits_for_lock(const struct sw_report_thread *t)
{
	return of_wait(t) == SW_ACTIVITY_LOCK;
}

static enum sw_activity of_functions(const struct sw_report_stack *s)
{
	size_t n = s == NULL ? 0 : s->n_frames < FRAMES_SEEN ? s->n_frames : FRAMES_SEEN;
	for (size_t i = 0; i < n; i++) {
		enum sw_activity found = look_up(known_functions, SW_ARRAY_SIZE(known_functions),
						 s->frames[i].function);
		if (found != SW_ACTIVITY_OTHER)
			return found;
	}
	return SW_ACTIVITY_OTHER;
}

bool sw_is_at_wait(const struct sw_report_stack *s)
{
	enum sw_activity found = of_functions(s);
	return found != SW_ACTIVITY_OTHER && found != SW_ACTIVITY_LOCK;
}

/*
 * A call that goes on after a stop or a signal. Calls that are told apart by their wait places have
 * their own name again, and the rest sleeps. Where that is not known (it is 0 for all threads on
 * Linux 5.10), the functions that make the call are named as it is.
 */
static enum sw_activity of_restarted(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(r, t);
	if (t->wchan != NULL)
		return SW_ACTIVITY_TIMER;
	for (size_t i = 0; s != NULL && i < s->n_frames && i < CALL_FRAMES; i++) {
		const char *name = s->frames[i].function;
		enum sw_activity found = name == NULL
						 ? SW_ACTIVITY_OTHER
						 : look_up(known_calls, SW_ARRAY_SIZE(known_calls),
							   name + strspn(name, "_"));
		if (found != SW_ACTIVITY_OTHER)
			return found;
	}
	return of_functions(s);
}

/* A lock of the program's own, which it waits for by a call that others do for I/O: PostgreSQL's of tables and rows. */
static bool is_in_lock(const struct sw_report_stack *s)
{
	size_t n = s == NULL ? 0 : s->n_frames < FRAMES_SEEN ? s->n_frames : FRAMES_SEEN;
	for (size_t i = 0; i < n; i++)
		if (s->frames[i].function != NULL &&
		    strcmp(s->frames[i].function, "ProcSleep") == 0)
			return true;
	return false;
}

enum sw_activity sw_activity_of(const struct sw_report *r, const struct sw_report_thread *t)
{
	if (r->process.crash != NULL && r->process.crash->tid == t->tid)
		return SW_ACTIVITY_CRASHED;
	switch (t->state) {
	case 'R':
		if (t->blocked_on == NULL && sw_idle_place(r, t) == NULL)
			return SW_ACTIVITY_RUNNING;
		break;
	case 'D': return SW_ACTIVITY_DISK;
	case 'T':
	case 't': return SW_ACTIVITY_STOPPED;
	default: break;
	}
	/* A thread that works on a request waits for something. */
	if (t->trace == NULL && sw_idle_place(r, t) != NULL)
		return SW_ACTIVITY_IDLE;
	enum sw_activity found = of_wait(t);
	if (found == SW_ACTIVITY_OTHER && is_in_lock(sw_stack_of(r, t)))
		found = SW_ACTIVITY_LOCK;
	if (found == SW_ACTIVITY_OTHER)
		found = look_up(known_calls, SW_ARRAY_SIZE(known_calls), t->syscall);
	if (found == SW_ACTIVITY_OTHER && t->syscall != NULL &&
	    strcmp(t->syscall, "restart_syscall") == 0)
		found = of_restarted(r, t);
	if (found != SW_ACTIVITY_OTHER)
		return found;
	return t->syscall != NULL && strncmp(t->syscall, "futex", 5) == 0
		       ? of_functions(sw_stack_of(r, t))
		       : SW_ACTIVITY_OTHER;
}
