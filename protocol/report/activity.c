/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a thread does, told by its state, its system call and the functions on its stack. Where
 * threads wait for work is known by name: those of runtimes and thread pools in use, not guessed from
 * the number of threads that wait there.
 */
#include "report/activity.h"
#include "cleanup.h"
#include "report/text_frames.h"

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

/* What runtimes say that threads wait for (sw_report_wait.kind). */
static const struct known known_waits[] = {
	{"java_monitor", SW_ACTIVITY_LOCK},     {"java_lock", SW_ACTIVITY_LOCK},
	{"python_gil", SW_ACTIVITY_LOCK},       {"python_rlock", SW_ACTIVITY_LOCK},
	{"java_wait", SW_ACTIVITY_CONDITION},   {"java_park", SW_ACTIVITY_CONDITION},
	{"dotnet_monitor", SW_ACTIVITY_LOCK},   {"dotnet_lock", SW_ACTIVITY_LOCK},
	{"dotnet_wait", SW_ACTIVITY_CONDITION}, {"ruby_gvl", SW_ACTIVITY_LOCK},
	{"ruby_mutex", SW_ACTIVITY_LOCK},
};

/* Places where threads wait for work. Names of managed methods stand in longer ones. */
#define WHOLE(name, place)                          \
	{                                           \
		name, sizeof(name) - 1, true, place \
	}
#define PART(name, place)                            \
	{                                            \
		name, sizeof(name) - 1, false, place \
	}
static const struct {
	const char *function;
	size_t length;
	bool whole; /* else part of a name */
	const char *place;
} idle_functions[] = {
	PART("java.util.concurrent.ThreadPoolExecutor.getTask", "a Java thread pool"),
	PART("java.util.concurrent.ForkJoinPool.awaitWork", "a Java fork-join pool"),
	WHOLE("JLI_Launch", "the Java launcher"), /* main() has a thread of its own */
	PART("java.lang.ref.Reference.waitForReferencePendingList", "the Java VM"),
	PART("java.lang.ref.ReferenceQueue.remove", "the Java VM"),
	PART("System.Threading.LowLevelLifoSemaphore.Wait", "the .NET thread pool"),
	PART("System.Threading.PortableThreadPool.GateThread.", "the .NET thread pool"),
	PART("System.Net.Sockets.SocketAsyncEngine.EventLoop", "the .NET socket engine"),
	WHOLE("runtime.stopm", "the Go scheduler"),
	WHOLE("runtime.sysmon", "the Go scheduler"),
	WHOLE("g_thread_pool_wait_for_new_task", "a GLib thread pool"),
	PART("PlatformWorkerThread", "the V8 platform"),
	PART("tokio::runtime::scheduler::multi_thread::worker::Context::park", "Tokio"),
	PART("rayon_core::sleep::Sleep::sleep", "Rayon"),
};
#undef WHOLE
#undef PART

/* System calls in which a thread waits for work whoever calls them. */
static const struct {
	const char *call, *place;
} idle_calls[] = {
	{"accept", "accept"},     {"accept4", "accept"},     {"epoll_wait", "epoll"},
	{"epoll_pwait", "epoll"}, {"epoll_pwait2", "epoll"},
};

/* HotSpot's own threads, by the beginning of their names, which the VM gives (jdk 17 and 25,
 * src/hotspot/share: threads named by their constructors). */
static const char *const hotspot_names[] = {
	"GC Thread#",      "G1 Main Marker",  "G1 Conc#",        "G1 Refine#",
	"G1 Service",      "C1 CompilerThre", "C2 CompilerThre", "VM Thread",
	"VM Periodic Tas", "Signal Dispatch", "Service Thread",  "Monitor Deflati",
	"Reference Handl", "Finalizer",       "Common-Cleaner",  "Notification T",
};

static bool has_runtime(const struct sw_report *r, const char *name)
{
	for (size_t i = 0; i < r->process.n_runtimes; i++)
		if (strcmp(r->process.runtimes[i].name, name) == 0)
			return true;
	return false;
}

const struct sw_report_stack *sw_stack_of(const struct sw_report *r,
					  const struct sw_report_thread *t)
{
	return t->stack >= 0 && (size_t) t->stack < r->n_stacks ? &r->stacks[t->stack] : NULL;
}

static bool sleeps(const struct sw_report_thread *t)
{
	return t->state == 'S' || t->state == '?';
}

/* For each frame of each thread: most names are too short for all but a few. */
static const char *place_of_function(const char *name)
{
	size_t length = strlen(name);
	for (size_t k = 0; k < SW_ARRAY_SIZE(idle_functions); k++) {
		const char *known = idle_functions[k].function;
		if (idle_functions[k].whole
			    ? length == idle_functions[k].length && strcmp(name, known) == 0
			    : length >= idle_functions[k].length && strstr(name, known) != NULL)
			return idle_functions[k].place;
	}
	return NULL;
}

static const char *place_of_stack(const struct sw_report_stack *s)
{
	size_t n = s == NULL ? 0 : s->n_frames < FRAMES_SEEN ? s->n_frames : FRAMES_SEEN;
	bool worker = false, waits = false;
	for (size_t i = 0; i < n; i++) {
		const char *f = s->frames[i].function;
		const char *place = f != NULL ? place_of_function(f) : NULL;
		if (place != NULL)
			return place;
		/* libuv (v1.48 src/threadpool.c): worker() waits with uv_cond_wait() itself. */
		worker |= waits && f != NULL && strcmp(f, "worker") == 0;
		waits = f != NULL && strcmp(f, "uv_cond_wait") == 0;
	}
	return worker ? "the libuv thread pool" : NULL;
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

const char *sw_idle_place(const struct sw_report *r, const struct sw_report_thread *t)
{
	if (!sleeps(t) || !t->captured || of_wait(t) == SW_ACTIVITY_LOCK)
		return NULL;
	const char *place = place_of_stack(sw_stack_of(r, t));
	if (place != NULL)
		return place;
	for (size_t i = 0; t->syscall != NULL && i < SW_ARRAY_SIZE(idle_calls); i++)
		if (strcmp(t->syscall, idle_calls[i].call) == 0)
			return idle_calls[i].place;
	if (has_runtime(r, "hotspot"))
		for (size_t i = 0; i < SW_ARRAY_SIZE(hotspot_names); i++)
			if (strncmp(t->comm, hotspot_names[i], strlen(hotspot_names[i])) == 0)
				return "the Java VM";
	if (t->managed != NULL && t->managed->role != NULL &&
	    (strcmp(t->managed->role, "finalizer") == 0 || strcmp(t->managed->role, "gc") == 0))
		return "the runtime";
	return NULL;
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

/*
 * A call that goes on after a stop or a signal. Those that are told apart by what they wait in have their own
 * name again, and the rest sleeps. Where that is not known (it is 0 for all threads on Linux 5.10), the
 * functions that make the call are named as it is.
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

enum sw_activity sw_activity_of(const struct sw_report *r, const struct sw_report_thread *t)
{
	if (r->process.crash != NULL && r->process.crash->tid == t->tid)
		return SW_ACTIVITY_CRASHED;
	switch (t->state) {
	case 'R': return SW_ACTIVITY_RUNNING;
	case 'D': return SW_ACTIVITY_DISK;
	case 'T':
	case 't': return SW_ACTIVITY_STOPPED;
	default: break;
	}
	if (sw_idle_place(r, t) != NULL)
		return SW_ACTIVITY_IDLE;
	enum sw_activity found = of_wait(t);
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

/* The C library and the dynamic loader, by the name of the file. */
static bool is_libc(const char *path)
{
	static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-", "[vdso]"};
	const char *base = sw_base_name(path);
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

size_t sw_own_frame(const struct sw_report *r, const struct sw_report_stack *s, size_t at)
{
	for (; at < s->n_frames; at++) {
		const struct sw_report_frame *f = &s->frames[at];
		if (f->function != NULL && f->function[0] != '\0' && !f->inlined && !f->internal &&
		    (f->module < 0 || !is_libc(r->modules[f->module].path)))
			break;
	}
	return at;
}
