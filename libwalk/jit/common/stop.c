/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/common/stop.h"

#include <string.h>

static bool stop_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_jit_stop *s = arg;
	const uint8_t *data;
	if (sw_capture_wanted(s->capture, avma, buffer, length))
		return true;
	if (s->left == 0 || !sw_capture_copy(s->capture, avma, length, &data))
		return false;
	s->left--;
	memcpy(buffer, data, length);
	return true;
}

struct sw_memory sw_jit_stop_memory(struct sw_jit_stop *stop)
{
	static const struct sw_memory_ops ops = {.read = stop_read};
	return (struct sw_memory){&ops, stop};
}
