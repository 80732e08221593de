/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/code/dynamic.h"
#include "copies/record.h"
#include "runtimes/clr/code/names.h"
#include "snapshot/live.h"

#include <snapwalk/clock.h>
#include <string.h>

enum { METHODS_MAX = 1 << 16 };

/* A method that was met. */
struct sw_clr_dynamic {
	uint64_t start_avma, method_avma, header_avma;
	const char *name; /* the arena's */
	int64_t first_ns;
	uint64_t copy; /* the last one for which it was looked at */
};

void sw_clr_dynamic_renew(struct sw_clr *clr)
{
	clr->n_copies++;
	clr->renewed_ns = sw_clock_ns();
}

static bool is_same(struct sw_clr *clr, const struct sw_clr_dynamic *d,
		    const struct sw_clr_code *code)
{
	const struct sw_clr_name_layout *at = &clr->names->at[code->runtime - clr->runtimes];
	return d->method_avma == code->method_avma && d->header_avma == code->header_avma &&
	       sw_clr_dynamic_name_holds(sw_live_memory(clr->snap), at, d->method_avma, d->name);
}

static uint64_t dynamic_add(struct sw_clr *clr, const struct sw_clr_code *code)
{
	struct sw_clr_names *names = sw_clr_names_get(clr);
	if (names == NULL || code->method_avma == 0 || clr->n_dynamic >= METHODS_MAX)
		return 0;
	struct sw_clr_dynamic *grown =
		sw_grow(clr->dynamic, clr->n_dynamic, &clr->dynamic_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return 0;
	clr->dynamic = grown;
	struct sw_clr_dynamic *d = &grown[clr->n_dynamic];
	*d = (struct sw_clr_dynamic){
		.start_avma = code->start_avma,
		.method_avma = code->method_avma,
		.header_avma = code->header_avma,
		.name = sw_clr_method_name(names, &names->at[code->runtime - clr->runtimes],
					   code->method_avma)};
	/* A name that is kept may be that of a method that was there before. */
	if (d->name == NULL || !is_same(clr, d, code))
		return 0;
	d->first_ns = sw_clock_ns();
	d->copy = clr->n_copies;
	if (sw_map64_put(&clr->by_start, code->start_avma, clr->n_dynamic + 1) < 0)
		return 0;
	return ++clr->n_dynamic;
}

bool sw_clr_dynamic_find(struct sw_clr *clr, const struct sw_cursor *cursor,
			 const struct sw_clr_code *code, uint64_t *ret_cookie)
{
	uint64_t number = 0;
	*ret_cookie = 0;
	if (!sw_clr_is_doubtful(clr, code) || code->kind == SW_CLR_CODE_STUB)
		return false;
	bool known = sw_map64_get(&clr->by_start, code->start_avma, &number) && number != 0;
	if (known && clr->dynamic[number - 1].copy != clr->n_copies &&
	    !is_same(clr, &clr->dynamic[number - 1], code))
		known = false;
	if (!known)
		number = dynamic_add(clr, code);
	if (number == 0)
		return true;
	clr->dynamic[number - 1].copy = clr->n_copies;
	if (clr->dynamic[number - 1].first_ns < sw_copy_made_ns(cursor->thread, clr->renewed_ns))
		*ret_cookie = number;
	return true;
}

const char *sw_clr_dynamic_name(const struct sw_clr *clr, uint64_t cookie)
{
	return cookie != 0 && cookie <= clr->n_dynamic ? clr->dynamic[cookie - 1].name : NULL;
}
