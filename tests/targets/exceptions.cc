/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* C++: inside a catch block, in a destructor while an exception passes, and in the terminate
 * handler of an exception that nobody catches (its throw is still on the stack). */
#include "target.h"

#include <exception>
#include <pthread.h>
#include <stdexcept>

static pthread_barrier_t said;

NOINLINE void thrower(int n)
{
	if (n > 0)
		throw std::runtime_error("n");
	KEEP();
}

NOINLINE void catcher(int n)
{
	try {
		thrower(n);
	} catch (const std::exception &e) {
		block();
		KEEP();
	}
}

struct Guard {
	NOINLINE ~Guard()
	{
		block();
		KEEP();
	}
};

NOINLINE void holder(int n)
{
	Guard guard;
	thrower(n);
}

NOINLINE void outer(int n)
{
	try {
		holder(n);
	} catch (...) {
		KEEP();
	}
}

NOINLINE void on_terminate()
{
	for (;;)
		block();
}

NOINLINE void *in_destructor(void *)
{
	expect_stack("block() Guard::~Guard() holder(int) outer(int) in_destructor(void*)");
	pthread_barrier_wait(&said);
	outer(1);
	KEEP();
	return nullptr;
}

NOINLINE void *in_terminate(void *)
{
	expect_stack("block() on_terminate() thrower(int) in_terminate(void*)");
	pthread_barrier_wait(&said);
	thrower(1);
	KEEP();
	return nullptr;
}

int main()
{
	std::set_terminate(on_terminate);
	pthread_barrier_init(&said, nullptr, 3);
	pthread_t threads[2];
	if (pthread_create(&threads[0], nullptr, in_destructor, nullptr) != 0 ||
	    pthread_create(&threads[1], nullptr, in_terminate, nullptr) != 0)
		return 1;
	pthread_barrier_wait(&said);
	expect_stack("block() catcher(int) main");
	ready();
	catcher(1);
	return 0;
}
