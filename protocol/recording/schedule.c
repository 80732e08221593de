/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <snapwalk/schedule.h>

enum { NS_PER_S = 1000000000 };

void sw_schedule_init(struct sw_schedule *s, int64_t begin_ns, int64_t end_ns, uint32_t rate_hz,
		      uint32_t max_load_percent)
{
	*s = (struct sw_schedule){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.rate_hz = rate_hz,
		.max_load_percent = max_load_percent,
	};
}

static int64_t due_ns(const struct sw_schedule *s, uint64_t number)
{
	uint64_t seconds = number / s->rate_hz, rest = number % s->rate_hz;
	return s->begin_ns + (int64_t) (seconds * NS_PER_S + rest * NS_PER_S / s->rate_hz);
}

/* How many are due in [begin, now). */
static uint64_t due_by(const struct sw_schedule *s, int64_t now_ns)
{
	if (now_ns <= s->begin_ns)
		return 0;
	uint64_t passed_ns = (uint64_t) (now_ns - s->begin_ns);
	uint64_t n =
		passed_ns / NS_PER_S * s->rate_hz + passed_ns % NS_PER_S * s->rate_hz / NS_PER_S;
	return n + (due_ns(s, n) < now_ns);
}

uint64_t sw_schedule_due(const struct sw_schedule *s, int64_t now_ns)
{
	return due_by(s, now_ns < s->end_ns ? now_ns : s->end_ns);
}

void sw_schedule_join(struct sw_schedule *s, int64_t now_ns)
{
	s->next = s->n_wanted = due_by(s, now_ns);
}

int64_t sw_schedule_next_ns(struct sw_schedule *s, double held_ns)
{
	int64_t by_rate_ns = due_ns(s, s->next);
	int64_t by_load_ns = s->begin_ns;
	if (s->max_load_percent > 0)
		by_load_ns += (int64_t) (held_ns * 100 / s->max_load_percent);
	if (by_load_ns > by_rate_ns) {
		uint64_t number = due_by(s, by_load_ns);
		if (by_load_ns > s->end_ns)
			number = due_by(s, s->end_ns);
		if (number > s->next) {
			s->n_left_out += number - s->next;
			s->next = number;
		}
		by_rate_ns = due_ns(s, s->next);
	}
	return by_rate_ns < s->end_ns ? by_rate_ns : s->end_ns;
}

bool sw_schedule_begin(struct sw_schedule *s, int64_t now_ns)
{
	if (now_ns >= s->end_ns)
		return false;
	int64_t interval_ns = NS_PER_S / s->rate_hz;
	uint64_t by_now = due_by(s, now_ns + 1); /* with the one that is due this instant */
	if (by_now > s->next + 1) {
		s->n_lost += by_now - s->next - 1;
		s->next = by_now - 1;
	}
	s->n_late += now_ns - due_ns(s, s->next) > interval_ns / 2;
	s->next++;
	s->n_wanted = s->next;
	return true;
}

void sw_schedule_finish(struct sw_schedule *s, int64_t now_ns)
{
	uint64_t due = sw_schedule_due(s, now_ns);
	if (due > s->next)
		s->n_lost += due - s->next;
	else if (s->next - due <= s->n_left_out) /* put off to a time that did not come */
		s->n_left_out -= s->next - due;
	else
		due = s->next;
	s->n_wanted = due;
}
