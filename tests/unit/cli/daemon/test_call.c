/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the daemon's socket is looked for. */
#include "daemon/call.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char system_path[] = "/run/snapwalk/io.snapwalk";

/* The session's socket counts where there is one, and the system's is not there. */
static void check_session(const char *runtime, const char *socket)
{
	const struct sw_options options = {0};
	char buffer[SW_SOCKET_PATH_SIZE];
	bool here = access(system_path, F_OK) == 0;
	assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), system_path);
	assert_int_equal(mknod(socket, S_IFREG | 0600, 0), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), here ? system_path : socket);
}

TEST(test_path)
{
	char given[] = "/given", directory[] = "/tmp/snapwalk-test-XXXXXX", sub[64], socket[96];
	struct sw_options options = {0};
	char buffer[SW_SOCKET_PATH_SIZE];
	assert_int_equal(unsetenv("SNAPWALK_SOCKET"), 0);
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), system_path);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), system_path);
	assert_non_null(mkdtemp(directory));
	(void) snprintf(sub, sizeof(sub), "%s/snapwalk", directory);
	(void) snprintf(socket, sizeof(socket), "%s/io.snapwalk", sub);
	assert_int_equal(mkdir(sub, 0700), 0);
	check_session(directory, socket);
	assert_int_equal(unlink(socket), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(setenv("SNAPWALK_SOCKET", "/other", 1), 0);
	assert_string_equal(sw_daemon_path(&options, buffer), "/other");
	options.socket_path = given;
	assert_string_equal(sw_daemon_path(&options, buffer), "/given");
	assert_int_equal(unsetenv("SNAPWALK_SOCKET"), 0);
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
}
