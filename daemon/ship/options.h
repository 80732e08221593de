/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_OPTIONS_H
#define SW_DAEMON_SHIP_OPTIONS_H

#include <snapwalk/error.h>

#include <stdbool.h>

/* The command line; all are borrowed from argv, the environment, or static. */
struct sw_ship_options {
	const char *socket_path, *config_path;
	bool status, check, help, version;
};

/* 0; -SW_E_INVALID with a message that says what to do. */
int sw_ship_options_parse(int argc, char **argv, struct sw_ship_options *ret, struct sw_error *err);
void sw_ship_options_help(void);

#endif
