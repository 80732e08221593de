/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook_case.h"
#include "hook/kinds.h"
#include "test.h"

TEST(test_acts)
{
	/* As Monit 5.33 called a program. */
	hook_case_acts((struct hook_case){.variables = {"MONIT_PROCESS_PID=3341",
							"MONIT_SERVICE=app",
							"MONIT_EVENT=Resource limit matched",
							"MONIT_DESCRIPTION=cpu usage of 99%"}},
		       sw_hook_monit, "pid:3341",
		       "monit: app: Resource limit matched: cpu usage of 99%");
	/* A check of something else than a process, for a process. */
	hook_case_acts((struct hook_case){.variables = {"MONIT_SERVICE=http",
							"MONIT_EVENT=Connection failed"},
					  .has_target = true},
		       sw_hook_monit, "none", "monit: http: Connection failed");
}

TEST(test_recovery)
{
	hook_case_idles((struct hook_case){.variables = {"MONIT_PROCESS_PID=3341",
							 "MONIT_SERVICE=app",
							 "MONIT_EVENT=Resource limit succeeded"}},
			sw_hook_monit, "monit: app: Resource limit succeeded");
}

TEST(test_fails)
{
	static const char *const pids[] = {"MONIT_PROCESS_PID=-1", "MONIT_PROCESS_PID=0",
					   "MONIT_PROCESS_PID=", "OTHER=1"};
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++)
		hook_case_fails((struct hook_case){.variables = {pids[i], "MONIT_SERVICE=app",
								 "MONIT_EVENT=Does not exist"}},
				sw_hook_monit, SW_E_NOT_FOUND,
				"monit knows no running process of app");
	hook_case_fails((struct hook_case){0}, sw_hook_monit, SW_E_INVALID,
			"MONIT_EVENT is not set: monit has to call this, by exec");
	hook_case_fails((struct hook_case){.variables = {"MONIT_EVENT=x"}, .words = {"7"}},
			sw_hook_monit, SW_E_INVALID,
			"monit says all in its environment: give no words");
}
