/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook_case.h"
#include "hook/kinds.h"
#include "test.h"

TEST(test_words)
{
	hook_case_acts((struct hook_case){.words = {"CRITICAL", "HARD", "3"}, .has_target = true},
		       sw_hook_nagios, "none", "nagios: CRITICAL HARD attempt 3");
	hook_case_idles((struct hook_case){.words = {"CRITICAL", "SOFT", "1"}, .has_target = true},
			sw_hook_nagios, "nagios: CRITICAL SOFT attempt 1");
	hook_case_idles((struct hook_case){.words = {"OK", "HARD", "1"}, .has_target = true},
			sw_hook_nagios, "nagios: OK HARD attempt 1");
	hook_case_idles((struct hook_case){.words = {"WARNING", "HARD"}, .has_target = true},
			sw_hook_nagios, "nagios: WARNING HARD");
}

TEST(test_states)
{
	hook_case_acts((struct hook_case){.words = {"WARNING", "SOFT", "2"},
					  .states = "warning,unknown",
					  .soft = true,
					  .has_target = true},
		       sw_hook_nagios, "none", "nagios: WARNING SOFT attempt 2");
	hook_case_idles((struct hook_case){.words = {"CRITICAL", "HARD", "2"},
					   .states = "warning,unknown",
					   .has_target = true},
			sw_hook_nagios, "nagios: CRITICAL HARD attempt 2");
}

TEST(test_environment)
{
	hook_case_acts((struct hook_case){.variables = {"NAGIOS_SERVICESTATE=CRITICAL",
							"NAGIOS_SERVICESTATETYPE=HARD",
							"NAGIOS_SERVICEATTEMPT=4",
							"NAGIOS_SERVICEDESC=web"},
					  .has_target = true},
		       sw_hook_nagios, "none", "nagios: web: CRITICAL HARD attempt 4");
	hook_case_acts((struct hook_case){.variables = {"ICINGA_SERVICESTATE=CRITICAL",
							"ICINGA_SERVICESTATETYPE=HARD"},
					  .has_target = true},
		       sw_hook_nagios, "none", "nagios: CRITICAL HARD");
	/* Words win. */
	hook_case_idles((struct hook_case){.variables = {"NAGIOS_SERVICESTATE=CRITICAL"},
					   .words = {"OK", "HARD", "1"},
					   .has_target = true},
			sw_hook_nagios, "nagios: OK HARD attempt 1");
}

TEST(test_fails)
{
	static const char no_state[] = "no state is given: give $SERVICESTATE$ "
				       "$SERVICESTATETYPE$ $SERVICEATTEMPT$";
	hook_case_fails((struct hook_case){.has_target = true}, sw_hook_nagios, SW_E_INVALID,
			no_state);
	hook_case_fails((struct hook_case){.words = {"HARD", "CRITICAL"}, .has_target = true},
			sw_hook_nagios, SW_E_INVALID, no_state);
	hook_case_fails((struct hook_case){.words = {"A", "HARD", "1", "2"}, .has_target = true},
			sw_hook_nagios, SW_E_INVALID,
			"give $SERVICESTATE$ $SERVICESTATETYPE$ $SERVICEATTEMPT$");
	hook_case_fails((struct hook_case){.words = {"CRITICAL", "HARD", "1"}}, sw_hook_nagios,
			SW_E_INVALID,
			"nagios knows no processes: give --pid, --comm, --unit, --cgroup or "
			"--container");
}
