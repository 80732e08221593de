/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_OPTIONS_H
#define SW_DAEMON_GATE_OPTIONS_H

#include "gate/host.h"

#include <snapwalk/error.h>

#include <netinet/in.h>
#include <stdbool.h>

enum { SW_GATE_PORT = 9911 };

struct sw_gate_options {
	struct sockaddr_storage listen;
	socklen_t listen_size;
	const char *socket_path; /* borrowed from argv, the environment, or static */
	char *token_file;        /* owned */
	struct sw_gate_hosts hosts;
	bool help, version;
};

/* 0; -SW_E_INVALID with a message that says what to do; -SW_E_NOMEM. */
int sw_gate_options_parse(int argc, char **argv, struct sw_gate_options *ret, struct sw_error *err);
void sw_gate_options_deinit(struct sw_gate_options *options);
void sw_gate_options_help(void);

/* "127.0.0.1:9911", "[::1]:9911" or a port; loopback only. Port 0: any. */
int sw_gate_listen_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_size,
			 struct sw_error *err);

#endif
