/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads whose registers and stacks are nonsense. Each waits in pause() with rsp and rbp as its
 * name says. It prints "thread TID NAME" for each, then "ready".
 *
 *	hostile_stacks		rsp, rbp and stacks
 *	hostile_stacks pc	code whose page is gone. Once only: a thread that is stopped enters its
 *				system call anew, and so dies of any tracer
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, STACK = 1 << 20, HUGE_GIB = 64 };

/* A loop of pause(), position independent: hostile_code(rsp, rbp, ...) never returns. */
__asm__(".text\n"
	".globl hostile_code, hostile_code_end\n"
	"hostile_code:\n"
	"	mov %rdi, %rsp\n"
	"	mov %rsi, %rbp\n"
	"1:	mov $34, %eax\n"
	"	syscall\n"
	"	jmp 1b\n"
	"hostile_code_end:\n");
extern char hostile_code[], hostile_code_end[];

struct job {
	const char *name;
	uint64_t sp, bp;
	void (*code)(uint64_t sp, uint64_t bp);
};

static sem_t said;

static void *run(void *arg)
{
	struct job job = *(struct job *) arg;
	printf("thread %d %s\n", gettid(), job.name);
	(void) sem_post(&said);
	job.code(job.sp, job.bp);
	return NULL;
}

static void start_code(const char *name, uint64_t sp, uint64_t bp, void *code)
{
	struct job job = {name, sp, bp, (void (*)(uint64_t, uint64_t)) code};
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, &job) != 0)
		err(1, "pthread_create");
	while (sem_wait(&said) < 0)
		;
}

static void start(const char *name, uint64_t sp, uint64_t bp)
{
	start_code(name, sp, bp, hostile_code);
}

static char *memory(size_t bytes, int prot)
{
	char *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

static uint64_t random64(void)
{
	static uint64_t x = 88172645463325252; /* fixed: each run is the same */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Addresses behind CALL instructions of this program and of libc, as a scan looks for them. */
static void fill_return_addresses(uint64_t *words, size_t n)
{
	const uint8_t *text = (const uint8_t *) &getenv; /* libc's */
	uint64_t found[256];
	size_t n_found = 0;
	for (size_t i = 0; i < 16384 && n_found < 256; i++)
		if (text[i] == 0xe8)
			found[n_found++] = (uint64_t) (uintptr_t) &text[i + 5];
	for (size_t i = 0; i < n; i++)
		words[i] = found[random64() % n_found];
}

static void bad_sp(void)
{
	char *read_only = memory(PAGE, PROT_READ);
	char *none = memory(PAGE, PROT_NONE);
	char *one = memory(2 * PAGE, PROT_READ | PROT_WRITE);
	char *huge = memory((size_t) HUGE_GIB << 30, PROT_READ | PROT_WRITE);
	(void) munmap(one + PAGE, PAGE);
	start("sp zero", 0, 0);
	start("sp unmapped", 0x1000, 0x1000);
	start("sp top", UINT64_MAX, UINT64_MAX);
	start("sp red zone underflow", 8, 16);
	start("sp not canonical", UINT64_C(0x8000000000000000), UINT64_C(0x8000000000000008));
	start("sp kernel", UINT64_C(0xffff888000000000), UINT64_C(0xffff888000000010));
	start("sp vsyscall", UINT64_C(0xffffffffff600000), 0);
	start("sp odd", (uint64_t) (uintptr_t) one + 1003, (uint64_t) (uintptr_t) one + 2001);
	start("sp last byte", (uint64_t) (uintptr_t) one + PAGE - 1, 0);
	start("sp last word", (uint64_t) (uintptr_t) one + PAGE - 8, 0);
	start("sp one past", (uint64_t) (uintptr_t) one + PAGE, 0);
	start("sp in code", (uint64_t) (uintptr_t) hostile_code,
	      (uint64_t) (uintptr_t) hostile_code);
	start("sp read only", (uint64_t) (uintptr_t) read_only + 512, 0);
	start("sp no access", (uint64_t) (uintptr_t) none + 512, 0);
	start("sp start of huge", (uint64_t) (uintptr_t) huge + 256, 0);
}

/* A mapping whose file ends before it: reading gives SIGBUS here and an error to others. */
static void sp_behind_file(void)
{
	int fd = memfd_create("short file", MFD_CLOEXEC);
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || p == MAP_FAILED)
		err(1, "memfd");
	start("sp behind end of file", (uint64_t) (uintptr_t) p + 512, 0);
}

static void bad_stacks(void)
{
	size_t n = STACK / sizeof(uint64_t);
	uint64_t *garbage = (uint64_t *) memory(STACK, PROT_READ | PROT_WRITE);
	uint64_t *calls = (uint64_t *) memory(STACK, PROT_READ | PROT_WRITE);
	uint64_t *mixed = (uint64_t *) memory(STACK, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < n; i++)
		garbage[i] = random64() >> random64() % 64;
	fill_return_addresses(calls, n);
	fill_return_addresses(mixed, n);
	/* Frame pointers that all lead a little further, a million bytes of them. */
	for (size_t i = 0; i + 2 < n; i += 2)
		mixed[i] = (uint64_t) (uintptr_t) &mixed[i + 2];
	start("garbage", (uint64_t) (uintptr_t) &garbage[64], (uint64_t) (uintptr_t) &garbage[99]);
	start("return addresses", (uint64_t) (uintptr_t) &calls[64], random64());
	start("long frame chain", (uint64_t) (uintptr_t) &mixed[64],
	      (uint64_t) (uintptr_t) &mixed[64]);
}

static void bad_frame_chains(void)
{
	uint64_t *s = (uint64_t *) memory(PAGE, PROT_READ | PROT_WRITE);
	uint64_t base = (uint64_t) (uintptr_t) s;
	fill_return_addresses(s, PAGE / sizeof(*s));
	s[100] = base + 800; /* its own address */
	s[110] = base + 960; /* two that name each other */
	s[120] = base + 880;
	s[130] = base + 400; /* downwards */
	s[140] = UINT64_C(0x7fffffffffff);
	s[150] = base + PAGE - 8; /* its return address lies behind the mapping */
	s[160] = base + 1283;     /* not aligned */
	start("rbp own address", base + 64, base + 800);
	start("rbp two in a circle", base + 64, base + 880);
	start("rbp downwards", base + 64, base + 1040);
	start("rbp far away", base + 64, base + 1120);
	start("rbp at the edge", base + 64, base + 1200);
	start("rbp not aligned", base + 64, base + 1280);
	start("rbp equals rsp", base + 800, base + 800);
}

/* The code is moved elsewhere and run there. At the end of the page: reads past it must be refused. */
static char *move_code(void)
{
	size_t bytes = (size_t) (hostile_code_end - hostile_code);
	char *code = memory(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) + PAGE - bytes;
	memcpy(code, hostile_code, bytes);
	return code;
}

static uint64_t stack_of_calls(void)
{
	uint64_t *s = (uint64_t *) memory(STACK, PROT_READ | PROT_WRITE);
	fill_return_addresses(s, 1024);
	return (uint64_t) (uintptr_t) &s[512];
}

/* The page is taken away under the system call. */
static void bad_pc(void)
{
	uint64_t sp = stack_of_calls();
	char *code[] = {move_code(), move_code(), move_code()};
	start_code("pc not executable", sp, sp + 128, code[0]);
	start_code("pc not readable", sp, sp + 128, code[1]);
	start_code("pc unmapped", sp, sp + 128, code[2]);
	puts("settle"); /* the test sees by /proc that all wait, then answers */
	(void) getchar();
	uintptr_t mask = ~(uintptr_t) (PAGE - 1);
	(void) mprotect((void *) ((uintptr_t) code[0] & mask), PAGE, PROT_READ);
	(void) mprotect((void *) ((uintptr_t) code[1] & mask), PAGE, PROT_NONE);
	(void) munmap((void *) ((uintptr_t) code[2] & mask), PAGE);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	(void) sem_init(&said, 0, 0);
	if (argc > 1 && strcmp(argv[1], "pc") == 0) {
		bad_pc();
	} else {
		bad_sp();
		sp_behind_file();
		bad_stacks();
		bad_frame_chains();
		uint64_t sp = stack_of_calls();
		start_code("pc anonymous", sp, sp + 128, move_code());
	}
	puts("ready");
	return getchar() == EOF;
}
