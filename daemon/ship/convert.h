/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_CONVERT_H
#define SW_DAEMON_SHIP_CONVERT_H

#include "ship/shared.h"

#include <snapwalk/error.h>

#include <stddef.h>

/*
 * A profile or dump, as the daemon's reply to Read has it, as a request of OTLP; *ret is the caller's. Requests of dumps
 * one after the other are one request.
 *
 * text: the parameters of the reply, whoever wrote them. id: of the profile or dump, which a receiver may know it by.
 * 0; -SW_E_FORMAT; -SW_E_NOT_FOUND: it is of the other kind; -SW_E_NOMEM.
 */
int sw_ship_convert(enum sw_ship_kind kind, const char *id, const char *text, size_t size,
		    char **ret, size_t *ret_size, struct sw_error *err);

/* The bytes in the format of gzip; *ret is the caller's. 0; -SW_E_NOMEM. */
int sw_ship_pack(const char *data, size_t size, char **ret, size_t *ret_size, struct sw_error *err);

#endif
