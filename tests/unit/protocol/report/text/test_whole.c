/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text on the troubles of a process as a whole. */
#include "report/text/whole.h"
#include "sample_report.h"
#include "cleanup.h"
#include "test.h"

enum { THREADS = 4, FRAMES = 4 };

struct world {
	struct sw_report report;
	struct sw_report_runtime runtime;
	struct sw_report_thread threads[THREADS];
	struct sw_report_stack stacks[THREADS];
	struct sw_report_frame frames[THREADS][FRAMES];
	struct sw_report_wait waits[THREADS];
	size_t indices[THREADS];
};

static void make(struct world *w, const char *runtime)
{
	memset(w, 0, sizeof(*w));
	w->runtime.name = runtime;
	w->report.process.runtimes = &w->runtime;
	w->report.process.n_runtimes = 1;
	w->report.process.pid = 9;
	w->report.threads = w->threads;
	w->report.stacks = w->stacks;
	w->report.modules = sample_modules;
	w->report.n_modules = 2;
}

/* A thread with that stack, innermost frame first; a name with a file has " in FILE" behind it. */
static struct sw_report_thread *add(struct world *w, const char *name, char state, const char *kind,
				    const char *const names[FRAMES])
{
	size_t i = w->report.n_threads++;
	w->report.n_stacks++;
	w->indices[i] = i;
	w->threads[i] = (struct sw_report_thread){.tid = (pid_t) (10 + i),
						  .comm = name,
						  .state = state,
						  .captured = true,
						  .syscall = state == 'S' ? "futex" : NULL,
						  .cpu_ns = -1,
						  .since_ms = 3100,
						  .stack = (int32_t) i};
	w->stacks[i] = (struct sw_report_stack){.threads = &w->indices[i],
						.n_threads = 1,
						.end = "complete",
						.frames = w->frames[i]};
	for (size_t k = 0; k < FRAMES && names[k] != NULL; k++) {
		struct sw_report_frame f = sample_frame(names[k], 4);
		if (strncmp(names[k], "C ", 2) == 0) {
			f.function += 2;
			f.file = NULL;
			f.line = 0;
		} else {
			f.kind = kind;
			f.module = -1;
			f.file = strncmp(names[k], "_worker", 7) == 0
					 ? "/concurrent/futures/thread.py"
				 : strncmp(names[k], "_run_once", 9) == 0
					 ? "/lib/asyncio/base_events.py"
				 : strstr(names[k], "hread") != NULL ||
						 strstr(names[k], "Pool") != NULL
					 ? "/lib/Pool"
					 : "/srv/app";
		}
		w->frames[i][w->stacks[i].n_frames++] = f;
	}
	return &w->threads[i];
}

static void assert_whole(const struct world *world, const char *wanted)
{
	const struct sw_text_options options = {0};
	struct sw_text_writer w = {.report = &world->report, .options = &options};
	sw_put(&w, "%s", "");
	sw_text_whole(&w);
	assert_string_equal(w.text.data, wanted);
	sw_text_deinit(&w.text);
}

/* The caller of a VM operation is no holder: all wait for the VM. */
TEST(test_java)
{
	static const char *const in_operation[FRAMES] = {"C pthread_cond_wait",
							 "C VMThread::execute(VM_Operation*)",
							 "Gc.fill"};
	static const char *const elsewhere[FRAMES] = {"C read", "Gc.read"};
	static const char *const parked[FRAMES] = {"C pthread_cond_wait",
						   "jdk.internal.misc.Unsafe.park",
						   "java.util.concurrent.LinkedBlockingQueue.take"};
	struct sw_report_collecting c = {.now = true,
					 .name = "Parallel full collection pauses",
					 .cause = "Ergonomics",
					 .number = 172,
					 .stopped_permille = 828};
	struct sw_report_holder holder = {.tid = 10, .pid = 9, .waiting = 2};
	struct world w;
	make(&w, "hotspot");
	(void) add(&w, "http-0", 'S', "jvm", in_operation);
	add(&w, "http-1", 'S', "jvm", elsewhere)->syscall = "read";
	(void) add(&w, "consumer", 'S', "jvm",
		   parked); /* it waits for the queue, during a collection, too */
	w.report.root_holders = &holder;
	w.report.n_root_holders = 1;
	assert_whole(&w, "3 threads wait for an operation of the Java VM\n");
	w.runtime.collecting = &c;
	assert_whole(&w,
		     "Collecting garbage: Parallel full collection, the 172nd (Ergonomics); the VM "
		     "stopped "
		     "the program for 82 % of the time since its start; 3 threads wait for it\n");
	c.now = false;
	assert_whole(
		&w,
		"The last collection of garbage: Parallel full collection, the 172nd (Ergonomics); "
		"the VM stopped the program for 82 % of the time since its start; 3 threads wait "
		"for the VM\n");
	c.stopped_permille = 20;
	assert_whole(&w, "3 threads wait for an operation of the Java VM\n");
	/* Just woken, or about to wait. */
	w.threads[0].state = 'R';
	assert_whole(&w, "3 threads wait for an operation of the Java VM\n");
	w.report.n_root_holders = 0;
	w.threads[0].syscall = NULL;
	assert_whole(&w, "");
	c = (struct sw_report_collecting){.now = true, .number = 11, .stopped_permille = -1};
	assert_whole(&w, "Collecting garbage: of which kind is not known\n");
}

TEST(test_collectors)
{
	static const struct {
		const char *runtime, *kind, *wanted;
		const char *names[FRAMES];
	} cases[] = {
		{"cpython",
		 "cpython",
		 "Collecting garbage (python): t (10) in tree app:4\n",
		 {"C gc_collect_main", "tree"}},
		{"ruby",
		 "ruby",
		 "Collecting garbage (ruby): t (10) in tree app:4\n",
		 {"C gc_start", "tree"}},
		{"v8",
		 "v8js",
		 "Collecting garbage (v8): t (10) in tree app:4\n",
		 {"C v8::internal::Heap::CollectGarbage(v8::internal::AllocationSpace)", "tree"}},
		{"go",
		 "go",
		 "Collecting garbage (go): t (10) in main.tree app:4\n",
		 {"C runtime.gcDrain", "main.tree"}},
		{"php",
		 "php",
		 "Collecting garbage (php): t (10) in tree app:4\n",
		 {"C zend_gc_collect_cycles", "tree"}},
		{"beam",
		 "beam",
		 "Collecting garbage (beam): t (10) in tree app:4\n",
		 {"C garbage_collect.constprop.0", "tree"}},
		/* names of a program's own, or of another runtime */
		{"cpython", "cpython", "", {"C gc_start", "tree"}},
		{"ruby", "ruby", "", {"C gc_start_later", "tree"}},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct world w;
		make(&w, cases[i].runtime);
		(void) add(&w, "t", 'R', cases[i].kind, cases[i].names);
		assert_whole(&w, cases[i].wanted);
	}
}

/* .NET names the thread that has stopped the others. */
TEST(test_suspending)
{
	static const char *const names[FRAMES] = {"C memset", "P.Tree"};
	static const struct sw_report_managed managed = {.runtime = "clr",
							 .id = 1,
							 .role = "suspending"};
	struct world w;
	make(&w, "clr");
	add(&w, "t", 'R', "clr", names)->managed = &managed;
	assert_whole(&w, "Collecting garbage (.NET): t (10) in P.Tree app:4\n");
}

TEST(test_pools)
{
	static const struct {
		const char *kind, *place;
		const char *busy[FRAMES];
	} cases[] = {
		{"jvm",
		 "the Java thread pool",
		 {"C futex", "shop.Order.total",
		  "java.util.concurrent.ThreadPoolExecutor.runWorker"}},
		{"jvm",
		 "the Java fork-join pool",
		 {"C futex", "shop.Order.total", "java.util.concurrent.ForkJoinPool.runWorker"}},
		{"clr",
		 "the .NET thread pool",
		 {"C futex", "shop.Order.total",
		  "System.Private.CoreLib.dll!System.Threading.PortableThreadPool+WorkerThread."
		  "WorkerThreadStart()"}},
		{"cpython", "the Python thread pool", {"C futex", "shop.Order.total", "_worker"}},
	};
	static const char *const idle[FRAMES] = {
		"C futex", "java.util.concurrent.ThreadPoolExecutor.getTask",
		"java.util.concurrent.ThreadPoolExecutor.runWorker"};
	char wanted[256];
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct world w;
		make(&w, "");
		(void) add(&w, "http-1", 'S', cases[i].kind, cases[i].busy);
		assert_whole(&w, ""); /* a pool of one thread has no other */
		(void) add(&w, "http-2", 'S', cases[i].kind, cases[i].busy);
		(void) snprintf(wanted, sizeof(wanted),
				"2 of 2 threads of %s are at work, all in shop.Order.total app:4\n",
				cases[i].place);
		assert_whole(&w, wanted);
		w.threads[0].state = w.threads[1].state = 'R';
		assert_whole(&w, ""); /* they run: that is told */
	}
	struct world w;
	make(&w, "");
	(void) add(&w, "http-1", 'S', "jvm", cases[0].busy);
	(void) add(&w, "http-2", 'S', "jvm", cases[0].busy);
	(void) add(&w, "http-3", 'S', "jvm", idle);
	assert_whole(&w, "");
}

/* .NET keeps how many threads its pool may have, and when work was last taken from its queue. */
TEST(test_dotnet_pool)
{
	static const char *const busy[FRAMES] = {
		"C futex", "shop.Order.total",
		"System.Private.CoreLib.dll!System.Threading.PortableThreadPool+WorkerThread."
		"WorkerThreadStart()"};
	static const struct {
		struct sw_report_thread_pool pool;
		const char *wanted;
	} cases[] = {
		{{.working = 2, .threads = 2, .most = 9, .taken_ms = 12000}, ""},
		{{.working = 2, .threads = 2, .most = 2, .taken_ms = 12000},
		 "; it may have no more"},
		{{.working = 2, .threads = 2, .most = 9, .taken_ms = 900, .waits = true}, ""},
		{{.working = 2, .threads = 2, .most = 9, .taken_ms = -1, .waits = true}, ""},
		{{.working = 2, .threads = 2, .most = 2, .taken_ms = 12000, .waits = true},
		 "; it may have no more; work waits in its queue, from which none was taken for 12 "
		 "s"},
	};
	char wanted[256];
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct world w;
		make(&w, "clr");
		w.runtime.thread_pool = &cases[i].pool;
		(void) add(&w, ".NET TP Worker", 'S', "clr", busy);
		(void) add(&w, ".NET TP Worker", 'S', "clr", busy);
		(void) snprintf(wanted, sizeof(wanted),
				"2 of 2 threads of the .NET thread pool are at work, all in "
				"shop.Order.total app:4%s\n",
				cases[i].wanted);
		assert_whole(&w, wanted);
	}
}

/* php-fpm counts its workers, which are processes. */
TEST(test_fpm)
{
	static const char *const busy[FRAMES] = {"C poll", "load"};
	static const struct {
		struct sw_report_thread_pool pool;
		const char *wanted;
	} cases[] = {
		{{.working = 2, .threads = 3, .most = 3, .queued = 9}, ""},
		{{.working = 0, .threads = 0, .most = 3, .queued = 9}, ""}, /* not counted yet */
		{{.working = 3, .threads = 3, .most = 5}, ""}, /* it makes more on demand */
		{{.working = 3, .threads = 3, .most = 5, .queued = -1}, ""},
		{{.working = 3, .threads = 3, .most = 5, .queued = 1},
		 "3 of 3 workers of php-fpm's pool www are at work; 1 connection waits to be "
		 "accepted\n"},
		{{.working = 3, .threads = 3, .most = 3, .queued = 214},
		 "3 of 3 workers of php-fpm's pool www are at work; it may have no more; 214 "
		 "connections wait to be accepted\n"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_report_thread_pool pool = cases[i].pool;
		struct world w;
		make(&w, "php");
		pool.name = "www";
		w.runtime.thread_pool = &pool;
		(void) add(&w, "php-fpm8.2", 'S', "php", busy);
		assert_whole(&w, cases[i].wanted);
	}
}

/* The pool's object says how many threads there may be, what waits for them, and which threads are its own. */
TEST(test_known_pools)
{
	static const char *const busy[FRAMES] = {"C futex", "shop.A", "_worker"},
				 *const idle[FRAMES] = {"C futex", "_worker"};
	static const char at_work[] =
		"2 of 2 threads of the Python thread pool are at work, all in shop.A app:4";
	struct sw_report_pool pool = {0x10, "ThreadPoolExecutor", 2, 3, 0},
			      other = {0x20, "ThreadPoolExecutor", 2, 2, 0};
	static const struct {
		int64_t most, queued;
		char state;
		const char *wanted;
	} cases[] = {
		{3, 0, 'S', ""},
		{3, -1, 'S', ""},
		{-1, 0, 'S', ""},
		{2, 0, 'S', "; it may have no more"},
		{2, 1, 'S', "; it may have no more; 1 item of work waits in its queue"},
		{3, 214, 'S', "; 214 items of work wait in its queue"},
		{3, 2, 'R', "; 2 items of work wait in its queue"}, /* also where all run */
	};
	char wanted[512];
	struct world w;
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		make(&w, "cpython");
		pool.most = cases[i].most;
		pool.queued = cases[i].queued;
		add(&w, "a-1", cases[i].state, "cpython", busy)->pool = &pool;
		add(&w, "a-2", cases[i].state, "cpython", busy)->pool = &pool;
		(void) snprintf(wanted, sizeof(wanted), "%s%s\n", at_work, cases[i].wanted);
		assert_whole(&w, wanted);
	}
	/* Threads of one name, of two pools. */
	pool = (struct sw_report_pool){0x10, "ThreadPoolExecutor", 2, 2, 5};
	add(&w, "a-3", 'S', "cpython", busy)->pool = &other;
	add(&w, "a-4", 'S', "cpython", idle)->pool = &other;
	(void) snprintf(wanted, sizeof(wanted),
			"%s; it may have no more; 5 items of work wait in its queue\n", at_work);
	assert_whole(&w, wanted);
	/* Threads of another name are of the pool, too. */
	w.threads[3].pool = &pool;
	assert_whole(&w, "");
	make(&w, "cpython");
	add(&w, "a-1", 'S', "cpython", busy)->pool = &pool;
	assert_whole(&w, "The only thread of the Python thread pool is at work in shop.A app:4; it "
			 "may have no more; 5 items of work wait in its queue\n");
}

/* The place that most threads are in is told, not that of the first one. */
TEST(test_places)
{
	static const char begin[] = "java.util.concurrent.ThreadPoolExecutor.runWorker";
	static const char *const a[FRAMES] = {"C futex", "shop.A", begin},
				 *const b[FRAMES] = {"C futex", "shop.B", begin},
				 *const c[FRAMES] = {"C futex", "shop.C", begin};
	struct world w;
	make(&w, "");
	(void) add(&w, "http-1", 'S', "jvm", a);
	(void) add(&w, "http-2", 'S', "jvm", b);
	(void) add(&w, "http-3", 'S', "jvm", b);
	assert_whole(&w, "3 of 3 threads of the Java thread pool are at work, 2 of them in shop.B "
			 "app:4\n");
	make(&w, "");
	(void) add(&w, "http-1", 'S', "jvm", a);
	(void) add(&w, "http-2", 'S', "jvm", b);
	(void) add(&w, "http-3", 'S', "jvm", c);
	assert_whole(&w, "3 of 3 threads of the Java thread pool are at work\n");
}

/* All threads of node 18 and 20 have its name; those of the pool are in worker(). */
TEST(test_libuv)
{
	static const char *const main_thread[FRAMES] = {"C epoll_pwait", "C uv_run", "C main"};
	static const char *const busy[FRAMES] = {"C pread64", "C uv__fs_work", "C worker"},
				 *const idle[FRAMES] = {"C futex", "C uv_cond_wait",
							"C worker.isra.0"};
	static const char wanted[] =
		"2 of 2 threads of the libuv thread pool are at work, all in pread64\n";
	struct world w;
	make(&w, "v8");
	(void) add(&w, "node", 'S', "native", main_thread);
	(void) add(&w, "node", 'S', "native", busy);
	(void) add(&w, "node", 'S', "native", busy);
	assert_whole(&w, wanted);
	struct sw_report_event_loop loop = {.late_ms = 5, .requests = 2};
	w.runtime.event_loop = &loop;
	assert_whole(&w, wanted); /* those that are worked on */
	loop.requests = 9;
	assert_whole(&w, "2 of 2 threads of the libuv thread pool are at work, all in pread64; 9 "
			 "requests of the event loop are not done\n");
	w.runtime.event_loop = NULL;
	w.stacks[0].end = "truncated"; /* it may be a worker */
	assert_whole(&w, "");
	w.stacks[0].end = "complete";
	(void) add(&w, "node", 'S', "native", idle);
	assert_whole(&w, "");
}

/* node's loop says since when it has not looked for events. */
TEST(test_late_loop)
{
	static const char *const spins[FRAMES] = {"load", "C uv_run"};
	static const char *const sync[FRAMES] = {"C pread64", "load", "C uv_run"};
	static const char *const main_module[FRAMES] = {"load", "C LoadEnvironment", "C main"};
	static const char *const wakes[FRAMES] = {"C uv__io_poll", "C uv_run"};
	static const char *const waits[FRAMES] = {"C epoll_pwait", "C uv__io_poll", "C uv_run"};
	struct sw_report_event_loop loop = {.late_ms = 2700, .requests = 1};
	static const char wanted[] =
		"The event loop of node (10) has been held up for 2.7 s, now in load app:4\n";
	struct world w;
	make(&w, "v8");
	w.runtime.event_loop = &loop;
	w.report.process.pid = 10;
	struct sw_report_thread *t = add(&w, "node", 'R', "v8js", spins);
	assert_whole(&w, wanted);
	t->state = 'T'; /* somebody has stopped it */
	assert_whole(&w, "");
	t->state = 'R';
	loop.late_ms = 900;
	assert_whole(&w, "");
	loop.late_ms = 2700;
	w.report.process.pid = 9; /* it is another thread's */
	assert_whole(&w, "");
	make(&w, "v8");
	w.runtime.event_loop = &loop;
	w.report.process.pid = 10;
	add(&w, "node", 'S', "v8js", sync)->syscall = "pread64";
	assert_whole(&w, wanted);
	make(&w, "v8");
	w.runtime.event_loop = &loop;
	w.report.process.pid = 10;
	(void) add(&w, "node", 'R', "v8js", main_module); /* the loop has not begun */
	assert_whole(&w, "");
	make(&w, "v8");
	w.runtime.event_loop = &loop;
	w.report.process.pid = 10;
	(void) add(&w, "node", 'R', "v8js", wakes);
	assert_whole(&w, "");
	make(&w, "v8");
	w.runtime.event_loop = &loop;
	w.report.process.pid = 10;
	add(&w, "node", 'S', "v8js", waits)->syscall = "epoll_pwait";
	assert_whole(&w, "");
}

TEST(test_loops)
{
	static const char *const asyncio[FRAMES] = {"C clock_nanosleep", "load", "_run_once"};
	static const char *const waits[FRAMES] = {"C epoll_wait", "_run_once"};
	static const char *const nginx[FRAMES] = {"C pread64", "C ngx_read_file",
						  "C ngx_process_events_and_timers"};
	struct world w;
	make(&w, "");
	struct sw_report_thread *t = add(&w, "main", 'S', "cpython", asyncio);
	assert_whole(&w, "The event loop of main (10) has been held up for 3.1 s in load app:4\n");
	t->since_ms = 900;
	assert_whole(&w, "");
	t->since_ms = 3100;
	t->state = 'R';
	assert_whole(&w, "");
	make(&w, "");
	(void) add(&w, "main", 'S', "cpython", waits);
	assert_whole(&w, "");
	make(&w, "");
	add(&w, "nginx", 'S', "native", nginx)->syscall = "pread64";
	assert_whole(&w, "The event loop of nginx (10) has been held up for 3.1 s in pread64\n");
}

/* A parenthesis in a name begins parameters only behind an assembly. */
TEST(test_names_of_loops)
{
	static const struct {
		const char *kind, *name, *wanted;
	} cases[] = {
		{"v8js", "(anonymous)", "(anonymous)"},
		{"ruby", "block (2 levels) in load", "block (2 levels) in load"},
		{"clr", "App!Shop.Stock.Load(Int32)", "Shop.Stock.Load"},
		{"clr", "Shop.Stock.<Load>b__0", "Shop.Stock.<Load>b__0"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		const char *const names[FRAMES] = {cases[i].name, "C uv_run"};
		struct sw_report_event_loop loop = {.late_ms = 2700, .requests = 1};
		struct world w;
		char wanted[128];
		make(&w, "v8");
		w.runtime.event_loop = &loop;
		w.report.process.pid = 10;
		(void) add(&w, "node", 'R', cases[i].kind, names);
		(void) snprintf(
			wanted, sizeof(wanted),
			"The event loop of node (10) has been held up for 2.7 s, now in %s app:4\n",
			cases[i].wanted); /* fits */
		assert_whole(&w, wanted);
	}
}
