/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prepare.h"
#include "cleanup.h"
#include "errors.h"
#include "in_root.h"
#include "policy/authorize.h"
#include "rules/load.h"
#include "rules/parse.h"
#include "sandbox/roles.h"
#include "launcher/ondump.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* r, with where the key was given before the message. */
static int at_key(const struct sw_config *config, const char *name, int r, struct sw_error *err)
{
	const struct sw_config_place *place = sw_config_key_place(config, name);
	if (r < 0 && place != NULL && err != NULL) {
		char message[sizeof(place->path) + sizeof(err->message) + 16];
		(void) snprintf(message, sizeof(message), "%s:%u: %s", place->path, place->line,
				err->message);
		message[sizeof(err->message) - 1] = '\0'; /* cut is fine: it is prose */
		memcpy(err->message, message, sizeof(err->message));
	}
	return r;
}

/* A mistake of a key that was given, which does not keep the daemon from starting. */
static void problem_at(struct sw_config *config, const char *name, const char *value,
		       const char *what, sw_config_say_fn *say, void *arg)
{
	const struct sw_config_place *place = sw_config_key_place(config, name);
	char text[512];
	if (place == NULL)
		return;
	(void) snprintf(text, sizeof(text), "%s:%u: %s=%.150s: %s", place->path, place->line, name,
			value, what); /* cut is fine: it is prose */
	config->n_problems++;
	say(arg, text);
}

/* A name that a file gave is a mistake when nobody has it; one that is only our default is not: no
 * member, no caller. */
static int check_group(const struct sw_config *config, sw_config_say_fn *note, void *arg,
		       struct sw_error *err)
{
	gid_t gid;
	char text[256];
	if (sw_group_find(config->group, &gid))
		return 0;
	if (sw_config_key_place(config, "Group") != NULL)
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
	if (sw_config_key_place(config, "TriggerUser") != NULL)
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

/* Where there is none of the default's name, nothing is shipped: nobody has to be told. */
static int check_ship_user(const struct sw_config *config, struct sw_error *err)
{
	if (getpwnam(config->ship_user) != NULL || sw_config_key_place(config, "ShipUser") == NULL)
		return 0;
	return sw_fail(err, SW_E_NOT_FOUND, "there is no user %s (ShipUser=)", config->ship_user);
}

/* The unit hides directories from the daemon, which process 1 sees: policy/program.h. */
static bool is_missing(const char *path)
{
	struct stat st;
	if (stat(path, &st) == 0 || errno != ENOENT)
		return false;
	sw_cleanup(sw_close_p) int root_fd = open("/proc/1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return true;
	sw_cleanup(sw_close_p) int fd = sw_in_root_open(root_fd, path, O_PATH | O_CLOEXEC);
	return fd < 0 && errno == ENOENT;
}

/* A program that is not there yet may come, whatever its name; a typing mistake and a pattern look the same. */
static void check_deny(const struct sw_config *config, sw_config_say_fn *note, void *arg)
{
	char text[512];
	for (char **word = config->deny; note != NULL && word != NULL && *word != NULL; word++) {
		if ((*word)[0] != '/' || !is_missing(*word))
			continue;
		(void) snprintf(
			text, sizeof(text), /* cut is fine: it is prose */
			"there is no program %.300s (Deny=) now, as far as the daemon sees%s",
			*word,
			strpbrk(*word, "[]{}\\:|$%") != NULL
				? "; patterns, escapes, variables and lists with ':' are not known"
				: "");
		note(arg, text);
	}
}

static int check_rules(struct sw_config *config, sw_config_say_fn *say, void *arg,
		       struct sw_error *err)
{
	struct sw_rules rules = {0};
	struct stat st;
	if (stat(config->rules_dir, &st) < 0 || !S_ISDIR(st.st_mode))
		problem_at(config, "RulesDirectory", config->rules_dir,
			   "there is no such directory", say, arg);
	int r = sw_rules_load(config->rules_dir, say, arg, &rules, err);
	config->n_problems += rules.n_problems;
	if (r == 0 && rules.n_events > 0 &&
	    (config->user_mode || config->events == SW_EVENTS_NOBODY)) {
		char text[512];
		(void) snprintf(text, sizeof(text), /* cut is fine: it is prose */
				"%.300s: rules with OnEvent= do nothing, as %s", config->rules_dir,
				config->user_mode ? "snapwalkd --user has no privileges for events"
						  : "Events=no");
		config->n_problems++;
		say(arg, text);
	}
	for (size_t i = 0;
	     r == 0 && config->function_events == SW_EVENTS_NOBODY && i < rules.n_events; i++) {
		char text[512];
		if (rules.events[i].event.options.what != SW_EVENT_FUNCTION)
			continue;
		(void) snprintf(text, sizeof(text), /* cut is fine: it is prose */
				"%.300s: rule %.64s does nothing, as FunctionEvents=no",
				config->rules_dir, rules.events[i].name);
		config->n_problems++;
		say(arg, text);
	}
	if (r == 0 && rules.n_unsafe > 0)
		r = sw_fail(err, SW_E_INVALID, "%s: a mistake in RequireExe= of a rule",
			    config->rules_dir);
	sw_rules_deinit(&rules);
	return r;
}

static void check_on_dump(struct sw_config *config, sw_config_say_fn *say, void *arg)
{
	const char *program = config->on_dump != NULL ? config->on_dump[0] : NULL;
	struct stat st;
	if (program != NULL && program[0] == '/' &&
	    (stat(program, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0))
		problem_at(config, "OnDump", program, "no program that can be run", say, arg);
	if (program == NULL && getpwnam(config->on_dump_user) == NULL)
		problem_at(config, "OnDumpUser", config->on_dump_user, "there is no such user", say,
			   arg);
}

int sw_prepare(struct sw_config *config, sw_config_say_fn *say, sw_config_say_fn *note, void *arg,
	       struct sw_error *err)
{
	int rules = check_rules(config, say, arg, err); /* said before the first error ends it */
	check_on_dump(config, say, arg);
	check_deny(config, note, arg);
	if (config->n_unsafe > 0)
		return sw_fail(err, SW_E_INVALID,
			       "the configuration has a mistake in what protects (%zu): see above",
			       config->n_unsafe);
	int r = rules;
	if (r == 0)
		r = at_key(config, "User", sw_sandbox_check_user(config, err), err);
	if (r == 0 && !config->user_mode)
		r = at_key(config, "Group", check_group(config, note, arg, err), err);
	if (r == 0 && !config->user_mode)
		r = at_key(config, "TriggerUser", check_trigger_user(config, note, arg, err), err);
	if (r == 0 && !config->user_mode)
		r = at_key(config, "ShipUser", check_ship_user(config, err), err);
	if (r == 0) {
		bool by_user = config->on_dump != NULL && config->on_dump[0][0] == '/';
		r = at_key(config, by_user ? "OnDumpUser" : "OnDump", sw_on_dump_check(config, err),
			   err);
	}
	return r;
}
