/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/overhead_text.h"
#include "cleanup.h"
#include "test.h"

TEST(the_notice_of_functions)
{
	struct sw_function f = {.n = 2};
	struct sw_overhead o = {0};
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	f.places[0].emulated = true;
	f.places[0].n_returns = 3; /* of which each call comes to one */
	sw_overhead_set(&o, NULL, &f);
	sw_overhead_notice(&o, &f, true, &text);
	sw_text_append(&text, "", 1);
	assert_string_equal(text.data,
			    "each call of these takes the process 20 to 21 µs longer on usual "
			    "machines (this one could not be measured), and the copy\n");
}
