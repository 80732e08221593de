/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_RULES_VALUES_H
#define SW_DAEMON_RULES_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* The rules for the values of a rules file; what they mean is in rules/rule.h. */

enum { SW_RULE_STARS_MAX = 3 }; /* of a glob: each multiplies the work by the length of the value */

/* The names of a rule or a source, and of a label. */
bool sw_rule_name_valid(const char *s);
bool sw_rule_label_valid(const char *s);
bool sw_rule_glob_valid(const char *glob);

/* "label=value" or "label~=glob" */
bool sw_rule_condition_valid(const char *word);

/* "kind:template" */
bool sw_rule_target_valid(const char *word);

/* Seconds: decimal with at most three digits behind the point, so that it is exact in ms. */
bool sw_rule_ms_parse(const char *value, uint32_t *ret);

/* 1 to max. */
bool sw_rule_count_parse(const char *value, uint32_t max, uint32_t *ret);

#endif
