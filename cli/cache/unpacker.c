/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cache/unpacker.h"
#include "cleanup.h"
#include "own_way.h"

#include <confine/descriptors.h>
#include <confine/unpacker.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

enum { END_MS = 200 };

/* ---- where ---------------------------------------------------------------------------------- */

/* XDG Base Directory Specification 0.8: $XDG_CACHE_HOME, if it is absolute, else ~/.cache. */
static bool user_directory(char ret[static PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;
	if (cache != NULL && cache[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/snapwalk", cache);
	else if (home != NULL && home[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/.cache/snapwalk", home);
	return n > 0 && n < PATH_MAX;
}

/* The directory is made with the one above it, as the specification asks: for its user alone. */
static void directory_make(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash != path) {
		*slash = '\0';
		(void) sw_own_way_make(path, 0700, NULL); /* then the next one fails */
		*slash = '/';
	}
	(void) sw_own_way_make(path, 0755, NULL); /* sw_unpacked_add() looks at what is there */
}

/* False: nothing is kept. */
static bool directories_find(struct sw_unpacker *u, const char *chosen)
{
	if ((chosen != NULL && strcmp(chosen, "none") == 0) || !sw_unpacked_init(&u->unpacked))
		return false;
	if (chosen != NULL || geteuid() == 0)
		(void) snprintf(u->directory, sizeof(u->directory), "%s",
				chosen != NULL ? chosen : SW_SYSTEM_CACHE_DIR); /* fits */
	else if (!user_directory(u->directory))
		return false;
	directory_make(u->directory);
	(void) sw_unpacked_add(&u->unpacked, u->directory);
	if (chosen == NULL && geteuid() != 0)
		/* The directory in which root's command keeps what it has unpacked. */
		(void) sw_unpacked_add(&u->unpacked, SW_SYSTEM_CACHE_DIR);
	return u->unpacked.directories[0] != NULL;
}

/* ---- the child ------------------------------------------------------------------------------ */

__attribute__((noreturn)) static void child(const struct sw_unpacker *u, const char *debug_dir,
					    int ask_fd, int end_fd)
{
	struct sigaction as_usual = {.sa_handler = SIG_DFL};
	struct sw_error ignored;                   /* nothing is kept, then */
	(void) sigaction(SIGBUS, &as_usual, NULL); /* ours speaks to the user */
	(void) prctl(PR_SET_NAME, "snapwalk-unpack");
	/* A process that waits for the end of our output must not wait for the child. */
	sw_confine_descriptors((int *const[]){&ask_fd, &end_fd}, 2);
	if (sw_confine_unpacker(&debug_dir, 1, u->unpacked.directories[0], &ignored) == 0)
		sw_unpack_serve(ask_fd, debug_dir, &u->unpacked);
	_exit(0);
}

static void child_start(struct sw_unpacker *u, const char *debug_dir)
{
	int ask[2], end[2];
	if (pipe2(ask, O_CLOEXEC) < 0)
		return;
	if (pipe2(end, O_CLOEXEC) < 0) {
		(void) close(ask[0]);
		(void) close(ask[1]);
		return;
	}
	(void) fflush(stdout); /* or both would write it */
	pid_t pid = fork();
	if (pid == 0)
		child(u, debug_dir, ask[0], end[1]);
	(void) close(ask[0]);
	(void) close(end[1]);
	/* Without a child what is asked for is lost, as SIGPIPE is ignored. */
	(void) fcntl(ask[1], F_SETFL, O_NONBLOCK);
	u->unpacked.ask_fd = ask[1];
	u->end_fd = end[0];
}

void sw_unpacker_begin(struct sw_unpacker *ret, struct sw_options *options)
{
	const uint32_t capturing = SW_FOR_DUMP | SW_FOR_SAMPLE | SW_FOR_TOP | SW_FOR_EXPLAIN |
				   SW_FOR_VERIFY | SW_FOR_SYMBOLIZE;
	const char *debug_dir = options->symbolize.debug_dir;
	*ret = (struct sw_unpacker){.end_fd = -EBADF};
	if ((options->command->bit & capturing) == 0 || options->via == SW_VIA_DAEMON ||
	    options->symbolize.level != SW_SYMBOLS_LINES || !directories_find(ret, options->cache))
		return;
	options->symbolize.unpacked = &ret->unpacked;
	if (access(ret->unpacked.directories[0], W_OK) == 0)
		child_start(ret, debug_dir != NULL ? debug_dir : "/usr/lib/debug");
}

void sw_unpacker_end(struct sw_unpacker *u)
{
	struct pollfd ended = {.fd = u->end_fd};
	if (u->end_fd < 0)
		return;
	sw_close_p(&u->unpacked.ask_fd);
	if (u->unpacked.n_asked > 0)
		(void) poll(&ended, 1, END_MS); /* it ends by itself, else */
	sw_close_p(&u->end_fd);
}
