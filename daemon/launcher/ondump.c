/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The broker's side. */
#include "launcher/ondump.h"
#include "launcher/launcher.h"
#include "worker/wire.h"
#include "child.h"
#include "cleanup.h"
#include "errors.h"
#include "bytes.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	START_MS = 20000,
	END_MS = 2000, /* more than the launcher takes to end all commands */
	KILLED_MS = 1000,
};

struct sw_on_dump {
	int fd; /* owned; -EBADF when the launcher is gone */
	pid_t launcher;
	unsigned n_running;
};
SW_DEFINE_CLEANUP(struct sw_on_dump *, sw_on_dump_destroy);

static void user_deinit(struct sw_on_dump_user *user)
{
	free(user->name);
}

/* Before the fork, so that a mistake in the configuration is an error of the start. */
static int user_find(const struct sw_config *config, struct sw_on_dump_user *ret,
		     struct sw_error *err)
{
	if (geteuid() != 0)
		return 0;
	const struct passwd *found = getpwnam(config->on_dump_user);
	if (found == NULL || found->pw_uid == 0)
		return sw_fail(err, SW_E_NOT_FOUND, "OnDumpUser=%s: %s", config->on_dump_user,
			       found == NULL ? "there is no such user"
					     : "commands are not run as root");
	ret->name = strdup(found->pw_name);
	if (ret->name == NULL)
		return sw_fail_nomem(err);
	ret->uid = found->pw_uid;
	ret->gid = found->pw_gid;
	return 0;
}

/* The launcher reports whether it could change its user. */
static int wait_ready(int fd, struct sw_error *err)
{
	struct sw_error theirs;
	struct pollfd event = {.fd = fd, .events = POLLIN};
	int fds[SW_WIRE_FDS_MAX], ready;
	size_t n_fds;
	do
		ready = poll(&event, 1, START_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0 || sw_wire_receive(fd, &theirs, sizeof(theirs), fds, &n_fds) <= 0)
		return sw_fail(err, SW_E_IO, "OnDump=: the launcher of commands did not start");
	if (theirs.code != 0)
		return sw_fail(err, theirs.code, "OnDump=: %s", theirs.message);
	return 0;
}

static int launcher_start(const struct sw_config *config, struct sw_on_dump *commands,
			  struct sw_error *err)
{
	sw_cleanup(user_deinit) struct sw_on_dump_user user = {0};
	int pair[2], rc = user_find(config, &user, err);
	if (rc < 0)
		return rc;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sw_fail_errno(err, SW_E_IO, "OnDump=: socket");
	commands->fd = pair[0];
	commands->launcher = fork();
	if (commands->launcher == 0)
		sw_on_dump_launcher(config, &user, pair[1]);
	if (commands->launcher < 0)
		rc = sw_fail_errno(err, SW_E_IO, "OnDump=: cannot fork");
	(void) close(pair[1]); /* nothing was written */
	return rc < 0 ? rc : wait_ready(commands->fd, err);
}

int sw_on_dump_check(const struct sw_config *config, struct sw_error *err)
{
	sw_cleanup(user_deinit) struct sw_on_dump_user user = {0};
	if (config->on_dump == NULL || config->on_dump[0] == NULL)
		return 0;
	if (config->on_dump[0][0] != '/')
		return sw_fail(err, SW_E_INVALID, "OnDump=%s: not an absolute path",
			       config->on_dump[0]);
	return user_find(config, &user, err);
}

int sw_on_dump_create(const struct sw_config *config, struct sw_on_dump **ret, struct sw_error *err)
{
	int checked = sw_on_dump_check(config, err);
	*ret = NULL;
	if (checked < 0 || config->on_dump == NULL || config->on_dump[0] == NULL)
		return checked;
	sw_cleanup(sw_on_dump_destroy_p) struct sw_on_dump *commands = calloc(1, sizeof(*commands));
	if (commands == NULL)
		return sw_fail_nomem(err);
	commands->fd = -EBADF;
	int rc = launcher_start(config, commands, err);
	if (rc < 0)
		return rc;
	int flags = fcntl(commands->fd, F_GETFL);
	if (flags < 0 || fcntl(commands->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return sw_fail_errno(err, SW_E_IO, "OnDump=: socket");
	*ret = sw_take_ptr(commands);
	return 0;
}

/* The launcher waits for nothing but us. Commands are the same user, and may have stopped it. It can be killed where that is
 * our user, too, and its commands end with it; else it is left to init. */
static void launcher_wait(pid_t launcher)
{
	sw_cleanup(sw_close_p) int pidfd = (int) syscall(SYS_pidfd_open, launcher, 0);
	struct pollfd end = {.fd = pidfd, .events = POLLIN}; /* without one it waits all the time */
	int ended;
	do
		ended = poll(&end, 1, END_MS);
	while (ended < 0 && errno == EINTR);
	if (ended <= 0) {
		sw_child_kill(pidfd);
		(void) poll(&end, 1, KILLED_MS);
	}
	(void) waitpid(launcher, NULL, WNOHANG);
}

void sw_on_dump_destroy(struct sw_on_dump *commands)
{
	if (commands == NULL)
		return;
	/* Not only closed: another child of ours may have the descriptor too. */
	if (commands->fd >= 0)
		(void) shutdown(commands->fd, SHUT_RDWR); /* or it is gone already */
	sw_close_p(&commands->fd);
	if (commands->launcher > 0)
		launcher_wait(commands->launcher);
	free(commands);
}

/* The dump in memory that nobody can change any more, read from its start. */
static int memory_make(const char *json, size_t size, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd =
		memfd_create("snapwalk-dump", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "OnDump=: memory for the dump");
	if (!sw_write_all(fd, json, size))
		return sw_fail_errno(err, SW_E_IO, "OnDump=: memory for the dump");
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return sw_fail_errno(err, SW_E_IO, "OnDump=: sealing the dump");
	return sw_take_fd(fd);
}

int sw_on_dump_start(struct sw_on_dump *commands, const struct sw_store_entry *entry,
		     const char *reason, const char *json, size_t size, struct sw_error *err)
{
	struct sw_on_dump_order order = {.pid = entry->pid};
	if (commands->n_running >= SW_ON_DUMP_MAX)
		return sw_fail(err, SW_E_LIMIT, "OnDump=: %d commands run already", SW_ON_DUMP_MAX);
	sw_cleanup(sw_close_p) int dump_fd = memory_make(json, size, err);
	if (dump_fd < 0)
		return dump_fd;
	/* Cut is fine: ids fit, the others are for people. */
	(void) snprintf(order.id, sizeof(order.id), "%s", entry->id);
	(void) snprintf(order.comm, sizeof(order.comm), "%s", entry->comm);
	(void) snprintf(order.reason, sizeof(order.reason), "%s", reason != NULL ? reason : "");
	if (sw_wire_send(commands->fd, &order, sizeof(order), &dump_fd, 1) < 0)
		return sw_fail_errno(err, SW_E_IO, "OnDump=: the launcher of commands");
	commands->n_running++;
	return 0;
}

int sw_on_dump_fd(const struct sw_on_dump *commands)
{
	return commands->fd;
}

int sw_on_dump_next(struct sw_on_dump *commands, struct sw_on_dump_result *ret,
		    struct sw_error *err)
{
	int fds[SW_WIRE_FDS_MAX];
	size_t n_fds;
	struct sw_on_dump_result result;
	int rc = sw_wire_receive(commands->fd, &result, sizeof(result), fds, &n_fds);
	if (rc < 0 && errno == EAGAIN)
		return 0;
	if (rc <= 0)
		return sw_fail(err, SW_E_IO, "OnDump=: the launcher of commands is gone");
	if (commands->n_running > 0)
		commands->n_running--;
	result.id[sizeof(result.id) - 1] = '\0';
	*ret = result;
	return 1;
}
