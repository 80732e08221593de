/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample/recipes.h"
#include "errors.h"
#include "sample/light.h"
#include "snapshot/live.h"
#include "snapshot/snapshot.h"

/* Whether a runtime is there after all: probes look at maps and modules only. */
static bool is_there(const struct sw_snapshot *base, const struct sw_runtime_ops *runtime)
{
	void *state = NULL;
	if (runtime->open(base, NULL, &state) == 0 && state == NULL)
		return false;
	if (state != NULL)
		runtime->close(state);
	return true;
}

static int runtime_add(const struct sw_snapshot *base, const struct sw_runtime_ops *runtime,
		       struct sw_recipe *recipe, struct sw_error *err)
{
	const char *why = "what it has of its frames";
	if (!sw_light_has_frames(runtime) || !runtime->probe(base))
		return 0;
	if (runtime->recipe != NULL && runtime->recipe(base, sw_live_memory(base), recipe, &why))
		return 0;
	if (runtime->recipe == NULL && !is_there(base, runtime))
		return 0;
	return sw_fail(err, SW_E_INVALID,
		       "process %d has %s, and %s cannot be copied by the kernel",
		       (int) base->process.pid, runtime->name, why);
}

bool sw_sample_has_runtime(const struct sw_snapshot *base, const struct sw_tables *tables)
{
	tables = sw_tables_of(tables, base);
	for (size_t i = 0; i < tables->n_runtimes; i++)
		if (sw_light_has_frames(tables->runtimes[i]) && tables->runtimes[i]->probe(base) &&
		    is_there(base, tables->runtimes[i]))
			return true;
	return sw_snapshot_has_kind(base, SW_MODULE_PE);
}

bool sw_sample_is_unpublished(const struct sw_snapshot *base, const struct sw_tables *tables)
{
	tables = sw_tables_of(tables, base);
	for (size_t i = 0; i < tables->n_runtimes; i++)
		if (tables->runtimes[i]->unpublished && tables->runtimes[i]->probe(base) &&
		    is_there(base, tables->runtimes[i]))
			return true;
	return false;
}

int sw_sample_recipe(const struct sw_snapshot *base, const struct sw_tables *tables,
		     struct sw_recipe *ret, struct sw_error *err)
{
	struct sw_recipe recipe = {0};
	/* Images of .NET's assemblies are such modules, too; Wine has no recipe. */
	if (sw_snapshot_has_kind(base, SW_MODULE_PE) && !sw_sample_is_unpublished(base, tables))
		return sw_fail(err, SW_E_INVALID, "process %d has images of Windows code",
			       (int) base->process.pid);
	tables = sw_tables_of(tables, base);
	for (size_t i = 0; i < tables->n_runtimes; i++) {
		int r = runtime_add(base, tables->runtimes[i], &recipe, err);
		if (r < 0)
			return r;
	}
	if (!sw_recipe_finish(&recipe))
		return sw_fail(err, SW_E_INVALID,
			       "process %d has more runtimes than the kernel copies frames of",
			       (int) base->process.pid);
	*ret = recipe;
	return 0;
}
