/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OPTION_OUTPUT_H
#define SW_CLI_OPTION_OUTPUT_H

#include "common/option_table.h"

#define SW_PROFILE_FORMATS "text|folded|json|pprof|speedscope|firefox|html|otlp|svg"

#define SW_LABEL_RULES "pid|name|host|unit|container|file|order"

/* Options that say what is printed, and how. */
sw_option_set sw_set_json, sw_set_format, sw_set_profile_format, sw_set_show_format, sw_set_diff,
	sw_set_output, sw_set_keep, sw_set_modules_store, sw_set_color, sw_set_no_group,
	sw_set_verbose, sw_set_all, sw_set_time, sw_set_state, sw_set_function, sw_set_thread,
	sw_set_reason, sw_set_merge, sw_set_label;

/* Set the format by the name of the output file, where no option says it; false: the name has a
 * format that the command cannot write. A name that says nothing is no error. */
bool sw_format_by_name(struct sw_options *o, struct sw_usage *usage);

#endif
