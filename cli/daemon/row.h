/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_ROW_H
#define SW_CLI_DAEMON_ROW_H

#include "text.h"

#include <snapwalk/varlink.h>

/* Lines about dumps, for list and watch. */

void sw_row_header(struct sw_text *text);
/* Put a line for io.snapwalk's Summary. */
void sw_row(struct sw_text *text, struct json_object *summary);
/* A line of JSON. */
void sw_row_json(struct sw_text *text, struct json_object *object);

#endif
