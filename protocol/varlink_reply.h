/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_VARLINK_REPLY_H
#define SW_VARLINK_REPLY_H

#include "json.h"

#include <snapwalk/varlink.h>

/* Parse the answer that a client got. Returns 0, -SW_E_FORMAT or -SW_E_NOMEM. */
int sw_varlink_answer_parse(const char *message, size_t size, struct sw_varlink_answer *ret,
			    struct sw_error *err);
/* The same without a tree of a reply: its parameters are a part of the message. For an error, which
 * has SW_VARLINK_ERROR_MAX bytes at most, ret_parameters->data is NULL. */
enum { SW_VARLINK_ERROR_MAX = 64 << 10 };
int sw_varlink_answer_cut(const char *message, size_t size, struct sw_varlink_answer *ret,
			  struct sw_json_part *ret_parameters, struct sw_error *err);

#endif
