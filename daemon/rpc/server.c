/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where calls come in: sockets of the service manager, or one of our own. */
#include "rpc/server.h"
#include "rpc/connection.h"
#include "rpc/space.h"
#include "config/journal.h"
#include "cleanup.h"
#include "errors.h"
#include "own_way.h"

#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

enum { ACCEPT_AGAIN_US = 1000 * 1000, ACCEPTS_AT_ONCE = 16 };

static const char registry_link[] = "/run/varlink/registry/io.snapwalk";
static const char system_path[] = "/run/snapwalk/io.snapwalk";

static int add_listener(struct sw_server *server, int fd, struct sw_error *err)
{
	if (server->n_listeners == SW_LISTENERS_MAX) {
		(void) close(fd); /* one of too many */
		return sw_fail(err, SW_E_LIMIT, "more than %d sockets", SW_LISTENERS_MAX);
	}
	server->listeners[server->n_listeners++] = (struct sw_listener){.fd = fd};
	return 0;
}

static bool is_listening_unix(int fd)
{
	return sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0;
}

/*
 * Sockets that the service manager holds for us; named "varlink" (UAPI.20) or not named. A connected
 * one ("exec:" addresses) is a client already. *ret_n: how many.
 */
static int take_activation(struct sw_server *server, int *ret_n, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char **names = NULL;
	int n = sd_listen_fds_with_names(1, &names);
	int r = 0;
	*ret_n = n > 0 ? n : 0;
	for (int i = 0; i < *ret_n; i++) {
		int fd = SD_LISTEN_FDS_START + i;
		bool ours = names == NULL || names[i] == NULL || strcmp(names[i], "varlink") == 0 ||
			    strcmp(names[i], "unknown") == 0 ||
			    strcmp(names[i], "connection") == 0 ||
			    strstr(names[i], "snapwalk") != NULL;
		/* Other processes may have left it blocking: the loop takes connections until there
		 * are none. */
		if (r == 0 && ours && sd_is_socket(fd, AF_UNIX, SOCK_STREAM, -1) > 0 &&
		    fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
			r = add_listener(server, fd, err);
		else {
			sw_log(SW_LOG_WARNING, "socket %s from the service manager is ignored",
			       names != NULL && names[i] != NULL ? names[i] : "");
			(void) close(fd); /* not for us */
		}
		if (names != NULL)
			free(names[i]);
	}
	return r;
}

static int address_of(const char *path, struct sockaddr_un *ret, struct sw_error *err)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (path[0] == '\0' || strlen(path) >= sizeof(ret->sun_path))
		return sw_fail(err, SW_E_INVALID, "%s: not a path that a socket can have", path);
	memcpy(ret->sun_path, path, strlen(path));
	return 0;
}

/* A socket that nobody listens on any more is in the way; one that somebody does is not ours. */
static int remove_stale(const char *path, const struct sockaddr_un *address, struct sw_error *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : sw_fail_errno(err, SW_E_IO, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return sw_fail(err, SW_E_IO, "%s: is there and is no socket", path);
	sw_cleanup(sw_close_p) int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "socket");
	if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) == 0 ||
	    errno != ECONNREFUSED)
		return sw_fail(err, SW_E_IO, "%s: another daemon listens there", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	return 0;
}

/* The path is used by its name again and again, here with the privileges of the start, and by clients. */
static int check_way(const struct sw_config *config, const char *path, struct sw_error *err)
{
	const struct passwd *user = config->user_mode ? NULL : getpwnam(config->user);
	struct sw_own_way_other other = {0};
	if (user != NULL)
		other = (struct sw_own_way_other){.uid = user->pw_uid,
						  .gid = user->pw_gid,
						  .group_has_others = !config->own_group_is_alone};
	return sw_own_way_check_parent(path, user != NULL ? &other : NULL, err);
}

static int bind_path(const struct sw_config *config, const char *path, int *ret_fd,
		     struct sw_error *err)
{
	struct sockaddr_un address;
	int r = address_of(path, &address, err);
	if (r == 0)
		r = check_way(config, path, err);
	if (r == 0)
		r = remove_stale(path, &address, err);
	if (r < 0)
		return r;
	sw_cleanup(sw_close_p) int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "socket");
	/* Everybody may connect: each call is authorized by itself. */
	mode_t before = umask(0111);
	r = bind(fd, (const struct sockaddr *) &address, sizeof(address));
	(void) umask(before); /* cannot fail */
	if (r < 0 || listen(fd, SOMAXCONN) < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	*ret_fd = sw_take_fd(fd);
	return 0;
}

/* For varlinkctl list-registry. Where the folder is missing or not ours nothing is lost. */
static void register_link(const char *path)
{
	char there[sizeof(system_path)] = "";
	if (strcmp(path, system_path) != 0)
		return;
	ssize_t n = readlink(registry_link, there, sizeof(there));
	if (n == (ssize_t) strlen(path) && memcmp(there, path, strlen(path)) == 0)
		return;
	if (symlink(path, registry_link) < 0 && errno != ENOENT && errno != EEXIST &&
	    errno != EACCES && errno != EROFS)
		sw_log(SW_LOG_NOTICE, "%s: %s", registry_link, strerrordesc_np(errno));
}

void sw_server_init(struct sw_server *server, const struct sw_config *config,
		    struct sw_counters *counters, const struct sw_method *methods, void *context)
{
	*server = (struct sw_server){.config = config,
				     .counters = counters,
				     .methods = methods,
				     .context = context};
	TAILQ_INIT(&server->connections);
}

int sw_server_listen(struct sw_server *server, const char *path, struct sw_error *err)
{
	int n = 0, fd = -EBADF;
	int r = take_activation(server, &n, err);
	if (r < 0 || (n > 0 && server->n_listeners > 0 && path == NULL))
		return r;
	const char *own = path != NULL ? path : system_path;
	r = bind_path(server->config, own, &fd, err);
	if (r < 0)
		return r;
	register_link(own);
	return add_listener(server, fd, err);
}

static bool may_connect(struct sw_server *server, int fd, uid_t *ret_uid)
{
	struct sw_caller caller = {.uid = (uid_t) -1};
	bool may = sw_caller_init(server->config, fd, &caller, NULL) == 0 &&
		   sw_server_has_space(server, &caller);
	*ret_uid = caller.uid;
	sw_caller_deinit(&caller);
	server->counters->connections_refused_total += !may;
	return may;
}

/* Takes fd. Hanging up is the answer to one too many: it has not called anything yet. */
static void take_connection(struct sw_server *server, int fd)
{
	struct sw_error err = {0};
	uid_t uid;
	server->counters->connections_total++;
	if (!may_connect(server, fd, &uid))
		sw_discard_connection(&server->discards, fd, uid); /* that is what is meant */
	else if (sw_connection_create(server, fd, &err) < 0)
		sw_log(SW_LOG_WARNING, "a connection is refused: %s", err.message);
}

static int on_accept_again(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct sw_server *server = arg;
	(void) source;
	(void) now_us;
	for (size_t i = 0; i < server->n_listeners; i++)
		if (server->listeners[i].source != NULL)
			(void) sd_event_source_set_enabled(server->listeners[i].source,
							   SD_EVENT_ON); /* it was on before */
	return 0;
}

/* Out of descriptors: the connection stays where it is, and the loop must not spin on it. */
static void accept_later(struct sw_server *server, sd_event_source *source)
{
	sw_log(SW_LOG_WARNING, "no connection can be accepted for a second: %s",
	       strerrordesc_np(errno));
	if (sd_event_source_set_time_relative(server->accept_again, ACCEPT_AGAIN_US) >= 0 &&
	    sd_event_source_set_enabled(server->accept_again, SD_EVENT_ONESHOT) >= 0)
		(void) sd_event_source_set_enabled(source, SD_EVENT_OFF); /* cannot fail here */
}

static int on_connection(sd_event_source *source, int listener_fd, uint32_t events, void *arg)
{
	struct sw_server *server = arg;
	(void) events;
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			take_connection(server, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			return accept_later(server, source), 0;
		else if (errno != EINTR && errno != ECONNABORTED)
			return 0;
	}
	return 0;
}

int sw_server_start(struct sw_server *server, sd_event *event, struct sw_error *err)
{
	server->event = event;
	if (sw_discards_start(&server->discards, event) < 0 ||
	    sd_event_add_time_relative(event, &server->accept_again, CLOCK_MONOTONIC, 0, 0,
				       on_accept_again, server) < 0 ||
	    sd_event_source_set_enabled(server->accept_again, SD_EVENT_OFF) < 0)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < server->n_listeners; i++) {
		struct sw_listener *l = &server->listeners[i];
		if (!is_listening_unix(l->fd)) {
			take_connection(server, sw_take_fd(l->fd));
			continue;
		}
		if (sd_event_add_io(event, &l->source, l->fd, EPOLLIN, on_connection, server) < 0)
			return sw_fail_nomem(err);
	}
	return 0;
}

static void sockets_close(struct sw_server *server)
{
	for (size_t i = 0; i < server->n_listeners; i++) {
		(void) sd_event_source_disable_unref(server->listeners[i].source);
		sw_close_p(&server->listeners[i].fd);
	}
	server->n_listeners = 0;
}

void sw_server_deinit(struct sw_server *server)
{
	sockets_close(server);
	while (!TAILQ_EMPTY(&server->connections))
		sw_connection_destroy(TAILQ_FIRST(&server->connections));
	sw_discards_deinit(&server->discards);
	(void) sd_event_source_disable_unref(server->accept_again);
}
