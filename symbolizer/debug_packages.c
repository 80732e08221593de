/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For modules whose symbols are not here: the package to install. */
#include "arena.h"
#include "cleanup.h"
#include "debugfile.h"
#include "packages/find.h"
#include "provider.h"

#include <snapwalk/clock.h>
#include <string.h>

enum { UNITS_MAX = 16 }; /* that are looked for in one call; a dump shows few of them */
/* An answer that was to be there in a moment does not wait for a slow disk. */
static const int64_t SEARCH_NS = 100000000;

static bool wants_package(const struct sw_unit *unit, struct sw_local *local)
{
	const char *path = sw_module_path(unit->module);
	return !unit->package_tried && unit->kind == 1 << SW_MODULE_ELF &&
	       unit->source <= SW_SOURCE_DYNSYM && sw_package_may_have(path) &&
	       strchr(path, '\n') == NULL && sw_unit_is_here(unit, local);
}

static int take(struct sw_unit *unit, const struct sw_package_want *want, struct sw_arena *arena)
{
	char name[SW_PACKAGE_NAME_MAX];
	unit->package_tried = true;
	if (want->name[0] == '\0')
		return 0;
	sw_package_debug_name(want->name, name);
	unit->debug_package = name[0] != '\0' ? sw_arena_strdup(arena, name) : NULL;
	return name[0] != '\0' && unit->debug_package == NULL ? -SW_E_NOMEM : 0;
}

int sw_debug_packages_find(struct sw_unit *const *units, size_t n, const char *lists,
			   const struct sw_request *request)
{
	struct sw_package_want wants[UNITS_MAX];
	struct sw_unit *of[UNITS_MAX];
	size_t n_wants = 0;
	int64_t deadline_ns = sw_clock_ns() + SEARCH_NS;
	int r = 0;
	for (size_t i = 0; i < n && n_wants < UNITS_MAX; i++) {
		if (!wants_package(units[i], request->local))
			continue;
		wants[n_wants].path = sw_module_path(units[i]->module);
		of[n_wants++] = units[i];
	}
	if (request->deadline_ns != 0 && request->deadline_ns < deadline_ns)
		deadline_ns = request->deadline_ns;
	if (n_wants > 0)
		sw_packages_find(lists, wants, n_wants, deadline_ns);
	for (size_t i = 0; i < n_wants && r == 0; i++)
		r = take(of[i], &wants[i], request->arena);
	return r;
}
