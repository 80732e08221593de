/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options that one subcommand has, or those that ask the daemon, and those of all. */
#include "common/option_command.h"
#include "cleanup.h"
#include "common/option_values.h"
#include "common/pair_file.h"
#include "parts.h"

#include <snapwalk/event_text.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_DURATION_S = 24 * 3600,
	MIN_INTERVAL_MS = 100,
	MAX_INTERVAL_MS = 60 * 1000,
};

/* ---- sample ------------------------------------------------------------------------------- */

bool sw_set_mode(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = sw_choice_parse(value, "wall|cpu|off", usage);
	o->mode = (enum sw_record_mode) n;
	o->mode_given = true;
	return n >= 0;
}

bool sw_set_rate(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_u32_parse(value, 1, SW_RATE_HZ_MOST, &o->rate_hz, usage);
}

bool sw_set_duration(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->duration_given = true;
	return sw_seconds_parse(value, MAX_DURATION_S, &o->duration_s, usage);
}

bool sw_set_by_process(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->by_process = true;
	return true;
}

bool sw_set_max_load(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_u32_parse(value, 1, 100, &o->max_load_percent, usage);
}

/* ---- top ---------------------------------------------------------------------------------- */

bool sw_set_interval(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_u32_parse(value, MIN_INTERVAL_MS, MAX_INTERVAL_MS, &o->interval_ms, usage);
}

bool sw_set_count(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_u32_parse(value, 0, SW_LIMIT_MOST, &o->count, usage);
}

bool sw_set_sort(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = sw_choice_parse(value, "cpu|state|since|name", usage);
	o->top_sort = (enum sw_top_sort) n;
	return n >= 0;
}

bool sw_set_filter(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	enum { FILTER_MAX = 63 }; /* as much as can be typed */
	if (value[0] == '\0' || strlen(value) > FILTER_MAX)
		return sw_usage_fail(usage, "give 1 to 63 bytes of text", "it cannot be this");
	for (const char *c = value; *c != '\0'; c++)
		if ((unsigned char) *c < ' ' || *c == 127)
			return sw_usage_fail(usage, "give a part of a name, a state or a function",
					     "a control character is in it");
	o->text = value;
	return true;
}

enum { SLOWER_MAX = 1000000 /* of any unit */ };

/* ---- on ----------------------------------------------------------------------------------- */

bool sw_set_errno(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->errno_given = true;
	if (strcmp(value, "any") == 0)
		return true;
	o->errno_number = sw_errno_number(value);
	if (o->errno_number == 0)
		return sw_usage_fail(usage, "give a name as in errno(3), EMFILE, or any",
				     "there is no such error");
	return true;
}

bool sw_set_each(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->each = true;
	return true;
}

bool sw_set_then(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (strcmp(value, "dump") != 0)
		return sw_usage_fail(usage, "give --then dump", "'%s' is unknown", value);
	o->then_dump = true;
	return true;
}

bool sw_set_event_args(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->event_args = true;
	return true;
}

bool sw_set_return(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->event_return = true;
	return true;
}

bool sw_set_slower(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	char *end = NULL;
	unsigned long n = value[0] >= '0' && value[0] <= '9' ? strtoul(value, &end, 10) : 0;
	for (size_t i = 0; n > 0 && n <= SLOWER_MAX && i < SW_ARRAY_SIZE(units); i++)
		if (strcmp(end, units[i].unit) == 0)
			o->slower_ns = (int64_t) n * units[i].ns;
	return o->slower_ns > 0 || sw_usage_fail(usage, "give a time as 500us, 50ms or 2s",
						 "it is 0, too large, or has no unit");
}

bool sw_set_larger(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_size_parse(value, 1, UINT64_C(1) << 47, &o->larger_bytes, usage);
}

bool sw_set_every(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_u32_parse(value, 1, SW_LIMIT_MOST, &o->every, usage);
}

static bool set_pairs(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	sw_pair_list_destroy(o->pairs);
	o->pairs = calloc(1, sizeof(*o->pairs));
	if (o->pairs == NULL)
		return sw_usage_fail_nomem(usage);
	o->of = SW_LEAKS_PAIRS;
	o->of_text = value;
	return strchr(value, '/') != NULL && !sw_ends_with(value, ".conf")
		       ? sw_pair_parse(o->pairs, value, NULL, usage)
		       : sw_pair_file_read(o->pairs, value, usage);
}

bool sw_set_of(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->of_given = true;
	for (size_t i = 0; i < SW_LEAKS_PAIRS; i++)
		if (strcmp(value, sw_leaks_words[i]) == 0) {
			o->of = (enum sw_leaks_of) i;
			return true;
		}
	return set_pairs(o, value, usage);
}

bool sw_set_events(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_u32_parse(value, 1, UINT32_MAX, &o->count, usage);
}

/* ---- daemon ------------------------------------------------------------------------------- */

bool sw_set_socket(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give the path of a socket", "the value is empty");
	o->socket_path = value;
	return true;
}

bool sw_set_since(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	char text[SW_SINCE_SIZE];
	o->since = value;
	return sw_since_parse(value, 0, text, usage);
}

bool sw_set_limit(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->limit_given = true;
	return sw_u32_parse(value, 1, SW_LIMIT_MOST, &o->limit, usage);
}

bool sw_set_max_overhead(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->max_overhead_given = true;
	return sw_u32_parse(value, 1, SW_OVERHEAD_PERCENT_MOST, &o->max_overhead_percent, usage);
}

bool sw_set_lock(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	o->address = value;
	o->lock = true;
	return sw_address_parse(value, &o->address_avma, usage);
}

bool sw_set_unpin(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->unpin = true;
	return true;
}

bool sw_set_states(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give states with commas between",
				     "the value is empty");
	o->states = value;
	return true;
}

bool sw_set_soft(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->soft = true;
	return true;
}

/* ---- all ---------------------------------------------------------------------------------- */

bool sw_set_help(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->help = true;
	return true;
}

bool sw_set_version(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->version = true;
	return true;
}
