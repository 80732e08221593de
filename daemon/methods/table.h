/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_TABLE_H
#define SW_DAEMON_METHODS_TABLE_H

#include "rpc/call.h"

/* All methods; the last one has no name. */
extern const struct sw_method sw_method_table[];

/* Each in a file of its name, which has nothing else for others. */
void sw_method_capture(struct sw_call *call);
void sw_method_sample(struct sw_call *call);
void sw_method_profile(struct sw_call *call);
void sw_method_events(struct sw_call *call);
void sw_method_trigger(struct sw_call *call);
void sw_method_list(struct sw_call *call);
void sw_method_read(struct sw_call *call);
void sw_method_delete(struct sw_call *call);
void sw_method_pin(struct sw_call *call);
void sw_method_subscribe(struct sw_call *call);
void sw_method_status(struct sw_call *call);

#endif
