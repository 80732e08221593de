/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/cpu_base.h"
#include "capture/returns.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/read.h"
#include "iterate/tasks.h"
#include "sample/borrowed.h"
#include "sample/called.h"
#include "sample/light.h"
#include "sample/recipes.h"
#include "snapshot/snapshot.h"
#include "walk/tables.h"

#include <fcntl.h>
#include <snapwalk/clock.h>
#include <string.h>

enum {
	UNKNOWN_NS = 1000000000,   /* maps are read again for unknown code once in so long */
	ANNOUNCED_NS = 1000000000, /* the least time between looks for runtimes that come later */
};

void sw_cpu_base_drop(struct sw_cpu_sampler *s)
{
	sw_slots_deinit(&s->kept_native);
	sw_slots_deinit(&s->kept); /* before the snapshot that they are of */
	sw_borrowed_destroy(s->snap, false);
	s->snap = NULL;
	sw_snapshot_destroy(s->base);
	s->base = NULL;
	s->generation++;
}

/* ---- the recipe ------------------------------------------------------------------------------ */

/* Code other than native can only be sampled with the program in the kernel. */
static int native_check(const struct sw_cpu_sampler *s, struct sw_error *err)
{
	if (sw_light_is_possible(s->base, &sw_tables))
		return 0;
	if (s->no_copies.code != 0) {
		if (err != NULL)
			*err = s->no_copies;
		return -SW_E_INVALID;
	}
	return sw_fail(err, SW_E_INVALID,
		       "perf events give stacks of native code only, and process %d has "
		       "other",
		       (int) s->target->pid);
}

static int copies_open(struct sw_cpu_sampler *s, struct sw_error *err)
{
	struct sw_called_setup called;
	struct sw_copies_options how = {.stack_bytes = s->stack_bytes, .n_held = s->wanted.n_held};
	if (s->by_calls) {
		s->elf_class = s->base->process.elf_class;
		int r = sw_called_prepare(&s->wanted, s->elf_class == 32, &called, &how.calls, err);
		if (r < 0)
			return r;
		how.called = &called;
		how.linked = s->linked = sw_cpu_has_probes(s) && s->wanted.probe_open == NULL &&
					 sw_uprobes_linked(s->target);
	}
	return sw_copies_open(&how, &s->copies, err);
}

/* Without a recipe there are native frames. */
static int recipe_lend(struct sw_cpu_sampler *s, struct sw_error *err)
{
	struct sw_recipe recipe = {0};
	s->no_copies = (struct sw_error){0};
	int r = sw_sample_recipe(s->base, &sw_tables, &recipe, &s->no_copies);
	if (r == 0 && recipe.steps.n_steps > 0)
		r = sw_copies_sample(s->copies, s->target->pid, &recipe.steps, &s->no_copies);
	s->has_recipe = r == 0 && recipe.steps.n_steps > 0;
	s->has_runtime =
		s->has_recipe ||
		(r < 0 && (r != -SW_E_INVALID || sw_sample_has_runtime(s->base, &sw_tables)));
	if (!s->has_recipe)
		sw_copies_know(s->copies, s->target->pid);
	s->recipe = s->has_recipe ? recipe : (struct sw_recipe){0};
	s->recipe_generation = s->has_recipe ? sw_copies_generation(s->copies, s->target->pid) : 0;
	return r == -SW_E_NOMEM ? sw_fail_nomem(err) : 0;
}

/* Events whose process is not read later: the kernel copies stacks of native code, with the addresses that probes have
 * replaced, and nothing of a runtime. */
static int fixed_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	static const struct sw_recipe none;
	if (!sw_light_is_native(s->base, &sw_tables))
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "process %d has code other than native: its events have stacks "
			       "only where the process may be read at each of them",
			       (int) s->target->pid);
	int r = copies_open(s, err);
	if (r == 0)
		r = sw_copies_sample(s->copies, s->target->pid, &none.steps, err);
	return r;
}

/* Finds what the kernel is to copy of frames: nothing where native frames are enough, and there is no more. */
static int recipe_find(struct sw_cpu_sampler *s, struct sw_recipe *ret)
{
	s->no_copies = (struct sw_error){0};
	int r = sw_sample_recipe(s->base, &sw_tables, ret, &s->no_copies);
	s->lacks_runtime = r == -SW_E_INVALID && s->native_frames;
	return s->lacks_runtime ? 0 : r;
}

/* The program is loaded once. Where that is refused, events without it have to do; system calls have no others. */
static int recipe_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	struct sw_recipe recipe = {0};
	if (sw_cpu_is_fed(s))
		return recipe_lend(s, err);
	if (s->fixed && !s->by_calls) /* nothing of the process may be read later */
		return 0;
	if (s->fixed)
		return fixed_take(s, err);
	int r = recipe_find(s, &recipe);
	if (r == 0 && s->copies == NULL)
		r = copies_open(s, &s->no_copies);
	if (r == 0 && s->has_recipe && memcmp(&recipe, &s->recipe, sizeof(recipe)) == 0)
		return 0;
	if (r == 0)
		r = sw_copies_sample(s->copies, s->target->pid, &recipe.steps, &s->no_copies);
	s->has_recipe = r == 0;
	s->recipe = recipe;
	/* Events that are open have the program: there is no way back. */
	if (r < 0 && (s->events != NULL || s->by_calls)) {
		if (err != NULL)
			*err = s->no_copies;
		return r;
	}
	if (r < 0) {
		sw_copies_close(s->copies);
		s->copies = NULL;
	}
	return r == -SW_E_NOMEM ? sw_fail_nomem(err) : 0;
}

/* Lends the copies to the snapshot. Constant things are read later, and proven again by who needs them. */
static void copies_lend(struct sw_cpu_sampler *s)
{
	struct sw_snapshot_priv *priv = s->snap->priv;
	priv->by_copies = true;
	priv->native_only = s->fixed || s->lacks_runtime;
	priv->lacks_runtime = s->lacks_runtime;
	priv->unpublished = sw_sample_is_unpublished(s->base, &sw_tables);
	priv->kept = &s->kept;
	priv->task_fd = s->target->task_fd;
	if (s->base->priv->mem_fd >= 0 && !s->fixed)
		priv->mem_fd = fcntl(s->base->priv->mem_fd, F_DUPFD_CLOEXEC, 0);
	priv->live_dead = priv->mem_fd < 0;
	s->snap->ranges = s->ranges;
}

/* ---- maps and modules ------------------------------------------------------------------------ */

/* Which of the programs that a process becomes one after another it is now; 0: not known. */
static uint64_t exec_id_read(const struct sw_cpu_sampler *s)
{
	struct sw_iterate_record record;
	struct sw_iterate_pass pass = {0};
	sw_cleanup(sw_close_p) int fd = -EBADF;
	if (s->exec_link_fd < 0 || sw_iterate_open(s->exec_link_fd, &fd, NULL) < 0 ||
	    sw_iterate_read(fd, &record, 1, &pass) < 0 || pass.n != 1)
		return 0;
	return record.exec_id;
}

int sw_cpu_exec_link_open(struct sw_cpu_sampler *s, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int program_fd = -EBADF;
	int r = sw_iterate_load(SW_ITERATE_THREADS, &program_fd, err);
	return r < 0 ? r
		     : sw_iterate_link_thread(program_fd, s->target->pid, &s->exec_link_fd, err);
}

/* Takes the maps of one program, whose number is known then. */
static int maps_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	enum { TRIES = 4 };
	int r = 0;
	s->program_came = false;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = exec_id_read(s);
		sw_cpu_base_drop(s);
		s->waits = (struct sw_capture_waits){
			.most_ms = sw_cpu_is_fed(s)
					   ? sw_rests_patience_ms(s->feed.rests, sw_clock_ns())
					   : 0};
		r = sw_capture_maps(s->ctx, s->target, &sw_tables, &s->waits, &s->base, err);
		s->base_exec_id = before == exec_id_read(s) ? before : 0;
		if (r < 0 || s->base_exec_id != 0 || !s->by_calls)
			break;
	}
	return r;
}

int sw_cpu_base_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	int r = maps_take(s, err);
	if (r < 0)
		return r;
	if (s->events != NULL && s->by_calls && s->base->process.elf_class != s->elf_class)
		return sw_fail(
			err, SW_E_INVALID,
			"process %d is a %d-bit program now, whose system calls are not followed",
			(int) s->target->pid, s->base->process.elf_class);
	r = s->copies != NULL || s->events == NULL ? recipe_take(s, err) : 0;
	/* Which ones a thread had at the instant of a sample nobody can tell afterwards; copies say it. Beside samples by the
	 * clock there are looks at threads that wait, which do not. */
	if (r == 0 && (s->copies == NULL || s->beside_looks) && sw_returns_page(s->base) != NULL)
		return sw_fail(err, SW_E_INVALID,
			       "a tool probes or has probed functions of process %d (uprobes), and "
			       "perf events do not "
			       "tell the return addresses that the kernel has replaced for it",
			       (int) s->target->pid);
	if (r == 0 && s->copies == NULL)
		r = native_check(s, err);
	if (r == 0)
		r = sw_borrowed_create(s->base, &s->snap, err);
	if (r < 0)
		return r;
	if (s->copies != NULL)
		copies_lend(s);
	else
		s->snap->priv->native_only = true;
	s->snap->threads = s->threads;
	s->base_old = s->code_came = false;
	s->base_ns = sw_clock_ns();
	return 0;
}

int sw_cpu_base_renew(struct sw_cpu_sampler *s, struct sw_error *err)
{
	struct sw_error why = {0};
	int r = sw_cpu_base_take(s, &why);
	if (r == 0)
		return 0;
	bool lives = sw_target_lives(s->target);
	if (!lives)
		r = sw_fail(&why, SW_E_EXITED, "process %d exited", (int) s->target->pid);
	if (!s->by_calls || r == -SW_E_NOMEM) {
		if (err != NULL)
			*err = why;
		return r;
	}
	sw_cpu_base_drop(s);
	s->base_old = s->code_came = false;
	s->base_ns = sw_clock_ns();
	s->no_stacks = why;
	s->lacks_stacks |= lives;
	return 0;
}

bool sw_cpu_base_is_due(const struct sw_cpu_sampler *s)
{
	const int64_t again_ns = INT64_C(10) * UNKNOWN_NS;
	if (s->base_old || s->snap != NULL)
		return s->base_old;
	return s->no_stacks.code == 0 ||
	       (sw_clock_ns() - s->base_ns >= again_ns && sw_target_lives(s->target));
}

static bool is_known_code(const struct sw_cpu_sampler *s, uint64_t pc)
{
	const struct sw_map *map = sw_snapshot_map(s->snap, pc);
	return map != NULL && (map->prot & SW_MAP_EXEC);
}

bool sw_cpu_maps_are_old(const struct sw_cpu_sampler *s, uint64_t pc)
{
	bool unknown = !is_known_code(s, pc);
	return (s->code_came || unknown) &&
	       sw_clock_ns() - s->base_ns > (s->code_came ? SW_CPU_CODE_NS : UNKNOWN_NS);
}

bool sw_cpu_is_announced(struct sw_cpu_sampler *s)
{
	const int64_t every_ns = (sw_cpu_is_fed(s) ? INT64_C(10) : 1) * ANNOUNCED_NS;
	return !s->fixed && sw_sample_code_is_announced(&s->code, s->target, s->base, every_ns);
}
