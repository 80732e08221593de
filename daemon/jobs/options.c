/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/options.h"
#include "rpc/params.h"
#include "cleanup.h"

#include <snapwalk/symbolize.h>
#include <snapwalk/walk.h>

/* As they come. */
struct options_params {
	int64_t max_stop_ms, timeout_ms, depth, stack_bytes;
	int symbols, stop;
	bool inlines, store;
};

static const char *const symbol_levels[] = {
	[SW_SYMBOLS_LINES] = "lines",
	[SW_SYMBOLS_NAMES] = "names",
	[SW_SYMBOLS_NONE] = "none",
	NULL,
};

static const struct sw_param options_table[] = {
	{"stop", SW_PARAM_CHOICE, offsetof(struct options_params, stop),
	 .choices = sw_config_stop_modes},
	{"max_stop_ms", SW_PARAM_INT, offsetof(struct options_params, max_stop_ms), .min = 1,
	 .max = UINT32_MAX},
	{"timeout_ms", SW_PARAM_INT, offsetof(struct options_params, timeout_ms), .min = 1,
	 .max = UINT32_MAX},
	{"depth", SW_PARAM_INT, offsetof(struct options_params, depth), .min = 1,
	 .max = SW_MAX_FRAMES},
	{"stack_bytes", SW_PARAM_INT, offsetof(struct options_params, stack_bytes), .min = 4096,
	 .max = 64 << 20},
	{"symbols", SW_PARAM_CHOICE, offsetof(struct options_params, symbols),
	 .choices = symbol_levels},
	{"inlines", SW_PARAM_BOOL, offsetof(struct options_params, inlines), .required = false},
	{"store", SW_PARAM_BOOL, offsetof(struct options_params, store), .required = false},
};

/* The requested value is an upper bound, and so is what the configuration allows. */
static uint32_t bounded(int64_t asked, uint32_t fallback, uint32_t most)
{
	int64_t value = asked > 0 ? asked : fallback;
	return value < most ? (uint32_t) value : most;
}

/* Stop=never is for every caller. */
static uint32_t stop_mode(int asked, uint32_t configured)
{
	return asked < 0 || configured == SW_STOP_NEVER ? configured : (uint32_t) asked;
}

bool sw_options_read(const struct sw_config *config, struct json_object *options,
		     struct sw_job_options *ret, bool *store, const char **ret_bad)
{
	struct options_params p = {.symbols = SW_SYMBOLS_LINES,
				   .stop = -1,
				   .inlines = true,
				   .store = *store};
	if (options != NULL &&
	    !sw_params_read(options, options_table, SW_ARRAY_SIZE(options_table), &p, ret_bad))
		return false;
	*ret = (struct sw_job_options){
		.stack_bytes = (uint64_t) p.stack_bytes,
		.max_stop_ms = bounded(p.max_stop_ms, config->max_stop_ms, config->max_stop_ms),
		.names_timeout_ms =
			bounded(p.timeout_ms, config->names_timeout_ms, config->timeout_ms),
		.depth = (uint32_t) p.depth,
		.symbols = (uint32_t) p.symbols,
		.no_inlines = !p.inlines,
		.stop = stop_mode(p.stop, config->stop),
	};
	*store = p.store;
	return true;
}
