/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_READ_DUMP_H
#define SW_CLI_DAEMON_READ_DUMP_H

#include "common/options.h"

/*
 * A dump that a word of the command line names: a file of JSON, with a slash or ".json" at its end, or
 * one that the daemon keeps.
 *
 * @return SW_STATUS_COMPLETE; else what was wrong has been said. Free with sw_report_destroy().
 */
int sw_read_dump(const struct sw_options *options, const char *word, struct sw_report **ret);

#endif
