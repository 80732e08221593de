/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_REQUEST_WINDOW_H
#define SW_PHP_REQUEST_WINDOW_H

#include "runtimes/php/window.h"

/* In the window: copies what is known of the request that sapi_globals at this address are of. */
void sw_php_request_copy(struct sw_capture *capture, uint64_t sapi_avma);

#endif
