/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A rules file and an alert's labels: lines "name=value" behind a line of two dashes. Whatever the
 * labels are, a target has the shape of its kind.
 */
#include "fuzz.h"
#include "rules/match.h"
#include "rules/parse.h"
#include "cleanup.h"

#include <string.h>

enum { LABELS_MAX = 64 };

struct labels {
	const char *lines[LABELS_MAX];
	size_t n;
};

static void said(void *arg, const char *message)
{
	check(strncmp(message, "fuzz.conf:", 10) == 0);
}

static const char *label(void *arg, const char *name)
{
	const struct labels *labels = arg;
	size_t length = strlen(name);
	for (size_t i = 0; i < labels->n; i++)
		if (strncmp(labels->lines[i], name, length) == 0 && labels->lines[i][length] == '=')
			return labels->lines[i] + length + 1;
	return NULL;
}

static struct labels labels_split(char *text)
{
	struct labels labels = {0};
	char *save;
	for (char *line = strtok_r(text, "\n", &save); line != NULL && labels.n < LABELS_MAX;
	     line = strtok_r(NULL, "\n", &save))
		labels.lines[labels.n++] = line;
	return labels;
}

static void match_all(struct sw_rules *rules, struct labels *labels)
{
	for (size_t i = 0; i < rules->n_rules; i++) {
		struct sw_rule_target target = {0};
		const char *reason = NULL;
		const struct sw_rule *rule = &rules->rules[i];
		check(rule->host_label != NULL && rule->match[0] != NULL &&
		      rule->targets[0] != NULL);
		check(rule->max_targets > 0 && rule->count > 0);
		int rc = sw_rule_match(rule, "alertmanager", label, labels, "web1.example.org", 0,
				       &target, &reason);
		if (rc == 1)
			check(sw_rule_value_valid(target.kind, target.value));
		else
			check(rc == 0 && reason != NULL);
		(void) sw_rule_exe_allowed(rule, "/usr/bin/server"); /* any answer will do */
		sw_rule_target_deinit(&target);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_rules rules = {0};
	sw_cleanup(sw_free_p) char *text = malloc(size + 1);
	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	char *separator = memmem(text, size, "\n--\n", 4);
	size_t rules_size = separator != NULL ? (size_t) (separator - text) + 1 : size;
	struct labels labels = labels_split(separator != NULL ? separator + 4 : text + size);
	/* Exactly as large as the rules, so that a byte too many is seen. */
	sw_cleanup(sw_free_p) char *exact = malloc(rules_size + (rules_size == 0));
	if (exact != NULL) {
		memcpy(exact, text, rules_size);
		check(sw_rules_parse("fuzz.conf", exact, rules_size, said, NULL, &rules, NULL) ==
		      0);
		match_all(&rules, &labels);
	}
	sw_rules_deinit(&rules);
	return 0;
}
