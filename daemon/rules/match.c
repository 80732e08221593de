/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a rule matches an alert. Labels come from the network: they choose only among processes
 * that the rule allows, and only as text of a shape that its kind of target has. */
#include "rules/match.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <fnmatch.h>
#include <string.h>

enum {
	GLOB_VALUE_MAX =
		256,       /* fnmatch() may take value length ^ stars steps; see rules/values.h */
	PID_MAX = 4194304, /* PID_MAX_LIMIT, include/linux/threads.h, Linux 6.1 */
	PID_DIGITS_MAX = 7,
	UNIT_MAX = 255, /* UNIT_NAME_MAX less the NUL, systemd 252, src/basic/unit-def.h */
	CGROUP_MAX = 1024,
	COMM_MAX = 15,      /* TASK_COMM_LEN less the NUL, include/linux/sched.h */
	CONTAINER_MIN = 12, /* what docker ps and podman ps print */
	CONTAINER_MAX = 64,
};

#define DIGITS  "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/* VALID_CHARS_WITH_AT of systemd 252, src/basic/unit-name.c */
#define UNIT_CHARACTERS DIGITS LETTERS ":-_.\\@"

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool made_of(const char *value, const char *characters, size_t min, size_t max)
{
	size_t length = strnlen(value, max + 1);
	return length >= min && length <= max && strspn(value, characters) == length;
}

static bool pid_valid(const char *value)
{
	return made_of(value, DIGITS, 1, PID_DIGITS_MAX) && value[0] != '0' &&
	       strtoul(value, NULL, 10) <= PID_MAX;
}

static bool unit_valid(const char *value)
{
	return made_of(value, UNIT_CHARACTERS, 1, UNIT_MAX) && value[0] != '.';
}

/* An absolute path below the root, without empty components, "." or "..". */
static bool cgroup_valid(const char *value)
{
	if (!made_of(value, UNIT_CHARACTERS "/+=,~", 2, CGROUP_MAX) || value[0] != '/')
		return false;
	for (const char *part = value; *part != '\0';) {
		part++; /* the slash */
		size_t length = strcspn(part, "/");
		if (length == 0 || (length == 1 && part[0] == '.') ||
		    (length == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		part += length;
	}
	return true;
}

static bool comm_valid(const char *value)
{
	size_t length = strnlen(value, COMM_MAX + 1);
	if (length == 0 || length > COMM_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		if (value[i] < 0x20 || value[i] > 0x7e)
			return false;
	return true;
}

static bool container_valid(const char *value)
{
	return made_of(value, DIGITS "abcdef", CONTAINER_MIN, CONTAINER_MAX);
}

static const struct {
	const char *kind;
	bool (*valid)(const char *value);
} kinds[] = {
	{"pid", pid_valid},   {"unit", unit_valid},           {"cgroup", cgroup_valid},
	{"comm", comm_valid}, {"container", container_valid},
};

bool sw_rule_value_valid(const char *kind, const char *value)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].valid(value);
	return false;
}

/* ---- conditions ------------------------------------------------------------------------------ */

bool sw_rule_host_matches(const char *value, const char *host_name)
{
	size_t length = strlen(value), host_length = strlen(host_name);
	const char *colon = strrchr(value, ':');
	if (colon != NULL && strspn(colon + 1, DIGITS) == strlen(colon + 1))
		length = (size_t) (colon - value);
	if (length > 0 && value[length - 1] == '.')
		length--; /* the root of all names */
	if (length == 0)
		return false;
	if (length == host_length && strncasecmp(value, host_name, length) == 0)
		return true;
	return length == strcspn(host_name, ".") && strncasecmp(value, host_name, length) == 0;
}

static bool condition_holds(const char *condition, sw_label_fn *label, void *arg)
{
	char name[128];
	size_t length = strcspn(condition, "=");
	bool glob = length > 0 && condition[length - 1] == '~';
	size_t name_length = glob ? length - 1 : length;
	if (condition[length] == '\0' || name_length >= sizeof(name))
		return false;
	memcpy(name, condition, name_length);
	name[name_length] = '\0';
	const char *wanted = condition + length + 1, *value = label(arg, name);
	if (value == NULL)
		return false;
	if (!glob)
		return strcmp(value, wanted) == 0;
	return strnlen(value, GLOB_VALUE_MAX + 1) <= GLOB_VALUE_MAX &&
	       fnmatch(wanted, value, 0) == 0;
}

static bool labels_match(const struct sw_rule *rule, sw_label_fn *label, void *arg)
{
	for (char **condition = rule->match; *condition != NULL; condition++)
		if (!condition_holds(*condition, label, arg))
			return false;
	return true;
}

static bool in_cooldown(const struct sw_rule *rule, int64_t now_ns)
{
	int64_t since_ns;
	if (rule->last_ns == INT64_MIN || __builtin_sub_overflow(now_ns, rule->last_ns, &since_ns))
		return false;
	return since_ns < (int64_t) rule->cooldown_ms * 1000000;
}

/* ---- targets --------------------------------------------------------------------------------- */

void sw_rule_target_deinit(struct sw_rule_target *target)
{
	free(target->kind);
	free(target->value);
	*target = (struct sw_rule_target){0};
}

/* %{label} and %%. False when a label is not there: this target is not meant. */
static bool expand(const char *template, sw_label_fn *label, void *arg, struct sw_text *ret)
{
	for (const char *p = template; *p != '\0';) {
		size_t plain = strcspn(p, "%");
		sw_text_append(ret, p, plain);
		p += plain;
		if (*p == '\0')
			break;
		if (p[1] == '%') {
			sw_text_append(ret, "%", 1);
			p += 2;
			continue;
		}
		char name[128];
		const char *end = p[1] == '{' ? strchr(p, '}') : NULL;
		if (end == NULL || (size_t) (end - p - 2) >= sizeof(name))
			return false;
		memcpy(name, p + 2, (size_t) (end - p - 2));
		name[end - p - 2] = '\0';
		const char *value = label(arg, name);
		if (value == NULL || strlen(value) > CGROUP_MAX)
			return false;
		sw_text_append(ret, value, strlen(value));
		p = end + 1;
	}
	return true;
}

/* 1, 0 when this one is not meant, -SW_E_NOMEM. */
static int target_make(const char *target, sw_label_fn *label, void *arg,
		       struct sw_rule_target *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text value = {0};
	size_t length = strcspn(target, ":");
	if (target[length] == '\0')
		return 0;
	sw_cleanup(sw_free_p) char *kind = strndup(target, length);
	if (kind == NULL)
		return -SW_E_NOMEM;
	bool expanded = expand(target + length + 1, label, arg, &value);
	if (value.failed)
		return -SW_E_NOMEM;
	if (!expanded || value.data == NULL || !sw_rule_value_valid(kind, value.data))
		return 0;
	ret->kind = sw_take_ptr(kind);
	ret->value = sw_take_ptr(value.data);
	return 1;
}

int sw_rule_match(const struct sw_rule *rule, const char *source, sw_label_fn *label, void *arg,
		  const char *host_name, int64_t now_ns, struct sw_rule_target *ret,
		  const char **ret_reason)
{
	const char *host = label(arg, rule->host_label), *reason = NULL;
	if (rule->source != NULL && strcmp(rule->source, source) != 0)
		reason = "source";
	else if (!labels_match(rule, label, arg))
		reason = "labels";
	else if (host == NULL || !sw_rule_host_matches(host, host_name))
		reason = "host";
	else if (in_cooldown(rule, now_ns))
		reason = "cooldown";
	for (char **target = rule->targets; reason == NULL && *target != NULL; target++) {
		int rc = target_make(*target, label, arg, ret);
		if (rc != 0)
			return rc;
	}
	*ret_reason = reason != NULL ? reason : "no target";
	return 0;
}

bool sw_rule_exe_allowed(const struct sw_rule *rule, const char *exe)
{
	static const char deleted[] = " (deleted)";
	char path[4096];
	if (rule->require_exe == NULL)
		return true;
	size_t length = strlen(exe), suffix = strlen(deleted);
	/* The file was replaced, by an update say; the process runs what was there. */
	if (length > suffix && strcmp(exe + length - suffix, deleted) == 0)
		length -= suffix;
	if (length == 0 || length >= sizeof(path))
		return false;
	memcpy(path, exe, length);
	path[length] = '\0';
	for (const char *p = rule->require_exe; *p != '\0'; p += strspn(p, "\n")) {
		char pattern[4096];
		size_t n = strcspn(p, "\n");
		if (n >= sizeof(pattern))
			return false;
		memcpy(pattern, p, n);
		pattern[n] = '\0';
		if (fnmatch(pattern, path, FNM_PATHNAME) == 0)
			return true;
		p += n;
	}
	return false;
}

bool sw_rule_exe_path(const struct sw_rule *rule, char *ret, size_t size)
{
	size_t length = rule->require_exe != NULL ? strcspn(rule->require_exe, "\n") : 0;
	ret[0] = '\0';
	if (length == 0 || length >= size || strcspn(rule->require_exe, "*?[\\") < length)
		return false;
	memcpy(ret, rule->require_exe, length);
	ret[length] = '\0';
	return true;
}
