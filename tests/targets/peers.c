/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * peers WAY: two processes of which one waits for the other, or each for the other. Prints "self PID" and
 * "peer PID", the child, which ends with its parent. Ways:
 *	pipe unix tcp	both read what the other one never writes
 *	fifo		as pipe, by two FIFOs (peers fifo FILE), of which each opens what it needs
 *	fifoopen	opens a FIFO that nobody else opens (peers fifoopen FILE)
 *	full		writes to a pipe that the child never reads
 *	flock fcntl	the child holds the lock of a file (peers WAY FILE)
 *	child		waits for the child to end
 *	two		reads a pipe that the child and another one could write to
 *	self		reads a pipe that only itself could write to
 *	behind		three threads wait for a lock, whose holder reads what the child never writes, which
 *			reads what a child of its own never writes; prints "last PID"
 *	timer		sleeps for 1,000 s
 *	timerfd		reads a timer that expires in 1,000 s; unarmed: one that does not
 *	msgrcv semop	waits for a message, or a semaphore, of System V that nobody gives; prints "id ID". The child
 *			sent and received one message before
 */
#include "target.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

static int told[2]; /* the child says here that it is where it is to be */

static pid_t start(void)
{
	pid_t parent = getpid(), child = fork();
	if (child != 0)
		return child;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	close(told[0]);
	return 0;
}

static void tell(void)
{
	(void) !write(told[1], "", 1);
	close(told[1]);
}

static void say(pid_t child)
{
	char c;
	close(told[1]);
	(void) !read(told[0], &c, 1);
	printf("self %d\npeer %d\n", (int) getpid(), (int) child);
	ready();
}

static void read_forever(int fd)
{
	char c;
	while (read(fd, &c, 1) >= 0)
		;
}

static void by_pipes(void)
{
	int to[2], from[2];
	if (pipe(to) < 0 || pipe(from) < 0)
		exit(1);
	pid_t child = start();
	if (child == 0) {
		close(to[1]);
		close(from[0]);
		tell();
		read_forever(to[0]);
	}
	close(to[0]);
	close(from[1]);
	say(child);
	read_forever(from[0]);
}

/* Each opens its ends itself, so that nobody has one that it does not use. The child says so before it waits. */
static void by_fifos(const char *path)
{
	char to[4096], from[4096];
	(void) snprintf(to, sizeof(to), "%s.to", path);       /* or it is not made */
	(void) snprintf(from, sizeof(from), "%s.from", path); /* the same */
	if (mkfifo(to, 0600) < 0 || mkfifo(from, 0600) < 0)
		exit(1);
	pid_t child = start();
	if (child == 0) {
		int in = open(to, O_RDONLY | O_CLOEXEC);
		(void) !open(from, O_WRONLY | O_CLOEXEC);
		tell();
		read_forever(in);
	}
	(void) !open(to, O_WRONLY | O_CLOEXEC);
	int in = open(from, O_RDONLY | O_CLOEXEC);
	say(child);
	read_forever(in);
}

static void by_open(const char *path)
{
	if (mkfifo(path, 0600) < 0)
		exit(1);
	pid_t child = start();
	if (child == 0) {
		tell();
		pause();
	}
	say(child);
	(void) !open(path, O_RDONLY);
}

static void by_sockets(int pair[2])
{
	pid_t child = start();
	if (child == 0) {
		close(pair[0]);
		tell();
		read_forever(pair[1]);
	}
	close(pair[1]);
	say(child);
	read_forever(pair[0]);
}

static void tcp_pair(int pair[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *) &address, size) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *) &address, &size) < 0 ||
	    connect(pair[0], (struct sockaddr *) &address, size) < 0)
		exit(1);
	pair[1] = accept(listener, NULL, NULL);
	printf("port %d\n", ntohs(address.sin_port));
	close(listener);
}

static void by_full_pipe(void)
{
	static char bytes[1 << 20];
	int fds[2];
	if (pipe(fds) < 0)
		exit(1);
	pid_t child = start();
	if (child == 0) {
		close(fds[1]);
		tell();
		pause();
	}
	close(fds[0]);
	say(child);
	(void) !write(fds[1], bytes, sizeof(bytes));
}

static void by_lock(const char *path, bool whole)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	pid_t child = start();
	if (child == 0) {
		close(fd); /* a lock of flock() is shared with the parent's */
		fd = open(path, O_RDWR);
		if (whole ? flock(fd, LOCK_EX) < 0 : fcntl(fd, F_SETLK, &lock) < 0)
			_exit(1);
		tell();
		pause();
	}
	say(child);
	(void) !(whole ? flock(fd, LOCK_EX) : fcntl(fd, F_SETLKW, &lock));
}

static void of_two(void)
{
	int fds[2];
	if (pipe(fds) < 0)
		exit(1);
	for (int i = 0; i < 2; i++) {
		pid_t child = start();
		if (child == 0) {
			if (i == 1)
				tell();
			pause();
		}
		if (i == 1)
			say(child);
	}
	close(fds[1]);
	read_forever(fds[0]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait_lock(void *arg)
{
	pthread_mutex_lock(&lock);
	return arg;
}

static void by_way_of_others(void)
{
	int first[2], second[2];
	if (pipe(first) < 0 || pipe(second) < 0)
		exit(1);
	pid_t child = start();
	if (child == 0) {
		pid_t last = start();
		if (last == 0) {
			close(first[0]);
			close(first[1]);
			close(second[0]);
			pause();
		}
		close(first[0]);
		close(second[1]);
		printf("last %d\n", (int) last);
		fflush(stdout);
		tell();
		read_forever(second[0]);
	}
	close(first[1]);
	close(second[0]);
	close(second[1]);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 3; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, wait_lock, NULL) != 0)
			exit(1);
	}
	say(child);
	read_forever(first[0]);
}

static void by_timerfd(bool armed)
{
	const struct itimerspec when = {.it_value.tv_sec = armed ? 1000 : 0};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t times;
	if (fd < 0 || timerfd_settime(fd, 0, &when, NULL) < 0)
		exit(1);
	tell();
	say(getpid());
	(void) !read(fd, &times, sizeof(times));
}

/* The queues end with the process, unless it is killed: its killer removes what "id" names. */
static void by_messages(void)
{
	struct {
		long type;
		char text[8];
	} message = {.type = 1};
	int id = msgget(IPC_PRIVATE, 0600);
	if (id < 0)
		exit(1);
	pid_t child = start();
	if (child == 0) {
		if (msgsnd(id, &message, 1, 0) < 0 ||
		    msgrcv(id, &message, sizeof(message.text), 0, 0) < 0)
			_exit(1);
		tell();
		pause();
	}
	printf("id %d\n", id);
	say(child);
	(void) msgrcv(id, &message, sizeof(message.text), 0, 0);
}

static void by_semaphores(void)
{
	struct sembuf down = {.sem_op = -1};
	int id = semget(IPC_PRIVATE, 3, 0600);
	if (id < 0)
		exit(1);
	printf("id %d\n", id);
	tell();
	say(getpid());
	(void) semop(id, &down, 1);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int pair[2];
	if (pipe2(told, O_CLOEXEC) < 0)
		return 1;
	if (strcmp(way, "pipe") == 0) {
		by_pipes();
	} else if (strcmp(way, "unix") == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
		by_sockets(pair);
	} else if (strcmp(way, "tcp") == 0) {
		tcp_pair(pair);
		by_sockets(pair);
	} else if (strcmp(way, "full") == 0) {
		by_full_pipe();
	} else if (argc > 2 && strcmp(way, "fifo") == 0) {
		by_fifos(argv[2]);
	} else if (argc > 2 && strcmp(way, "fifoopen") == 0) {
		by_open(argv[2]);
	} else if (argc > 2) {
		by_lock(argv[2], strcmp(way, "flock") == 0);
	} else if (strcmp(way, "two") == 0) {
		of_two();
	} else if (strcmp(way, "self") == 0 && pipe(pair) == 0) {
		tell();
		say(getpid());
		read_forever(pair[0]);
	} else if (strcmp(way, "timer") == 0) {
		tell();
		say(getpid());
		nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
	} else if (strcmp(way, "behind") == 0) {
		by_way_of_others();
	} else if (strcmp(way, "timerfd") == 0 || strcmp(way, "unarmed") == 0) {
		by_timerfd(strcmp(way, "timerfd") == 0);
	} else if (strcmp(way, "msgrcv") == 0) {
		by_messages();
	} else if (strcmp(way, "semop") == 0) {
		by_semaphores();
	} else if (strcmp(way, "child") == 0) {
		pid_t child = start();
		if (child == 0) {
			tell();
			pause();
		}
		say(child);
		(void) waitpid(child, NULL, 0);
	}
	return 0;
}
