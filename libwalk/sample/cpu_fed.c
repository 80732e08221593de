/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/cpu_fed.h"
#include "errors.h"
#include "sample/cpu_base.h"
#include "sample/cpu_batch.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <snapwalk/host.h>
#include <stdlib.h>

int sw_cpu_sampler_create_fed(struct sw_context *ctx, struct sw_target *target,
			      const struct sw_cpu_feed *feed, struct sw_cpu_sampler **ret,
			      struct sw_error *err)
{
	struct sw_cpu_sampler *s;
	int r = sw_cpu_sampler_new(ctx, target, &s, err);
	if (r < 0)
		return r;
	s->feed = *feed;
	s->copies = feed->copies;
	s->stack_bytes = feed->stack_bytes;
	s->base_old = true;
	*ret = s;
	return 0;
}

void sw_cpu_sampler_feed(struct sw_cpu_sampler *s, const struct sw_copy *copy)
{
	s->n_left += s->has_fed;
	s->copy = *copy;
	s->has_fed = true;
}

void sw_cpu_sampler_note_code(struct sw_cpu_sampler *s, bool program)
{
	s->code_came = true;
	s->program_came |= program;
}

const char *sw_cpu_sampler_no_recipe(const struct sw_cpu_sampler *s)
{
	bool lacks = sw_cpu_is_fed(s) ? s->snap != NULL : s->lacks_runtime;
	return lacks && s->no_copies.code != 0 ? s->no_copies.message : "";
}

uint64_t sw_cpu_sampler_native(const struct sw_cpu_sampler *s)
{
	return s->n_native;
}

uint64_t sw_cpu_sampler_unanswered(const struct sw_cpu_sampler *s)
{
	return s->n_unanswered;
}

/* The look that is over; what the recipe needed was waited for by what the maps have. */
static void rests_note(struct sw_cpu_sampler *s, int r)
{
	const struct sw_pages *pages = s->base != NULL ? &s->base->priv->pages : NULL;
	const struct sw_rests_look look = {.waited_ns = pages != NULL ? pages->waited_ns
								      : s->waits.waited_ns,
					   .copied_ns = pages != NULL ? pages->copied_ns
								      : s->waits.copied_ns,
					   .failed = r < 0};
	if (sw_rests_note(&s->rests, s->feed.rests, sw_clock_ns(), &look))
		s->n_unanswered += r < 0;
}

/*
 * Maps of the program that the copy is of. Which program they are of nobody can tell where it became another one
 * meanwhile: the copy is left out then, and the maps are read again for the next one. False: that is so.
 */
static int fed_renew(struct sw_cpu_sampler *s, bool *ret_usable, struct sw_error *err)
{
	int r = sw_cpu_base_take(s, err);
	rests_note(s, r);
	if (r < 0) {
		sw_cpu_base_drop(s);
		s->base_old = true;
		return r;
	}
	s->feed.drain(s->feed.arg);
	*ret_usable = !s->program_came;
	s->base_old = s->program_came;
	s->exec_id = s->copy.head.exec_id;
	return 0;
}

int sw_cpu_sampler_look(struct sw_cpu_sampler *s, uint64_t exec_id, struct sw_error *err)
{
	bool usable;
	s->copy.head.exec_id = exec_id;
	int r = fed_renew(s, &usable, err);
	return r == -SW_E_EXITED || r == -SW_E_NOMEM ? r : 0;
}

int sw_cpu_fed_take(struct sw_cpu_sampler *s, bool *ret_new_program, struct sw_error *err)
{
	const struct sw_sampled_head *head = &s->copy.head;
	bool usable = true;
	s->n = 0;
	if (!s->has_fed)
		return 0;
	s->has_fed = false;
	if (s->snap != NULL && head->exec_id < s->exec_id) {
		s->n_left++;
		return 0;
	}
	*ret_new_program = s->exec_id != 0 && head->exec_id != s->exec_id;
	bool due = s->base_old || s->snap == NULL || s->program_came || *ret_new_program ||
		   sw_cpu_maps_are_old(s, sw_arch_user_pc(&s->copy.regs));
	due = due || sw_cpu_is_announced(s);
	if (due && sw_clock_ns() < s->rests.until_ns) {
		*ret_new_program = false;
		s->n_left++;
		s->n_unanswered++;
		return 0;
	}
	if (due) {
		int r = fed_renew(s, &usable, err);
		if (r < 0)
			s->n_left++;
		if (r < 0)
			return r;
	}
	if (!usable || sw_arch_is_32bit(&s->copy.regs) != (s->snap->process.elf_class == 32)) {
		s->n_left++;
		return 0;
	}
	/* Runtimes may not look for what a recipe did not copy: the process runs on. Where there are none, code that the process
	 * makes by itself is looked at as in samples of one process. */
	bool native = !s->has_recipe || sw_cpu_lacks_frames(s) ||
		      head->generation != s->recipe_generation;
	s->n_native += native && s->has_runtime;
	s->snap->priv->native_only = native && s->has_runtime;
	s->snap->priv->lacks_runtime = native && s->has_runtime;
	s->snap->priv->kept = native ? &s->kept_native : &s->kept;
	sw_cpu_copy_add(s);
	return 0;
}
