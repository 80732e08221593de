/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sources: Lib/threading.py and queue.py of CPython 3.8 to 3.13, Modules/_queuemodule.c; thread_sync.c of Ruby 3.1;
 * java.util.concurrent of OpenJDK 17 and 25; System.Threading and System.Collections.Concurrent of .NET 8 to 10;
 * library/std/src/sys/sync/once/futex.rs of Rust, in older versions sys_common/once/futex.rs.
 */
#include "report/library_waits.h"
#include "bytes.h"
#include "cleanup.h"
#include "parts.h"
#include "report/activity.h"
#include "report/frame_kind.h"

#include <string.h>

enum { MANAGED_SEEN = 8 }; /* frames of a language, from the innermost one */

static bool is_kind(const char *kind, const char *const *kinds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(kinds[i], kind) == 0)
			return true;
	return false;
}

static bool ends(const char *text, const char *with)
{
	size_t size = strlen(text), wanted = strlen(with);
	return size >= wanted && strcmp(text + size - wanted, with) == 0;
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot != NULL ? dot + 1 : name;
}

/* ---- Python, Ruby ------------------------------------------------------------------------------ */

/* file: the end of its path; NULL: a function in C. kind NULL: one that others of the library call. */
static const struct {
	const char *language, *function, *file, *kind;
} functions[] = {
	{"cpython", "get", "/queue.py", "queue_get"},
	{"cpython", "put", "/queue.py", "queue_put"},
	{"cpython", "join", "/queue.py", "queue_join"},
	{"cpython", "acquire", "/threading.py", "semaphore"},
	{"cpython", "wait", "/threading.py", "condition"},
	{"cpython", "wait_for", "/threading.py", "condition"},
	{"ruby", "pop", NULL, "queue_get"},
	{"ruby", "push", NULL, "queue_put"},
	{"ruby", "sleep", NULL, NULL}, /* of a Mutex, by ConditionVariable#wait */
	{"ruby", "wait", NULL, "condition"},
};

/* The number of the row for a frame; -1: it is the program's. */
static int function_of(const struct sw_report_frame *f)
{
	const char *name = last_part(f->function);
	for (size_t i = 0; i < SW_ARRAY_SIZE(functions); i++)
		if (strcmp(functions[i].language, f->kind) == 0 &&
		    strcmp(functions[i].function, name) == 0 &&
		    (functions[i].file == NULL
			     ? f->file == NULL
			     : f->file != NULL && ends(f->file, functions[i].file)))
			return (int) i;
	return -1;
}

/* SimpleQueue.get(), which is in C; put() never waits. The file has no symbols everywhere. */
static bool is_simple_queue(const struct sw_report *r, const struct sw_report_frame *f)
{
	if (f->function != NULL)
		return sw_begins_with(f->function, "_queue_SimpleQueue_get");
	return f->module >= 0 &&
	       sw_begins_with(sw_base_name(r->modules[f->module].path), "_queue.cpython-");
}

/* The outermost function of the library tells: Queue.get() calls Condition.wait(). So does Event.wait(), which up to 3.10 is
 * known only by that. */
static const char *of_functions(const struct sw_report *r, const struct sw_report_stack *s,
				bool ruby_only)
{
	const char *kind = NULL;
	size_t n = 0;
	for (size_t i = 0; i < s->n_frames && n < MANAGED_SEEN; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		if (f->function == NULL || !sw_frame_is_managed(f) || f->internal) {
			if (!ruby_only && is_simple_queue(r, f))
				return "queue_get";
			continue;
		}
		n++;
		int row = function_of(f);
		if (row < 0 || (ruby_only && strcmp(f->kind, "ruby") != 0))
			break;
		const char *next = functions[row].kind;
		bool again = kind != NULL && next != NULL && strcmp(kind, "condition") == 0 &&
			     strcmp(functions[row].function, "wait") == 0;
		kind = again ? "event" : next != NULL ? next : kind;
	}
	return kind;
}

/* ---- Java --------------------------------------------------------------------------------------- */

static const char concurrent[] = "java.util.concurrent.";

static const char *of_java_method(const char *name)
{
	static const struct {
		const char *begin, *kind;
	} methods[] = {{"take", "queue_get"},
		       {"poll", "queue_get"},
		       {"put", "queue_put"},
		       {"offer", "queue_put"}};
	if (sw_begins_with(name, "java.util.concurrent.CyclicBarrier."))
		return "barrier";
	for (size_t i = 0; i < SW_ARRAY_SIZE(methods); i++)
		if (sw_begins_with(last_part(name), methods[i].begin))
			return methods[i].kind;
	return NULL;
}

/* The method that parks threads was called by a class of that package, or the object's class
 * tells. */
static const char *of_java(const struct sw_report_stack *s, const char *target)
{
	size_t n = 0;
	if (target != NULL && sw_begins_with(target, "java.util.concurrent.Semaphore$"))
		return "semaphore";
	if (target != NULL && sw_begins_with(target, "java.util.concurrent.CountDownLatch$"))
		return "latch";
	for (size_t i = 0; i < s->n_frames && n < MANAGED_SEEN; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		if (f->function == NULL || !sw_frame_is_managed(f) || f->internal)
			continue;
		n++;
		const char *name = sw_frame_method(f);
		bool inside = sw_begins_with(name, concurrent);
		const char *kind = inside ? of_java_method(name) : NULL;
		if (kind != NULL)
			return kind;
		if (!inside && !sw_begins_with(name, "jdk.internal.") &&
		    !sw_begins_with(name, "sun.misc."))
			return NULL;
	}
	return NULL;
}

/* ---- .NET --------------------------------------------------------------------------------------- */

/* The methods by which libraries of .NET wait for an event or a monitor of theirs: by the beginning
 * of the method's name. The outermost one of those that call each other tells. */
static const struct {
	const char *method, *kind;
} dotnet_methods[] = {
	{"System.Threading.ReaderWriterLockSlim.", "dotnet_rwlock"},
	{"System.Threading.ReaderWriterLock.", "dotnet_rwlock"},
	{"System.Threading.SemaphoreSlim.Wait", "semaphore"},
	{"System.Threading.Barrier.SignalAndWait", "barrier"},
	{"System.Threading.CountdownEvent.Wait", "latch"},
	{"System.Threading.ManualResetEventSlim.Wait", "event"},
	{"System.Threading.Thread.Join", "thread"},
	{"System.Collections.Concurrent.BlockingCollection`1.TryTake", "queue_get"},
	{"System.Collections.Concurrent.BlockingCollection`1.TryAdd", "queue_put"},
};

static const char *of_dotnet(const struct sw_report_stack *s)
{
	enum { BEFORE = 3 }; /* Monitor.Wait(), an event's Wait(), and what calls them */
	const char *kind = NULL;
	size_t n = 0;
	for (size_t i = 0; i < s->n_frames && n < MANAGED_SEEN; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		const char *found = NULL;
		if (strcmp(f->kind, "clr") != 0 || f->function == NULL)
			continue;
		n++;
		const char *name = sw_frame_method(f);
		for (size_t k = 0; k < SW_ARRAY_SIZE(dotnet_methods); k++)
			if (sw_begins_with(name, dotnet_methods[k].method))
				found = dotnet_methods[k].kind;
		if (found == NULL && (kind != NULL || n >= BEFORE))
			break;
		kind = found != NULL ? found : kind;
	}
	return kind;
}

const char *sw_library_wait(const struct sw_report *r, const struct sw_report_stack *s,
			    const struct sw_report_wait *wait)
{
	static const char *const of_c[] = {"condition", "semaphore", "futex"};
	static const char *const of_clr[] = {"condition", "futex", "dotnet_wait"};
	if (s == NULL || wait->owner_tid != 0 || wait->owner_pid != 0)
		return NULL;
	if (strcmp(wait->kind, "java_park") == 0)
		return of_java(s, wait->target);
	const char *kind = is_kind(wait->kind, of_clr, SW_ARRAY_SIZE(of_clr)) ? of_dotnet(s) : NULL;
	/* A Ruby thread that waits looks at the clock for all others of it. */
	bool polls = strcmp(wait->kind, "poll") == 0;
	return kind == NULL && (polls || is_kind(wait->kind, of_c, SW_ARRAY_SIZE(of_c)))
		       ? of_functions(r, s, polls)
		       : kind;
}

/* ---- Rust --------------------------------------------------------------------------------------- */

/* "<std::sys::sync::once::futex::Once>::call", and without <> where names are of the older kind. */
static bool is_rust_once(const struct sw_report_frame *f, const char *method)
{
	static const char type[] = "once::futex::Once";
	const char *rest = f->function != NULL ? strstr(f->function, type) : NULL;
	if (rest == NULL)
		return false;
	rest += strlen(type);
	rest += *rest == '>';
	return strcmp(rest, method) == 0;
}

/* The number of the innermost frame that is neither the C library's nor the standard library's way there. */
static size_t first_rust(const struct sw_report *r, const struct sw_report_stack *s)
{
	size_t i = 0;
	while (i < s->n_frames && (sw_frame_is_libc(r, &s->frames[i]) ||
				   (s->frames[i].function != NULL &&
				    strstr(s->frames[i].function, "::futex::futex_wait") != NULL)))
		i++;
	return i;
}

bool sw_is_at_rust_once(const struct sw_report *r, const struct sw_report_stack *s)
{
	size_t i = s != NULL ? first_rust(r, s) : 0;
	return s != NULL && i > 0 && i < s->n_frames &&
	       (is_rust_once(&s->frames[i], "::call") || is_rust_once(&s->frames[i], "::wait"));
}

static bool executes_once(const struct sw_report *r, const struct sw_report_stack *s)
{
	for (size_t i = first_rust(r, s) + 1; i < s->n_frames; i++)
		if (is_rust_once(&s->frames[i], "::call"))
			return true;
	return false;
}

static bool has_word(const struct sw_thread *t, uint64_t word)
{
	const struct sw_bytes stack = {t->stack, t->stack_bytes};
	for (size_t i = 0; i < SW_REGS_MAX; i++)
		if ((t->regs.known & UINT32_C(1) << i) && t->regs.val[i] == word)
			return true;
	if (t->stack == NULL || t->regs.sp_avma < t->stack_avma)
		return false;
	uint64_t off = t->regs.sp_avma - t->stack_avma, found;
	for (off -= off % sizeof(found); sw_bytes_u64(stack, off, &found); off += sizeof(found))
		if (found == word)
			return true;
	return false;
}

pid_t sw_rust_once_runner(const struct sw_report *r, const struct sw_snapshot *snap,
			  const struct sw_thread *waiting, uint64_t word_avma)
{
	pid_t found = 0;
	for (size_t i = 0; i < snap->n_threads && i < r->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		const struct sw_report_stack *s = sw_stack_of(r, &r->threads[i]);
		struct sw_futex_wait wait;
		if (t == waiting || !t->captured || s == NULL || !has_word(t, word_avma) ||
		    (sw_futex_wait(snap, t, &wait) && wait.word_avma == word_avma))
			continue;
		/* The frames that are missing of a stack which is cut may be those. */
		if (s->why != NULL)
			return 0;
		if (!executes_once(r, s))
			continue;
		if (found != 0)
			return 0;
		found = t->tid;
	}
	return found;
}
