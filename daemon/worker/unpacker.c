/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/unpacker.h"
#include "sandbox/roles.h"
#include "cleanup.h"

#include <confine/descriptors.h>
#include <confine/unpacker.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

__attribute__((noreturn)) static void serve(const struct sw_config *config, int ask_fd)
{
	/* A key for the terminal is for the broker. */
	static const char *const debug_dir = "/usr/lib/debug";
	static const int ignored[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sw_unpacked unpacked;
	struct sw_error err;
	for (size_t i = 0; i < SW_ARRAY_SIZE(ignored); i++)
		(void) signal(ignored[i], SIG_IGN);
	(void) prctl(PR_SET_NAME, "snapwalk-unpack");
	sw_confine_descriptors((int *const[]){&ask_fd}, 1);
	if (sw_sandbox_unprivileged(config, &err) < 0)
		_exit(1);
	sw_unpacker_find(config, &unpacked);
	if (unpacked.directories[0] == config->cache_dir &&
	    sw_confine_unpacker(&debug_dir, 1, config->cache_dir, &err) == 0)
		sw_unpack_serve(ask_fd, NULL, &unpacked);
	_exit(0);
}

pid_t sw_unpacker_start(const struct sw_config *config, int *ret_ask_fd)
{
	int ask[2];
	*ret_ask_fd = -EBADF;
	if (pipe2(ask, O_CLOEXEC) < 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0)
		serve(config, ask[0]);
	(void) close(ask[0]);
	if (pid < 0 || fcntl(ask[1], F_SETFL, O_NONBLOCK) < 0) {
		(void) close(ask[1]);
		return 0;
	}
	*ret_ask_fd = ask[1];
	return pid;
}

void sw_unpacker_find(const struct sw_config *config, struct sw_unpacked *unpacked)
{
	int ask_fd = unpacked->ask_fd;
	if (sw_unpacked_init(unpacked)) {
		/* A directory that another user can write is left out, and so is one that is not
		 * there. */
		(void) sw_unpacked_add(unpacked, config->cache_dir);
		if (sw_config_key_place(config, "CacheDirectory") == NULL)
			(void) sw_unpacked_add(unpacked, SW_SYSTEM_CACHE_DIR);
	}
	unpacked->ask_fd = ask_fd;
}
