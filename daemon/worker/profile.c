/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A sample of a profile. The samples before it were taken by other workers, each of a process that may have
 * been made to attack it: what they have left is read as strictly as any file.
 */
#include "worker/profile.h"
#include "worker/names.h"
#include "worker/wire.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/profile.h>

enum { NS_PER_US = 1000, NS_PER_S = 1000000000 };

/* So much that its JSON, which repeats names, is usually below SW_PROFILE_BYTES. */
static const struct sw_profile_limits limits = {
	.max_stacks = 10000,
	.max_threads = 4096,
	.max_rows = 32768,
	.max_bytes = 4 << 20,
};

static int profile_open(const struct sw_worker *worker, struct sw_profile **ret,
			struct sw_error *err)
{
	const struct sw_worker_profile *asked = &worker->request.profile;
	if (asked->size == 0)
		return sw_profile_create(&limits, ret, err);
	char *json = sw_names_profile(worker->names_fd, asked->size);
	if (json == NULL)
		return sw_fail(err, SW_E_NOMEM, "the samples so far cannot be read");
	int r = sw_profile_parse(json, asked->size, ret, err);
	if (r == 0)
		sw_profile_set_limits(*ret, &limits);
	return r;
}

/* Of what other workers have left. */
static int64_t sum(int64_t a, int64_t b)
{
	int64_t both;
	return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

static int add(struct sw_profile *profile, const struct sw_report *report, int64_t interval_ns,
	       struct sw_error *err)
{
	struct sw_profile_weight *weights = calloc(report->n_threads + 1, sizeof(*weights));
	if (weights == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < report->n_threads; i++)
		weights[i] = (struct sw_profile_weight){.count = 1, .ns = (uint64_t) interval_ns};
	return sw_profile_add(profile, report, weights, NULL, err);
}

static void info_set(const struct sw_worker *worker, struct sw_profile *profile,
		     const struct sw_report *report, int64_t interval_ns)
{
	const struct sw_worker_profile *asked = &worker->request.profile;
	struct sw_profile_info info = *sw_profile_get_info(profile);
	int64_t passed_ns = worker->begin_ns - asked->begin_ns;
	int64_t longest_ns = report->timings.longest_thread_stop_us * NS_PER_US;
	info.mode = "wall";
	info.begin_ns = asked->begin_real_ns;
	info.duration_ns = passed_ns + interval_ns;
	info.rate_hz = asked->rate_hz;
	info.n_samples++;
	info.n_wanted = (uint64_t) (passed_ns / interval_ns) + 1;
	info.n_lost = info.n_wanted > info.n_samples ? info.n_wanted - info.n_samples : 0;
	info.stopped_ns = sum(info.stopped_ns, report->timings.stopped_us * NS_PER_US);
	if (longest_ns > info.longest_stop_ns)
		info.longest_stop_ns = longest_ns;
	sw_profile_set_info(profile, &info);
}

/* What a dump says of itself, of all samples: which process it is says the last one. */
static struct sw_report head_of(const struct sw_worker *worker, const struct sw_profile *profile,
				const struct sw_report *report)
{
	const struct sw_worker_profile *asked = &worker->request.profile;
	const struct sw_profile_info *info = sw_profile_get_info(profile);
	struct sw_report head = *report;
	if (asked->size > 0)
		head.id = asked->id;
	head.time_ns = asked->begin_real_ns;
	head.complete = sw_profile_is_complete(profile);
	head.timings.stopped_us = info->stopped_ns / NS_PER_US;
	head.timings.longest_thread_stop_us = info->longest_stop_ns / NS_PER_US;
	head.timings.attach_us = sum(head.timings.attach_us, asked->attach_us);
	head.timings.copy_us = sum(head.timings.copy_us, asked->copy_us);
	head.timings.unwind_us = sum(head.timings.unwind_us, asked->unwind_us);
	head.timings.symbolize_us = sum(head.timings.symbolize_us, asked->symbolize_us);
	head.timings.interrupted_calls += (size_t) asked->interrupted_calls;
	head.timings.total_us = info->duration_ns / NS_PER_US;
	head.timings.n_stopped = -1; /* of which sample? */
	return head;
}

int sw_worker_profile_send(const struct sw_worker *worker, const struct sw_report *report,
			   struct sw_error *err)
{
	const int64_t interval_ns = NS_PER_S / (int64_t) worker->request.profile.rate_hz;
	struct sw_profile *profile = NULL;
	char *json = NULL;
	size_t size = 0, max = SW_PROFILE_BYTES;
	int r = profile_open(worker, &profile, err);
	if (r == 0)
		r = add(profile, report, interval_ns, err);
	if (r < 0)
		return r;
	info_set(worker, profile, report, interval_ns);
	const struct sw_report head = head_of(worker, profile, report);
	r = sw_profile_write_kept(profile, &head, &json, &size, err);
	if (r < 0)
		return r;
	if (max > worker->config->dump_bytes_max)
		max = worker->config->dump_bytes_max;
	if (size > max)
		return sw_fail(err, SW_E_LIMIT, "the profile has %zu bytes, of at most %zu", size,
			       max);
	return sw_worker_event_write(worker->stream, SW_WORKER_DUMP, json, size, err);
}
