/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cache/unpacker.h"
#include "cleanup.h"

#include <confine/caps.h>
#include <confine/landlock.h>
#include <confine/seccomp.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

enum { END_MS = 200, WHY_BYTES = 128 };
static const char system_directory[] = "/var/cache/snapwalk";

/* ---- where ---------------------------------------------------------------------------------- */

/* A directory of root's or our own, which no other user may write. */
static bool is_ours(const char *path, bool may_be_roots)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       (st.st_uid == geteuid() || (may_be_roots && st.st_uid == 0)) &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* XDG Base Directory Specification 0.8: $XDG_CACHE_HOME, if it is absolute, else ~/.cache, which is made for its
 * user alone. */
static bool user_directory(bool make, char ret[static PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;
	if (cache != NULL && cache[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s", cache);
	else if (home != NULL && home[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/.cache", home);
	else
		return false;
	if (n <= 0 || n >= PATH_MAX - 16)
		return false;
	if (make)
		(void) mkdir(ret, 0700); /* is_ours() looks */
	if (!is_ours(ret, false))
		return false;
	strcpy(ret + n, "/snapwalk");
	return true;
}

bool sw_unpacker_directory(const struct sw_options *options, bool make, char ret[static PATH_MAX],
			   char why[static 128])
{
	why[0] = '\0';
	if (options->cache != NULL && strcmp(options->cache, "none") == 0) {
		(void) snprintf(why, WHY_BYTES, "it is switched off");
		return false;
	}
	if (options->cache != NULL) {
		(void) snprintf(ret, PATH_MAX, "%s", options->cache); /* fits */
	} else if (geteuid() == 0) {
		(void) snprintf(ret, PATH_MAX, "%s", system_directory); /* fits */
	} else if (!user_directory(make, ret)) {
		(void) snprintf(why, WHY_BYTES, "this user has no cache directory of its own");
		return false;
	}
	if (make)
		(void) mkdir(ret, 0755); /* is_ours() looks */
	if (is_ours(ret, false))
		return true;
	(void) snprintf(why, WHY_BYTES,
			"it is not a directory of this user that nobody else may write");
	return false;
}

/* ---- the child ------------------------------------------------------------------------------ */

/* Files below the debug directory are read, those of the cache written; nothing else. False: it may not begin. */
static bool confine(const char *debug_dir, const char *directory)
{
	const struct sw_landlock_path paths[] = {
		{debug_dir, SW_LANDLOCK_READ},
		{directory, SW_LANDLOCK_WRITE},
	};
	struct sw_error err;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       sw_landlock_enter(paths, SW_ARRAY_SIZE(paths), &err) >= 0 &&
	       sw_caps_keep(0, &err) == 0 && sw_seccomp_parser(SW_SECCOMP_FILES, &err) == 0;
}

/* Only the pipes stay open: who waits for the end of our output must not wait for the child. */
static void files_close(int ask_fd, int end_fd)
{
	int low = ask_fd < end_fd ? ask_fd : end_fd, high = ask_fd < end_fd ? end_fd : ask_fd;
	(void) close_range(0, (unsigned) low - 1, 0); /* low is 3 or more: standard_files_fill() */
	if (low + 1 < high)
		(void) close_range((unsigned) low + 1, (unsigned) high - 1, 0);
	(void) close_range((unsigned) high + 1, ~0U, 0);
	for (int fd = 0; fd < 3; fd++)
		(void) open("/dev/null", O_RDWR); /* the lowest: 0 to 2 */
}

__attribute__((noreturn)) static void child(const struct sw_unpacker *u, const char *debug_dir,
					    int ask_fd, int end_fd)
{
	struct sigaction as_usual = {.sa_handler = SIG_DFL};
	(void) sigaction(SIGBUS, &as_usual, NULL); /* its words are not for us */
	(void) prctl(PR_SET_NAME, "snapwalk-unpack");
	files_close(ask_fd, end_fd);
	(void) umask(S_IWGRP | S_IWOTH);
	if (confine(debug_dir, u->directory))
		sw_unpack_serve(ask_fd, debug_dir, u->directory, &u->unpacked);
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
	u->unpacked.ask_fd = ask[1];
	u->end_fd = end[0];
	if (pid < 0 || fcntl(ask[1], F_SETFL, O_NONBLOCK) < 0) {
		sw_close_p(&u->unpacked.ask_fd);
		sw_close_p(&u->end_fd);
		u->unpacked.ask_fd = u->end_fd = -EBADF;
	}
}

void sw_unpacker_begin(struct sw_unpacker *ret, struct sw_options *options)
{
	const uint32_t capturing =
		SW_FOR_DUMP | SW_FOR_SAMPLE | SW_FOR_TOP | SW_FOR_EXPLAIN | SW_FOR_VERIFY;
	const char *debug_dir = options->symbolize.debug_dir;
	char why[WHY_BYTES];
	bool wanted = options->command != NULL && (options->command->bit & capturing) != 0 &&
		      options->via != SW_VIA_DAEMON && !options->help &&
		      options->symbolize.level == SW_SYMBOLS_LINES;
	*ret = (struct sw_unpacker){.end_fd = -EBADF};
	if (!wanted || !sw_unpacked_init(&ret->unpacked))
		return;
	bool own = sw_unpacker_directory(options, true, ret->directory, why);
	if (own)
		ret->unpacked.directories[0] = ret->directory;
	if (options->cache == NULL && geteuid() != 0 && is_ours(system_directory, true))
		ret->unpacked.directories[1] = system_directory;
	if (own)
		child_start(ret, debug_dir != NULL ? debug_dir : "/usr/lib/debug");
	options->symbolize.unpacked = &ret->unpacked;
}

void sw_unpacker_end(struct sw_unpacker *unpacker)
{
	struct pollfd ended = {.fd = unpacker->end_fd};
	if (unpacker->end_fd < 0)
		return;
	sw_close_p(&unpacker->unpacked.ask_fd);
	unpacker->unpacked.ask_fd = -EBADF;
	if (unpacker->unpacked.n_asked > 0)
		(void) poll(&ended, 1, END_MS); /* it ends by itself, else */
	sw_close_p(&unpacker->end_fd);
	unpacker->end_fd = -EBADF;
}
