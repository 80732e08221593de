/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_BURST_H
#define SW_CLI_BURST_H

#include "common/options.h"

/*
 * dump --burst N,MS: several captures of each target, one answer. Which threads never ran in between, by
 * their switch counters; which were busy each time, always in the same function or not; which came and
 * went; and what their stacks have in common. SW_STATUS_*.
 */
int sw_burst(const struct sw_options *options);

#endif
