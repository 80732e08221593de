// SPDX-License-Identifier: LGPL-2.1-or-later
/* Threads that wait with what C++20 has for that: "TID KIND". */
#include "target.h"

#include <atomic>
#include <barrier>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>

static std::atomic<int> number{0};
static std::atomic<char> character{0}; /* the library waits at a word of its own */
static std::barrier<> all(2);
static std::latch first(1);
static std::counting_semaphore<10> slots(0);
static std::promise<int> promised;

template <class Wait> static void start(const char *kind, Wait wait)
{
	std::latch told(1);
	std::thread([&told, kind, wait] {
		printf("%ld %s\n", syscall(SYS_gettid), kind);
		Wait own = wait;
		told.count_down();
		own();
	}).detach();
	told.wait();
}

int main()
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	start("std_atomic", [] { number.wait(0); });
	start("std_atomic", [] { character.wait(0); });
	start("std_barrier", [] { all.arrive_and_wait(); });
	start("std_latch", [] { first.wait(); });
	start("std_semaphore", [] { slots.acquire(); });
	start("std_future", [] { promised.get_future().wait(); });
	ready();
	block();
	return 0;
}
