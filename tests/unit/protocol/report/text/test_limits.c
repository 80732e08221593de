/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/limits.h"
#include "cleanup.h"
#include "test.h"

static void assert_limits(struct sw_process_limits limits, const char *wanted)
{
	struct sw_report report = {.process = {.limits = limits}};
	const struct sw_text_options options = {0};
	struct sw_text_writer w = {.report = &report, .options = &options};
	sw_put(&w, "%s", "");
	sw_text_limits(&w);
	assert_string_equal(w.text.data, wanted);
	sw_text_deinit(&w.text);
}

TEST(test_near)
{
	assert_limits((struct sw_process_limits){.descriptors = 1020, .descriptors_limit = 1024},
		      "1,020 of 1,024 descriptors are open\n");
	assert_limits((struct sw_process_limits){.maps = 65530, .maps_limit = 65530},
		      "65,530 of 65,530 mappings\n");
	assert_limits((struct sw_process_limits){.tasks = 12, .tasks_limit = 12},
		      "12 of 12 threads of the control group\n");
	assert_limits((struct sw_process_limits){.memory_bytes = 534773760,
						 .memory_limit_bytes = 536870912,
						 .memory_kills = 3},
		      "memory of the control group 99.6 % of 512 MiB, 3 processes were killed for "
		      "lack of memory so far\n");
	assert_limits((struct sw_process_limits){.cpu_quota_us = 20000,
						 .cpu_period_us = 100000,
						 .cpu_periods = 23,
						 .cpu_throttled = 22,
						 .cpu_throttled_us = 1540000},
		      "the control group has used all of its 0.2 CPUs in 22 of 23 periods since "
		      "it was made, its threads waited 1.5 s for that\n");
	assert_limits((struct sw_process_limits){.cpu_quota_us = 12800000,
						 .cpu_period_us = 100000,
						 .cpu_periods = 100,
						 .cpu_throttled = 10},
		      "the control group has used all of its 128 CPUs in 10 of 100 periods since "
		      "it was made, its threads waited 0.0 s for that\n");
	assert_limits((struct sw_process_limits){.cpu_quota_us = 100000,
						 .cpu_period_us = 100000,
						 .cpu_periods = 10,
						 .cpu_throttled = 10},
		      "the control group has used all of its 1 CPU in 10 of 10 periods since it "
		      "was made, its threads waited 0.0 s for that\n");
	assert_limits((struct sw_process_limits){.descriptors = 64,
						 .descriptors_limit = 64,
						 .tasks = 12,
						 .tasks_limit = 12,
						 .tasks_refused = 5},
		      "64 of 64 descriptors are open · 12 of 12 threads of the control group, 5 "
		      "refused\n");
}

/* Numbers that are not near a limit, a cache that the kernel can take back, and kills of a group that has memory enough
 * now are not told. */
TEST(test_far)
{
	assert_limits((struct sw_process_limits){0}, "");
	assert_limits((struct sw_process_limits){.descriptors = 972,
						 .descriptors_limit = 1024,
						 .maps = 40,
						 .maps_limit = 65530,
						 .memory_bytes = 1000,
						 .memory_cache_bytes = 100,
						 .memory_kills = 1,
						 .memory_limit_bytes = 1000,
						 .cpu_periods = 100,
						 .cpu_throttled = 9},
		      "");
}
