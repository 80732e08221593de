/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prepare.h"
#include "cleanup.h"
#include "errors.h"
#include "policy/authorize.h"
#include "rules/load.h"
#include "rules/parse.h"
#include "sandbox/roles.h"
#include "worker/ondump.h"

#include <pwd.h>
#include <sys/stat.h>

/* A name that a file gave is a mistake when nobody has it; one that is only our default is not: no
 * member, no caller. */
static int check_group(const struct sw_config *config, sw_config_say_fn *note, void *arg,
		       struct sw_error *err)
{
	gid_t gid;
	char text[256];
	if (sw_group_find(config->group, &gid))
		return 0;
	if (sw_config_key_given(config, "Group"))
		return sw_fail(err, SW_E_NOT_FOUND, "there is no group %s (Group=)", config->group);
	(void) snprintf(text, sizeof(text),
			"there is no group %.100s (Group=): only root may capture "
			"every process",
			config->group); /* cut is fine: it is prose */
	if (note != NULL)
		note(arg, text);
	return 0;
}

static int check_trigger_user(const struct sw_config *config, sw_config_say_fn *note, void *arg,
			      struct sw_error *err)
{
	char text[256];
	if (getpwnam(config->trigger_user) != NULL)
		return 0;
	if (sw_config_key_given(config, "TriggerUser"))
		return sw_fail(err, SW_E_NOT_FOUND, "there is no user %s (TriggerUser=)",
			       config->trigger_user);
	(void) snprintf(
		text, sizeof(text), /* cut is fine: it is prose */
		"there is no user %.100s (TriggerUser=): snapwalk-gate answers alerts with 403, "
		"unless it runs as root",
		config->trigger_user);
	if (note != NULL)
		note(arg, text);
	return 0;
}

static int check_rules(struct sw_config *config, sw_config_say_fn *say, void *arg,
		       struct sw_error *err)
{
	struct sw_rules rules = {0};
	struct stat st;
	char text[512];
	if (sw_config_key_given(config, "RulesDirectory") &&
	    (stat(config->rules_dir, &st) < 0 || !S_ISDIR(st.st_mode))) {
		(void) snprintf(text, sizeof(text), /* cut is fine: it is prose */
				"RulesDirectory=%.400s: there is no such directory",
				config->rules_dir);
		config->n_problems++;
		say(arg, text);
	}
	int r = sw_rules_load(config->rules_dir, say, arg, &rules, err);
	config->n_problems += rules.n_problems;
	if (r == 0 && rules.n_unsafe > 0)
		r = sw_fail(err, SW_E_INVALID, "%s: a mistake in RequireExe= of a rule",
			    config->rules_dir);
	sw_rules_deinit(&rules);
	return r;
}

int sw_prepare(struct sw_config *config, sw_config_say_fn *say, sw_config_say_fn *note, void *arg,
	       struct sw_error *err)
{
	int rules = check_rules(config, say, arg, err); /* said before the first error ends it */
	if (config->n_unsafe > 0)
		return sw_fail(err, SW_E_INVALID,
			       "the configuration has a mistake in what protects (%zu): see above",
			       config->n_unsafe);
	int r = rules;
	if (r == 0)
		r = sw_sandbox_check_user(config, err);
	if (r == 0 && !config->user_mode)
		r = check_group(config, note, arg, err);
	if (r == 0 && !config->user_mode)
		r = check_trigger_user(config, note, arg, err);
	return r < 0 ? r : sw_on_dump_check(config, err);
}
