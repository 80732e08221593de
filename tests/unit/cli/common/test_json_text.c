/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/json_text.h"
#include "test.h"
#include "utf8.h"

TEST(strings)
{
	struct sw_text text = {0};
	sw_utf8_append_json_string(&text, "");
	sw_json_text_member(&text, "a", "q\" \\ / \n \033 \x9b \xc2\x9b");
	sw_json_text_member(&text, "b", NULL);
	assert_string_equal(text.data,
			    "\"\",\"a\":\"q\\\" \\\\ / \\n \\u001b \xef\xbf\xbd \\u009b\"");
	sw_text_deinit(&text);
}
