/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk/active.h"
#include "errors.h"
#include "snapshot/snapshot.h"
#include "walk/remembered.h"

#include <stdlib.h>
#include <string.h>

static struct sw_active of_runtime(const struct sw_runtime_ops *ops)
{
	return (struct sw_active){.runtime = ops,
				  .repeats = ops->repeats,
				  .name = ops->name,
				  .kind = ops->kind,
				  .sources = ops->sources,
				  .kinds = ops->kinds,
				  .trust = ops->trust,
				  .weak_trust = ops->weak_trust,
				  .step = ops->step,
				  .owns = ops->owns,
				  .names = ops->names};
}

static struct sw_active of_unwinder(const struct sw_unwinder_ops *ops)
{
	return (struct sw_active){.unwinder = ops,
				  .repeats = ops->repeats,
				  .name = ops->name,
				  .kind = ops->kind,
				  .sources = ops->sources,
				  .kinds = ops->kinds,
				  .trust = ops->trust,
				  .weak_trust = ops->weak_trust,
				  .step = ops->step,
				  .owns = ops->owns,
				  .names = ops->names};
}

static int failed(const char *name, int code, struct sw_error *err)
{
	return sw_fail(err, -code, "%s: %s", name, sw_error_text(code));
}

static bool has_frames(const struct sw_runtime_ops *ops)
{
	return ops->step != NULL || ops->owns != NULL || ops->frames != NULL;
}

/* The state of a runtime that the copies before this one have used. */
static bool kept_find(const struct sw_snapshot *snap, const struct sw_runtime_ops *ops,
		      void **ret_state)
{
	*ret_state = sw_slots_find(snap->priv->kept, ops);
	return *ret_state != NULL && ops->renew != NULL;
}

static int runtime_attach(const struct sw_snapshot *snap, const struct sw_runtime_ops *ops,
			  struct sw_active_list *list, bool *ret_absent, struct sw_error *err)
{
	struct sw_active active = of_runtime(ops);
	if (snap->priv->kept != NULL && kept_find(snap, ops, &active.state)) {
		active.kept = true;
		list->all[list->n++] = active;
		return 0;
	}
	if (!ops->probe(snap))
		return 0;
	if (list->only_lasting && ops->renew == NULL && has_frames(ops)) {
		list->left_out = true;
		return 0;
	}
	int r = ops->open(snap, sw_slots_find(&snap->priv->found, ops), &active.state);
	if (r < 0)
		return failed(ops->name, r, err);
	*ret_absent |= active.state == NULL;
	if (active.state != NULL)
		list->all[list->n++] = active;
	void **kept = active.state != NULL && snap->priv->kept != NULL && ops->renew != NULL
			      ? sw_slots_get(snap->priv->kept, ops, ops->close)
			      : NULL;
	if (kept != NULL) {
		*kept = active.state;
		list->all[list->n - 1].kept = true;
	}
	return 0;
}

static int unwinder_attach(const struct sw_snapshot *snap, const struct sw_unwinder_ops *ops,
			   struct sw_active_list *list, struct sw_error *err)
{
	struct sw_active active = of_unwinder(ops);
	if (ops->probe != NULL && !ops->probe(snap))
		return 0;
	if (list->only_lasting && ops->attach != NULL && !ops->lasts) {
		list->left_out = true;
		return 0;
	}
	int r = 0;
	if (ops->attach != NULL)
		r = ops->attach(snap, sw_slots_find(&snap->priv->found, ops), &active.state);
	if (r < 0)
		return failed(ops->name, r, err);
	list->all[list->n++] = active;
	return 0;
}

/* ---- kept for the next copy ------------------------------------------------------------------ */

struct sw_active_kept *sw_active_kept(const struct sw_snapshot *snap,
				      const struct sw_tables *tables)
{
	return snap->priv->kept != NULL ? sw_slots_find(snap->priv->kept, tables) : NULL;
}

static void kept_destroy(void *arg)
{
	struct sw_active_kept *kept = arg;
	sw_active_detach(&kept->list);
	free(kept->runtimes);
	free(kept);
}

/* Whether nothing that it has found depends on the copy: of a runtime only what renew() lets go. */
static bool is_lasting(const struct sw_active *a)
{
	if (a->runtime != NULL)
		return a->kept || !has_frames(a->runtime);
	/* An unwinder that repeats has nothing of the copy, though its first walk alone makes it, without privileges. */
	return a->unwinder->attach == NULL || a->unwinder->lasts || a->unwinder->repeats;
}

/* Without memory for it all are asked again. */
static void list_keep(const struct sw_snapshot *snap, const struct sw_tables *tables,
		      struct sw_active_list *list, bool absent)
{
	for (size_t i = 0; i < list->n; i++)
		if (!is_lasting(&list->all[i]))
			return;
	void **slot = sw_slots_get(snap->priv->kept, tables, kept_destroy);
	struct sw_active_kept *kept = slot != NULL ? calloc(1, sizeof(*kept)) : NULL;
	if (kept == NULL)
		return;
	kept->list = *list;
	kept->snap = snap;
	kept->absent = absent;
	*slot = kept;
	for (size_t i = 0; i < list->n; i++)
		list->all[i].kept = true;
}

int sw_active_attach(const struct sw_snapshot *snap, const struct sw_tables *tables,
		     struct sw_active_list *list, struct sw_error *err)
{
	const struct sw_active_kept *kept = sw_active_kept(snap, tables);
	const struct sw_tables *all = sw_tables_of(tables, snap);
	bool absent = false; /* a runtime may come that is not there yet */
	int r = 0;
	if (kept != NULL) {
		list->n = kept->list.n;
		memcpy(list->all, kept->list.all, list->n * sizeof(*list->all));
		for (size_t i = 0; i < list->n; i++)
			list->all[i].kept = true;
		return 0;
	}
	for (size_t i = 0; r == 0 && i < all->n_runtimes; i++)
		if (!snap->priv->native_only || all->runtimes[i]->resource != NULL)
			r = runtime_attach(snap, all->runtimes[i], list, &absent, err);
	for (size_t i = 0; r == 0 && i < all->n_unwinders; i++)
		r = unwinder_attach(snap, all->unwinders[i], list, err);
	if (r == 0 && snap->priv->kept != NULL && !list->left_out)
		list_keep(snap, tables, list, absent);
	return r;
}

void sw_active_detach(struct sw_active_list *list)
{
	while (list->n > 0) {
		const struct sw_active *a = &list->all[--list->n];
		if (a->kept)
			continue;
		if (a->runtime != NULL)
			a->runtime->close(a->state);
		else if (a->unwinder->detach != NULL)
			a->unwinder->detach(a->state);
	}
}

void sw_active_open(const struct sw_snapshot *snap, const struct sw_tables *tables)
{
	struct sw_active_list list = {.only_lasting = true};
	if (snap->priv->kept == NULL || snap->priv->kept->n > 0)
		return;
	(void) sw_active_attach(snap, tables, &list, NULL); /* else the first walk says why */
	sw_active_detach(&list);
}

static bool takes_part(const struct sw_active_kept *kept, const struct sw_runtime_ops *ops)
{
	for (size_t i = 0; i < kept->list.n; i++)
		if (kept->list.all[i].runtime == ops)
			return true;
	return false;
}

/* Whether a runtime is there by now that was not: to find that out costs more than some walks. */
static bool runtime_has_come(struct sw_active_kept *kept, const struct sw_tables *tables)
{
	enum { COPIES = 64 };
	const struct sw_snapshot *snap = kept->snap;
	const struct sw_tables *all = sw_tables_of(tables, snap);
	if (!kept->absent || ++kept->n_copies < COPIES)
		return false;
	kept->n_copies = 0;
	for (size_t i = 0; i < all->n_runtimes; i++) {
		const struct sw_runtime_ops *ops = all->runtimes[i];
		void *state = NULL;
		if ((snap->priv->native_only && ops->resource == NULL) || takes_part(kept, ops) ||
		    !ops->probe(snap))
			continue;
		(void) ops->open(snap, sw_slots_find(&snap->priv->found, ops),
				 &state); /* a failure leaves no state */
		if (state == NULL)
			continue;
		ops->close(state);
		return true;
	}
	return false;
}

bool sw_active_renew(struct sw_slots *kept)
{
	bool all = true;
	for (size_t i = 0; i < kept->n; i++) {
		const struct sw_slot *slot = &kept->all[i];
		if (sw_remembered_is(slot->key) || slot->value == NULL)
			continue;
		if (slot->destroy == kept_destroy) {
			all &= !runtime_has_come(slot->value, slot->key);
			continue;
		}
		const struct sw_runtime_ops *ops = slot->key;
		all &= ops->renew(slot->value);
	}
	if (!all)
		sw_slots_deinit(kept);
	return all;
}

const char *sw_active_by(const struct sw_active *active, unsigned source)
{
	for (unsigned i = 0; active->sources != NULL && active->sources[i] != NULL; i++)
		if (i == source)
			return active->sources[i];
	return active->name;
}

size_t sw_active_identify(const struct sw_active *active, struct sw_runtime *ret, size_t max)
{
	if (active->runtime != NULL)
		return active->runtime->identify != NULL
			       ? active->runtime->identify(active->state, ret, max)
			       : 0;
	return active->unwinder->identify != NULL
		       ? active->unwinder->identify(active->state, ret, max)
		       : 0;
}

void sw_active_explain(const struct sw_active *active, const struct sw_snapshot *snap,
		       uint64_t avma, struct sw_text *text)
{
	if (active->runtime != NULL && active->runtime->explain != NULL)
		active->runtime->explain(active->state, snap, avma, text);
	else if (active->unwinder != NULL && active->unwinder->explain != NULL)
		active->unwinder->explain(active->state, snap, avma, text);
}
