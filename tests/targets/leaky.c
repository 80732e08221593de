/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leaks of public bug trackers made anew, each among much of the same kind that is given up as it should be. A line names one: it is
 * done TURNS times, and "done" is printed.
 *
 *	descriptors	bumptech/stud#143: a socket is not closed when connect(2) fails
 *	threads		baresip/baresip#2549: a thread for each tone, which nobody joins
 *	ssl		tong/hxssl#17: what SSL_CTX_new() and SSL_new() give is not freed when the socket is closed
 *	maps		google/syzkaller#4238: munmap(2) of the bytes that were used, not of those that were mapped
 *
 * "ready without ssl" is printed where there is no libssl.so.3.
 */
#include "target.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	TURNS = 20,
	RIGHT = 10, /* that are given up, for each that is not */
	MAPPED_BYTES = 1 << 20,
	USED_BYTES = 300 << 10,
};

/* ---- descriptors ------------------------------------------------------------------------------- */

static NOINLINE int create_back_socket(void)
{
	static const struct sockaddr_un nobody = {.sun_family = AF_UNIX,
						  .sun_path = "\0snapwalk nobody listens"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *) &nobody, sizeof(nobody)) < 0)
		return -1; /* the leak */
	return fd;
}

static NOINLINE void write_log(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	(void) !write(fd, "x", 1);
	(void) close(fd);
}

static NOINLINE void open_state(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* it stays open, once */
	if (fd < 0)
		abort();
}

static void descriptors(int turn)
{
	for (int i = 0; i < RIGHT; i++)
		write_log();
	if (turn == 0)
		open_state();
	if (create_back_socket() >= 0)
		abort();
}

/* ---- threads ----------------------------------------------------------------------------------- */

static void *nothing(void *unused)
{
	return unused;
}

static NOINLINE void play_tone(void)
{
	pthread_t id;
	if (pthread_create(&id, NULL, nothing, NULL) != 0) /* the leak */
		abort();
	KEEP();
}

static NOINLINE void transfer(void)
{
	pthread_t id;
	if (pthread_create(&id, NULL, nothing, NULL) != 0 || pthread_join(id, NULL) != 0)
		abort();
}

/* Waits until no other thread runs. */
static void alone_wait(void)
{
	for (int n = 0; n != 1; (void) sched_yield()) {
		DIR *directory = opendir("/proc/self/task");
		if (directory == NULL)
			abort();
		for (n = -2; readdir(directory) != NULL;) /* "." and ".." are in it */
			n++;
		(void) closedir(directory);
	}
}

static void threads(int turn)
{
	for (int i = 0; i < RIGHT; i++)
		transfer();
	play_tone();
	if (turn == TURNS - 1)
		alone_wait();
}

/* ---- TLS --------------------------------------------------------------------------------------- */

static const void *(*tls_method)(void);
static void *(*ctx_new)(const void *method), *(*tls_new)(void *ctx);
static void (*ctx_free)(void *ctx), (*tls_free)(void *tls);

static bool ssl_load(void)
{
	void *library = dlopen("libssl.so.3", RTLD_NOW);
	if (library == NULL)
		return false;
	*(void **) &tls_method = dlsym(library, "TLS_method");
	*(void **) &ctx_new = dlsym(library, "SSL_CTX_new");
	*(void **) &ctx_free = dlsym(library, "SSL_CTX_free");
	*(void **) &tls_new = dlsym(library, "SSL_new");
	*(void **) &tls_free = dlsym(library, "SSL_free");
	return tls_method != NULL && ctx_new != NULL && ctx_free != NULL && tls_new != NULL &&
	       tls_free != NULL;
}

/* The program knows its socket only. */
static NOINLINE void connect_securely(int fd)
{
	void *tls = tls_new(ctx_new(tls_method()));
	if (tls == NULL)
		abort();
	(void) close(fd); /* the leak */
}

static NOINLINE void check_server(void)
{
	void *ctx = ctx_new(tls_method()), *tls = tls_new(ctx);
	tls_free(tls);
	ctx_free(ctx);
	KEEP();
}

static void ssl(int turn)
{
	(void) turn;
	for (int i = 0; i < RIGHT; i++)
		check_server();
	connect_securely(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/* ---- mappings ---------------------------------------------------------------------------------- */

static NOINLINE void unpack(void)
{
	void *to = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (to == MAP_FAILED || munmap(to, USED_BYTES) < 0) /* the leak */
		abort();
}

static NOINLINE void compress(void)
{
	void *to = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (to == MAP_FAILED || munmap(to, MAPPED_BYTES) < 0)
		abort();
}

static void maps(int turn)
{
	(void) turn;
	for (int i = 0; i < RIGHT; i++)
		compress();
	unpack();
}

int main(void)
{
	static const struct {
		const char *line;
		void (*leak)(int turn);
	} leaks[] = {{"descriptors\n", descriptors},
		     {"threads\n", threads},
		     {"ssl\n", ssl},
		     {"maps\n", maps}};
	char line[64];
	setbuf(stdout, NULL);
	printf(ssl_load() ? "ready\n" : "ready without ssl\n");
	while (fgets(line, sizeof(line), stdin) != NULL) {
		for (size_t i = 0; i < sizeof(leaks) / sizeof(*leaks); i++)
			for (int turn = 0; strcmp(line, leaks[i].line) == 0 && turn < TURNS; turn++)
				leaks[i].leak(turn);
		printf("done\n");
	}
	return 0;
}
