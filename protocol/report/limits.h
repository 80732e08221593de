/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_LIMITS_H
#define SW_REPORT_LIMITS_H

#include <snapwalk/protocol.h>

/* The numbers of struct sw_process_limits, as they are called in JSON. */
enum { SW_LIMIT_FIELDS = 16 };

const char *sw_limit_name(size_t index);
int64_t *sw_limit_field(struct sw_process_limits *limits, size_t index);

#endif
