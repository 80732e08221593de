/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * compared_cc FILE: C++, in threads that never rest: exceptions, destructors on their way, virtual calls,
 * templates and lambdas that are inlined, the standard library's. With a record, as busy.c.
 */
#include "record.h"

#include <algorithm>
#include <functional>
#include <map>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned long sink;
static volatile int never;

/* The record is right whatever way a function is left: nothing has to be caught for its sake. */
struct Entered {
	explicit inline __attribute__((always_inline)) Entered(uint64_t function)
	{
		record_push(function);
	}
	inline __attribute__((always_inline)) ~Entered()
	{
		leave();
	}
};

#define ENTER(f) Entered entered((uint64_t) (uintptr_t) (f))

RECORDED int r_fib(int n)
{
	ENTER(r_fib);
	return n < 2 ? n : r_fib(n - 1) + r_fib(n - 2);
}

struct Guard {
	NOINLINE ~Guard()
	{
		sink = sink + (unsigned long) r_fib(2);
	}
};

RECORDED void r_thrower(int depth)
{
	ENTER(r_thrower);
	Guard guard;
	if (depth == 0)
		throw std::runtime_error(std::string("deep down"));
	r_thrower(depth - 1);
	sink = sink + 1;
}

RECORDED void r_catcher(int depth)
{
	ENTER(r_catcher);
	try {
		r_thrower(depth);
	} catch (const std::exception &e) {
		sink = sink + (unsigned long) *e.what();
	}
}

RECORDED void r_rethrower(int depth)
{
	ENTER(r_rethrower);
	try {
		try {
			r_thrower(depth);
		} catch (...) {
			sink = sink + 1;
			throw;
		}
	} catch (const std::runtime_error &) {
		sink = sink + 1;
	}
}

struct Shape {
	virtual ~Shape() = default;
	virtual double area(int n) const = 0;
};

struct Square : Shape {
	double side = 2;
	double area(int n) const override
	{
		return side * side + r_fib(n);
	}
};

struct Round : Square {
	double area(int n) const override
	{
		return Square::area(n) * 3;
	}
};

RECORDED void r_virtual(const std::vector<Shape *> &shapes)
{
	ENTER(r_virtual);
	double sum = 0;
	for (int i = 0; i < 5; i++)
		for (const Shape *shape : shapes)
			sum += shape->area(i);
	sink = sink + (unsigned long) sum;
}

RECORDED void r_containers(void)
{
	ENTER(r_containers);
	std::map<std::string, std::vector<int>> words;
	for (int i = 0; i < 20; i++)
		words["word " + std::to_string(i * 7919 % 13)].push_back(i);
	std::vector<int> all;
	for (auto &[word, numbers] : words)
		all.insert(all.end(), numbers.begin(), numbers.end());
	std::sort(all.begin(), all.end(), [](int a, int b) { return r_fib(a % 3) < r_fib(b % 3); });
	std::function<int(int)> add = [&all](int n) { return all[0] + n; };
	sink = sink + (unsigned long) std::count_if(all.begin(), all.end(),
						    [&add](int n) { return add(n) > 3; });
}

RECORDED void r_work(void)
{
	ENTER(r_work);
	Round round;
	Square square;
	std::vector<Shape *> shapes = {&round, &square};
	for (int i = 0; !never; i++) {
		r_catcher(i % 8);
		r_virtual(shapes);
		r_rethrower(i % 5);
		r_containers();
	}
}

static pthread_barrier_t all;

RECORDED void *r_worker(void *arg)
{
	record_begin((unsigned int) (size_t) arg);
	ENTER(r_worker);
	pthread_barrier_wait(&all);
	r_work();
	return arg;
}

RECORDED void r_main(void)
{
	ENTER(r_main);
	pthread_barrier_wait(&all);
	printf("ready\n");
	fflush(stdout);
	r_work();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	records_map(argv[1]);
	pthread_barrier_init(&all, nullptr, 3);
	for (size_t i = 1; i < 3; i++) {
		pthread_t thread;
		if (pthread_create(&thread, nullptr, r_worker, (void *) i) != 0)
			return 1;
	}
	record_begin(0);
	r_main();
	return 0;
}
