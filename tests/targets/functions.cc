/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls functions a known number of times, from known places. For each line that it reads it does something, then it prints
 * "done":
 *
 *	go	two threads make all calls
 *	fork	a child makes them, and is waited for
 *	child	a child sleeps until the process ends
 *	vfork	a child that has our memory calls twice() once
 *	load	the library is loaded, its function called ROUNDS times
 *	unload	the library is unloaded
 *	often	a thread calls pushes() and leaf() until the process ends
 *	slow	pause_for(): 3 calls of 1 ms and 2 of 60 ms
 *	exec	becomes the same program again
 *	throw	throws_odd(): ROUNDS calls, of which half end by an exception
 *	switch	yields(): two coroutines, whose calls return in the order in which they were made, ROUNDS times
 *	deep	recurses() 200 levels deep
 *	turns	turns(): ROUNDS calls whose loop of three turns begins at the first instruction
 *	jumps	jumps_away(): ROUNDS calls, of which half end in a jump to pushes()
 *	linger	lingers(): prints "in", reads a line and throws
 *	destroy	deletes ROUNDS objects
 *	parts	deletes ROUNDS objects of each class of tests/targets/lib/destroyed.cc
 *	writable	the code is writable from now on
 *	leave	the first thread ends, another one goes on
 */
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { ROUNDS = 50, THREADS = 2 };

#define ALONE  __attribute__((noinline, noclone, used))
#define KEEP() __asm__ volatile("" ::: "memory")

/* The first instruction of it is a push, which the kernel executes by itself. */
__asm__(".text\n"
	".globl pushes\n.type pushes, @function\n"
	"pushes: .cfi_startproc\n"
	"push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
	"mov %rdi, %rbx\n"
	"lea 1(%rbx), %rax\n"
	"pop %rbx\n.cfi_def_cfa_offset 8\n"
	"ret\n.cfi_endproc\n.size pushes, . - pushes\n");

/* The function has no instruction that the kernel executes by itself; the red zone is in use from the second one on. */
__asm__(".globl leaf\n.type leaf, @function\n"
	"leaf: .cfi_startproc\n"
	"mov %rdi, -8(%rsp)\n"
	"mov -8(%rsp), %rax\n"
	"nopl 0(%rax, %rax, 1)\n"
	"cmp %rdi, -8(%rsp)\n"
	"setne %al\n"
	"movzbl %al, %eax\n"
	"ret\n.cfi_endproc\n.size leaf, . - leaf\n");

/* Functions that the loader would choose: the code of one is called after it, that of the other is not. */
__asm__(".globl picked\n.type picked, @gnu_indirect_function\n"
	"picked: lea __picked_fast(%rip), %rax\nret\n.size picked, . - picked\n"
	".globl __picked_fast\n.type __picked_fast, @function\n"
	"__picked_fast: mov $1, %eax\nret\n.size __picked_fast, . - __picked_fast\n"
	".globl chosen\n.type chosen, @gnu_indirect_function\n"
	"chosen: lea leaf(%rip), %rax\nret\n.size chosen, . - chosen\n");

/* A push behind a landing pad and a move; the loop comes back to behind the push. */
__asm__(".globl lands\n.type lands, @function\n"
	"lands: .cfi_startproc\n"
	"endbr64\n"
	"xor %eax, %eax\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"mov $3, %ebp\n"
	"1: dec %ebp\n"
	"jnz 1b\n"
	"pop %rbp\n.cfi_def_cfa_offset 8\n"
	"ret\n.cfi_endproc\n.size lands, . - lands\n");

/* A loop comes back to its NOP: the place is the beginning. */
__asm__(".globl loops\n.type loops, @function\n"
	"loops: .cfi_startproc\n"
	"mov $3, %eax\n"
	"2: nop\n"
	"dec %eax\n"
	"jnz 2b\n"
	"ret\n.cfi_endproc\n.size loops, . - loops\n");

/* A loop comes back to its first instruction. */
__asm__(".globl turns\n.type turns, @function\n"
	"turns: .cfi_startproc\n"
	"dec %rdi\n"
	"jnz turns\n"
	"mov $1, %eax\n"
	"ret\n.cfi_endproc\n.size turns, . - turns\n");

/* Odd numbers return; even ones are those of pushes(). */
__asm__(".globl jumps_away\n.type jumps_away, @function\n"
	"jumps_away: .cfi_startproc\n"
	"test $1, %dil\n"
	"jz pushes\n"
	"lea 1(%rdi), %rax\n"
	"ret\n.cfi_endproc\n.size jumps_away, . - jumps_away\n");

extern "C" long turns(long n);
extern "C" long jumps_away(long n);
extern "C" long pushes(long n);
extern "C" long leaf(long n);
extern "C" long lands(long n);
extern "C" long loops(long n);

namespace shop
{
struct basket {
	int n = 0;
	ALONE basket()
	{
		KEEP();
	}
	ALONE void add(int what)
	{
		n += what;
		KEEP();
	}
	ALONE void add(const char *what)
	{
		n += (int) strlen(what);
		KEEP();
	}
	ALONE int total() const
	{
		KEEP();
		return n;
	}
};

/* The compiler makes two destructors of it: one of them deletes, and has the code of the other one within itself. */
struct page {
	int n = 0;
	ALONE page()
	{
		KEEP();
	}
	virtual ~page();
};
ALONE page::~page()
{
	n++;
	KEEP();
}

/* Where it is deleted a page may be a cover: the compiler has to call what the object says. */
struct cover : page {
	~cover() override;
};
ALONE cover::~cover()
{
	n--;
	KEEP();
}
} // namespace shop

extern "C" {
ALONE static long twice(long a, long b)
{
	KEEP();
	return a * b;
}

ALONE static long by_first(long n)
{
	long r = pushes(n) + twice(n, 7);
	KEEP();
	return r;
}

ALONE static long by_second(long n)
{
	long r = pushes(n) + pushes(n + 1);
	KEEP();
	return r;
}

/* Returns 1, by itself. */
ALONE static long recurses(long n)
{
	long r = n == 0 ? 1 : recurses(n - 1);
	KEEP();
	return r;
}

ALONE static long throws_odd(long n)
{
	if (n % 2 == 1)
		throw n;
	KEEP();
	return n;
}

ALONE static long lingers()
{
	char line[16];
	printf("in\n");
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin) != nullptr)
		throw 1L;
	KEEP();
	return 0;
}

ALONE static long yields(ucontext_t *from, ucontext_t *to, long n)
{
	(void) swapcontext(from, to); /* it comes back, or the count is wrong */
	KEEP();
	return n;
}

ALONE static void pause_for(long ms)
{
	struct timespec ts = {0, ms * 1000000};
	(void) nanosleep(&ts, nullptr); /* a signal may end it: then it is short */
	KEEP();
}
}

static volatile long wrong; /* results that are not what they must be */

static void *work(void *arg)
{
	for (long i = 0; i < ROUNDS; i++) {
		shop::basket b;
		wrong += by_first(i) != i + 1 + 7 * i;
		wrong += by_second(i) != 2 * i + 3;
		wrong += leaf(i) != 0;
		wrong += lands(i) != 0;
		wrong += loops(i) != 0;
		wrong += recurses(3) != 1;
		b.add(1);
		b.add("ab");
		wrong += b.total() != 3;
	}
	return arg;
}

static bool threads_work()
{
	pthread_t threads[THREADS];
	for (auto &thread : threads)
		if (pthread_create(&thread, nullptr, work, nullptr) != 0)
			return false;
	for (auto &thread : threads)
		(void) pthread_join(thread, nullptr); /* it was started */
	return true;
}

static void child_wait(pid_t pid)
{
	int status = 0;
	(void) waitpid(pid, &status, 0); /* it is ours */
	wrong += status != 0;
}

static void *library;

static void *library_load(const char *name)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	path[n < 0 ? 0 : n] = '\0';
	return dlopen((std::string(path, strrchr(path, '/') - path) + name).c_str(), RTLD_NOW);
}

static void parts_destroy()
{
	static void *destroyed = library_load("/destroyed.so");
	auto destroy =
		destroyed != nullptr ? (void (*)(int)) dlsym(destroyed, "destroy_all") : nullptr;
	if (destroy != nullptr)
		destroy(ROUNDS);
	wrong += destroy == nullptr;
}

static void library_use()
{
	library = library_load("/called.so");
	auto called =
		library != nullptr ? (int (*)(int)) dlsym(library, "library_called") : nullptr;
	for (int i = 0; i < ROUNDS; i++)
		wrong += called == nullptr || called(i) != i + 1;
}

[[noreturn]] static void *call_often(void *)
{
	for (;;) {
		(void) pushes(1);
		(void) leaf(1);
	}
}

static void throw_all()
{
	for (long i = 0; i < ROUNDS; i++) {
		try {
			wrong += throws_odd(i) != i || i % 2 == 1;
		} catch (long n) {
			wrong += n != i;
		}
	}
}

static ucontext_t in_main, in_first, in_second;
static long n_yielded;

static void first()
{
	n_yielded += yields(&in_first, &in_second, 1);
}

static void second()
{
	n_yielded += yields(&in_second, &in_first, 10);
}

/* The first one calls and waits, then the second one; the first one returns, then the second one. */
static void switch_once()
{
	static char stacks[2][1 << 16];
	ucontext_t *const contexts[] = {&in_first, &in_second};
	n_yielded = 0;
	for (int i = 0; i < 2; i++) {
		(void) getcontext(contexts[i]); /* cannot fail */
		contexts[i]->uc_stack.ss_sp = stacks[i];
		contexts[i]->uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i]->uc_link = i == 0 ? &in_second : &in_main;
		makecontext(contexts[i], i == 0 ? first : second, 0);
	}
	wrong += swapcontext(&in_main, &in_first) != 0 || n_yielded != 11;
}

static void linger()
{
	try {
		wrong += lingers() != 1;
	} catch (long n) {
		wrong += n != 1;
	}
}

static void code_make_writable()
{
	uintptr_t page = reinterpret_cast<uintptr_t>(&pushes) & ~4095UL;
	wrong += mprotect(reinterpret_cast<void *>(page), 8192,
			  PROT_READ | PROT_WRITE | PROT_EXEC) != 0;
}

static void more(const char *line)
{
	if (strcmp(line, "throw") == 0)
		throw_all();
	for (int i = 0; i < ROUNDS && strcmp(line, "switch") == 0; i++)
		switch_once();
	if (strcmp(line, "deep") == 0)
		wrong += recurses(199) != 1;
	for (int i = 0; i < ROUNDS && strcmp(line, "turns") == 0; i++)
		wrong += turns(3) != 1;
	for (int i = 0; i < ROUNDS && strcmp(line, "jumps") == 0; i++)
		wrong += jumps_away(i) != i + 1;
	if (strcmp(line, "linger") == 0)
		linger();
	for (int i = 0; i < ROUNDS && strcmp(line, "destroy") == 0; i++) {
		shop::page *volatile page = i < ROUNDS ? new shop::page : new shop::cover;
		delete page;
	}
	if (strcmp(line, "parts") == 0)
		parts_destroy();
	if (strcmp(line, "writable") == 0)
		code_make_writable();
}

static char **arguments;

static void *serve(void *arg);

int main(int argc, char **argv)
{
	(void) argc;
	arguments = argv;
	printf("ready\n");
	fflush(stdout);
	return serve(nullptr) == nullptr ? 0 : 1;
}

static void *serve(void *arg)
{
	char line[16];
	if (arg != nullptr) {
		printf("done\n");
		fflush(stdout);
	}
	while (fgets(line, sizeof(line), stdin) != nullptr) {
		line[strcspn(line, "\n")] = '\0';
		more(line);
		if (strcmp(line, "leave") == 0) {
			pthread_t thread;
			if (pthread_create(&thread, nullptr, serve, arguments) == 0)
				pthread_exit(nullptr);
		}
		if (strcmp(line, "go") == 0 && !threads_work())
			return arguments;
		if (strcmp(line, "fork") == 0) {
			pid_t pid = fork();
			if (pid == 0) {
				(void) work(nullptr);
				_exit(wrong != 0);
			}
			child_wait(pid);
		}
		if (strcmp(line, "child") == 0) {
			pid_t pid = fork();
			if (pid == 0) {
				(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
				for (;;)
					(void) pause();
			}
			wrong += pid < 0;
		}
		if (strcmp(line, "vfork") == 0) {
			pid_t pid = vfork();
			if (pid == 0)
				_exit(twice(3, 4) != 12);
			child_wait(pid);
		}
		if (strcmp(line, "often") == 0) {
			pthread_t thread;
			wrong += pthread_create(&thread, nullptr, call_often, nullptr) != 0;
		}
		if (strcmp(line, "load") == 0)
			library_use();
		if (strcmp(line, "unload") == 0)
			wrong += library == nullptr || dlclose(library) != 0;
		for (int i = 0; i < 5 && strcmp(line, "slow") == 0; i++)
			pause_for(i % 2 == 1 ? 60 : 1);
		if (strcmp(line, "exec") == 0)
			(void) execv("/proc/self/exe", arguments); /* it fails: no "ready" comes */
		printf(wrong != 0 ? "wrong\n" : "done\n");
		fflush(stdout);
	}
	return nullptr;
}
