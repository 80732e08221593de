/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_COMMANDS_H
#define SW_CLI_COMMANDS_H

#include "common/options.h"

/* The commands, one in each file NAME.c; main.c has the table. Each returns an exit status. */
int sw_cmd_dump(const struct sw_options *options);
int sw_cmd_sample(const struct sw_options *options);
int sw_cmd_top(const struct sw_options *options);
int sw_cmd_leaks(const struct sw_options *options);
int sw_cmd_on(const struct sw_options *options);
int sw_cmd_explain(const struct sw_options *options);
int sw_cmd_verify(const struct sw_options *options);
int sw_cmd_record(const struct sw_options *options);
int sw_cmd_doctor(const struct sw_options *options);
int sw_cmd_list(const struct sw_options *options);
int sw_cmd_show(const struct sw_options *options);
int sw_cmd_symbolize(const struct sw_options *options);
int sw_cmd_delete(const struct sw_options *options);
int sw_cmd_pin(const struct sw_options *options);
int sw_cmd_diff(const struct sw_options *options);
int sw_cmd_merge(const struct sw_options *options);
int sw_cmd_mcp(const struct sw_options *options);
int sw_cmd_watch(const struct sw_options *options);
int sw_cmd_hook(const struct sw_options *options);

#endif
