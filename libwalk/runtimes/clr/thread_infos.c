/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads as the runtime sees them. A Thread object is matched with a thread by the stack that it
 * remembers: the number that it has for it is another one in another pid namespace. Windows' numbers
 * are in the threads' TEBs.
 *
 *	Thread -> handle -> System.Threading.Thread -> String		its name
 *
 * Thread objects were copied in the stop. The objects to which they lead are read when the process
 * runs again and may have been moved by then, so that a name counts only when the kernel has it,
 * too. Source: dotnet/runtime v10.0.0, docs/design/datacontracts/Thread.md,
 * src/coreclr/vm/threads.h.
 */
#include "runtimes/clr/thread_infos.h"
#include "unwind/capture.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/metadata/string.h"
#include "runtimes/clr/threads.h"
#include "snapshot/pe_loader.h"

#include <stdlib.h>
#include <string.h>

enum {
	OBJECT_WORDS = 8,      /* of System.Threading.Thread, where its only string is */
	OBJECT_TABLE_MASK = 7, /* bits of an object's first word that are the collector's */
	NAME_UNITS_MAX = 1024,
	COMM_BYTES = 15,     /* TASK_COMM_LEN without NUL */
	COMM_WHOLE_MIN = 12, /* a name that is longer is cut there or later, at a character's end */
};

/* The layout by which a Thread is read; from the first runtime that describes it. */
struct sw_clr_thread_infos {
	struct sw_map64 by_thread; /* index in snap->threads -> Thread */
	bool is_windows;
	struct sw_map64 by_number; /* of Windows, the thread's number -> index in snap->threads */
	uint32_t id, state, disabled, osid, handle;
	uint32_t string_first, string_length;
	uint64_t string_table;         /* MethodTable of System.String; 0: unknown */
	uint64_t finalizer, suspender; /* Thread; 0: none */
	bool has_ids, has_names;
};

/* Runtime and libraries name their own threads. */
static const struct {
	const char *comm, *role;
} roles[] = {
	{".NET Finalizer", "finalizer"},
	{".NET BGC", "gc"},
	{".NET Server GC", "gc"},
	{".NET TP Worker", "thread-pool"},
	{".NET TP Gate", "thread-pool-gate"},
	{".NET TP Wait", "thread-pool-wait"},
	{".NET Timer", "timer"},
	{".NET Sockets", "sockets"},
	{".NET Tiered Com", "tiered-compilation"},
	{".NET SigHandler", "signals"},
	{".NET SynchManag", "synchronization"},
	{".NET EventPipe", "event-pipe"},
	{".NET DebugPipe", "debugger"},
	{".NET Debugger", "debugger"},
};

static const char *role_by_comm(const char *comm)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(roles); i++)
		if (strcmp(comm, roles[i].comm) == 0)
			return roles[i].role;
	return NULL;
}

/* ---- before the stop ---------------------------------------------------------------------- */

void sw_clr_thread_infos_prepare(struct sw_capture *capture, const struct sw_clr_runtime *runtime)
{
	static const char *const globals[] = {"FinalizerThread", "GCThread"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(globals) && runtime->contract.json.values != NULL;
	     i++) {
		uint64_t variable_avma;
		/* No space: it is read when the process runs again. */
		if (sw_clr_global(&runtime->contract, globals[i], &variable_avma))
			(void) sw_capture_want(capture, variable_avma, sizeof(uint64_t));
	}
}

/* ---- which object is which thread --------------------------------------------------------- */

/* A thread's stack. */
struct span {
	uint64_t begin_avma, end_avma; /* [begin, end] */
	size_t thread;                 /* index in snap->threads */
};

/* The stacks of all threads, sorted by their ends. */
struct spans {
	struct span *spans; /* owned */
	size_t n;
	size_t guess; /* the word of an object that led to the last one */
};

static int span_order(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return (x->end_avma > y->end_avma) - (x->end_avma < y->end_avma);
}

static const struct span *span_find(const struct span *spans, size_t n, uint64_t avma)
{
	size_t low = 0, high = n;
	while (low < high) { /* the first one that does not end before avma */
		size_t middle = low + (high - low) / 2;
		if (spans[middle].end_avma < avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && avma >= spans[low].begin_avma ? &spans[low] : NULL;
}

/* The stack that an object has an address of. Most have it in the same word. */
static const struct span *words_span(const uint64_t words[SW_CLR_THREAD_WORDS], struct spans *spans)
{
	const struct span *found = span_find(spans->spans, spans->n, words[spans->guess]);
	for (size_t i = 0; i < SW_CLR_THREAD_WORDS && found == NULL; i++) {
		found = span_find(spans->spans, spans->n, words[i]);
		if (found != NULL)
			spans->guess = i;
	}
	return found;
}

static int spans_make(const struct sw_snapshot *snap, struct spans *ret)
{
	struct span *spans = calloc(snap->n_threads + 1, sizeof(*spans));
	size_t n = 0;
	if (spans == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (t->captured && t->stack_end_avma != 0)
			spans[n++] = (struct span){t->regs.sp_avma, t->stack_end_avma, i};
	}
	if (n > 0)
		qsort(spans, n, sizeof(*spans), span_order);
	*ret = (struct spans){.spans = spans, .n = n};
	return 0;
}

static void spans_free(struct spans *spans)
{
	free(spans->spans);
}

static int numbers_read(struct sw_clr *clr, struct sw_clr_thread_infos *infos)
{
	for (size_t i = 0; i < clr->snap->n_threads; i++) {
		const struct sw_thread *t = &clr->snap->threads[i];
		uint64_t number;
		if (!t->captured || !sw_pe_thread_id(clr->memory, t->gs_base, &number))
			continue;
		int r = sw_map64_put(&infos->by_number, number, i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The thread that a Thread with these first words belongs to: its index in snap->threads. */
static bool thread_find(const struct sw_clr *clr, const struct sw_clr_thread_infos *infos,
			struct spans *spans, const uint64_t words[SW_CLR_THREAD_WORDS],
			uint32_t osid, uint64_t *ret)
{
	if (infos->is_windows)
		return sw_map64_get(&infos->by_number, osid, ret);
	const struct span *span = words_span(words, spans);
	const struct sw_thread *thread = NULL;
	if (span == NULL && osid <= INT32_MAX) /* it is on a stack of its own making */
		thread = sw_snapshot_thread(clr->snap, (pid_t) osid);
	if (span == NULL && thread == NULL)
		return false;
	*ret = span != NULL ? span->thread : (size_t) (thread - clr->snap->threads);
	return true;
}

static int threads_match(struct sw_clr *clr, struct sw_clr_thread_infos *infos)
{
	const uint64_t *threads;
	uint64_t words[SW_CLR_THREAD_WORDS], index;
	size_t n = sw_clr_threads_get(clr, &threads);
	sw_cleanup(spans_free) struct spans spans = {0};
	int r = infos->is_windows ? numbers_read(clr, infos) : spans_make(clr->snap, &spans);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		uint32_t state, osid;
		if (!sw_memory_read(clr->memory, threads[i], words, sizeof(words)) ||
		    !sw_clr_u32(clr->memory, threads[i], infos->state, &state) ||
		    state & (SW_CLR_STATE_UNSTARTED | SW_CLR_STATE_DEAD) ||
		    !sw_clr_u32(clr->memory, threads[i], infos->osid, &osid))
			continue;
		if (!thread_find(clr, infos, &spans, words, osid, &index))
			continue;
		r = sw_map64_put(&infos->by_thread, index, threads[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- what can be read of them ------------------------------------------------------------- */

static uint64_t variable_read(struct sw_clr *clr, const struct sw_clr_contract *c, const char *name)
{
	uint64_t variable_avma, value;
	return sw_clr_global(c, name, &variable_avma) &&
			       sw_memory_u64(clr->memory, variable_avma, &value)
		       ? value
		       : 0;
}

static void layout_resolve(struct sw_clr *clr, const struct sw_clr_runtime *r,
			   struct sw_clr_thread_infos *infos)
{
	const struct sw_clr_contract *c = &r->contract;
	infos->is_windows = r->is_windows;
	infos->state = r->at.thread_state;
	infos->osid = r->at.thread_osid;
	if (c->json.values == NULL) { /* .NET 8, as seen in 8.0.31 */
		infos->id = 32;
		infos->disabled = 12;
		infos->has_ids = true;
		return;
	}
	infos->has_ids = sw_clr_field(c, "Thread", "Id", &infos->id) &&
			 sw_clr_field(c, "Thread", "PreemptiveGCDisabled", &infos->disabled);
	infos->string_table = variable_read(clr, c, "StringMethodTable");
	infos->has_names = infos->string_table != 0 &&
			   sw_clr_field(c, "Thread", "GCHandle", &infos->handle) &&
			   sw_clr_field(c, "String", "m_FirstChar", &infos->string_first) &&
			   sw_clr_field(c, "String", "m_StringLength", &infos->string_length);
	infos->finalizer = variable_read(clr, c, "FinalizerThread");
	infos->suspender = variable_read(clr, c, "GCThread");
}

static struct sw_clr_thread_infos *infos_get(struct sw_clr *clr)
{
	if (clr->infos != NULL)
		return clr->infos;
	struct sw_clr_thread_infos *infos = calloc(1, sizeof(*infos));
	if (infos == NULL)
		return NULL;
	for (size_t i = 0; i < clr->n_runtimes; i++)
		if (clr->runtimes[i].usable && clr->runtimes[i].at.store_avma != 0) {
			layout_resolve(clr, &clr->runtimes[i], infos);
			(void) threads_match(clr, infos); /* no memory: those found so far */
			break;
		}
	return clr->infos = infos;
}

void sw_clr_thread_infos_destroy(struct sw_clr_thread_infos *infos)
{
	if (infos != NULL) {
		sw_map64_deinit(&infos->by_thread);
		sw_map64_deinit(&infos->by_number);
	}
	free(infos);
}

/* ---- names -------------------------------------------------------------------------------- */

/* The kernel's comm is the beginning of a name that is longer. */
static bool comm_agrees(const char *comm, const char *name)
{
	size_t n = strlen(comm), length = strlen(name);
	return n <= COMM_BYTES && memcmp(comm, name, n <= length ? n : length) == 0 &&
	       (n == length || (length > COMM_BYTES && n >= COMM_WHOLE_MIN));
}

static bool string_read(struct sw_clr *clr, const struct sw_clr_thread_infos *infos, uint64_t avma,
			struct sw_text *text)
{
	uint64_t table;
	uint32_t length;
	return avma % 8 == 0 && sw_clr_u64(clr->memory, avma, 0, &table) &&
	       (table & ~(uint64_t) OBJECT_TABLE_MASK) == infos->string_table &&
	       sw_clr_u32(clr->memory, avma, infos->string_length, &length) && length > 0 &&
	       length <= NAME_UNITS_MAX &&
	       sw_clr_utf16_read_n(clr->memory, avma + infos->string_first, length, text);
}

static bool name_read(struct sw_clr *clr, const struct sw_clr_thread_infos *infos,
		      uint64_t thread_avma, struct sw_text *text)
{
	uint64_t handle, object, words[OBJECT_WORDS];
	if (!sw_clr_u64(clr->memory, thread_avma, infos->handle, &handle) ||
	    !sw_clr_u64(clr->memory, handle, 0, &object) || object == 0 ||
	    !sw_memory_read(clr->memory, object, words, sizeof(words)))
		return false;
	for (size_t i = 1; i < OBJECT_WORDS; i++) /* behind its MethodTable */
		if (words[i] != 0 && string_read(clr, infos, words[i], text))
			return true;
	return false;
}

static void name_note(struct sw_clr *clr, const struct sw_clr_thread_infos *infos,
		      const struct sw_thread *thread, uint64_t thread_avma,
		      struct sw_thread_info *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	/* The first thread keeps the program's name: PAL_SetThreadName would rename the process. */
	if (!infos->has_names || !name_read(clr, infos, thread_avma, &text) || text.failed ||
	    (thread->tid != clr->snap->process.pid && !comm_agrees(thread->comm, text.data)))
		return;
	size_t n = text.size < sizeof(ret->name) ? text.size : sizeof(ret->name) - 1;
	while (n > 0 && n < text.size && (text.data[n] & 0xc0) == 0x80)
		n--; /* not within a character */
	memcpy(ret->name, text.data, n);
	ret->name[n] = '\0';
}

static void thread_read(struct sw_clr *clr, const struct sw_clr_thread_infos *infos,
			const struct sw_thread *thread, uint64_t thread_avma,
			struct sw_thread_info *ret)
{
	uint32_t id, disabled, state;
	if (infos->has_ids && sw_clr_u32(clr->memory, thread_avma, infos->id, &id) &&
	    sw_clr_u32(clr->memory, thread_avma, infos->disabled, &disabled)) {
		ret->id = id;
		ret->mode = disabled != 0 ? "cooperative" : "preemptive";
	}
	if (thread_avma == infos->suspender)
		ret->role = "suspending";
	else if (thread_avma == infos->finalizer)
		ret->role = "finalizer";
	else if (ret->role == NULL && sw_clr_u32(clr->memory, thread_avma, infos->state, &state) &&
		 state & SW_CLR_STATE_POOL_WORKER)
		ret->role = "thread-pool";
	name_note(clr, infos, thread, thread_avma, ret);
}

bool sw_clr_thread_info(struct sw_clr *clr, const struct sw_thread *thread,
			struct sw_thread_info *ret)
{
	uint64_t thread_avma;
	const struct sw_clr_thread_infos *infos = clr->n_runtimes > 0 ? infos_get(clr) : NULL;
	if (infos == NULL)
		return false;
	ret->runtime = "clr";
	ret->id = -1;
	ret->role = role_by_comm(thread->comm);
	bool known = sw_map64_get(&infos->by_thread, (uint64_t) (thread - clr->snap->threads),
				  &thread_avma);
	if (known)
		thread_read(clr, infos, thread, thread_avma, ret);
	return known || ret->role != NULL;
}
