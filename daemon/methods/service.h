/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_METHODS_SERVICE_H
#define SW_DAEMON_METHODS_SERVICE_H

#include "rpc/call.h"

void sw_method_get_info(struct sw_call *call);
void sw_method_get_interface(struct sw_call *call);

#endif
