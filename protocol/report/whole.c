/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/whole.h"
#include "cleanup.h"
#include "parts.h"
#include "report/frame_kind.h"
#include "report/idle.h"

#include <string.h>

enum { FRAMES_SEEN = 64 }; /* from the innermost */

static bool has_runtime(const struct sw_report *r, const char *name)
{
	for (size_t i = 0; i < r->process.n_runtimes; i++)
		if (strcmp(r->process.runtimes[i].name, name) == 0)
			return true;
	return false;
}

/* Functions of the VM that a thread calls for what only the VM's own thread does, in which it waits until a safepoint ends,
 * and until a collector has made room. Source: jdk-17.0.15 and jdk-25.0.3, src/hotspot/share: runtime/vmThread.cpp,
 * runtime/safepoint.cpp, gc/z/zPageAllocator.cpp, gc/shenandoah. */
static bool is_in_operation(const struct sw_report_stack *s)
{
	static const char *const names[] = {
		"VMThread::execute(",
		"VMThread::wait_until_executed(",
		"SafepointSynchronize::block(",
		"ZPageAllocator::alloc_page_stall(",
		"ShenandoahControlThread::handle_alloc_failure(",
	};
	for (size_t i = 0; i < s->n_frames && i < FRAMES_SEEN; i++)
		for (size_t k = 0; k < SW_ARRAY_SIZE(names); k++)
			if (s->frames[i].function != NULL &&
			    sw_begins_with(s->frames[i].function, names[k]))
				return true;
	return false;
}

static bool has_java(const struct sw_report_stack *s)
{
	for (size_t i = 0; i < s->n_frames && i < FRAMES_SEEN; i++)
		if (strcmp(s->frames[i].kind, "jvm") == 0)
			return true;
	return false;
}

bool sw_waits_for_machine(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(r, t);
	/* A waiting thread is woken each time one of the operations that it needs has ended. */
	bool waits = t->state == 'S' || (t->state == 'R' && t->syscall != NULL);
	/* Without symbols of the VM that is not known: consumers of a queue wait by the same call. */
	return s != NULL && waits && has_runtime(r, "hotspot") && has_java(s) && is_in_operation(s);
}

/*
 * Functions of collectors, which are there as long as a collection goes on, or a step of it. Sources: CPython 3.8 to 3.14
 * (Modules/gcmodule.c, Python/gc.c), Ruby 3.0 to 3.4 (gc.c, gc/default/default.c), V8 11 to 14 (src/heap), Go 1.18 to 1.26
 * (runtime/mgc.go, mgcmark.go), OTP 25 to 28 (erl_gc.c), PHP 8 (Zend/zend_gc.c).
 */
static const struct {
	const char *runtime, *function;
	bool part;          /* of a longer name */
	const char *module; /* part of its name, where others have such a function; NULL: any */
} collectors[] = {
	{"cpython", "gc_collect_main", false, NULL},
	{"cpython", "collect", false, "python3"}, /* 3.8, 3.9 */
	{"cpython", "gc_collect_generations", false, NULL},
	{"cpython", "gc_collect_region", false, NULL},
	{"cpython", "gc_collect_with_callback", false, NULL},
	{"cpython", "deduce_unreachable", false, NULL},
	{"ruby", "gc_start", false, NULL},
	{"ruby", "garbage_collect", false, NULL},
	{"ruby", "gc_marks_rest", false, NULL},
	{"ruby", "gc_marks_continue", false, NULL},
	{"ruby", "gc_sweep_step", false, NULL},
	{"ruby", "gc_sweep_continue", false, NULL},
	{"v8", "v8::internal::Heap::CollectGarbage", true, NULL},
	{"v8", "v8::internal::Heap::PerformGarbageCollection", true, NULL},
	{"v8", "v8::internal::MarkCompactCollector::", true, NULL},
	{"go", "runtime.gcDrain", false, NULL},
	{"go", "runtime.gcMarkTermination", false, NULL},
	{"go", "runtime.gcAssistAlloc1", false, NULL},
	{"beam", "erts_garbage_collect", false, NULL},
	{"beam", "garbage_collect", false, NULL},
	{"php", "zend_gc_collect_cycles", false, NULL},
};

static bool is_collector(const struct sw_report *r, const struct sw_report_frame *f, size_t k)
{
	const char *name = f->function;
	size_t length = strlen(collectors[k].function);
	bool same = collectors[k].part ? strstr(name, collectors[k].function) != NULL
				       : strncmp(name, collectors[k].function, length) == 0 &&
						 sw_is_compilers_suffix(name + length);
	if (!same || !has_runtime(r, collectors[k].runtime))
		return false;
	return collectors[k].module == NULL ||
	       (f->module >= 0 &&
		strstr(sw_base_name(r->modules[f->module].path), collectors[k].module) != NULL);
}

const char *sw_collects(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(r, t);
	/* .NET says which thread has stopped the others for a collection. */
	if (t->managed != NULL && t->managed->role != NULL &&
	    strcmp(t->managed->role, "suspending") == 0 && strcmp(t->managed->runtime, "clr") == 0)
		return "clr";
	/* A collector works, but for an instant. */
	for (size_t i = 0; s != NULL && t->state == 'R' && i < s->n_frames && i < FRAMES_SEEN; i++)
		for (size_t k = 0; s->frames[i].function != NULL && k < SW_ARRAY_SIZE(collectors);
		     k++)
			if (is_collector(r, &s->frames[i], k))
				return collectors[k].runtime;
	return NULL;
}

static const char libuv_pool[] = "the libuv thread pool";
static const char dotnet_pool[] = "the .NET thread pool";

/* Where workers of pools begin; file: the end of its path. */
static const struct {
	const char *function, *file, *pool;
} workers[] = {
	{"java.util.concurrent.ThreadPoolExecutor.runWorker", NULL, "the Java thread pool"},
	{"java.util.concurrent.ForkJoinPool.runWorker", NULL, "the Java fork-join pool"},
	{"System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart", NULL, dotnet_pool},
	{"_worker", "/concurrent/futures/thread.py", "the Python thread pool"},
	{"uv__fs_work", NULL, libuv_pool},
	{"uv__queue_work", NULL, libuv_pool},
	{"uv__getaddrinfo_work", NULL, libuv_pool},
	{"uv__getnameinfo_work", NULL, libuv_pool},
	{"uv__random_work", NULL, libuv_pool},
	{"spawn_thread", "/puma/thread_pool.rb", "puma's thread pool"},
	{"block in spawn_thread", "/puma/thread_pool.rb", "puma's thread pool"},
};

static bool is_worker(const struct sw_report_frame *f, const char *name, size_t k)
{
	size_t length = strlen(workers[k].function);
	size_t path = f->file != NULL ? strlen(f->file) : 0,
	       file = workers[k].file != NULL ? strlen(workers[k].file) : 0;
	return strncmp(name, workers[k].function, length) == 0 &&
	       (name[length] == '\0' || name[length] == '(') &&
	       (file == 0 || (path >= file && strcmp(f->file + path - file, workers[k].file) == 0));
}

/* Whether a frame inside of a worker's own is the program's: the pool itself waits for work by its own functions. */
static bool is_work(const struct sw_report_frame *f, const struct sw_report_frame *worker)
{
	if (!sw_frame_is_managed(worker))
		return true;
	return sw_frame_is_managed(f) && !f->internal && f->function != NULL &&
	       f->function[0] != '[' &&
	       (worker->file == NULL || f->file == NULL || strcmp(f->file, worker->file) != 0);
}

const char *sw_works_for_pool(const struct sw_report *r, const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(r, t);
	bool work = false;
	for (size_t i = 0; s != NULL && i < s->n_frames; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		/* A worker begins in a function of a language, or in one of libuv. */
		if (f->function == NULL ||
		    (!sw_frame_is_managed(f) && !sw_begins_with(f->function, "uv__")))
			continue;
		const char *name = sw_frame_method(f);
		for (size_t k = 0; k < SW_ARRAY_SIZE(workers); k++) {
			if (!is_worker(f, name, k))
				continue;
			for (size_t inner = 0; inner < i && !work; inner++)
				work = is_work(&s->frames[inner], f);
			return (work || !sw_frame_is_managed(f)) && sw_idle_place(r, t) == NULL
				       ? workers[k].pool
				       : NULL;
		}
	}
	return NULL;
}

bool sw_is_dotnet_pool(const char *pool)
{
	return strcmp(pool, dotnet_pool) == 0;
}

bool sw_is_libuv_pool(const char *pool)
{
	return strcmp(pool, libuv_pool) == 0;
}

bool sw_may_be_worker(const struct sw_report *r, const struct sw_report_thread *t, const char *pool)
{
	static const char begin[] = "worker"; /* Source: libuv v1.48, src/threadpool.c */
	const struct sw_report_stack *s = sw_stack_of(r, t);
	if (!sw_is_libuv_pool(pool) || s == NULL || strcmp(s->end, "complete") != 0)
		return true;
	for (size_t i = 0; i < s->n_frames; i++)
		if (s->frames[i].function != NULL && sw_begins_with(s->frames[i].function, begin) &&
		    sw_is_compilers_suffix(s->frames[i].function + strlen(begin)))
			return true;
	return false;
}
