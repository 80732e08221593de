/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules for the values of a rules file. Knows no file: the caller reports what is wrong. */
#include "rules/values.h"
#include "cleanup.h"

#include <string.h>

enum {
	NAME_MAX_BYTES = 40, /* inih keeps 49 bytes of a section's title, without a word */
	LABEL_MAX = 100,
	SECONDS_MAX = 7 * 24 * 3600,
};

#define LABEL_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"
#define NAME_CHARACTERS  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

static bool made_of(const char *s, const char *characters, size_t max)
{
	size_t length = strnlen(s, max + 1);
	return length > 0 && length <= max && strspn(s, characters) == length;
}

bool sw_rule_name_valid(const char *s)
{
	return made_of(s, NAME_CHARACTERS, NAME_MAX_BYTES);
}

bool sw_rule_label_valid(const char *s)
{
	return made_of(s, LABEL_CHARACTERS, LABEL_MAX);
}

bool sw_rule_glob_valid(const char *glob)
{
	int stars = 0;
	for (const char *s = glob; *s != '\0'; s++)
		stars += *s == '*';
	/* Extended patterns are not asked for, so that '(' is only itself. */
	return stars <= SW_RULE_STARS_MAX;
}

bool sw_rule_condition_valid(const char *word)
{
	char name[LABEL_MAX + 1];
	size_t length = strcspn(word, "=");
	bool glob = length > 0 && word[length - 1] == '~';
	size_t name_length = glob ? length - 1 : length;
	if (word[length] == '\0' || name_length > LABEL_MAX)
		return false;
	memcpy(name, word, name_length);
	name[name_length] = '\0';
	return made_of(name, LABEL_CHARACTERS, LABEL_MAX) &&
	       (!glob || sw_rule_glob_valid(word + length));
}

static bool template_valid(const char *template)
{
	for (const char *p = strchr(template, '%'); p != NULL; p = strchr(p, '%')) {
		if (p[1] == '%') {
			p += 2;
			continue;
		}
		char name[LABEL_MAX + 1];
		const char *end = p[1] == '{' ? strchr(p, '}') : NULL;
		if (end == NULL || end - p - 2 > LABEL_MAX)
			return false;
		memcpy(name, p + 2, (size_t) (end - p - 2));
		name[end - p - 2] = '\0';
		if (!made_of(name, LABEL_CHARACTERS, LABEL_MAX))
			return false;
		p = end + 1;
	}
	return true;
}

bool sw_rule_target_valid(const char *word)
{
	static const char *const kinds[] = {"pid", "unit", "cgroup", "comm", "container"};
	size_t length = strcspn(word, ":");
	for (size_t i = 0; i < SW_ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i]) == length && strncmp(word, kinds[i], length) == 0)
			return word[length] == ':' && word[length + 1] != '\0' &&
			       template_valid(word + length + 1);
	return false;
}

bool sw_rule_ms_parse(const char *value, uint32_t *ret)
{
	unsigned long seconds = 0, scale = 1000, ms;
	const char *s = value;
	for (; *s >= '0' && *s <= '9'; s++) {
		seconds = seconds * 10 + (unsigned long) (*s - '0');
		if (seconds > SECONDS_MAX)
			return false;
	}
	if (s == value)
		return false;
	ms = seconds * 1000;
	if (*s == '.') {
		for (s++; *s >= '0' && *s <= '9' && scale > 1; s++) {
			scale /= 10;
			ms += (unsigned long) (*s - '0') * scale;
		}
		if (scale == 1000)
			return false;
	}
	*ret = (uint32_t) ms;
	return *s == '\0';
}

bool sw_rule_count_parse(const char *value, uint32_t max, uint32_t *ret)
{
	uint32_t n = 0;
	for (const char *s = value; *s != '\0'; s++) {
		if (*s < '0' || *s > '9' || n > max)
			return false;
		n = n * 10 + (uint32_t) (*s - '0');
	}
	*ret = n;
	return n >= 1 && n <= max;
}
