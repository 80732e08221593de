/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signal handlers: on the normal stack, on the alternate stack, one interrupted by another, and one
 * that interrupted a function at its very first instruction (a lookup of pc - 1 would find the
 * function before it).
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static pthread_barrier_t said;

static NOINLINE void handler(int signo)
{
	(void) signo;
	block();
	KEEP();
}

/* kill to itself without libc: the interrupted frame is this function. */
static NOINLINE void send_signal(int signo)
{
	long result = SYS_tgkill;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"((long) getpid()), "S"(syscall(SYS_gettid)), "d"((long) signo)
			 : "rcx", "r11", "memory");
}

static NOINLINE void outer_handler(int signo)
{
	send_signal(signo == SIGUSR2 ? SIGUSR1 : SIGURG);
	KEEP();
}

void faulting(void);
__asm__(".text\n"
	".globl before_faulting\n"
	".type before_faulting, @function\n"
	"before_faulting:\n"
	".cfi_startproc\n"
	"	subq $104, %rsp\n"
	".cfi_adjust_cfa_offset 104\n"
	"	ud2\n"
	".cfi_endproc\n"
	".size before_faulting, . - before_faulting\n"
	".globl faulting\n"
	".type faulting, @function\n"
	"faulting:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".size faulting, . - faulting\n");

static NOINLINE void work(int signo)
{
	if (signo == SIGILL)
		faulting();
	else
		send_signal(signo);
	KEEP();
}

static NOINLINE void *alternate(void *arg)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&stack, NULL);
	expect_stack("block handler <signal> send_signal work alternate");
	pthread_barrier_wait(&said);
	work(SIGALRM);
	KEEP();
	return arg;
}

static NOINLINE void *nested(void *arg)
{
	expect_stack("block handler <signal> send_signal outer_handler <signal> send_signal work "
		     "nested");
	pthread_barrier_wait(&said);
	work(SIGUSR2);
	KEEP();
	return arg;
}

static NOINLINE void *first_instruction(void *arg)
{
	expect_stack("block handler <signal> faulting work first_instruction");
	pthread_barrier_wait(&said);
	work(SIGILL);
	KEEP();
	return arg;
}

int main(void)
{
	struct sigaction plain = {.sa_handler = handler};
	struct sigaction outer = {.sa_handler = outer_handler};
	struct sigaction onstack = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &plain, NULL);
	sigaction(SIGILL, &plain, NULL);
	sigaction(SIGUSR2, &outer, NULL);
	sigaction(SIGALRM, &onstack, NULL);
	pthread_barrier_init(&said, NULL, 4);

	pthread_t threads[3];
	if (pthread_create(&threads[0], NULL, alternate, NULL) != 0 ||
	    pthread_create(&threads[1], NULL, nested, NULL) != 0 ||
	    pthread_create(&threads[2], NULL, first_instruction, NULL) != 0)
		return 1;
	pthread_barrier_wait(&said);
	expect_stack("block handler <signal> send_signal work main");
	ready();
	work(SIGUSR1);
	return 0;
}
