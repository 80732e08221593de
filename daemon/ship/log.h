/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_LOG_H
#define SW_DAEMON_SHIP_LOG_H

/* A line to stderr, which systemd hands to the journal. */
__attribute__((format(printf, 1, 2))) void sw_ship_log(const char *fmt, ...);

#endif
