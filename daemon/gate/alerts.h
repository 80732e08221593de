/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_ALERTS_H
#define SW_DAEMON_GATE_ALERTS_H

#include "gate/call.h"
#include "gate/reply.h"

enum { SW_GATE_REQUEST_MS = 8000 }; /* Alertmanager gives a notification 10 s at least */

/* POST /alertmanager. */
void sw_gate_alerts(struct sw_gate *gate, const char *body, size_t size, struct sw_gate_reply *ret);
/* The result for the answer to a Trigger, or for the lack of one (answer NULL). */
enum sw_gate_result sw_gate_judge(const struct sw_varlink_answer *answer, unsigned *ret_retry_s);

#endif
