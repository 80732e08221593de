/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ends, or does not, as each line says that it reads:
 *
 *	exit	a thread calls exit(3) by leave(), while others wait
 *	return	main() returns 4
 *	raise	a thread sends SIGUSR1 to itself, for which there is no handler
 *	kill	a thread sends it to the process
 *	memory	takes memory until there is none
 *	survive	signals that kill nobody: one with a handler, one that is ignored, one that stops; a thread that ends; a
 *		child that dies. Then it prints "done"
 *	exec	another thread becomes the same program again
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 1 << 20 };

static NOINLINE void leave(int status)
{
	exit(status);
}

static void *waits(void *arg)
{
	for (;;)
		(void) pause(); /* again after a signal */
	return arg;
}

static void *ends(void *arg)
{
	return arg;
}

static void *exits(void *arg)
{
	leave(3);
	return arg;
}

static void *becomes(void *arg)
{
	char *const words[] = {(char *) (uintptr_t) "deaths", NULL};
	(void) execv("/proc/self/exe", words); /* it fails: no "ready" comes */
	return arg;
}

static void handle(int number)
{
	(void) number;
}

static NOINLINE void memory_take(void)
{
	for (;;) {
		char *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		if (piece != MAP_FAILED)
			memset(piece, 1, PIECE);
		KEEP();
	}
}

static void start(void *(*function)(void *), int wait)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, function, NULL) == 0 && wait)
		(void) pthread_join(thread, NULL); /* it was started */
}

static void *raises(void *arg)
{
	(void) raise(SIGUSR1);
	return arg;
}

/* The signal is to the process: the kernel gives it to the first thread. */
static void *kills(void *arg)
{
	(void) kill(getpid(), SIGUSR1);
	return arg;
}

static void survive(void)
{
	(void) signal(SIGUSR2, handle);
	(void) raise(SIGUSR2);
	(void) raise(SIGWINCH);
	(void) signal(SIGPIPE, SIG_IGN);
	(void) raise(SIGPIPE);
	start(ends, 1);
	pid_t pid = fork();
	if (pid == 0)
		abort();
	(void) waitpid(pid, NULL, 0); /* it is ours */
	pid = fork();
	if (pid == 0) {
		(void) usleep(100000); /* the process stops meanwhile */
		(void) kill(getppid(), SIGCONT);
		_exit(0);
	}
	(void) raise(SIGSTOP);
	(void) waitpid(pid, NULL, 0); /* it is ours */
	printf("done\n");
	fflush(stdout);
}

int main(void)
{
	char line[16];
	start(waits, 0);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "exit") == 0)
			start(exits, 1);
		if (strcmp(line, "return") == 0)
			return 4;
		if (strcmp(line, "raise") == 0)
			start(raises, 1);
		if (strcmp(line, "kill") == 0)
			start(kills, 1);
		if (strcmp(line, "memory") == 0)
			memory_take();
		if (strcmp(line, "survive") == 0)
			survive();
		if (strcmp(line, "exec") == 0)
			start(becomes, 1);
	}
	return 0;
}
