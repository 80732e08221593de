/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_TOKEN_H
#define SW_DAEMON_GATE_TOKEN_H

#include <snapwalk/error.h>

#include <stdbool.h>

enum {
	SW_GATE_TOKEN_MIN = 16, /* bytes: shorter ones can be tried out */
	SW_GATE_TOKEN_MAX = 4096,
};

/* The first line of a file, malloc'ed. 0; -SW_E_IO; -SW_E_FORMAT; -SW_E_NOMEM. */
int sw_gate_token_load(const char *path, char **ret, struct sw_error *err);
/* Is header the token? It is "Bearer TOKEN", or "Basic BASE64" of "NAME:TOKEN" with any name, for clients that only have a
 * user and a password; NULL: none. Takes as long whatever is wrong with it. */
bool sw_gate_token_matches(const char *token, const char *header);

#endif
