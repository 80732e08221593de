/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a thread waits for work. A system call does not tell: epoll_wait(2) is what an event loop
 * does when there is nothing to do, and what a request does that waits for its database. So the
 * places are known by name: those of runtimes, servers, event loops and thread pools in use.
 * Whoever is in none of them is shown: one stack too many does less harm than one that hides the
 * answer.
 */
#include "report/idle.h"
#include "report/activity.h"
#include "cleanup.h"
#include "parts.h"
#include "report/frame_kind.h"

#include <string.h>

enum {
	FRAMES_SEEN = 32, /* from the innermost: a place to wait in is not far from it */
	WOKEN_SHARE =
		100, /* of the process's time: a thread that has had less on a CPU does not turn round and round */
	NS_PER_MS = 1000000,
};

enum how {
	POOL, /* whatever it calls is its own wait */
	WAIT, /* a wait that others call: who does decides */
	LOOP, /* when nothing but waits is between it and the call */
	ROOT, /* the same, unless a function of a language called it: that one waits for something
	       */
};

enum match { WHOLE, BEGIN, PART };

/* Functions; of .NET's without the assembly. Managed methods have parameters behind; what C++ and
 * Rust put around a name differs. */
struct known {
	const char *function;
	size_t length;
	enum match match;
	enum how how;
	const char *place; /* NULL: WAIT */
	const char *file;  /* the end of its path; NULL: any */
	const char *wait;  /* the function that it waits in; NULL: any */
};
#define ROW(name, match_by, is, ...)                                                        \
	{                                                                                   \
		.function = name, .length = sizeof(name) - 1, .match = match_by, .how = is, \
		.place = __VA_ARGS__                                                        \
	}
#define POOL_OF(name, place) ROW(name, WHOLE, POOL, place)
#define WAIT_IN(name)        ROW(name, WHOLE, WAIT, NULL)
#define LOOP_OF(name, place) ROW(name, WHOLE, LOOP, place)
#define ROOT_OF(name)        ROW(name, WHOLE, ROOT, "an event loop")
static const struct known known[] = {
	/* Java: OpenJDK 17 and 25 */
	ROW("java.util.concurrent.ThreadPoolExecutor.getTask", BEGIN, POOL, "a Java thread pool"),
	ROW("java.util.concurrent.ForkJoinPool.awaitWork", BEGIN, POOL, "a Java fork-join pool"),
	ROW("java.lang.ref.Reference.waitForReferencePendingList", BEGIN, POOL, "the Java VM"),
	ROW("java.lang.ref.ReferenceQueue.remove", BEGIN, POOL, "the Java VM"),
	POOL_OF("JLI_Launch", "the Java launcher"), /* main() has a thread of its own */
	ROW("sun.nio.ch.EPollSelectorImpl.doSelect", BEGIN, POOL, "a Java selector"),
	ROW("io.netty.channel.epoll.EpollEventLoop.epollWait", BEGIN, POOL, "an event loop"),
	/* .NET 8 to 10 */
	ROW("System.Threading.LowLevelLifoSemaphore.Wait", BEGIN, POOL, "the .NET thread pool"),
	ROW("System.Threading.PortableThreadPool.GateThread.", BEGIN, POOL, "the .NET thread pool"),
	ROW("System.Net.Sockets.SocketAsyncEngine.EventLoop", BEGIN, LOOP,
	    "the .NET socket engine"),
	/* Go */
	POOL_OF("runtime.stopm", "the Go scheduler"),
	POOL_OF("runtime.sysmon", "the Go scheduler"),
	POOL_OF("runtime.templateThread", "the Go scheduler"),
	POOL_OF("runtime.netpoll", "the Go scheduler"),
	POOL_OF("os/signal.signal_recv", "the Go scheduler"),
	/* V8 and libuv (v1.48); node 18 to 26 */
	ROW("PlatformWorkerThread", PART, POOL, "the V8 platform"),
	ROW("StartIoThreadMain", PART, POOL, "the V8 platform"),
	WAIT_IN("uv_cond_wait"),
	WAIT_IN("uv_sem_wait"),
	WAIT_IN("uv__io_poll"),
	ROW("worker", WHOLE, LOOP, "the libuv thread pool", .wait = "uv_cond_wait"),
	ROOT_OF("uv_run"),
	ROW("uvloop_4loop_4Loop", PART, LOOP, "an event loop"),
	/* asyncio, selectors, socketserver, concurrent.futures: CPython 3.8 to 3.14 */
	ROW("select", WHOLE, WAIT, NULL, .file = "/selectors.py"),
	ROW("EpollSelector.select", WHOLE, WAIT, NULL, .file = "/selectors.py"),
	ROW("PollSelector.select", WHOLE, WAIT, NULL, .file = "/selectors.py"),
	ROW("_PollLikeSelector.select", WHOLE, WAIT, NULL, .file = "/selectors.py"),
	ROW("SelectSelector.select", WHOLE, WAIT, NULL, .file = "/selectors.py"),
	ROW("_run_once", WHOLE, LOOP, "an event loop", .file = "/asyncio/base_events.py"),
	ROW("BaseEventLoop._run_once", WHOLE, LOOP, "an event loop",
	    .file = "/asyncio/base_events.py"),
	ROW("serve_forever", WHOLE, LOOP, "an event loop", .file = "/socketserver.py"),
	ROW("BaseServer.serve_forever", WHOLE, LOOP, "an event loop", .file = "/socketserver.py"),
	ROW("_worker", WHOLE, LOOP, "a Python thread pool",
	    .file = "/concurrent/futures/thread.py"),
	/* event loops of C */
	WAIT_IN("aeApiPoll"),
	WAIT_IN("aeProcessEvents"),
	LOOP_OF("aeMain", "an event loop"),
	WAIT_IN("ngx_epoll_process_events"),
	LOOP_OF("ngx_process_events_and_timers", "an event loop"),
	LOOP_OF("ngx_master_process_cycle", "an event loop"),
	WAIT_IN("epoll_dispatch"),
	WAIT_IN("poll_dispatch"),
	ROOT_OF("event_base_loop"),
	WAIT_IN("epoll_poll"),
	ROOT_OF("ev_run"),
	WAIT_IN("g_main_context_poll"),
	WAIT_IN("g_main_context_poll_unlocked"),
	WAIT_IN("g_main_context_iterate"),
	WAIT_IN("g_main_context_iterate_unlocked"),
	ROOT_OF("g_main_loop_run"),
	LOOP_OF("gdbus_shared_thread_func", "an event loop"),
	LOOP_OF("glib_worker_main", "an event loop"),
	WAIT_IN("g_main_context_iteration"),
	WAIT_IN("sd_event_wait"),
	WAIT_IN("sd_event_run"),
	ROOT_OF("sd_event_loop"),
	LOOP_OF("run_poll_loop", "an event loop"), /* HAProxy */
	/* Asio, with and without Boost: one thread is in the reactor, others wait for an event. */
	ROW("asio::detail::scheduler::do_run_one", PART, LOOP, "an event loop"),
	ROW("asio::detail::scheduler::run", PART, LOOP, "an event loop"),
	ROW("asio::detail::epoll_reactor::run", PART, WAIT, NULL),
	ROW("asio::detail::posix_event::", PART, WAIT, NULL),
	ROW("asio::detail::std_event::", PART, WAIT, NULL),
	ROW("asio::detail::conditionally_enabled_event::", PART, WAIT, NULL),
	ROW("std::condition_variable::wait", PART, WAIT, NULL),
	WAIT_IN("fpm_event_epoll_wait"),
	LOOP_OF("fpm_event_loop", "an event loop"),
	/* thread pools of C, C++, Rust */
	POOL_OF("g_thread_pool_wait_for_new_task", "a GLib thread pool"),
	ROW("tokio::runtime::scheduler::multi_thread::worker::Context::park", PART, POOL, "Tokio"),
	ROW("rayon_core::sleep::Sleep::sleep", PART, POOL, "Rayon"),
	/* servers: PostgreSQL 15, MariaDB 10.11, Apache 2.4, Redis 7 */
	WAIT_IN("WaitEventSetWaitBlock"),
	WAIT_IN("WaitEventSetWait"),
	WAIT_IN("WaitLatch"),
	WAIT_IN("WaitLatchOrSocket"),
	WAIT_IN("secure_read"),
	WAIT_IN("pq_recvbuf"),
	WAIT_IN("pq_getbyte"),
	LOOP_OF("SocketBackend", "a read of the next command"),
	LOOP_OF("ServerLoop", "the postmaster"),
	LOOP_OF("CheckpointerMain", "PostgreSQL's own processes"),
	LOOP_OF("BackgroundWriterMain", "PostgreSQL's own processes"),
	LOOP_OF("WalWriterMain", "PostgreSQL's own processes"),
	LOOP_OF("AutoVacLauncherMain", "PostgreSQL's own processes"),
	LOOP_OF("ApplyLauncherMain", "PostgreSQL's own processes"),
	WAIT_IN("vio_io_wait"),
	WAIT_IN("vio_socket_io_wait"),
	WAIT_IN("vio_read"),
	WAIT_IN("vio_read_buff"),
	WAIT_IN("my_net_read_packet"),
	WAIT_IN("my_net_read_packet_reallen"),
	ROW("my_real_read(", BEGIN, WAIT, NULL),
	ROW("do_command(", BEGIN, LOOP, "a read of the next command"),
	ROW("tpool::thread_pool_generic::wait_for_tasks", PART, POOL, "MariaDB's thread pool"),
	ROW("handle_connections_sockets(", BEGIN, LOOP, "accept"),
	POOL_OF("ap_queue_pop_something", "Apache's workers"),
	LOOP_OF("ap_wait_or_timeout", "Apache's parent"),
	POOL_OF("bioProcessBackgroundJobs", "Redis' background jobs"),
	ROW("background_thread_entry", PART, POOL, "jemalloc"),
};
#undef ROW
#undef POOL_OF
#undef WAIT_IN
#undef LOOP_OF
#undef ROOT_OF

/* System calls in which a thread waits for work whoever calls them. */
static const char *const idle_calls[] = {"accept", "accept4"};

/* HotSpot's own threads, by the beginning of their names, which the VM gives (jdk 17 and 25,
 * src/hotspot/share: threads named by their constructors). */
static const char *const hotspot_names[] = {
	"GC Thread#",      "G1 Main Marker",   "G1 Conc#",        "G1 Refine#",
	"G1 Service",      "C1 CompilerThre",  "C2 CompilerThre", "VM Thread",
	"VM Periodic Tas", "Signal Dispatch",  "Service Thread",  "Monitor Deflati",
	"Reference Handl", "Finalizer",        "Common-Cleaner",  "Notification T",
	"Sweeper thread",  "Attach Listener",  "ParGC Thread#",   "StrDedup",
	"DestroyJavaVM",   "VirtualThread-un",
};

/* .NET's own, and those of Erlang's emulator behind their number (OTP 25) or in front of it (26 to 28). */
static const char *const clr_names[] = {".NET SynchManag", ".NET SigHandler", ".NET EventPipe",
					".NET Tiered Comp", ".NET Finalizer"};
static const char *const beam_names[] = {"_scheduler",     "_dirty_cpu_sch",  "_dirty_io_sched",
					 "_aux",           "erts_sched_",     "erts_dcpus_",
					 "erts_dios_",     "erts_aux_",       "erts_smsg_disp",
					 "erts_ssig_disp", "sys_sig_dispatc", "async_"};

/* The roles that runtimes give to threads of their own (sw_report_managed.role). */
static const char *const idle_roles[] = {
	"finalizer",          "gc",      "idle",     "idle-carrier",
	"thread-pool-gate",   "timer",   "sockets",  "thread-pool-wait",
	"tiered-compilation", "signals", "debugger", "synchronization",
	"event-pipe",
};

/* Code that a runtime brings with it: what is called there is no request's. */
static const char *const own_code[] = {"System.Threading.",
				       "System.Net.Sockets.SocketAsyncEngine",
				       "System.GC.",
				       "System.Runtime.InteropServices.PosixSignal",
				       "java.lang.ref.",
				       "java.lang.Object.wait",
				       "java.lang.Thread.run",
				       "jdk.internal.",
				       "java.util.concurrent.locks."};

static bool has_runtime(const struct sw_report *r, const char *name)
{
	for (size_t i = 0; i < r->process.n_runtimes; i++)
		if (strcmp(r->process.runtimes[i].name, name) == 0)
			return true;
	return false;
}

static bool sleeps(const struct sw_report_thread *t)
{
	return t->state == 'S' || t->state == '?';
}

/* Whether a thread that is runnable in epoll_wait() was just woken, as by a time limit: a loop that never sleeps would have used
 * much of a CPU. */
static bool is_just_woken(const struct sw_report *r, const struct sw_report_thread *t)
{
	return t->state == 'R' && t->syscall != NULL && sw_begins_with(t->syscall, "epoll_") &&
	       t->cpu_ns >= 0 && t->cpu_ns / NS_PER_MS < r->process.uptime_ms / WOKEN_SHARE;
}

static bool ends(const char *path, const char *with)
{
	size_t size = path != NULL ? strlen(path) : 0, wanted = strlen(with);
	return size >= wanted && strcmp(path + size - wanted, with) == 0;
}

/* For each frame of each thread: most names are too short, or begin with another letter. */
static bool is_known(const struct known *k, const char *name, size_t length)
{
	switch (k->match) {
	case WHOLE:
		return length >= k->length && name[0] == k->function[0] &&
		       memcmp(name, k->function, k->length) == 0 &&
		       sw_is_compilers_suffix(name + k->length);
	case BEGIN:
		return length >= k->length && name[0] == k->function[0] &&
		       memcmp(name, k->function, k->length) == 0;
	case PART: return length >= k->length && strstr(name, k->function) != NULL;
	}
	return false;
}

static const struct known *look_up(const struct sw_report_frame *f)
{
	const char *name = sw_frame_method(f);
	size_t length = strlen(name);
	for (size_t i = 0; i < SW_ARRAY_SIZE(known); i++)
		if (is_known(&known[i], name, length) &&
		    (known[i].file == NULL || ends(f->file, known[i].file)))
			return &known[i];
	return NULL;
}

/* A frame of the program's, as far as its runtime tells. */
static bool is_program(const struct sw_report_frame *f)
{
	return f->function != NULL && sw_frame_is_managed(f) && !f->internal &&
	       f->function[0] != '['; /* "[call_stub]" */
}

static bool has_program(const struct sw_report_stack *s, size_t from)
{
	for (size_t i = from; i < s->n_frames; i++)
		if (is_program(&s->frames[i]))
			return true;
	return false;
}

/* The frames between the call and the frame that is looked at. */
struct way {
	bool native;      /* code of a program that is no known wait */
	bool language;    /* the same in a language */
	bool nameless;    /* code that has no name, of this module: */
	int32_t module;   /* a file whose names were taken away may hide anything */
	const char *wait; /* the function in which it waits; NULL: none is known */
};

static void way_add(struct way *way, const struct sw_report *r, const struct sw_report_frame *f)
{
	if (f->internal || sw_frame_is_libc(r, f))
		return;
	if (f->function == NULL || f->function[0] == '\0') {
		way->native |= way->nameless && way->module != f->module;
		way->nameless = true;
		way->module = f->module;
	} else if (is_program(f)) {
		way->language = true;
	} else {
		way->native = true;
	}
}

/* An extension of a language's is on the way from its loop to the call. */
static bool is_direct(const struct way *way, const struct known *k,
		      const struct sw_report_frame *loop)
{
	if (k->wait != NULL && (way->wait == NULL || strcmp(way->wait, k->wait) != 0))
		return false;
	if (way->language || is_program(loop))
		return !way->language;
	return !way->native && (!way->nameless || way->module == loop->module);
}

static const char *place_of_stack(const struct sw_report *r, const struct sw_report_stack *s)
{
	size_t n = s == NULL ? 0 : s->n_frames < FRAMES_SEEN ? s->n_frames : FRAMES_SEEN;
	struct way way = {0};
	for (size_t i = 0; i < n; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		const struct known *k = f->function != NULL ? look_up(f) : NULL;
		if (k == NULL) {
			way_add(&way, r, f);
			continue;
		}
		if (k->how == WAIT)
			way.wait = k->function;
		if (k->how == POOL || (k->how == LOOP && is_direct(&way, k, f)) ||
		    (k->how == ROOT && is_direct(&way, k, f) && !has_program(s, i + 1)))
			return k->place;
	}
	return NULL;
}

/*
 * Whether the thread waits for something that is never an event of a loop. Where native functions that are not known are
 * between epoll_wait() and the loop, they may be the loop's own.
 */
static bool waits_for_no_event(const struct sw_report_thread *t)
{
	static const char *const calls[] = {
		"nanosleep", "clock_nanosleep", "pread64", "preadv", "preadv2",    "pwrite64",
		"pwritev",   "pwritev2",        "fsync",   "openat", "open",       "newfstatat",
		"fdatasync", "flock",           "wait4",   "waitid", "getdents64",
	};
	for (size_t i = 0; t->syscall != NULL && i < SW_ARRAY_SIZE(calls); i++)
		if (strcmp(t->syscall, calls[i]) == 0)
			return true;
	return sw_waits_for_lock(t);
}

bool sw_holds_loop_up(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(r, t);
	struct way way = {0};
	for (size_t i = 0; s != NULL && i < s->n_frames && sleeps(t); i++) {
		const struct sw_report_frame *f = &s->frames[i];
		const struct known *k = f->function != NULL ? look_up(f) : NULL;
		if (k == NULL)
			way_add(&way, r, f);
		else if (k->how == WAIT)
			way.wait = k->function;
		else if (k->how == LOOP || k->how == ROOT)
			return strcmp(k->place, "an event loop") == 0 &&
			       (way.language || (way.native && waits_for_no_event(t))) &&
			       !is_direct(&way, k, f);
	}
	return false;
}

/* Whether all that a language says of a stack is its runtime's own. */
static bool is_runtimes_own(const struct sw_report_stack *s)
{
	for (size_t i = 0; s != NULL && i < s->n_frames; i++) {
		bool own = !is_program(&s->frames[i]);
		for (size_t k = 0; k < SW_ARRAY_SIZE(own_code) && !own; k++)
			own = sw_begins_with(sw_frame_method(&s->frames[i]), own_code[k]);
		if (!own)
			return false;
	}
	return true;
}

/* The kernel has 15 bytes of a name: "10_dirty_io_sch". */
static bool is_of_beam(const char *comm, const char *name)
{
	enum { COMM_BYTES = 15 };
	const char *rest = comm + strspn(comm, "0123456789");
	size_t length = strlen(rest);
	bool cut = strlen(comm) == COMM_BYTES && length > strlen("_dirty_") &&
		   length < strlen(name) && strncmp(rest, name, length) == 0;
	return cut || sw_begins_with(rest, name);
}

static bool is_runtimes_thread(const struct sw_report *r, const struct sw_report_thread *t,
			       const char **ret_place)
{
	*ret_place = "the Java VM";
	for (size_t i = 0; i < SW_ARRAY_SIZE(hotspot_names) && has_runtime(r, "hotspot"); i++)
		if (sw_begins_with(t->comm, hotspot_names[i]))
			return true;
	for (size_t i = 0; i < SW_ARRAY_SIZE(hotspot_names) && has_runtime(r, "hotspot"); i++)
		if (sw_begins_with(sw_report_thread_name(t), hotspot_names[i]))
			return true;
	*ret_place = "the .NET runtime";
	for (size_t i = 0; i < SW_ARRAY_SIZE(clr_names) && has_runtime(r, "clr"); i++)
		if (sw_begins_with(t->comm, clr_names[i]))
			return true;
	*ret_place = "Erlang's emulator";
	for (size_t i = 0; i < SW_ARRAY_SIZE(beam_names) && has_runtime(r, "beam"); i++)
		if (is_of_beam(t->comm, beam_names[i]))
			return true;
	*ret_place = "the runtime";
	const char *role = t->managed != NULL ? t->managed->role : NULL;
	for (size_t i = 0; role != NULL && i < SW_ARRAY_SIZE(idle_roles); i++)
		if (strcmp(role, idle_roles[i]) == 0)
			return true;
	return false;
}

/* A thread that waits for another one has work. The end of a thread is no lock: main() waits for
 * its workers. */
static bool is_join(const struct sw_report_wait *wait)
{
	return strcmp(wait->kind, "thread") == 0;
}

/* The other end of a pipe may be the process's own: that says who wakes the thread, and nothing of work. */
static bool waits_for_owner(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_wait *wait = t->blocked_on;
	bool other = wait != NULL && wait->owner_pid != 0 && wait->owner_pid != r->process.pid;
	return wait != NULL && !is_join(wait) && (wait->owner_tid != 0 || other);
}

/* Threads that wait for none and are waited for are all in root_holders, which tells most threads
 * apart. */
static bool is_waited_for(const struct sw_report *r, const struct sw_report_thread *t)
{
	bool holds = false;
	for (size_t i = 0; i < r->n_root_holders && !holds; i++)
		holds = r->root_holders[i].tid == t->tid;
	for (size_t i = 0; i < r->n_threads && holds; i++) {
		const struct sw_report_wait *wait = r->threads[i].blocked_on;
		if (wait != NULL && wait->owner_tid == t->tid && !is_join(wait))
			return true;
	}
	for (size_t i = 0; i < r->n_peers; i++)
		if (r->peers[i].owner_tid == t->tid)
			return true;
	return false;
}

/* Whether a frame is the C library's, C++'s or a program's entry, around the function that a thread was started with. */
static bool is_around_start(const struct sw_report *r, const struct sw_report_frame *f)
{
	static const char *const begins[] = {"std::", "void std::",
					     "execute_native_thread_routine"};
	if (sw_frame_is_libc(r, f))
		return true;
	for (size_t i = 0; f->function != NULL && i < SW_ARRAY_SIZE(begins); i++)
		if (sw_begins_with(f->function, begins[i]))
			return true;
	return f->function != NULL && strcmp(f->function, "_start") == 0;
}

/* Whether a thread waits for events in the very function that it was started with: a loop of the program's own. A request
 * that waits for its database does so in a function that somebody has called. */
static bool is_own_loop(const struct sw_report *r, const struct sw_report_thread *t,
			const struct sw_report_stack *s)
{
	size_t n = 0;
	if (s == NULL || strcmp(s->end, "complete") != 0 || t->syscall == NULL ||
	    !sw_begins_with(t->syscall, "epoll_"))
		return false;
	for (size_t i = 0; i < s->n_frames && n < 2; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		if (sw_frame_is_managed(f) || sw_guess_name(f->trust) != NULL)
			return false;
		n += !is_around_start(r, f);
	}
	return n == 1;
}

static const char *place_of(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(r, t);
	const char *place = place_of_stack(r, s);
	if (place != NULL)
		return place;
	if (is_own_loop(r, t, s))
		return "an event loop";
	for (size_t i = 0; t->syscall != NULL && i < SW_ARRAY_SIZE(idle_calls); i++)
		if (strcmp(t->syscall, idle_calls[i]) == 0)
			return "accept";
	if (t->blocked_on != NULL && strcmp(t->blocked_on->kind, "queue_get") == 0)
		return "a queue";
	return is_runtimes_thread(r, t, &place) && is_runtimes_own(s) ? place : NULL;
}

/* As sw_idle_place(), but for joins. */
static const char *place_for_work(const struct sw_report *r, const struct sw_report_thread *t)
{
	if (!(sleeps(t) || is_just_woken(r, t)) || !t->captured || sw_waits_for_lock(t) ||
	    waits_for_owner(r, t))
		return NULL;
	const char *place = place_of(r, t);
	return place != NULL && !is_waited_for(r, t) ? place : NULL;
}

/* Whether a thread waits for the end of one that waits for work itself: a server's main thread, which has started the others. */
static bool joins_idle(const struct sw_report *r, const struct sw_report_thread *t)
{
	if (!sleeps(t) || !t->captured || t->blocked_on == NULL || !is_join(t->blocked_on))
		return false;
	const struct sw_report_thread *joined = sw_thread_of(r, t->blocked_on->owner_tid);
	return joined != NULL && joined->trace == NULL && place_for_work(r, joined) != NULL;
}

const char *sw_idle_place(const struct sw_report *r, const struct sw_report_thread *t)
{
	if (joins_idle(r, t))
		return is_waited_for(r, t) ? NULL : "a join of an idle thread";
	return place_for_work(r, t);
}
