/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/cpu.h"
#include "worker/life.h"
#include "worker/names.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>

enum { FETCH_NS = 100000000, NS_PER_S = 1000000000 };

/* The recorder's own. */
static int target_again(const struct sw_target *target, struct sw_target **ret,
			struct sw_error *err)
{
	const pid_t pid = sw_target_pid(target);
	int r = sw_target_open(pid, ret, err);
	if (r < 0 || sw_target_starttime(*ret) == sw_target_starttime(target))
		return r;
	sw_target_close(*ret);
	return sw_fail(err, SW_E_EXITED, "process %d has exited", (int) pid);
}

int sw_worker_cpu_open(struct sw_worker *worker, const struct sw_target *target,
		       struct sw_worker_cpu *ret, struct sw_error *err)
{
	const struct sw_recorder_options options = sw_worker_record_options(worker);
	struct sw_error why = {0};
	struct sw_target *own = NULL;
	ret->adding = (struct sw_profile_adding){.mode = SW_RECORD_CPU,
						 .interval_ns = NS_PER_S / options.rate_hz};
	ret->sink = sw_profile_sink(&ret->adding);
	if (!sw_worker_ids_open(&ret->ids, sw_target_pid(target)))
		return sw_fail(err, SW_E_EXITED, "process %d has exited",
			       (int) sw_target_pid(target));
	int r = target_again(target, &own, err);
	if (r < 0)
		return r;
	r = sw_recorder_create(own, &options, worker->session, &ret->sink, &ret->recorder, &why);
	if (r == 0)
		return 0;
	if (r == -SW_E_INVALID) {
		sw_worker_ids_close(&ret->ids);
		ret->recorder = NULL;
		return 0;
	}
	bool refused = r == -SW_E_NOT_PERMITTED || r == -SW_E_LIMIT;
	return sw_fail(err, refused ? SW_E_UNSUPPORTED : -r, "%s", why.message);
}

static int fetch(struct sw_worker *worker, struct sw_worker_cpu *cpu, struct sw_error *err)
{
	uint64_t before = sw_recorder_totals(cpu->recorder)->n_samples;
	int r = sw_recorder_sample(cpu->recorder, err);
	uint64_t n = sw_recorder_totals(cpu->recorder)->n_samples - before;
	const struct sw_worker_sampled more = {.n_samples = n, .n_threads = n};
	return r < 0 ? r : sw_worker_life_tell(&worker->life, worker->stream, &more, err);
}

int sw_worker_cpu_run(struct sw_worker *worker, struct sw_worker_cpu *cpu,
		      const struct sw_report *head, struct sw_error *err)
{
	const struct sw_worker_profile *asked = &worker->request.profile;
	struct sw_profile *profile = NULL;
	bool lasts = asked->size > 0 && !asked->alone;
	int r = sw_worker_profile_open(worker, &profile, err);
	if (r < 0)
		return r;
	cpu->adding.profile = profile;
	sw_worker_life_begin(&worker->life, asked->end_ns);
	int64_t next_ns = sw_clock_ns();
	while (lasts && r == 0) {
		next_ns += FETCH_NS;
		/* Once more at the end: what was sampled until then. */
		lasts = sw_worker_life_wait(&worker->life, worker->stream, next_ns);
		r = sw_worker_ids_are_same(&cpu->ids) ? fetch(worker, cpu, err) : -SW_E_CHANGED;
	}
	if (r == -SW_E_NOMEM || r == -SW_E_IO)
		return r;
	sw_recorder_settle(cpu->recorder);
	const struct sw_recorder_totals *t = sw_recorder_totals(cpu->recorder);
	const int64_t now_ns = sw_clock_ns();
	const struct sw_worker_round round = {.n_samples = t->n_samples,
					      .n_lost = t->n_lost,
					      .by_events = true,
					      .end_ns = now_ns,
					      .until_ns = now_ns};
	sw_names_keep(worker->names_fd,
		      worker->session); /* the next one begins after our profile */
	r = sw_worker_life_flush(&worker->life, worker->stream, err);
	return r < 0 ? r
		     : sw_worker_profile_finish(worker, profile, head, &round, worker->stream, err);
}
