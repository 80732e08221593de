/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names for what is in the tables, the same in all formats. */
#include "profile/frame_name.h"
#include "report/frame_kind.h"

#include <inttypes.h>
#include <string.h>

static const char guess[] = " [guess]";

static void put(struct sw_text *text, const char *s)
{
	sw_text_append(text, s, strlen(s));
}

void sw_profile_frame_name(struct sw_text *text, const struct sw_profile *p,
			   const struct sw_profile_frame *frame)
{
	if (frame->function != 0) {
		put(text, sw_profile_text_of(p, frame->function));
	} else if (frame->module != 0 && !(frame->flags & SW_PROFILE_AVMA)) {
		const struct sw_profile_module *m = sw_profile_module_at(p, frame->module);
		put(text, sw_base_name(sw_profile_text_of(p, m->path)));
		sw_text_printf(text, "+%#" PRIx64, frame->address);
	} else {
		put(text, "[unknown]"); /* an address would differ in every run */
	}
	if (frame->flags & SW_PROFILE_GUESS)
		put(text, guess);
}

bool sw_profile_guess_cut(const char *name, size_t *size)
{
	const size_t n = sizeof(guess) - 1;
	if (*size <= n || memcmp(name + *size - n, guess, n) != 0)
		return false;
	*size -= n;
	return true;
}

const char *sw_profile_state_word(uint32_t state)
{
	static const char *const words[SW_PROFILE_STATES] = {
		[SW_PROFILE_AS_REPORTED] = "unknown", [SW_PROFILE_ON_CPU] = "on_cpu",
		[SW_PROFILE_RUNNABLE] = "runnable",   [SW_PROFILE_BLOCKED] = "blocked",
		[SW_PROFILE_IDLE] = "idle",
	};
	return words[state < SW_PROFILE_STATES ? state : 0];
}

void sw_profile_state_name(struct sw_text *text, const struct sw_profile *p,
			   const struct sw_profile_row *row)
{
	const char *wait = sw_profile_text_of(p, row->wait);
	put(text, row->state == SW_PROFILE_ON_CPU ? "on CPU" : sw_profile_state_word(row->state));
	if (wait[0] != '\0')
		sw_text_printf(text, ": %s", wait);
}

void sw_profile_process_name(struct sw_text *text, const struct sw_profile *p)
{
	if (p->processes.n == 0) {
		put(text, "no process");
		return;
	}
	const struct sw_profile_process *first = sw_profile_process_at(p, 0);
	put(text, sw_profile_text_of(p, first->comm));
	sw_text_printf(text, ", pid %" PRIu32, first->pid);
	if (p->processes.n > 1)
		sw_text_printf(text, " and %zu others", p->processes.n - 1);
}

const struct sw_profile_process *sw_profile_process_of(const struct sw_profile *p,
						       const struct sw_profile_thread *thread)
{
	uint32_t index;
	return sw_profile_process_index(p, thread, &index) ? sw_profile_process_at(p, index) : NULL;
}

uint64_t sw_profile_period_ns(const struct sw_profile *p)
{
	bool on_cpu = p->info.mode != NULL && strcmp(p->info.mode, "cpu") == 0;
	if (!on_cpu && p->info.duration_ns > 0 && p->info.n_samples > 0)
		return (uint64_t) p->info.duration_ns / p->info.n_samples;
	if (p->count > 0 && p->ns > 0)
		return p->ns / p->count;
	return p->info.rate_hz > 0 ? UINT64_C(1000000000) / p->info.rate_hz : 0;
}

bool sw_profile_by_time(const struct sw_profile *p)
{
	return p->info.mode != NULL && strcmp(p->info.mode, "off") == 0;
}

uint64_t sw_profile_row_ns(const struct sw_profile *p, const struct sw_profile_row *row)
{
	uint64_t ns = row->ns;
	if (p->ns == 0 &&
	    (__builtin_mul_overflow(row->count, sw_profile_period_ns(p), &ns) || ns > INT64_MAX))
		ns = INT64_MAX;
	return ns;
}
