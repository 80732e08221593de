/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/read_log.h"

#include <string.h>

static bool is_known(const struct sw_read_log *log, uint64_t avma, size_t bytes, bool ok)
{
	enum { LOOK_BACK = 128 };
	size_t first = log->n > LOOK_BACK ? log->n - LOOK_BACK : 0;
	for (size_t i = log->n; i > first; i--) {
		const struct sw_logged_read *r = &log->reads[i - 1];
		if (r->ok && ok && avma >= r->avma && avma - r->avma <= r->bytes &&
		    bytes <= r->bytes - (avma - r->avma))
			return true;
		if (!r->ok && !ok && r->avma == avma && r->bytes == bytes)
			return true;
	}
	return false;
}

void sw_read_log_note(struct sw_read_log *log, uint64_t avma, const void *from, size_t bytes)
{
	if (log->broken || is_known(log, avma, bytes, from != NULL))
		return;
	size_t kept = from != NULL ? bytes : 0;
	if (log->n == SW_READ_LOG_MAX || bytes > UINT32_MAX ||
	    kept > SW_READ_LOG_BYTES_MAX - log->n_bytes) {
		log->broken = true;
		return;
	}
	log->reads[log->n++] = (struct sw_logged_read){.avma = avma,
						       .bytes = (uint32_t) bytes,
						       .at = (uint32_t) log->n_bytes,
						       .ok = from != NULL,
						       .n_asked = log->asked.n};
	if (kept > 0)
		memcpy(log->data + log->n_bytes, from, kept);
	log->n_bytes += kept;
}
