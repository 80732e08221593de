/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handlers of signals in a program for i386: with one argument and with three, which the kernel returns
 * from by different frames, on the thread's stack and on one of their own. */
#include "../target.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static NOINLINE void handler(int signo)
{
	(void) signo;
	block();
	KEEP();
}

static NOINLINE void handler_info(int signo, siginfo_t *info, void *context)
{
	(void) info;
	(void) context;
	handler(signo);
	KEEP();
}

/* The interrupted frame is this function's. */
static NOINLINE void send_signal(int signo)
{
	long result = SYS_tgkill;
	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"(getpid()), "c"(syscall(SYS_gettid)), "d"(signo)
			 : "memory");
}

static pthread_barrier_t said;

static NOINLINE void *worker(void *arg)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	int signo = *(int *) arg;
	sigaltstack(&stack, NULL);
	expect_stack(signo == SIGUSR1 ? "block handler <signal> send_signal worker"
				      : "block handler handler_info <signal> send_signal worker");
	pthread_barrier_wait(&said);
	send_signal(signo);
	KEEP();
	return NULL;
}

int main(void)
{
	static int signals[] = {SIGUSR1, SIGUSR2, SIGURG};
	struct sigaction plain = {.sa_handler = handler};
	struct sigaction info = {.sa_sigaction = handler_info, .sa_flags = SA_SIGINFO};
	struct sigaction other = {.sa_sigaction = handler_info,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGUSR1, &plain, NULL);
	sigaction(SIGUSR2, &info, NULL);
	sigaction(SIGURG, &other, NULL);
	pthread_barrier_init(&said, NULL, 4);
	for (size_t i = 0; i < 3; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, worker, &signals[i]) != 0)
			return 1;
	}
	expect_stack("block main");
	pthread_barrier_wait(&said);
	ready();
	block();
	return 0;
}
