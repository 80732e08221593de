/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk/tasks.h"
#include "errors.h"
#include "walk/unthreaded.h"

#include <string.h>

enum { TASK_FRAMES_MAX = 1 << 21 /* of all tasks */ };

struct tasks {
	struct sw_walks *walks;
	struct sw_walker *walker;
	size_t capacity; /* of walks->walks */
	size_t n_frames; /* of the walks that were made for them */
	bool failed_nomem;
	/* Tasks that could not be read, or not be found. */
	size_t n_left;
	const char *left_why;
};

static const char *kept(struct tasks *t, const char *text)
{
	if (text == NULL)
		return NULL;
	const char *copy = sw_arena_strdup(&t->walks->priv->arena, text);
	t->failed_nomem |= copy == NULL;
	return copy;
}

static void info_keep(struct tasks *t, struct sw_walk *walk, const struct sw_task *info)
{
	struct sw_task *copy = sw_arena_alloc(&t->walks->priv->arena, sizeof(*copy));
	t->failed_nomem |= copy == NULL;
	if (copy == NULL)
		return;
	*copy = *info;
	copy->name = kept(t, info->name);
	copy->waits_for_name = kept(t, info->waits_for_name);
	copy->registered = kept(t, info->registered);
	copy->initial_call = kept(t, info->initial_call);
	walk->task = copy;
}

/*
 * A task has the frames that were walked for it, whoever runs it, or those of its thread's walk.
 * Returns false if neither is there. A thread may run several tasks, one within the other: then
 * each but the first has the same frames once more.
 */
static bool task_add(struct tasks *t, const struct sw_walk *made,
		     const struct sw_runtime_task *task)
{
	struct sw_walks *walks = t->walks;
	struct sw_walk again;
	if (made->n_frames == 0) {
		struct sw_walk *of_thread = sw_walk_of_thread(walks, task->info.tid);
		if (of_thread == NULL)
			return false;
		if (of_thread->task == NULL) {
			info_keep(t, of_thread, &task->info);
			return true;
		}
		again = (struct sw_walk){.frames = of_thread->frames,
					 .n_frames = of_thread->n_frames,
					 .end = of_thread->end,
					 .why = of_thread->why,
					 .n_trimmed = of_thread->n_trimmed,
					 .n_left_out = of_thread->n_left_out};
		made = &again;
	}
	struct sw_walk *walk = sw_walk_more(walks, &t->capacity);
	t->failed_nomem |= walk == NULL;
	if (walk == NULL)
		return false;
	*walk = *made;
	t->n_frames += made->n_frames;
	info_keep(t, walk, &task->info);
	return true;
}

static void tasks_of(struct tasks *t, size_t runtime,
		     size_t (*list)(void *state, const char **ret_why))
{
	const struct sw_active *active = &t->walks->priv->active.all[runtime];
	const char *why = NULL;
	size_t n = list(active->state, &why);
	if (why != NULL)
		t->left_why = why;
	for (size_t i = 0; i < n && !t->failed_nomem; i++) {
		struct sw_runtime_task task = {0};
		struct sw_walk walk = {0};
		if (sw_walker_is_late(t->walker)) {
			t->n_left += n - i;
			t->left_why = "the time limit was reached";
			return;
		}
		bool full = t->n_frames > TASK_FRAMES_MAX;
		if (!full && !sw_walker_task(t->walker, runtime, i, &task, &walk))
			continue;
		t->failed_nomem |= walk.n_frames > 0 && walk.frames == NULL;
		if (full || t->failed_nomem || !task_add(t, &walk, &task))
			t->n_left++;
	}
}

static void awaited_of(struct tasks *t, size_t runtime)
{
	const struct sw_active *active = &t->walks->priv->active.all[runtime];
	if (active->runtime != NULL && active->runtime->awaited != NULL)
		tasks_of(t, runtime, active->runtime->awaited);
}

int sw_walk_tasks(struct sw_walks *walks, struct sw_walker *walker)
{
	struct tasks t = {.walks = walks, .walker = walker, .capacity = walks->snap->n_threads + 1};
	const struct sw_active_list *active = &walks->priv->active;
	bool any = false;
	if (t.capacity < walks->n_walks)
		t.capacity = walks->n_walks;
	for (size_t i = 0; i < active->n; i++) {
		const struct sw_active *a = &active->all[i];
		if (a->runtime == NULL || a->runtime->task == NULL)
			continue;
		if (a->runtime->tasks == NULL) {
			awaited_of(&t, i);
			continue;
		}
		any = true;
		tasks_of(&t, i, a->runtime->tasks);
	}
	walks->no_tasks = !any;
	walks->tasks_why = any ? sw_walk_left_why(walks, t.n_left, "task", t.left_why)
			       : "none of CPython, .NET, Ruby and Erlang was found in the process";
	t.failed_nomem |= t.n_left > 0 && walks->tasks_why == NULL;
	if (!any) /* a runtime of which only who awaits is told */
		walks->awaits_why = sw_walk_left_why(walks, t.n_left, "async function", t.left_why);
	t.failed_nomem |= !any && t.n_left > 0 && walks->awaits_why == NULL;
	return t.failed_nomem ? -SW_E_NOMEM : 0;
}

int sw_walk_awaited(struct sw_walks *walks, struct sw_walker *walker)
{
	struct tasks t = {.walks = walks, .walker = walker, .capacity = walks->snap->n_threads + 1};
	const struct sw_active_list *active = &walks->priv->active;
	if (t.capacity < walks->n_walks)
		t.capacity = walks->n_walks;
	for (size_t i = 0; i < active->n; i++)
		awaited_of(&t, i);
	walks->awaits_why = sw_walk_left_why(walks, t.n_left, "async function", t.left_why);
	t.failed_nomem |= t.n_left > 0 && walks->awaits_why == NULL;
	return t.failed_nomem ? -SW_E_NOMEM : 0;
}

static void wait_keep(struct sw_arena *arena, const struct sw_task_wait *wait,
		      struct sw_task_wait *ret, bool *failed_nomem)
{
	*ret = *wait;
	ret->name = sw_arena_strdup(arena, wait->name);
	*failed_nomem |= ret->name == NULL;
	if (wait->owner_name == NULL)
		return;
	ret->owner_name = sw_arena_strdup(arena, wait->owner_name);
	*failed_nomem |= ret->owner_name == NULL;
}

int sw_walk_task_waits(struct sw_walks *walks)
{
	struct sw_arena *arena = &walks->priv->arena;
	const struct sw_active_list *active = &walks->priv->active;
	bool failed_nomem = false;
	for (size_t i = 0; i < active->n && walks->task_waits == NULL; i++) {
		const struct sw_active *a = &active->all[i];
		size_t n = a->runtime != NULL && a->runtime->task_waits != NULL
				   ? a->runtime->task_waits(a->state)
				   : 0;
		if (n == 0)
			continue;
		walks->task_waits = sw_arena_calloc(arena, n, sizeof(*walks->task_waits));
		if (walks->task_waits == NULL)
			return -SW_E_NOMEM;
		for (size_t k = 0; k < n && !failed_nomem; k++) {
			struct sw_task_wait wait;
			a->runtime->task_wait(a->state, k, &wait);
			wait_keep(arena, &wait, &walks->task_waits[walks->n_task_waits++],
				  &failed_nomem);
		}
	}
	return failed_nomem ? -SW_E_NOMEM : 0;
}
