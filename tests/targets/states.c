/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes in the states that make a capture hard. The first argument says which:
 *
 *	plain N          N threads that wait
 *	spin N           N threads that never wait, for two minutes at most
 *	zombie_leader    the first thread has ended, two others live
 *	vfork_parent     one thread in vfork(): D until its child, which waits, ends ("release")
 *	churn            threads are created and end without a pause ("count" answers how many)
 *	exec N           a thread that is not the first replaces the program, N times
 *	brief MS         the process ends by itself
 *	seccomp          one thread in strict mode
 *	idle CPU         a SCHED_IDLE thread on a CPU that another process keeps busy
 *	odd_names        thread names that are no text
 *	io_worker        an io_uring worker thread
 *	undumpable       PR_SET_DUMPABLE 0
 *	trace PID        is a tracer of PID
 *	touch PID        traces PID and lets it go, again and again, as Wine's server does
 *	parent           has a child ("child PID") and says on "count" what it was told of it
 */
#include <err.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	(void) nanosleep(&t, NULL);
}

static void *wait_forever(void *arg)
{
	(void) arg;
	for (;;)
		(void) pause();
	return NULL;
}

static void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, arg) != 0)
		err(1, "pthread_create");
}

static void wait_for_input(void)
{
	char c;
	while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
		;
}

static void plain(char **argv)
{
	for (int i = 0; i < atoi(argv[2]); i++)
		start(wait_forever, NULL);
	puts("ready");
	wait_for_input();
}

static void *spin_forever(void *arg)
{
	for (volatile unsigned long *turns = arg;;)
		++*turns;
	return NULL;
}

static void spin(char **argv)
{
	static volatile unsigned long turns;
	for (int i = 0; i < atoi(argv[2]); i++)
		start(spin_forever, (void *) &turns);
	(void) alarm(120); /* whatever becomes of the test */
	puts("ready");
	wait_for_input();
}

/* The test sees by /proc that the first thread has become a zombie. */
static void zombie_leader(char **argv)
{
	(void) argv;
	start(wait_forever, NULL);
	start(wait_forever, NULL);
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}

static void *vfork_and_wait(void *arg)
{
	(void) arg;
	pid_t pid = vfork();
	if (pid == 0) {
		/* Shares our memory: system calls only. */
		char c;
		(void) syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
		(void) syscall(SYS_read, STDIN_FILENO, &c, 1);
		(void) syscall(SYS_exit, 0);
	}
	(void) waitpid(pid, NULL, 0);
	puts("vfork returned");
	return NULL;
}

static void vfork_parent(char **argv)
{
	(void) argv;
	start(wait_forever, NULL);
	start(vfork_and_wait, NULL);
	puts("ready");
	(void) wait_forever(NULL);
}

static atomic_long created;

static void *live_shortly(void *arg)
{
	created++;
	for (volatile int i = 0; i < (int) (long) arg; i++)
		;
	return NULL;
}

static void *spawn(void *arg)
{
	(void) arg;
	for (long i = 0;; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, live_shortly, (void *) (i % 7 * 5000)) != 0)
			continue; /* the limit of threads: they end soon */
		if (i % 2)
			(void) pthread_detach(thread);
		else
			(void) pthread_join(thread, NULL);
		if (i % 8 == 0)
			pause_ms(1);
	}
	return NULL;
}

static void churn(char **argv)
{
	(void) argv;
	for (int i = 0; i < 3; i++)
		start(spawn, NULL);
	while (created == 0)
		pause_ms(1);
	puts("ready");
	char line[32];
	while (fgets(line, sizeof(line), stdin) != NULL)
		printf("%ld\n", created);
}

static void *replace_program(void *arg)
{
	char count[16];
	pause_ms(2);
	(void) snprintf(count, sizeof(count), "%d", atoi(arg) - 1);
	(void) execl("/proc/self/exe", "states", "exec", count, "again", (char *) NULL);
	err(1, "exec");
}

static void exec(char **argv)
{
	start(wait_forever, NULL);
	start(wait_forever, NULL);
	if (argv[3] == NULL) {
		puts("ready");
		wait_for_input();
	}
	if (atoi(argv[2]) > 0)
		start(replace_program, argv[2]);
	else
		puts("exec done");
	(void) wait_forever(NULL);
}

static void brief(char **argv)
{
	start(wait_forever, NULL);
	start(wait_forever, NULL);
	puts("ready");
	fflush(stdout);
	pause_ms(atol(argv[2]));
	exit(5);
}

static void *strict(void *arg)
{
	/* From here on only read, write, exit and sigreturn. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		err(1, "seccomp");
	char c;
	(void) syscall(SYS_read, *(int *) arg, &c, 1);
	(void) syscall(SYS_exit, 0);
	return NULL;
}

static void seccomp(char **argv)
{
	static int fds[2];
	(void) argv;
	if (pipe(fds) < 0)
		err(1, "pipe");
	start(strict, &fds[0]);
	puts("ready");
	wait_for_input();
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "sched_setaffinity");
}

static atomic_int idle_runs;

static void *be_idle(void *arg)
{
	pin(atoi(arg));
	struct sched_param zero = {0};
	(void) sched_setscheduler(0, SCHED_IDLE, &zero);
	for (;;)
		idle_runs++;
	return NULL;
}

static void idle(char **argv)
{
	start(be_idle, argv[2]);
	while (idle_runs == 0)
		pause_ms(1);
	for (int i = 0; i < 2; i++) {
		if (fork() != 0)
			continue;
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(atoi(argv[2]));
		(void) setpriority(PRIO_PROCESS, 0, -20);
		for (;;)
			idle_runs++;
	}
	puts("ready");
	wait_for_input();
}

static atomic_size_t n_named;

static void *wait_named(void *name)
{
	(void) prctl(PR_SET_NAME, name);
	printf("named %d\n", gettid());
	n_named++;
	return wait_forever(NULL);
}

static void odd_names(char **argv)
{
	static const char *const names[] = {
		"new\nline",   "\x1b[31mred\x1b[0m", "\xff\xfe\x80",     "qu\"ote\\",
		"tab\tbell\a", "a) R 1 2",           "\xc3\xa9\xe2\x82", "\x7f\x01\x9b",
	};
	(void) argv;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		start(wait_named, (void *) names[i]);
	while (n_named < sizeof(names) / sizeof(*names))
		pause_ms(1);
	(void) prctl(PR_SET_NAME, "lead\"er\n) Z 1");
	puts("ready");
	wait_for_input();
}

/* A read from an empty pipe that io_uring is told to hand to a worker. */
static void io_worker(char **argv)
{
	(void) argv;
	struct io_uring_params p = {0};
	int fds[2];
	static char buffer[16];
	int ring = (int) syscall(SYS_io_uring_setup, 4, &p);
	if (ring < 0 || pipe(fds) < 0) {
		printf("unavailable %d\n", errno);
		puts("ready");
		return;
	}
	char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned),
			PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE,
					 MAP_SHARED, ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || sqes == MAP_FAILED)
		err(1, "mmap");
	sqes[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
					.flags = IOSQE_ASYNC,
					.fd = fds[0],
					.addr = (unsigned long) buffer,
					.len = sizeof(buffer)};
	((unsigned *) (sq + p.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *) (sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1)
		err(1, "io_uring_enter");
	puts("ready");
	wait_for_input();
}

static void undumpable(char **argv)
{
	(void) argv;
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		err(1, "prctl");
	puts("ready");
	wait_for_input();
}

static void trace(char **argv)
{
	if (ptrace(PTRACE_SEIZE, atoi(argv[2]), NULL, NULL) < 0)
		err(1, "seize");
	puts("ready");
	wait_for_input();
}

static void touch(char **argv)
{
	pid_t pid = atoi(argv[2]);
	puts("ready");
	for (;;) {
		/* Refused as long as another traces it. */
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
			continue;
		(void) ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		(void) waitpid(pid, NULL, __WALL);
		(void) ptrace(PTRACE_DETACH, pid, NULL, NULL);
	}
}

static atomic_int sigchlds;

static void on_sigchld(int signo)
{
	(void) signo;
	sigchlds++;
}

/* Waits for stops and continuations too, as a shell or a supervisor does. */
static void *wait_for_child(void *arg)
{
	static atomic_int events;
	int status;
	while (waitpid(*(pid_t *) arg, &status, WUNTRACED | WCONTINUED) > 0)
		printf("event %d %#x\n", ++events, (unsigned) status);
	return NULL;
}

static void parent(char **argv)
{
	static pid_t child;
	(void) argv;
	child = fork();
	if (child == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		start(wait_forever, NULL);
		(void) wait_forever(NULL);
	}
	struct sigaction action = {.sa_handler = on_sigchld, .sa_flags = SA_RESTART};
	(void) sigaction(SIGCHLD, &action, NULL);
	start(wait_for_child, &child);
	printf("child %d\nready\n", child);
	char line[32];
	while (fgets(line, sizeof(line), stdin) != NULL)
		printf("sigchld %d\n", sigchlds);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		void (*run)(char **argv);
	} modes[] = {
		{"plain", 1, plain},
		{"spin", 1, spin},
		{"zombie_leader", 0, zombie_leader},
		{"vfork_parent", 0, vfork_parent},
		{"churn", 0, churn},
		{"exec", 1, exec},
		{"brief", 1, brief},
		{"seccomp", 0, seccomp},
		{"idle", 1, idle},
		{"odd_names", 0, odd_names},
		{"io_worker", 0, io_worker},
		{"undumpable", 0, undumpable},
		{"trace", 1, trace},
		{"touch", 1, touch},
		{"parent", 0, parent},
	};
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(argv[1], modes[i].name) == 0 && argc >= 2 + modes[i].args) {
			modes[i].run(argv);
			return 0;
		}
	errx(2, "usage: states MODE [ARGUMENT]");
}
