/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_CONFIG_H
#define SW_DAEMON_SHIP_CONFIG_H

#include "ship/shared.h"

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SW_SHIP_HEADERS_MAX = 8,
	SW_SHIP_CONFIG_BYTES_MAX = 64 << 10,
	SW_SHIP_TOKEN_MAX = 4096,
};

/* An end point, of one kind. */
struct sw_ship_target {
	char *url;        /* owned, as all here; NULL: nothing of the kind is sent */
	char *token_file; /* NULL: no token */
	char *user;       /* of Basic authentication; NULL: the token is a bearer's */
	char *ca_file;    /* NULL: the system's */
	char *proxy;      /* NULL: none, whatever the environment says */
	char *headers[SW_SHIP_HEADERS_MAX];
	size_t n_headers;
	char *token; /* by sw_ship_config_tokens() */
};

struct sw_ship_config {
	char *spool;
	uint64_t spool_bytes_max;
	int64_t timeout_ms; /* of a request */
	int64_t retry_min_ms, retry_max_ms;
	struct sw_ship_target targets[SW_SHIP_KINDS];
};

/* The keys of a text, over the defaults. path is for messages. 0; -SW_E_INVALID with the line; -SW_E_NOMEM. */
int sw_ship_config_parse(struct sw_ship_config *config, const char *text, const char *path,
			 struct sw_error *err);
/* Reads the file. 0; the same; -SW_E_IO. To be given back by sw_ship_config_deinit() also after an error. */
int sw_ship_config_load(const char *path, struct sw_ship_config *ret, struct sw_error *err);
/* Reads the files of the tokens, which nobody but their owner and root may read or change. 0; -SW_E_NOT_PERMITTED;
 * -SW_E_FORMAT; -SW_E_IO; -SW_E_NOMEM. */
int sw_ship_config_tokens(struct sw_ship_config *config, struct sw_error *err);
/* Reads the token's file of one target again, with the same errors; the old token stays after an error. token_file is not
 * NULL. */
int sw_ship_config_renew(struct sw_ship_target *target, bool *ret_changed, struct sw_error *err);
/* Wipes the tokens of all targets but that of one kind; SW_SHIP_KINDS: of all. */
void sw_ship_config_forget(struct sw_ship_config *config, enum sw_ship_kind but);
void sw_ship_config_deinit(struct sw_ship_config *config);

#endif
