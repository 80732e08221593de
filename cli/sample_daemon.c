/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample_daemon.h"
#include "common/complain.h"
#include "daemon/complaint.h"
#include "daemon/dump.h"
#include "profile_output.h"
#include "sandbox.h"
#include "select.h"

static void say_summary(const struct sw_profile *profile, const struct sw_daemon_dump *dump)
{
	const struct sw_profile_info *info = sw_profile_get_info(profile);
	fprintf(stderr, "%llu of %llu samples in %.1f s", (unsigned long long) info->n_samples,
		(unsigned long long) info->n_wanted, (double) info->duration_ns / 1e9);
	fputs(dump->stored ? "; the daemon keeps them as " : "; the daemon does not keep them",
	      stderr);
	sw_print_visible(stderr, dump->stored ? dump->id : "");
	fputc('\n', stderr);
}

static int put(struct sw_profile_output *output, const struct sw_daemon_dump *dump,
	       const char *name)
{
	struct sw_error err = {0};
	struct sw_profile *profile = NULL;
	if (sw_sandbox_enter_parsing(output->options, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	int status = sw_profile_output_parse(output);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (sw_profile_parse(dump->text, dump->size, &profile, &err) < 0)
		return sw_complain_error(name, &err);
	say_summary(profile, dump);
	status = sw_profile_output_write(output, profile);
	if (!sw_profile_is_complete(profile))
		status = sw_status_worse(status, SW_STATUS_MISSING);
	sw_profile_destroy(profile);
	return status;
}

int sw_sample_by_daemon(const struct sw_options *options)
{
	struct sw_subject subject;
	struct sw_profile_output output;
	struct sw_daemon_dump dump = {0};
	struct sw_complaint why;
	int status = sw_select_one(options, &subject);
	if (status != SW_STATUS_COMPLETE)
		return status;
	status = sw_profile_output_open(&output, options);
	if (status == SW_STATUS_COMPLETE)
		status = sw_daemon_profile(options, subject.pid, &dump, &why)
				 ? put(&output, &dump, subject.name)
				 : sw_complain_about(subject.name, &why);
	sw_daemon_dump_deinit(&dump);
	sw_profile_output_deinit(&output);
	return status;
}
