/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/library_waits.h"
#include "sample_report.h"
#include "test.h"

enum { FRAMES = 6 };

/* "kind|function|file" of each frame, from the innermost one on; a file may be missing. */
struct stack {
	const char *const frames[FRAMES];
};

static const char *told(const struct stack *of, const char *kind, const char *target, pid_t owner)
{
	static char texts[FRAMES][3][96];
	struct sw_report_frame frames[FRAMES];
	struct sw_report_stack s = {.frames = frames};
	struct sw_report_wait wait = {.kind = kind, .target = target, .owner_tid = owner};
	for (size_t i = 0; i < FRAMES && of->frames[i] != NULL; i++) {
		const char *at = of->frames[i];
		frames[i] = sample_frame("f", 1);
		for (size_t k = 0; k < 3; k++) {
			size_t n = strcspn(at, "|");
			memcpy(texts[i][k], at, n);
			texts[i][k][n] = '\0';
			at += n + (at[n] != '\0');
		}
		frames[i].kind = texts[i][0];
		frames[i].function = texts[i][1];
		frames[i].file = texts[i][2][0] != '\0' ? texts[i][2] : NULL;
		frames[i].module = -1;
		s.n_frames++;
	}
	return sw_library_wait(&sample_report, &s, &wait);
}

static const struct {
	struct stack stack;
	const char *kind, *target, *told;
} cases[] = {
	{{{"native|sem_wait", "cpython|Condition.wait|/lib/threading.py",
	   "cpython|Queue.get|/lib/queue.py", "cpython|work|/srv/a.py"}},
	 "semaphore",
	 NULL,
	 "queue_get"},
	{{{"cpython|wait|/lib/threading.py", "cpython|get|/lib/queue.py",
	   "cpython|work|/srv/a.py"}},
	 "semaphore",
	 NULL,
	 "queue_get"},
	{{{"cpython|wait|/lib/threading.py", "cpython|put|/lib/queue.py"}},
	 "futex",
	 NULL,
	 "queue_put"},
	{{{"cpython|wait|/lib/threading.py", "cpython|join|/lib/queue.py"}},
	 "semaphore",
	 NULL,
	 "queue_join"},
	{{{"cpython|wait|/lib/threading.py", "cpython|work|/srv/queue.py"}},
	 "semaphore",
	 NULL,
	 "condition"},
	{{{"cpython|wait|/lib/threading.py", "cpython|wait|/lib/threading.py"}},
	 "semaphore",
	 NULL,
	 "event"},
	{{{"cpython|Condition.wait|/lib/threading.py",
	   "cpython|Semaphore.acquire|/lib/threading.py"}},
	 "semaphore",
	 NULL,
	 "semaphore"},
	{{{"cpython|get|/srv/a.py", "cpython|get|/lib/queue.py"}}, "semaphore", NULL, NULL},
	{{{"native|_queue_SimpleQueue_get_impl", "cpython|work|/srv/a.py"}},
	 "semaphore",
	 NULL,
	 "queue_get"},
	{{{"cpython|wait|/lib/threading.py"}}, "python_lock", NULL, NULL},
	{{{"ruby|pop", "ruby|work|/srv/a.rb"}}, "condition", NULL, "queue_get"},
	{{{"ruby|push", "ruby|work|/srv/a.rb"}}, "condition", NULL, "queue_put"},
	{{{"ruby|pop|/srv/a.rb"}}, "condition", NULL, NULL},
	{{{"ruby|sleep", "ruby|wait", "ruby|work|/srv/a.rb"}}, "futex", NULL, "condition"},
	{{{"ruby|sleep", "ruby|work|/srv/a.rb"}}, "futex", NULL, NULL},
	{{{"jvm|jdk.internal.misc.Unsafe.park", "jvm|java.util.concurrent.locks.LockSupport.park",
	   "jvm|java.util.concurrent.LinkedBlockingQueue.take", "jvm|shop.Work.run"}},
	 "java_park",
	 "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject",
	 "queue_get"},
	{{{"jvm|java.util.concurrent.ArrayBlockingQueue.put"}}, "java_park", "a.B", "queue_put"},
	{{{"jvm|java.util.concurrent.CyclicBarrier.dowait"}}, "java_park", "a.B", "barrier"},
	{{{"jvm|java.util.concurrent.locks.LockSupport.park", "jvm|shop.Work.take"}},
	 "java_park",
	 "a.B",
	 NULL},
	{{{"jvm|shop.Work.run"}},
	 "java_park",
	 "java.util.concurrent.Semaphore$NonfairSync",
	 "semaphore"},
	{{{"jvm|shop.Work.run"}}, "java_park", "java.util.concurrent.CountDownLatch$Sync", "latch"},
	{{{"jvm|shop.Work.run"}}, "java_lock", "java.util.concurrent.Semaphore$NonfairSync", NULL},
	{{{"clr|a!System.Threading.Monitor.Wait(object)",
	   "clr|a!System.Threading.SemaphoreSlim.WaitCore(int)",
	   "clr|a!System.Threading.SemaphoreSlim.Wait(int)",
	   "clr|a!System.Collections.Concurrent.BlockingCollection`1.TryTakeWithNoTimeValidation("
	   "x)"}},
	 "dotnet_wait",
	 NULL,
	 "queue_get"},
	{{{"clr|a!System.Threading.Monitor.Wait(object)",
	   "clr|a!System.Threading.SemaphoreSlim.Wait(int)", "clr|a!Shop.Run()"}},
	 "dotnet_wait",
	 NULL,
	 "semaphore"},
	{{{"clr|a!Shop.A()", "clr|a!Shop.B()", "clr|a!Shop.C()",
	   "clr|a!System.Threading.SemaphoreSlim.Wait(int)"}},
	 "dotnet_wait",
	 NULL,
	 NULL},
	{{{"native|f"}}, "futex", NULL, NULL},
	{{{"native|ppoll", "ruby|pop", "ruby|work|/srv/a.rb"}}, "poll", NULL, "queue_get"},
	{{{"native|poll", "cpython|wait|/lib/threading.py"}}, "poll", NULL, NULL},
};

TEST(test_kinds)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *kind = told(&cases[i].stack, cases[i].kind, cases[i].target, 0);
		if (cases[i].told == NULL)
			assert_null(kind);
		else if (kind == NULL)
			fail_msg("case %zu: nothing is told", i);
		else
			assert_string_equal(kind, cases[i].told);
		/* An owner says more. */
		assert_null(told(&cases[i].stack, cases[i].kind, cases[i].target, 7));
	}
	struct sw_report_wait wait = {.kind = "futex"};
	assert_null(sw_library_wait(&sample_report, NULL, &wait));
}
