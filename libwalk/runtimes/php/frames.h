/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_FRAMES_H
#define SW_PHP_FRAMES_H

#include "runtimes/php/php.h"
#include "unwind/runtime.h"

/* sw_runtime_ops.frames. */
bool sw_php_frames(struct sw_php *php, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		   struct sw_frame_sink *sink);

#endif
