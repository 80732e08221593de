/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs_case.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

int sw_spawner_configure(struct sw_spawner *spawner, const struct sw_config *config,
			 struct sw_error *err)
{
	return 0;
}

void jobs_case_init(struct jobs_case *c)
{
	struct sw_error err = {0};
	assert_int_equal(sw_config_init(&c->config), 0);
	c->config.store = false;
	c->config.stop_percent_x100 = 10000;
	c->caller = (struct sw_caller){.uid = getuid(),
				       .gid = getgid(),
				       .privileged = true,
				       .same_user_ns = true};
	c->spawner.pidfd = eventfd(0, 0);
	c->pid = fork();
	if (c->pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* when an assertion fails */
		for (;;)
			(void) pause();
	}
	sw_jobs_init(&c->jobs, &c->config, &c->counters);
	assert_true(sd_event_new(&c->event) >= 0);
	assert_int_equal(sw_jobs_start(&c->jobs, c->event, &c->spawner, &err), 0);
}

void jobs_case_deinit(struct jobs_case *c)
{
	sw_jobs_deinit(&c->jobs);
	sd_event_unref(c->event);
	sw_config_deinit(&c->config);
	assert_int_equal(close(c->spawner.pidfd), 0);
	assert_int_equal(kill(c->pid, SIGKILL), 0);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}
