/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options that say what is looked at: processes, core files, fixtures. */
#include "common/option_target.h"
#include "common/option_values.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool add_want(struct sw_options *o, enum sw_want_kind kind, const char *value,
		     struct sw_usage *usage)
{
	if (value[0] == '\0')
		return sw_usage_fail(usage, "give what to look for", "the value is empty");
	/* sw_options_parse() made space for one per word of the command line. */
	o->wants[o->n_wants++] = (struct sw_want){.kind = kind, .text = value};
	return true;
}

bool sw_set_comm(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_COMM, value, usage);
}

bool sw_set_unit(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_UNIT, value, usage);
}

bool sw_set_cgroup(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_CGROUP, value, usage);
}

bool sw_set_container(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	/* Shorter ones match by accident; 12 digits are what the tools show, 64 the whole. */
	size_t length = strspn(value, "0123456789abcdef");
	if (value[length] != '\0' || length < 6 || length > 64)
		return sw_usage_fail(usage, "give 6 to 64 lower-case hexadecimal digits of its id",
				     "'%s' is not a container id", value);
	return add_want(o, SW_WANT_CONTAINER, value, usage);
}

bool sw_set_core(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_CORE, value, usage);
}

bool sw_set_fixture(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return add_want(o, SW_WANT_FIXTURE, value, usage);
}

bool sw_set_pid(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	uint64_t pid;
	if (!sw_number_parse(value, 1, INT_MAX, &pid, usage))
		return false;
	o->wants[o->n_wants++] =
		(struct sw_want){.kind = SW_WANT_PID, .pid = (pid_t) pid, .text = value};
	return true;
}

bool sw_set_exe(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	(void) usage;
	o->exe = value;
	return true;
}

bool sw_set_images(struct sw_options *o, const char *value, struct sw_usage *usage)
{
	return sw_directory_add(&o->images, &o->n_images, value, usage);
}
