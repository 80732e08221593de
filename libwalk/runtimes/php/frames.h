/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_FRAMES_H
#define SW_PHP_FRAMES_H

#include "runtimes/php/php.h"
#include "unwind/runtime.h"

/* sw_runtime_ops.frames. */
bool sw_php_frames(struct sw_php *php, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		   struct sw_frame_sink *sink);

/* For touch(): reads the call that a thread has in its register, which may be in no chain, as it begins or has ended. */
void sw_php_frames_touch(const struct sw_php *php, const struct sw_thread *thread);

#endif
