/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_METRICS_H
#define SW_DAEMON_GATE_METRICS_H

#include "gate/call.h"
#include "gate/reply.h"
#include "text.h"

enum { SW_GATE_PROBE_MS = 2000 }; /* Status, for /healthz and /metrics */

/* GET /metrics. status: parameters of Status, NULL: the daemon is away. */
void sw_gate_metrics_text(struct sw_gate *gate, struct json_object *status, struct sw_text *text);
void sw_gate_metrics(struct sw_gate *gate, struct sw_gate_reply *ret);
/* GET /healthz. */
void sw_gate_health(struct sw_gate *gate, struct sw_gate_reply *ret);

#endif
