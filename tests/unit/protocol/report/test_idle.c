/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample_report.h"
#include "report/idle.h"
#include "report/activity.h"
#include "cleanup.h"
#include "test.h"

enum { FRAMES = 8, THREADS = 3 };

/* A report of one stack, which all of its threads have. */
struct world {
	struct sw_report report;
	struct sw_report_stack stack;
	struct sw_report_frame frames[FRAMES];
	struct sw_report_thread threads[THREADS];
	struct sw_report_wait waits[THREADS];
	struct sw_report_holder holder;
};

static const size_t indices[THREADS] = {0, 1, 2};

/* A name that ends in .py is a function of Python, with its file behind a space; one with "js" in front
 * one of JavaScript; "" has none; "libc" is the C library's. */
static struct sw_report_frame frame_of(const char *name)
{
	static char names[64][64];
	static size_t used;
	struct sw_report_frame frame = sample_frame(name, 1);
	const char *space = strchr(name, ' ');
	if (space != NULL && strstr(name, ".py") != NULL) {
		char *copy = names[used++ % 64];
		memcpy(copy, name, (size_t) (space - name));
		copy[space - name] = '\0';
		frame.function = copy;
		frame.file = space + 1;
		frame.kind = "cpython";
		frame.module = -1;
	} else if (strncmp(name, "js ", 3) == 0) {
		frame.kind = "v8js";
		frame.module = -1;
	} else if (strstr(name, "java.") != NULL || strncmp(name, "shop.", 5) == 0) {
		frame.kind = "jvm";
		frame.module = -1;
	} else if (strchr(name, '!') != NULL) {
		frame.kind = "clr";
	} else if (name[0] == '\0') {
		frame.function = NULL;
	} else if (strcmp(name, "libc") == 0) {
		frame.module = 1;
	}
	return frame;
}

static void make(struct world *w, const char *syscall, const char *const names[FRAMES])
{
	memset(w, 0, sizeof(*w));
	w->report = sample_report;
	for (size_t i = 0; i < FRAMES && names[i] != NULL; i++)
		w->frames[w->stack.n_frames++] = frame_of(names[i]);
	w->stack.threads = indices;
	w->stack.n_threads = THREADS;
	w->stack.end = "complete";
	w->stack.frames = w->frames;
	w->report.stacks = &w->stack;
	w->report.n_stacks = 1;
	for (size_t i = 0; i < THREADS; i++)
		w->threads[i] = (struct sw_report_thread){.tid = (pid_t) (10 + i),
							  .comm = "t",
							  .state = 'S',
							  .captured = true,
							  .syscall = syscall,
							  .cpu_ns = -1,
							  .since_ms = -1};
	w->report.threads = w->threads;
	w->report.n_threads = THREADS;
	w->holder = (struct sw_report_holder){.tid = 10, .pid = 4242, .waiting = 1};
}

/* The waits of threads, and whether they are for work: the second is what an engineer on call is
 * looking for. */
TEST(test_places)
{
	static const struct {
		const char *syscall, *place;
		const char *names[FRAMES];
	} cases[] = {
		{"accept4", "accept", {"libc", "serve", "main"}},
		/* a call alone says nothing: it may be a request that waits for its database */
		{"epoll_wait", NULL, {"libc", "wait_for_reply", "h"}},
		{"poll", NULL, {"libc", "main"}},
		/* in the function that a thread was started with it is a loop's, in no other one */
		{"epoll_wait", "an event loop", {"libc", "listener", "libc", "libc"}},
		{"epoll_pwait", "an event loop", {"libc", "main", "libc", "_start"}},
		{"epoll_wait",
		 "an event loop",
		 {"libc", "Server::loop()", "std::thread::_State_impl<Server>::_M_run()",
		  "execute_native_thread_routine", "libc"}},
		{"epoll_wait", NULL, {"libc", "wait_for_reply", "listener", "libc", "libc"}},
		{"epoll_wait", NULL, {"libc", "handle_0 app.py"}},
		{"poll", NULL, {"libc", "listener", "libc", "libc"}},
		{"epoll_wait",
		 "a read of the next command",
		 {"libc", "WaitEventSetWaitBlock", "WaitEventSetWait", "secure_read", "pq_recvbuf",
		  "pq_getbyte", "SocketBackend", "PostgresMain"}},
		{"epoll_wait",
		 NULL,
		 {"libc", "WaitEventSetWaitBlock", "WaitEventSetWait", "WaitLatch", "ProcSleep",
		  "WaitOnLock", "PostgresMain"}},
		{"epoll_wait",
		 NULL,
		 {"libc", "WaitEventSetWait", "WaitLatch", "pg_sleep", "ExecResult",
		  "PostgresMain"}},
		{"epoll_wait",
		 "PostgreSQL's own processes",
		 {"libc", "WaitEventSetWait", "WaitLatch", "WalWriterMain"}},
		/* node: its loop, and the same loop below a function of the program */
		{"epoll_pwait",
		 "an event loop",
		 {"libc", "uv__io_poll", "uv_run", "node::SpinEventLoop(node::Environment*)",
		  "main"}},
		{"epoll_pwait",
		 NULL,
		 {"libc", "uv__io_poll", "uv_run", "node::SyncProcessRunner::Run", "js execSync",
		  "uv_run", "main"}},
		{"epoll_pwait", "an event loop", {"libc", "", "uv_run", "main"}},
		{"epoll_wait",
		 "an event loop",
		 {"libc", "uv__io_poll", "uv_run", "__pyx_f_6uvloop_4loop_4Loop__run",
		  "Runner.run asyncio/runners.py", "main app.py"}},
		{"futex", "the libuv thread pool", {"libc", "uv_cond_wait", "worker", "libc"}},
		{"futex", NULL, {"libc", "worker", "libc"}},
		{"futex",
		 "the V8 platform",
		 {"libc", "node::inspector::(anonymous namespace)::StartIoThreadMain(void*)"}},
		/* names as compilers change them; GLib 2.76 and later */
		{"poll",
		 "an event loop",
		 {"libc", "g_main_context_iterate_unlocked.isra.0", "g_main_loop_run", "main"}},
		{"poll",
		 "an event loop",
		 {"libc", "g_main_context_iterate.constprop.0.isra.0", "g_main_loop_run.cold"}},
		{"poll", NULL, {"libc", "g_main_context_iterate.mine", "g_main_loop_run"}},
		/* Boost.Asio: several threads in run() */
		{"futex",
		 "an event loop",
		 {"libc",
		  "void boost::asio::detail::posix_event::wait<boost::asio::detail::"
		  "conditionally_enabled_mutex::scoped_lock>(...)",
		  "boost::asio::detail::conditionally_enabled_event::wait(...)",
		  "boost::asio::detail::scheduler::do_run_one(...)",
		  "boost::asio::detail::scheduler::run(...)", "main"}},
		/* Python: asyncio, a pool, and a worker that asks somebody */
		{"epoll_wait",
		 "an event loop",
		 {"libc", "select_epoll_poll",
		  "EpollSelector.select /usr/lib/python3.11/selectors.py",
		  "BaseEventLoop._run_once /usr/lib/python3.11/asyncio/base_events.py",
		  "main app.py"}},
		{"epoll_wait",
		 NULL,
		 {"libc", "select_epoll_poll",
		  "EpollSelector.select /usr/lib/python3.11/selectors.py", "ask client.py",
		  "BaseEventLoop._run_once /usr/lib/python3.11/asyncio/base_events.py"}},
		{"epoll_wait", NULL, {"libc", "select_epoll_poll", "ask client.py", "work app.py"}},
		{"futex",
		 "a Python thread pool",
		 {"libc", "lock_acquire",
		  "_worker /usr/lib/python3.11/concurrent/futures/thread.py",
		  "Thread.run /usr/lib/python3.11/threading.py"}},
		{"futex", NULL, {"libc", "lock_acquire", "_worker mine.py"}},
		/* Java and .NET */
		{"futex",
		 "a Java thread pool",
		 {"libc", "java.util.concurrent.ThreadPoolExecutor.getTask",
		  "java.util.concurrent.ThreadPoolExecutor.runWorker"}},
		{"futex", NULL, {"libc", "shop.Order.place", "java.lang.Thread.run"}},
		{"futex",
		 "the .NET thread pool",
		 {"libc",
		  "System.Private.CoreLib.dll!System.Threading.LowLevelLifoSemaphore.Wait(int)"}},
		{"futex",
		 NULL,
		 {"libc", "app.dll!My.System.Threading.LowLevelLifoSemaphore.Wait()"}},
		{"futex", "the Go scheduler", {"runtime.futex", "runtime.templateThread"}},
		/* without names, anything may be between them */
		{"epoll_wait", NULL, {"libc", "", "libc", "main"}},
		{"futex", "Apache's workers", {"libc", "ap_queue_pop_something", "worker_thread"}},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct world w;
		make(&w, cases[i].syscall, cases[i].names);
		const char *place = sw_idle_place(&w.report, &w.threads[0]);
		if ((place == NULL) != (cases[i].place == NULL) ||
		    (place != NULL && strcmp(place, cases[i].place) != 0))
			fail_msg("case %zu (%s): %s", i, cases[i].names[1],
				 place != NULL ? place : "not idle");
	}
}

/* Waits that loops do not call themselves hold them up; below functions that are not known, a wait may be theirs. */
TEST(test_held)
{
	static const struct {
		const char *syscall, *wait;
		bool held;
		const char *names[FRAMES];
	} cases[] = {
		{"clock_nanosleep", NULL, true, {"libc", "my_callback", "uv_run", "main"}},
		{"pread64", NULL, true, {"libc", "ngx_read_file", "ngx_process_events_and_timers"}},
		{"futex", "mutex", true, {"libc", "my_callback", "g_main_loop_run"}},
		{"futex", NULL, false, {"libc", "my_event_wait", "event_base_loop", "main"}},
		{"futex", "condition", false, {"libc", "my_event_wait", "event_base_loop"}},
		{"epoll_wait", NULL, false, {"libc", "my_poll", "event_base_loop", "main"}},
		{"poll",
		 NULL,
		 false,
		 {"libc", "g_main_context_iterate_unlocked.isra.0", "g_main_loop_run"}},
		{"futex",
		 NULL,
		 false,
		 {"libc", "boost::asio::detail::posix_event::wait(...)",
		  "boost::asio::detail::conditionally_enabled_event::wait(...)",
		  "boost::asio::detail::scheduler::do_run_one(...)"}},
		/* a function of a language is surely between */
		{"poll",
		 NULL,
		 true,
		 {"libc", "ask client.py",
		  "BaseEventLoop._run_once /usr/lib/python3.11/asyncio/base_events.py"}},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct world w;
		make(&w, cases[i].syscall, cases[i].names);
		if (cases[i].wait != NULL) {
			w.waits[0] = (struct sw_report_wait){.kind = cases[i].wait, .fd = -1};
			w.threads[0].blocked_on = &w.waits[0];
		}
		if (sw_holds_loop_up(&w.report, &w.threads[0]) != cases[i].held)
			fail_msg("case %zu (%s)", i, cases[i].names[1]);
	}
}

/* A file without names that calls a library's loop back may be what waits. */
TEST(test_nameless)
{
	struct world w;
	make(&w, "epoll_wait", (const char *const[FRAMES]){"libc", "", "event_base_loop", "main"});
	assert_string_equal(sw_idle_place(&w.report, &w.threads[0]), "an event loop");
	w.frames[2].module = 1;
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
}

/* A thread that waits for an element of a queue waits for work, whatever the program calls around
 * it. */
TEST(test_queues)
{
	static const char *const names[FRAMES] = {"libc", "java.util.A.take", "shop.Work.run"};
	static const struct {
		const char *kind, *place;
	} cases[] = {{"queue_get", "a queue"}, {"queue_put", NULL}, {"condition", NULL}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct world w;
		make(&w, "futex", names);
		w.waits[0] = (struct sw_report_wait){.kind = cases[i].kind, .fd = -1};
		w.threads[0].blocked_on = &w.waits[0];
		const char *place = sw_idle_place(&w.report, &w.threads[0]);
		if (cases[i].place == NULL)
			assert_null(place);
		else
			assert_string_equal(place, cases[i].place);
	}
}

/* A thread that holds a lock which others want, or is owed an answer, is not idle, wherever it
 * waits. */
TEST(test_holders)
{
	struct world w;
	make(&w, "accept", (const char *const[FRAMES]){"libc", "serve", "main"});
	w.report.root_holders = &w.holder;
	w.report.n_root_holders = 1;
	w.waits[1] = (struct sw_report_wait){.kind = "mutex", .owner_tid = 10, .fd = -1};
	w.threads[1].blocked_on = &w.waits[1];
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
	assert_null(sw_idle_place(&w.report, &w.threads[1]));
	assert_int_equal(sw_activity_of(&w.report, &w.threads[1]), SW_ACTIVITY_LOCK);
	assert_string_equal(sw_idle_place(&w.report, &w.threads[2]), "accept");
	/* main() that waits for the end of its workers is no such one */
	w.waits[1].kind = "thread";
	assert_string_equal(sw_idle_place(&w.report, &w.threads[0]), "accept");
	/* one of another process */
	struct sw_report_peer peer = {.pid = 99, .comm = "p", .owner_tid = 12, .owner_pid = 4242};
	w.report.peers = &peer;
	w.report.n_peers = 1;
	assert_null(sw_idle_place(&w.report, &w.threads[2]));
}

/* A stack whose outermost frames are missing may be that of a function which somebody has called, and so may one that is guessed. */
TEST(test_own_loop_unknown)
{
	struct world w;
	make(&w, "epoll_wait", (const char *const[FRAMES]){"libc", "listener", "libc"});
	assert_string_equal(sw_idle_place(&w.report, &w.threads[0]), "an event loop");
	w.frames[2].trust = "scan";
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
	w.frames[2].trust = "cfi";
	w.stack.end = "memory";
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
}

/* The main thread of a server waits for the end of one that it has started: both are idle if that one is. */
TEST(test_joins)
{
	static const char *const names[FRAMES] = {"libc", "main"};
	struct sw_report_stack stacks[2];
	struct sw_report_trace trace = {0};
	struct world w;
	make(&w, "epoll_wait", (const char *const[FRAMES]){"libc", "listener", "libc"});
	stacks[0] = w.stack;
	struct sw_report_frame main_frames[] = {frame_of(names[0]), frame_of(names[1])};
	stacks[1] = w.stack;
	stacks[1].frames = main_frames;
	stacks[1].n_frames = SW_ARRAY_SIZE(main_frames);
	w.report.stacks = stacks;
	w.report.n_stacks = SW_ARRAY_SIZE(stacks);
	w.threads[0].stack = 1;
	w.threads[0].syscall = "futex";
	w.waits[0] = (struct sw_report_wait){.kind = "thread", .owner_tid = 11, .fd = -1};
	w.threads[0].blocked_on = &w.waits[0];
	assert_string_equal(sw_idle_place(&w.report, &w.threads[0]), "a join of an idle thread");
	assert_int_equal(sw_activity_of(&w.report, &w.threads[0]), SW_ACTIVITY_IDLE);
	/* The joined thread works on a request, waits for something else, or runs. */
	w.threads[1].trace = &trace;
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
	w.threads[1].trace = NULL;
	w.threads[1].syscall = "poll";
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
	w.threads[1].syscall = "epoll_wait";
	w.threads[1].state = 'R';
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
	w.threads[1].state = 'S';
	assert_non_null(sw_idle_place(&w.report, &w.threads[0]));
	/* Others wait for what the joining one has. */
	w.report.root_holders = &w.holder;
	w.report.n_root_holders = 1;
	w.waits[2] = (struct sw_report_wait){.kind = "mutex", .owner_tid = 10, .fd = -1};
	w.threads[2].blocked_on = &w.waits[2];
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
	/* Two threads that wait for each other's end. */
	w.report.n_root_holders = 0;
	w.waits[1] = (struct sw_report_wait){.kind = "thread", .owner_tid = 10, .fd = -1};
	w.threads[1].blocked_on = &w.waits[1];
	w.threads[1].stack = 1;
	w.threads[1].syscall = "futex";
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
}

/* A loop that its time limit has just woken is idle, one that turns round and round is not. */
TEST(test_just_woken)
{
	struct world w;
	make(&w, "epoll_wait", (const char *const[FRAMES]){"libc", "listener", "libc"});
	w.report.process.uptime_ms = 2000;
	w.threads[0].state = 'R';
	assert_int_equal(sw_activity_of(&w.report, &w.threads[0]), SW_ACTIVITY_RUNNING);
	w.threads[0].cpu_ns = 19 * 1000 * 1000;
	assert_string_equal(sw_idle_place(&w.report, &w.threads[0]), "an event loop");
	assert_int_equal(sw_activity_of(&w.report, &w.threads[0]), SW_ACTIVITY_IDLE);
	w.threads[0].cpu_ns = 20 * 1000 * 1000;
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
	assert_int_equal(sw_activity_of(&w.report, &w.threads[0]), SW_ACTIVITY_RUNNING);
	w.threads[0].cpu_ns = 0;
	w.threads[0].syscall = NULL;
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
}

/* Threads that runtimes keep for themselves have names that the runtimes give, or whose beginning the kernel has. */
TEST(test_names)
{
	static const struct {
		const char *runtime, *comm, *managed, *place;
	} cases[] = {
		{"hotspot", "java", "DestroyJavaVM", "the Java VM"},
		{"hotspot", "VirtualThread-u", "VirtualThread-unblocker", "the Java VM"},
		{"clr", ".NET SynchManag", NULL, "the .NET runtime"},
		{"clr", ".NET SigHandler", NULL, "the .NET runtime"},
		{"beam", "1_scheduler", NULL, "Erlang's emulator"},
		{"beam", "10_dirty_io_sch", NULL, "Erlang's emulator"},
		{"beam", "2_dirty_cpu_sch", NULL, "Erlang's emulator"},
		{"beam", "erts_aux_1", NULL, "Erlang's emulator"},
		{"beam", "1_my_own", NULL, NULL},
		{"beam", "10_dirty_iodine", NULL, NULL},
		{"cpython", ".NET SynchManag", NULL, NULL},
		{"hotspot", "java", "http-1", NULL},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		const struct sw_report_runtime runtime = {.name = cases[i].runtime};
		const struct sw_report_managed managed = {.runtime = cases[i].runtime,
							  .name = cases[i].managed};
		struct world w;
		make(&w, "futex", (const char *const[FRAMES]){"libc", "wait_for_it"});
		w.report.process.runtimes = &runtime;
		w.report.process.n_runtimes = 1;
		w.threads[0].comm = cases[i].comm;
		w.threads[0].managed = cases[i].managed != NULL ? &managed : NULL;
		/* of a pipe whose other end is the process's own */
		w.waits[0] = (struct sw_report_wait){.kind = "pipe",
						     .owner_pid = w.report.process.pid,
						     .fd = 3,
						     .trust = "kernel"};
		w.threads[0].blocked_on = &w.waits[0];
		const char *place = sw_idle_place(&w.report, &w.threads[0]);
		w.waits[0].owner_pid = 1;
		assert_null(sw_idle_place(&w.report, &w.threads[0]));
		if (cases[i].place == NULL)
			assert_null(place);
		else
			assert_string_equal(place, cases[i].place);
	}
	/* A thread that waits for a lock of PostgreSQL's does so by a call for I/O. */
	struct world w;
	make(&w, "epoll_wait",
	     (const char *const[FRAMES]){"libc", "WaitEventSetWait", "WaitLatch", "ProcSleep",
					 "WaitOnLock"});
	assert_int_equal(sw_activity_of(&w.report, &w.threads[0]), SW_ACTIVITY_LOCK);
}

/* A runtime's own thread that runs code of the program's: a finalizer that hangs. */
TEST(test_roles)
{
	static const struct sw_report_managed finalizer = {.runtime = "clr", .role = "finalizer"},
					      signals = {.runtime = "clr", .role = "signals"},
					      pool = {.runtime = "clr", .role = "thread-pool"};
	struct world w;
	make(&w, "futex", (const char *const[FRAMES]){"libc", "FinalizerThreadWorker"});
	w.threads[0].managed = &finalizer;
	w.threads[1].managed = &signals;
	w.threads[2].managed = &pool;
	assert_string_equal(sw_idle_place(&w.report, &w.threads[0]), "the runtime");
	assert_string_equal(sw_idle_place(&w.report, &w.threads[1]), "the runtime");
	assert_null(sw_idle_place(&w.report, &w.threads[2]));
	make(&w, "futex",
	     (const char *const[FRAMES]){"libc", "app.dll!Shop.File.Finalize()",
					 "FinalizerThreadWorker"});
	w.threads[0].managed = &finalizer;
	assert_null(sw_idle_place(&w.report, &w.threads[0]));

	static const struct sw_report_runtime hotspot = {.name = "hotspot"};
	make(&w, "futex", (const char *const[FRAMES]){"libc", "shop.Order.finalize"});
	w.report.process.runtimes = &hotspot;
	w.report.process.n_runtimes = 1;
	w.threads[0].comm = "Finalizer";
	assert_null(sw_idle_place(&w.report, &w.threads[0]));
	w.frames[1] = sample_frame("Monitor::wait", 1);
	assert_string_equal(sw_idle_place(&w.report, &w.threads[0]), "the Java VM");
}
