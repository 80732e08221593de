/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SAMPLE_DAEMON_H
#define SW_CLI_SAMPLE_DAEMON_H

#include "common/options.h"

/* sample --via daemon: the daemon makes the profile, and keeps it. SW_STATUS_*. */
int sw_sample_by_daemon(const struct sw_options *options);

#endif
