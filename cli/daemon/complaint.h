/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_COMPLAINT_H
#define SW_CLI_DAEMON_COMPLAINT_H

#include "common/complain.h"

#include <snapwalk/varlink.h>

/* The complaint about a failed call to the daemon. */

/* As sw_complain() wants it. */
struct sw_complaint {
	const char *code; /* static */
	char message[SW_ERROR_MESSAGE_MAX];
	char remedy[192];
	int status; /* SW_STATUS_* */
};

/* An error of the connection, or of what came over it. causes: SW_SAID_*, beside that. */
void sw_complaint_of_error(struct sw_complaint *ret, const struct sw_error *err, uint64_t causes);
/* An error that the daemon answered with: io.snapwalk.NotPermitted and so on. */
void sw_complaint_of_answer(struct sw_complaint *ret, const struct sw_varlink_answer *answer);
/* Says it; returns its status. */
int sw_complain_about(const char *about, const struct sw_complaint *complaint);

#endif
