/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Exceptions thrown and caught all the time: the unwinder of the language at work, personality
 * routines, landing pads. Says edges and roots as busy.c does. */
#include "target.h"

#include <atomic>
#include <pthread.h>
#include <stdexcept>
#include <string>

static volatile unsigned long counter;
static std::atomic<bool> begun;

struct Guard {
	NOINLINE ~Guard()
	{
		counter = counter + 1;
	}
};

NOINLINE void thrower(int depth)
{
	Guard guard;
	if (depth == 0)
		throw std::runtime_error(std::string("deep down"));
	thrower(depth - 1);
	KEEP();
}

NOINLINE void catcher(int depth)
{
	try {
		thrower(depth);
	} catch (const std::exception &e) {
		counter = counter + *e.what();
	}
}

NOINLINE void rethrower(int depth)
{
	try {
		try {
			thrower(depth);
		} catch (...) {
			counter = counter + 1;
			throw;
		}
	} catch (const std::runtime_error &) {
		counter = counter + 1;
	}
}

NOINLINE void work()
{
	for (int i = 0; !released; i++) {
		catcher(i % 8);
		rethrower(i % 5);
	}
}

NOINLINE void *worker(void *arg)
{
	begun = true;
	work();
	KEEP();
	return arg;
}

int main()
{
	pthread_t thread;
	printf("root throwing main\nroot throwing worker(void*)\nedge main work()\n"
	       "edge worker(void*) work()\nedge work() catcher(int)\nedge work() rethrower(int)\n"
	       "edge catcher(int) thrower(int)\nedge rethrower(int) thrower(int)\n"
	       "edge thrower(int) thrower(int)\nedge thrower(int) Guard::~Guard()\n");
	if (pthread_create(&thread, nullptr, worker, nullptr) != 0)
		return 1;
	while (!begun) /* a thread that was just made has no function of ours on its stack yet */
		sched_yield();
	ready();
	work();
	return 0;
}
