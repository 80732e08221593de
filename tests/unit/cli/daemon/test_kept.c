/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dumps that the daemon keeps: what is said of one. (Which a word means: test_daemon_kept.py.) */
#include "daemon/kept.h"
#include "skip.h"
#include "test.h"

#ifndef __SANITIZE_ADDRESS__
#include "refuse_malloc.h"
#endif

/* Without memory nothing is printed, and the status says so. */
TEST(test_said_without_memory)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP_SANITIZED();
#else
	static const enum sw_format formats[] = {SW_FORMAT_TEXT, SW_FORMAT_JSON};
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const struct sw_options options = {.format = formats[i]};
		refuse.armed = refuse.once = true;
		refuse.hit = false;
		refuse.left = 0;
		int status =
			sw_kept_say(&options, "deleted", "20261120T103550.084579-4242-0123abcd");
		refuse.armed = false;
		assert_true(refuse.hit);
		assert_int_equal(status, SW_STATUS_NOTHING);
		assert_int_equal(sw_kept_say(&options, "deleted", "an id"), SW_STATUS_COMPLETE);
	}
#endif
}
