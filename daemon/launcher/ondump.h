/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_LAUNCHER_ONDUMP_H
#define SW_DAEMON_LAUNCHER_ONDUMP_H

#include "config/settings.h"
#include "store/dumps.h"

/*
 * OnDump=: a command for each new dump, which it reads on its standard input.
 *
 *	broker     no capability: it could not change its user
 *	  | SOCK_SEQPACKET: what to tell the command, and the dump as a sealed memfd
 *	launcher   forked while we may still change user; OnDumpUser= if we are root, without a
 *	  | fork   capability, no new privileges; keeps the time limit
 *	command    a session of its own, killed as a whole
 *
 * Nothing here blocks the broker.
 */
struct sw_on_dump;

enum { SW_ON_DUMP_MAX = 4 }; /* at once; for a dump beyond them none is started */

/*
 * Starts the launcher: to be called before sw_sandbox_broker() and before there are threads or an
 * event loop. *ret is NULL when there is no OnDump=; a later change of it needs a restart.
 * -SW_E_INVALID: no absolute path; -SW_E_NOT_FOUND: no such user, or it is root; -SW_E_IO;
 * -SW_E_NOMEM.
 */
int sw_on_dump_create(const struct sw_config *config, struct sw_on_dump **ret,
		      struct sw_error *err);
/* Could it be started? -SW_E_INVALID, -SW_E_NOT_FOUND as above. */
int sw_on_dump_check(const struct sw_config *config, struct sw_error *err);
/* Ends the launcher, which kills what still runs. NULL is fine. */
void sw_on_dump_destroy(struct sw_on_dump *commands);

/*
 * Runs the command for a dump. The environment is PATH, LANG and SNAPWALK_ID, SNAPWALK_PID,
 * SNAPWALK_COMM, SNAPWALK_REASON (only when there is one); what is not printable ASCII in them is
 * '?'. Its output goes where our errors go. A command that cannot be executed ends with status 127.
 * 0; -SW_E_LIMIT: SW_ON_DUMP_MAX run already; -SW_E_IO: the launcher is gone, or no memory for the
 * dump.
 */
int sw_on_dump_start(struct sw_on_dump *commands, const struct sw_store_entry *entry,
		     const char *reason, const char *json, size_t size, struct sw_error *err);

/* The result of a command. */
struct sw_on_dump_result {
	char id[65];        /* of the dump */
	int32_t status;     /* wait(2) */
	uint32_t timed_out; /* it was killed at OnDumpTimeoutSec= */
};
/* For the event loop: readable when there is a result. */
int sw_on_dump_fd(const struct sw_on_dump *commands);
/* 1 and the next result; 0: none now; -SW_E_IO: the launcher is gone, the descriptor is of no use
 * any more. */
int sw_on_dump_next(struct sw_on_dump *commands, struct sw_on_dump_result *ret,
		    struct sw_error *err);

#endif
