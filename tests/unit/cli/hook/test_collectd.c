/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook_case.h"
#include "hook/kinds.h"
#include "test.h"

/* As collectd-exec(5) describes it. */
#define NOTIFICATION(severity)        \
	"Severity: " severity "\n"    \
	"Time: 1200928930.515\n"      \
	"Host: myhost.mydomain.org\n" \
	"Plugin: processes\n"         \
	"PluginInstance: my app\n"    \
	"Type: ps_count\n"            \
	"TypeInstance: processes\n"   \
	"CurrentValue: 1.0\n"         \
	"\n"                          \
	"Plugin processes: too many\nPluginInstance: not a header\n"

TEST(test_severity)
{
	hook_case_acts((struct hook_case){.text = NOTIFICATION("FAILURE")}, sw_hook_collectd,
		       "comm:my app", "collectd: FAILURE: Plugin processes: too many");
	hook_case_idles((struct hook_case){.text = NOTIFICATION("WARNING")}, sw_hook_collectd,
			"collectd: WARNING: Plugin processes: too many");
	hook_case_idles((struct hook_case){.text = NOTIFICATION("OKAY")}, sw_hook_collectd,
			"collectd: OKAY: Plugin processes: too many");
	hook_case_acts((struct hook_case){.text = NOTIFICATION("WARNING"),
					  .states = "FAILURE,WARNING"},
		       sw_hook_collectd, "comm:my app",
		       "collectd: WARNING: Plugin processes: too many");
}

TEST(test_target_of_the_command_line)
{
	hook_case_acts((struct hook_case){.text = "Severity: FAILURE\nPlugin: cpu\n\nhot",
					  .has_target = true},
		       sw_hook_collectd, "none", "collectd: FAILURE: hot");
}

TEST(test_fails)
{
	static const char no_process[] = "only notifications of the processes plugin say which "
					 "process: give --comm, --unit or --pid";
	static const char strange[] = "no notification of collectd: it has no line 'Severity:'";
	static const char *const texts[] = {"",
					    "\n",
					    "\nSeverity: FAILURE\n",
					    "Severity:",
					    "Severity:\nTime: 1\n",
					    "Severity",
					    "xSeverity: F\n"};
	hook_case_fails((struct hook_case){.text = "Severity: FAILURE\nPlugin: cpu\n\nhot"},
			sw_hook_collectd, SW_E_INVALID, no_process);
	/* The message is no header. */
	hook_case_fails((struct hook_case){.text = "Severity: FAILURE\n\nPlugin: processes\n"
						   "PluginInstance: x\n"},
			sw_hook_collectd, SW_E_INVALID, no_process);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		hook_case_fails((struct hook_case){.text = texts[i]}, sw_hook_collectd, SW_E_FORMAT,
				strange);
	hook_case_fails((struct hook_case){.words = {"7"}}, sw_hook_collectd, SW_E_INVALID,
			"collectd says all on standard input: give no words");
}

/* Longer than anything we keep: cut, and nothing else. */
TEST(test_long)
{
	char text[2000], plugin[1000];
	struct sw_hook_request request;
	memset(plugin, 'x', sizeof(plugin) - 1);
	plugin[sizeof(plugin) - 1] = '\0';
	(void) snprintf(text, sizeof(text),
			"Severity: FAILURE\nPlugin: processes\nPluginInstance: %s\n\nm", plugin);
	struct hook_case c = {.text = text};
	assert_int_equal(hook_case_run(&c, sw_hook_collectd, &request, NULL), 0);
	assert_int_equal(strlen(request.want.text), 127);
	sw_hook_request_deinit(&request);
}
