/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: dotnet/runtime v8.0.0 to v10.0.0,
 * src/libraries/System.Private.CoreLib/src/System/Runtime/CompilerServices
 * (Async*MethodBuilder*.cs) and System/Threading (ExecutionContext.cs, ThreadPoolWorkQueue.cs,
 * Timer.cs, PortableThreadPool.WorkerThread.cs, Tasks/Task.cs, Tasks/TaskContinuation.cs).
 */
#include "report/plumbing.h"
#include "cleanup.h"

#include <string.h>

enum { NAME_MAX_BYTES = 256 };

/* Without generic arguments, nor their number: "AsyncTaskMethodBuilder+AsyncStateMachineBox". */
static const struct {
	const char *type;
	const char *method; /* NULL: any */
} known[] = {
	{"System.Runtime.CompilerServices.AsyncMethodBuilderCore", "Start"},
	{"System.Runtime.CompilerServices.AsyncTaskMethodBuilder", NULL},
	{"System.Runtime.CompilerServices.AsyncTaskMethodBuilder+AsyncStateMachineBox", NULL},
	{"System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder", NULL},
	{"System.Runtime.CompilerServices.AsyncVoidMethodBuilder", NULL},
	{"System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder", NULL},
	{"System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder+StateMachineBox",
	 NULL},
	{"System.Threading.ExecutionContext", "Run"},
	{"System.Threading.ExecutionContext", "RunInternal"},
	{"System.Threading.ExecutionContext", "RunFromThreadPoolDispatchLoop"},
	{"System.Threading.ExecutionContext", "RunForThreadPoolUnsafe"},
	{"System.Threading.Tasks.AwaitTaskContinuation", "RunOrScheduleAction"},
	{"System.Threading.Tasks.AwaitTaskContinuation", "RunCallback"},
	{"System.Threading.Tasks.SynchronizationContextAwaitTaskContinuation", "Run"},
	{"System.Threading.Tasks.Task", "ExecuteEntry"},
	{"System.Threading.Tasks.Task", "ExecuteEntryUnsafe"},
	{"System.Threading.Tasks.Task", "ExecuteFromThreadPool"},
	{"System.Threading.Tasks.Task", "ExecuteWithThreadLocal"},
	{"System.Threading.Tasks.Task", "FinishContinuations"},
	{"System.Threading.Tasks.Task", "InnerInvoke"},
	{"System.Threading.Tasks.Task", "RunContinuations"},
	{"System.Threading.Tasks.Task", "TrySetResult"},
	{"System.Threading.Tasks.Task+DelayPromise", "CompleteTimedOut"},
	{"System.Threading.Tasks.Task+DelayPromise", "TimerCallback"},
	{"System.Threading.TimerQueue", "FireNextTimers"},
	{"System.Threading.TimerQueueTimer", "CallCallback"},
	{"System.Threading.TimerQueueTimer", "Fire"},
	{"System.Threading.QueueUserWorkItemCallback", "Execute"},
	{"System.Threading.QueueUserWorkItemCallbackDefaultContext", "Execute"},
	{"System.Threading.ThreadPoolWorkQueue", "Dispatch"},
	{"System.Threading.ThreadPoolWorkQueue", "DispatchWorkItem"},
	{"System.Threading.PortableThreadPool+WorkerThread", "WorkerDoWork"},
	{"System.Threading.PortableThreadPool+WorkerThread", "WorkerThreadStart"},
};

/* The method, where it is one of the runtime's own library; NULL. */
static const char *method_of_library(const struct sw_report_frame *f)
{
	static const char *const libraries[] = {"System.Private.CoreLib.dll!",
						"System.Private.CoreLib!"};
	if (strcmp(f->kind, "clr") != 0 || f->function == NULL)
		return NULL;
	for (size_t i = 0; i < SW_ARRAY_SIZE(libraries); i++)
		if (strncmp(f->function, libraries[i], strlen(libraries[i])) == 0)
			return f->function + strlen(libraries[i]);
	return NULL;
}

/* A method with its assembly in its name, and another one than the library: the program's, or of a
 * library that it brings. */
static bool is_program(const struct sw_report_frame *f)
{
	return strcmp(f->kind, "clr") == 0 && f->function != NULL && !f->internal &&
	       strchr(f->function, '!') != NULL && method_of_library(f) == NULL;
}

/* "Type`1+Inner`1[Argument].Method(parameters)" without the generic: "Type+Inner.Method". False: it
 * is too long for any that is known. */
static bool plain_name(const char *method, char ret[static NAME_MAX_BYTES])
{
	size_t n = 0, depth = 0;
	for (const char *at = method; *at != '\0' && (*at != '(' || depth > 0); at++) {
		depth += *at == '[';
		if (*at == '`' && depth == 0) {
			at += strspn(at + 1, "0123456789");
		} else if (depth == 0) {
			if (n + 1 == NAME_MAX_BYTES)
				return false;
			ret[n++] = *at;
		}
		depth -= *at == ']' && depth > 0;
	}
	ret[n] = '\0';
	return true;
}

static bool is_known(const char *name)
{
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot != NULL && i < SW_ARRAY_SIZE(known); i++)
		if (strlen(known[i].type) == (size_t) (dot - name) &&
		    strncmp(known[i].type, name, (size_t) (dot - name)) == 0 &&
		    (known[i].method == NULL || strcmp(known[i].method, dot + 1) == 0))
			return true;
	return false;
}

void sw_report_mark_plumbing(struct sw_report_frame *frames, size_t n_frames)
{
	bool of_program = false, inner = false;
	for (size_t i = 0; i < n_frames; i++) {
		struct sw_report_frame *f = &frames[i];
		char name[NAME_MAX_BYTES];
		const char *method = method_of_library(f);
		of_program |= is_program(f);
		bool marked =
			of_program && method != NULL && plain_name(method, name) &&
			(is_known(name) ||
			 /* where each thread begins: of one of the pool it is the pool's */
			 (inner && strcmp(name, "System.Threading.Thread.StartCallback") == 0));
		f->internal |= marked;
		inner = marked;
	}
}
