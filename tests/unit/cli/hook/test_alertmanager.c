/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook_case.h"
#include "hook/kinds.h"
#include "test.h"

TEST(test_firing)
{
	struct hook_case c = {.text = "{\"alerts\":["
				      "{\"status\":\"resolved\",\"labels\":{\"a\":\"1\"}},"
				      "{\"status\":\"firing\",\"labels\":{\"a\":\"2\"}}]}\n"};
	struct sw_hook_request request;
	assert_int_equal(hook_case_run(&c, sw_hook_alertmanager, &request, NULL), 0);
	assert_false(request.idle);
	assert_true(request.has_alerts);
	assert_false(request.has_want);
	assert_int_equal(request.alerts.n_alerts, 2);
	assert_true(request.alerts.alerts[1].firing);
	assert_string_equal(request.why, "alertmanager: 2 alerts");
	sw_hook_request_deinit(&request);
}

TEST(test_idle)
{
	hook_case_idles((struct hook_case){.text = "{\"status\":\"firing\",\"alerts\":["
						   "{\"status\":\"resolved\",\"labels\":{}}]}"},
			sw_hook_alertmanager, "alertmanager: 1 alert, none of them firing");
}

TEST(test_fails)
{
	static const char words[] = "the daemon's rules say which process an alert means: "
				    "give no words and no target";
	hook_case_fails((struct hook_case){.text = ""}, sw_hook_alertmanager, SW_E_FORMAT,
			"the payload: this is empty, where JSON is expected");
	hook_case_fails((struct hook_case){.text = "{}", .words = {"7"}}, sw_hook_alertmanager,
			SW_E_INVALID, words);
	hook_case_fails((struct hook_case){.text = "{}", .has_target = true}, sw_hook_alertmanager,
			SW_E_INVALID, words);
}
