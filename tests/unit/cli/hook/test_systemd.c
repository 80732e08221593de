/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook_case.h"
#include "hook/kinds.h"
#include "test.h"

TEST(test_acts)
{
	hook_case_acts((struct hook_case){.variables = {"MAINPID=77", "SERVICE_RESULT=success"}},
		       sw_hook_systemd, "pid:77", "systemd: result success");
	hook_case_acts((struct hook_case){.variables = {"MAINPID=77"}, .words = {"78"}},
		       sw_hook_systemd, "pid:78", "systemd");
	hook_case_acts((struct hook_case){.words = {"app@1.service"}}, sw_hook_systemd,
		       "unit:app@1.service", "systemd");
	hook_case_acts((struct hook_case){.variables = {"MONITOR_UNIT=app.service"}},
		       sw_hook_systemd, "unit:app.service", "systemd: app.service");
	hook_case_acts((struct hook_case){.has_target = true}, sw_hook_systemd, "none", "systemd");
}

TEST(test_fails)
{
	static const char ended[] = "the main process has ended";
	hook_case_fails((struct hook_case){.variables = {"MAINPID="}}, sw_hook_systemd,
			SW_E_NOT_FOUND, ended);
	hook_case_fails((struct hook_case){.words = {""}}, sw_hook_systemd, SW_E_NOT_FOUND, ended);
	hook_case_fails((struct hook_case){.variables = {"SERVICE_RESULT=success"}},
			sw_hook_systemd, SW_E_NOT_FOUND, ended);
	hook_case_fails((struct hook_case){0}, sw_hook_systemd, SW_E_INVALID,
			"MAINPID is not set: give $MAINPID, a process id or a unit");
	hook_case_fails((struct hook_case){.words = {"1", "2"}}, sw_hook_systemd, SW_E_INVALID,
			"give one process id or unit");
}
