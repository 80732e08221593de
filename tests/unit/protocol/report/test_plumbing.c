/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "report/plumbing.h"
#include "test.h"

#define LIBRARY "System.Private.CoreLib.dll!"

struct expected {
	const char *function;
	const char *kind;
	bool internal;
};

static void assert_marked(const struct expected *expected, size_t n)
{
	struct sw_report_frame frames[16] = {0};
	assert_true(n <= SW_ARRAY_SIZE(frames));
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct sw_report_frame){.function = expected[i].function,
						     .kind = expected[i].kind,
						     .trust = "runtime"};
	sw_report_mark_plumbing(frames, n);
	for (size_t i = 0; i < n; i++)
		if (frames[i].internal != expected[i].internal)
			fail_msg("%s: %d", expected[i].function, frames[i].internal);
}

/* As .NET 10 has it: a method goes on because the one that it awaited has ended, because a timer has. */
TEST(test_continuation)
{
	static const struct expected frames[] = {
		{"clock_nanosleep", "native", false},
		{LIBRARY "System.Threading.Thread.Sleep(int)", "clr", false},
		{"net.dll!P+<Outer>d__1.MoveNext()", "clr", false},
		{LIBRARY
		 "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1"
		 "[System.Threading.Tasks.VoidTaskResult,P+<Outer>d__1].MoveNext(Thread)",
		 "clr", true},
		{LIBRARY "System.Threading.Tasks.Task`1[int].TrySetResult(TResult)", "clr", true},
		{LIBRARY "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1[int]"
			 ".SetExistingTaskResult(Task`1[TResult], TResult)",
		 "clr", true},
		{"net.dll!P+<Inner>d__0.MoveNext()", "clr", false},
		{LIBRARY "System.Threading.ExecutionContext.RunInternal(ExecutionContext, "
			 "ContextCallback, object)",
		 "clr", true},
		{LIBRARY "System.Threading.ThreadPoolWorkQueue.Dispatch()", "clr", true},
		{LIBRARY "System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart()",
		 "clr", true},
		{LIBRARY "System.Threading.Thread.StartCallback()", "clr", true},
		{"start_thread", "native", false},
	};
	assert_marked(frames, SW_ARRAY_SIZE(frames));
}

/* A thread of the pool that waits for work; one that the program has made; names that only look so. */
TEST(test_others)
{
	static const struct expected idle[] = {
		{LIBRARY "System.Threading.LowLevelLifoSemaphore.WaitForSignal(int)", "clr", false},
		{LIBRARY "System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart()",
		 "clr", false},
		{LIBRARY "System.Threading.Thread.StartCallback()", "clr", false},
	};
	static const struct expected made[] = {
		{"net.dll!P.Run()", "clr", false},
		{LIBRARY "System.Threading.Thread+StartHelper.Run()", "clr", false},
		{LIBRARY "System.Threading.Thread.StartCallback()", "clr", false},
	};
	static const struct expected alike[] = {
		{"net.dll!P.Run()", "clr", false},
		{"mine.dll!System.Threading.ThreadPoolWorkQueue.Dispatch()", "clr", false},
		{LIBRARY "System.Threading.ThreadPoolWorkQueue.DispatchAll()", "clr", false},
		{LIBRARY "System.Threading.Tasks.Task.Wait()", "clr", false},
		{LIBRARY "System.Threading.ThreadPoolWorkQueue.Dispatch()", "native", false},
		{LIBRARY, "clr", false},
		{NULL, "clr", false},
	};
	assert_marked(idle, SW_ARRAY_SIZE(idle));
	assert_marked(made, SW_ARRAY_SIZE(made));
	assert_marked(alike, SW_ARRAY_SIZE(alike));
}

/* However long and broken a name is. */
TEST(test_odd_names)
{
	char name[1024];
	memset(name, 'a', sizeof(name));
	memcpy(name, LIBRARY, strlen(LIBRARY));
	name[sizeof(name) - 1] = '\0';
	const struct expected frames[] = {
		{"net.dll!P.Run()", "clr", false},
		{name, "clr", false},
		{LIBRARY "]]]].`.`1", "clr", false},
		{LIBRARY "[[[[(", "clr", false},
	};
	assert_marked(frames, SW_ARRAY_SIZE(frames));
}
