/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options that say what is printed, and how. */
#include "common/option_output.h"
#include "common/option_values.h"
#include "cleanup.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool sw_set_json(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->format = SW_FORMAT_JSON;
	o->profile_format = SW_PROFILE_JSON;
	o->format_given = true;
	return true;
}

bool sw_set_format(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = sw_choice_parse(value, "text|json|folded|html", usage);
	if (n < 0)
		return false;
	o->format = (enum sw_format) n;
	o->format_given = true;
	return true;
}

bool sw_set_profile_format(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_profile_format values[] = {SW_PROFILE_TEXT,       SW_PROFILE_FOLDED,
							SW_PROFILE_JSON,       SW_PROFILE_PPROF,
							SW_PROFILE_SPEEDSCOPE, SW_PROFILE_FIREFOX,
							SW_PROFILE_HTML,       SW_PROFILE_OTLP,
							SW_PROFILE_SVG};
	int n = sw_choice_parse(value, SW_PROFILE_FORMATS, usage);
	if (n < 0)
		return false;
	o->profile_format = values[n];
	o->format_given = true;
	return true;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), n_end = strlen(end);
	return n > n_end && strcasecmp(name + n - n_end, end) == 0;
}

bool sw_format_by_name(struct sw_options *o, struct sw_usage *usage)
{
	/* The first that fits: ".json" is the end of others, too. */
	static const struct {
		const char *end, *format;
	} ends[] = {
		{".speedscope.json", "speedscope"},
		{".firefox.json", "firefox"},
		{".json", "json"},
		{".pb.gz", "pprof"},
		{".pprof", "pprof"},
		{".html", "html"},
		{".folded", "folded"},
		{".collapsed", "folded"},
		{".svg", "svg"},
		{".otlp", "otlp"},
		{".txt", "text"},
	};
	enum {
		BY_NAME = SW_FOR_DUMP | SW_FOR_SAMPLE | SW_FOR_SHOW | SW_FOR_DIFF | SW_FOR_LEAKS |
			  SW_FOR_ON | SW_FOR_SYMBOLIZE | SW_FOR_MERGE
	};
	if (o->output == NULL || o->format_given || !(o->command->bit & BY_NAME))
		return true;
	for (size_t i = 0; i < SW_ARRAY_SIZE(ends); i++) {
		if (!ends_with(o->output, ends[i].end))
			continue;
		/* Folded stacks have gone to such files for long: pipelines rely on it. */
		if ((o->command->bit & SW_FOR_SAMPLE) && strcmp(ends[i].format, "text") == 0)
			return true;
		o->format_named = true;
		if (o->command->bit & SW_FOR_SAMPLE)
			return sw_set_profile_format(o, ends[i].format, usage);
		if (o->command->bit & (SW_FOR_SHOW | SW_FOR_LEAKS | SW_FOR_ON | SW_FOR_SYMBOLIZE))
			return sw_set_show_format(o, ends[i].format, usage);
		bool ok = sw_set_format(o, ends[i].format, usage);
		if (!ok) {
			(void) snprintf(usage->about, sizeof(usage->about), "%s", o->output);
			return sw_usage_fail(
				usage,
				o->command->bit == SW_FOR_DIFF
					? "give a name with .json or .txt"
					: "give a name with .json, .html, .folded or .txt",
				"%s cannot write %s", o->command->name, ends[i].format);
		}
		return ok;
	}
	return true;
}

/* The format of dumps and profiles: formats for profiles alone are refused when it is a dump. */
bool sw_set_show_format(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (!sw_set_profile_format(o, value, usage))
		return false;
	o->format = o->profile_format == SW_PROFILE_JSON     ? SW_FORMAT_JSON
		    : o->profile_format == SW_PROFILE_FOLDED ? SW_FORMAT_FOLDED
		    : o->profile_format == SW_PROFILE_HTML   ? SW_FORMAT_HTML
							     : SW_FORMAT_TEXT;
	return true;
}

bool sw_set_diff(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give a profile that --format json made",
				     "the value is empty");
	o->diff = value;
	return true;
}

bool sw_set_output(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give a file name, or - for standard output",
				     "the value is empty");
	o->output = value;
	return true;
}

static bool set_directory(const char **ret, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give a directory", "the value is empty");
	*ret = value;
	return true;
}

bool sw_set_keep(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return set_directory(&o->keep, value, usage);
}

bool sw_set_modules_store(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return set_directory(&o->modules_store, value, usage);
}

bool sw_set_color(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	int n = sw_choice_parse(value, "auto|always|never", usage);
	o->color = (enum sw_color) n;
	return n >= 0;
}

bool sw_set_no_group(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->no_group = true;
	return true;
}

bool sw_set_verbose(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->verbose = true;
	return true;
}

bool sw_set_all(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->all = true;
	return true;
}

bool sw_set_time(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	static const enum sw_text_time values[] = {SW_TEXT_TIME_LOCAL, SW_TEXT_TIME_UTC,
						   SW_TEXT_TIME_START};
	int n = sw_choice_parse(value, "local|utc|start", usage);
	if (n < 0)
		return false;
	o->time = values[n];
	tzset(); /* reads a file, which the command may not do later */
	return true;
}

bool sw_set_state(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0' || value[strspn(value, "RSDTtZXI?")] != '\0')
		return sw_usage_fail(usage, "give letters as ps shows them: R, S, D, T, t, Z",
				     "'%s' is not a state", value);
	o->filter.states = value;
	return true;
}

bool sw_set_function(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	regex_t compiled;
	if (value[0] == '\0' || regcomp(&compiled, value, REG_EXTENDED | REG_NOSUB) != 0)
		return sw_usage_fail(usage, "give one as grep -E takes it",
				     "'%s' is not a regular expression", value);
	regfree(&compiled);
	o->filter.function = value;
	return true;
}

bool sw_set_thread(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give a name, or a pattern as 'worker-*'",
				     "the value is empty");
	o->filter.name = value;
	return true;
}

bool sw_set_merge(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) value;
	(void) usage;
	o->merge = true;
	return true;
}

/* "host", or "rank=file": what processes are called besides. */
bool sw_set_label(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	enum { NOUN_MAX = 20 };
	static const enum sw_merge_label rules[] = {SW_MERGE_BY_PID,       SW_MERGE_BY_NAME,
						    SW_MERGE_BY_HOST,      SW_MERGE_BY_UNIT,
						    SW_MERGE_BY_CONTAINER, SW_MERGE_BY_FILE,
						    SW_MERGE_BY_ORDER};
	const char *equals = strchr(value, '=');
	size_t size = equals != NULL ? (size_t) (equals - value) : 0;
	int n = sw_choice_parse(equals != NULL ? equals + 1 : value, SW_LABEL_RULES, usage);
	if (n < 0)
		return false;
	if (equals != NULL &&
	    (size == 0 || size > NOUN_MAX ||
	     strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != size))
		return sw_usage_fail(usage, "give a noun of 1 to 20 letters, as in rank=file",
				     "the noun before '=' is not one word");
	free(o->noun);
	o->noun = equals != NULL ? strndup(value, size) : NULL;
	o->label = rules[n];
	o->label_given = true;
	if (equals != NULL && o->noun == NULL)
		return sw_usage_fail_nomem(usage);
	return true;
}

bool sw_set_reason(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) usage;
	o->reason = value;
	return true;
}
