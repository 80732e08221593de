/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_STATUS_H
#define SW_DAEMON_SHIP_STATUS_H

#include "ship/shared.h"
#include "text.h"

#include <snapwalk/error.h>

#include <stdbool.h>

/* The numbers that last: a file of the spool has them as a line each, "profiles sent 17". */
#define SW_SHIP_STATUS_FILE "status"

void sw_ship_status_write(const struct sw_ship_shared *shared, struct sw_text *ret);
/* Adds the counts of such a text; what is none is left out. */
void sw_ship_status_read(const char *text, struct sw_ship_shared *shared);
/* The file of a spool. 0; -SW_E_IO with errno, -SW_E_LIMIT, -SW_E_NOMEM. */
int sw_ship_status_text(int dir_fd, struct sw_text *ret);
/* Prints the file of a spool. 0; -SW_E_IO. */
int sw_ship_status_print(const char *spool, struct sw_error *err);

#endif
