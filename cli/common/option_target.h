/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OPTION_TARGET_H
#define SW_CLI_OPTION_TARGET_H

#include "common/option_table.h"

/* Options that say what is looked at: processes, core files, fixtures. */
sw_option_set sw_set_comm, sw_set_unit, sw_set_cgroup, sw_set_container, sw_set_core,
	sw_set_fixture, sw_set_pid, sw_set_exe, sw_set_images;

#endif
