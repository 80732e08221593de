/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "sample/cpu_batch.h"

#include <snapwalk/event.h>

const struct sw_event *sw_cpu_sampler_event(const struct sw_cpu_sampler *s)
{
	return &s->happened;
}

const char *sw_event_sampler_no_stacks(const struct sw_cpu_sampler *s)
{
	return s->lacks_stacks ? s->no_stacks.message : "";
}

bool sw_event_sampler_is_over(const struct sw_cpu_sampler *s)
{
	return sw_uprobes_are_over(&s->probes) && sw_target_lives(s->target);
}

bool sw_event_sampler_has_more(const struct sw_cpu_sampler *s)
{
	return s->copies != NULL && sw_copies_has_more(s->copies);
}

struct sw_event_cost sw_event_sampler_cost(const struct sw_cpu_sampler *s)
{
	struct sw_copies_counts counts = {0};
	if (s->copies != NULL)
		counts = sw_copies_counts(s->copies);
	return (struct sw_event_cost){
		.n_probed = counts.n_probed,
		.n_copied = counts.n_timed,
		.ns = counts.ns,
		.n_left_out = counts.n_left_out,
		.n_not_held = counts.n_not_held,
		.n_unsure = counts.n_unsure,
		.n_unknown = counts.n_unknown,
		.n_none = counts.n_none,
		.n_handing = counts.n_begun[0],
		.n_handing_stepped = counts.n_begun[SW_SAMPLED_STEPPED],
		.n_taking = counts.n_begun[SW_SAMPLED_RELEASES],
		.n_taking_stepped = counts.n_begun[SW_SAMPLED_RELEASES | SW_SAMPLED_STEPPED]};
}

int sw_event_sampler_held(const struct sw_cpu_sampler *s,
			  int (*tell)(void *arg, const struct sw_event_held *held), void *arg,
			  struct sw_error *err)
{
	sw_cleanup(sw_iterate_held_end) struct sw_iterate_held_pass pass = {0};
	int r = 0;
	while (r == 0 && !pass.over) {
		long n = sw_copies_held(s->copies, &pass);
		if (n < 0) {
			errno = (int) -n;
			return sw_fail_errno(err, SW_E_IO, "what is outstanding cannot be listed");
		}
		for (long i = 0; r == 0 && i < n; i++) {
			const struct sw_called_outstanding *one = &pass.held[i];
			if ((uint32_t) one->held.count > 0)
				r = tell(arg,
					 &(struct sw_event_held){.handle = one->key.handle,
								 .pair = (unsigned) one->key.pair,
								 .number = one->held.number,
								 .n = (uint32_t) one->held.count});
		}
	}
	return r;
}

void sw_event_sampler_stop(struct sw_cpu_sampler *s)
{
	if (s->copies == NULL)
		return;
	sw_copies_stop(s->copies);
	sw_copies_end(s->copies);
}

void sw_event_sampler_drop(struct sw_cpu_sampler *s)
{
	sw_cpu_rest_count(s);
}

bool sw_event_sampler_take_out(struct sw_cpu_sampler *s)
{
	return sw_uprobes_close_last(&s->probes);
}
