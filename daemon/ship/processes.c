/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/processes.h"
#include "ship/collect.h"
#include "ship/filter.h"
#include "ship/log.h"
#include "ship/send.h"
#include "cleanup.h"
#include "errors.h"

#include <confine/landlock.h>

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

/* ---- the collector --------------------------------------------------------------------------- */

static int add_known(void *arg, const char *id)
{
	return sw_ship_known_add(arg, id);
}

static int confine_collector(const struct sw_ship_processes *parts, struct sw_error *err)
{
	const struct sw_landlock_path paths[] = {
		{.path = parts->config->spool, .access = SW_LANDLOCK_WRITE},
	};
	int r = sw_landlock_enter(paths, SW_ARRAY_SIZE(paths), err);
	return r < 0 ? r : sw_ship_filter_collect(err);
}

static int collect(struct sw_ship_processes *parts, enum sw_ship_kind kind, struct sw_error *err)
{
	(void) kind; /* it is of all */
	struct sw_ship_collector collector = {
		.socket_path = parts->socket_path,
		.config = parts->config,
		.shared = parts->shared,
		.spool = parts->spool,
		.wake_fd = parts->wake_fd,
	};
	for (size_t i = 0; i < SW_SHIP_KINDS; i++)
		collector.batch_fds[i] = parts->batch_fds[i];
	sw_ship_config_forget(parts->config, SW_SHIP_KINDS);
	int r = confine_collector(parts, err);
	if (r == 0)
		r = sw_spool_known(parts->spool, add_known, &collector.known, err);
	if (r == 0)
		r = sw_ship_collect(&collector, err);
	sw_ship_known_deinit(&collector.known);
	return r;
}

/* ---- a sender -------------------------------------------------------------------------------- */

/* The files that say what a name means, and which certificates are to be believed. */
#define NAMES_AND_CERTIFICATES                                                            \
	{.path = "/etc", .access = SW_LANDLOCK_LIST},                                     \
		{.path = "/run/systemd/resolve", .access = SW_LANDLOCK_LIST},             \
		{.path = "/run/resolvconf", .access = SW_LANDLOCK_LIST},                  \
		{.path = "/usr/lib/ssl", .access = SW_LANDLOCK_LIST},                     \
		{.path = "/usr/share/ca-certificates", .access = SW_LANDLOCK_LIST},       \
		{.path = "/usr/local/share/ca-certificates", .access = SW_LANDLOCK_LIST}, \
	{                                                                                 \
		.path = "/usr/share/pki", .access = SW_LANDLOCK_LIST                      \
	}

enum { DNS_PORT = 53 };

/* "/etc" stands for none: it is there already. */
static const char *ca_file_of(const struct sw_ship_target *target)
{
	return target->ca_file != NULL ? target->ca_file : "/etc";
}

/*
 * The directory in which the file of the token is read again, or that file when it is in the root. A token is renewed mostly
 * by a rename, which gives the path another inode, and a rule of Landlock is of an inode.
 */
static const char *token_directory_of(const struct sw_ship_target *target, char ret[PATH_MAX])
{
	if (target->token_file == NULL)
		return "/etc";
	const char *slash = strrchr(target->token_file, '/'); /* the path begins with one */
	const size_t length = (size_t) (slash - target->token_file);
	(void) snprintf(ret, PATH_MAX, "%.*s",
			length > 0 ? (int) length : (int) strlen(target->token_file),
			target->token_file); /* cut: is not there, and left out */
	return ret;
}

static int confine_sender(const struct sw_ship_processes *parts, enum sw_ship_kind kind,
			  struct sw_error *err)
{
	const struct sw_ship_target *target = &parts->config->targets[kind];
	char directory[PATH_MAX];
	const struct sw_landlock_path paths[] = {
		{.path = parts->config->spool, .access = SW_LANDLOCK_WRITE},
		{.path = ca_file_of(target), .access = SW_LANDLOCK_LIST},
		{.path = token_directory_of(target, directory), .access = SW_LANDLOCK_LIST},
		NAMES_AND_CERTIFICATES,
	};
	const uint16_t ports[] = {sw_ship_http_port(target), DNS_PORT};
	int r = sw_landlock_enter_with_ports(paths, SW_ARRAY_SIZE(paths), ports,
					     SW_ARRAY_SIZE(ports), err);
	return r < 0 ? r : sw_ship_filter_send(err);
}

int sw_ship_processes_confine(const struct sw_ship_config *config, struct sw_error *err)
{
	const struct sw_ship_target *targets = config->targets;
	const struct sw_ship_target *profiles = &targets[SW_SHIP_PROFILES];
	const struct sw_ship_target *dumps = &targets[SW_SHIP_DUMPS];
	char directories[SW_SHIP_KINDS][PATH_MAX];
	const struct sw_landlock_path paths[] = {
		{.path = config->spool, .access = SW_LANDLOCK_WRITE},
		{.path = ca_file_of(profiles), .access = SW_LANDLOCK_LIST},
		{.path = ca_file_of(dumps), .access = SW_LANDLOCK_LIST},
		{.path = token_directory_of(profiles, directories[SW_SHIP_PROFILES]),
		 .access = SW_LANDLOCK_LIST},
		{.path = token_directory_of(dumps, directories[SW_SHIP_DUMPS]),
		 .access = SW_LANDLOCK_LIST},
		NAMES_AND_CERTIFICATES,
		/* Modules that look names up, and what OpenSSL loads when it begins. */
		{.path = "/usr", .access = SW_LANDLOCK_LIST},
		{.path = "/lib", .access = SW_LANDLOCK_LIST},
		{.path = "/lib64", .access = SW_LANDLOCK_LIST},
	};
	uint16_t ports[SW_SHIP_KINDS + 1] = {DNS_PORT};
	size_t n = 1;
	for (size_t i = 0; i < SW_SHIP_KINDS; i++)
		if (targets[i].url != NULL)
			ports[n++] = sw_ship_http_port(&targets[i]);
	return sw_landlock_enter_with_ports(paths, SW_ARRAY_SIZE(paths), ports, n, err);
}

static int deliver(struct sw_ship_processes *parts, enum sw_ship_kind kind, struct sw_error *err)
{
	struct sw_ship_sender sender = {
		.kind = kind,
		.config = parts->config,
		.shared = parts->shared,
		.spool = parts->spool,
		.batch_fd = parts->batch_fds[kind],
		.wake_fd = parts->wake_fd,
	};
	sw_ship_config_forget(parts->config, kind);
	int r = sw_ship_http_create(&parts->config->targets[kind], parts->config->timeout_ms,
				    &sender.http, err);
	if (r == 0)
		r = confine_sender(parts, kind, err);
	if (r == 0)
		r = sw_ship_send(&sender, err);
	sw_ship_http_destroy(sender.http);
	return r;
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef int part_fn(struct sw_ship_processes *parts, enum sw_ship_kind kind, struct sw_error *err);

static int start(struct sw_ship_processes *parts, const char *name, part_fn *part,
		 enum sw_ship_kind kind, struct sw_error *err)
{
	pid_t pid = fork();
	if (pid < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot start a process");
	if (pid > 0)
		return 0;
	struct sw_error why = {0};
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parts->parent)
		_exit(EXIT_FAILURE);              /* the parent has ended meanwhile */
	(void) prctl(PR_SET_NAME, name, 0, 0, 0); /* never fails */
	(void) part(parts, kind, &why);           /* it comes back with an error only */
	sw_ship_log("%s", why.message);
	_exit(EXIT_FAILURE);
}

int sw_ship_processes_start(struct sw_ship_processes *parts, struct sw_error *err)
{
	int r = 0;
	parts->parent = getpid();
	parts->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (size_t i = 0; i < SW_SHIP_KINDS; i++) {
		parts->batch_fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (parts->batch_fds[i] < 0)
			r = sw_fail_errno(err, SW_E_IO, "eventfd");
	}
	if (parts->wake_fd < 0)
		r = sw_fail_errno(err, SW_E_IO, "eventfd");
	for (int kind = 0; r == 0 && kind < SW_SHIP_KINDS; kind++)
		if (parts->config->targets[kind].url != NULL)
			r = start(parts, "snapwalk-send", deliver, (enum sw_ship_kind) kind, err);
	return r == 0 ? start(parts, "snapwalk-read", collect, SW_SHIP_KINDS, err) : r;
}

void sw_ship_processes_deinit(struct sw_ship_processes *parts)
{
	sw_close_p(&parts->wake_fd);
	for (size_t i = 0; i < SW_SHIP_KINDS; i++)
		sw_close_p(&parts->batch_fds[i]);
}
