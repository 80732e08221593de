/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OPTION_COMMAND_H
#define SW_CLI_OPTION_COMMAND_H

#include "common/option_table.h"

/* Options that one subcommand has, or those that ask the daemon, and those of all. */
sw_option_set sw_set_mode, sw_set_rate, sw_set_duration, sw_set_max_load, sw_set_max_overhead,
	sw_set_by_process, sw_set_interval, sw_set_count, sw_set_sort, sw_set_filter, sw_set_socket,
	sw_set_since, sw_set_limit, sw_set_lock, sw_set_unpin, sw_set_states, sw_set_soft,
	sw_set_of, sw_set_errno, sw_set_each, sw_set_then, sw_set_event_args, sw_set_return,
	sw_set_slower, sw_set_larger, sw_set_every, sw_set_events, sw_set_help, sw_set_version;

#endif
