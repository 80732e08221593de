/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules files as rules. Strict: what is not understood is reported, and the rule does not count. */
#include "rules/parse.h"
#include "rules/match.h"
#include "rules/on_event.h"
#include "rules/values.h"
#include "config/path.h"
#include "config/settings.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/recorder.h>

#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

enum {
	RULES_MAX = 1024,
	WORDS_MAX = 32, /* of Match=, of Target= */
	MAX_TARGETS_MAX = 64,
	COUNT_MAX = 1000,
	MS_PER_S = 1000,
	PROFILE_MAX_S = 3600,
	RATE_MAX_HZ = 100,
};

struct parser {
	const char *file_name, *text;
	size_t size, at; /* of text */
	int line;
	int title_line;     /* of the last section's title */
	int rule_line;      /* title_line of the rule being read */
	bool has_rule, bad; /* rule is one being read; it has a mistake */
	bool failed;        /* no memory */
	unsigned seen;      /* keys of the rule, by bit of the key table */
	struct sw_rule rule;
	size_t n_match, n_targets;
	struct sw_rules *rules;
	size_t first[SW_RULE_KINDS]; /* rules before this file's */
	sw_config_say_fn *say;
	void *arg;
};

static void strings_free(char **strings)
{
	for (char **s = strings; s != NULL && *s != NULL; s++)
		free(*s);
	free(strings);
}

static void rule_deinit(struct sw_rule *rule)
{
	free(rule->name);
	free(rule->source);
	free(rule->host_label);
	free(rule->require_exe);
	strings_free(rule->match);
	strings_free(rule->targets);
	*rule = (struct sw_rule){0};
}

/* The rules of a kind. */
struct list {
	struct sw_rule **rules;
	size_t *n;
};

static struct list list_of(struct sw_rules *rules, enum sw_rule_kind kind)
{
	switch (kind) {
	case SW_RULE_PULL: return (struct list){&rules->pulls, &rules->n_pulls};
	case SW_RULE_EVENT: return (struct list){&rules->events, &rules->n_events};
	case SW_RULE_PROFILE: return (struct list){&rules->profiles, &rules->n_profiles};
	default: return (struct list){&rules->rules, &rules->n_rules};
	}
}

void sw_rules_deinit(struct sw_rules *rules)
{
	for (int kind = 0; kind < SW_RULE_KINDS; kind++) {
		const struct list list = list_of(rules, (enum sw_rule_kind) kind);
		for (size_t i = 0; i < *list.n; i++)
			rule_deinit(&(*list.rules)[i]);
		free(*list.rules);
	}
	*rules = (struct sw_rules){0};
}

__attribute__((format(printf, 3, 4))) static void complain(struct parser *p, int line,
							   const char *fmt, ...)
{
	char what[256], message[512];
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(what, sizeof(what), fmt, ap); /* cut is fine: it is prose */
	va_end(ap);
	(void) snprintf(message, sizeof(message), "%s:%d: %s", p->file_name, line, what); /* same */
	p->bad = true;
	p->rules->n_problems++;
	if (p->say != NULL)
		p->say(p->arg, message);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void string_set(struct parser *p, char **field, const char *value)
{
	*field = strdup(value);
	if (*field == NULL)
		p->failed = true;
}

/* Words between blanks, added to those of earlier lines. */
static void words_add(struct parser *p, const char *key, const char *value, char ***words,
		      size_t *n_words, bool (*valid)(const char *word))
{
	static const char blanks[] = " \t";
	for (const char *s = value + strspn(value, blanks); *s != '\0' && !p->failed;) {
		size_t length = strcspn(s, blanks);
		sw_cleanup(sw_free_p) char *word = strndup(s, length);
		char **more = reallocarray(*words, *n_words + 2, sizeof(char *));
		if (more != NULL)
			*words = more;
		if (word == NULL || more == NULL) {
			p->failed = true;
			return;
		}
		if (!valid(word) || *n_words == WORDS_MAX)
			complain(p, p->line, "%s=: %s: %.100s", key,
				 *n_words == WORDS_MAX ? "too many" : "not understood", word);
		else
			more[(*n_words)++] = sw_take_ptr(word);
		more[*n_words] = NULL;
		s += length;
		s += strspn(s, blanks);
	}
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void set_source(struct parser *p, const char *value)
{
	if (!sw_rule_name_valid(value))
		complain(p, p->line, "Source=: not a name: %.100s", value);
	else
		string_set(p, &p->rule.source, value);
}

static void set_match(struct parser *p, const char *value)
{
	words_add(p, "Match", value, &p->rule.match, &p->n_match, sw_rule_condition_valid);
}

static void set_target(struct parser *p, const char *value)
{
	words_add(p, "Target", value, &p->rule.targets, &p->n_targets, sw_rule_target_valid);
}

static void set_host(struct parser *p, const char *value)
{
	if (!sw_rule_label_valid(value))
		complain(p, p->line, "Host=: not a label: %.100s", value);
	else
		string_set(p, &p->rule.host_label, value);
}

static void set_require_exe(struct parser *p, const char *value)
{
	char written[PATH_MAX], patterns[2 * PATH_MAX], resolved[PATH_MAX];
	const size_t length = strlen(value);
	if (value[0] != '/' || !sw_rule_glob_valid(value)) {
		complain(p, p->line,
			 "RequireExe=: not an absolute path, or more than %d '*': %.100s",
			 SW_RULE_STARS_MAX, value);
	} else if (value[length - 1] == ',' || value[length - 1] == ';' ||
		   strstr(value, " /") != NULL || strstr(value, ",/") != NULL) {
		complain(p, p->line, "RequireExe=: one path, without ',' and ';': %.100s", value);
	} else if (!sw_path_canonical(value, written, sizeof(written))) {
		complain(p, p->line,
			 "RequireExe=: not as the kernel writes it: write %.100s, not %.100s",
			 written, value);
	} else if (sw_path_no_program(value) != NULL) {
		complain(p, p->line, "RequireExe=: %.100s: %s", value, sw_path_no_program(value));
	} else {
		const bool leads = sw_path_resolve(value, resolved, sizeof(resolved)) &&
				   strcmp(resolved, value) != 0;
		(void) snprintf(patterns, sizeof(patterns), "%s%s%s", value, /* fits: lines do */
				leads ? "\n" : "", leads ? resolved : "");
		string_set(p, &p->rule.require_exe, patterns);
	}
}

static void set_max_targets(struct parser *p, const char *value)
{
	if (!sw_rule_count_parse(value, MAX_TARGETS_MAX, &p->rule.max_targets))
		complain(p, p->line, "MaxTargets=: 1 to %d, not %.100s", MAX_TARGETS_MAX, value);
}

static void set_count(struct parser *p, const char *value)
{
	if (!sw_rule_count_parse(value, COUNT_MAX, &p->rule.count))
		complain(p, p->line, "Count=: 1 to %d, not %.100s", COUNT_MAX, value);
}

static void set_interval(struct parser *p, const char *value)
{
	if (!sw_rule_ms_parse(value, &p->rule.interval_ms))
		complain(p, p->line, "IntervalSec=: not seconds: %.100s", value);
}

static void set_cooldown(struct parser *p, const char *value)
{
	if (!sw_rule_ms_parse(value, &p->rule.cooldown_ms))
		complain(p, p->line, "CooldownSec=: not seconds: %.100s", value);
}

static void set_profile(struct parser *p, const char *value)
{
	uint32_t ms = 0;
	if (!sw_rule_ms_parse(value, &ms) || ms < MS_PER_S || ms > PROFILE_MAX_S * MS_PER_S)
		complain(p, p->line, "ProfileSec=: 1 to %d seconds, not %.100s", PROFILE_MAX_S,
			 value);
	p->rule.profile_ms = ms;
}

static void set_profile_mode(struct parser *p, const char *value)
{
	for (uint32_t i = 0; sw_config_profile_modes[i] != NULL; i++)
		if (strcmp(sw_config_profile_modes[i], value) == 0) {
			p->rule.profile_mode = i;
			return;
		}
	complain(p, p->line, "ProfileMode=: wall, cpu or off, not %.100s", value);
}

static void set_rate(struct parser *p, const char *value)
{
	if (!sw_rule_count_parse(value, RATE_MAX_HZ, &p->rule.rate_hz))
		complain(p, p->line, "RateHz=: 1 to %d, not %.100s", RATE_MAX_HZ, value);
}

static void set_on_event(struct parser *p, const char *value)
{
	const char *why = NULL;
	if (!sw_rule_event_parse(value, &p->rule.event, &why))
		complain(p, p->line, "OnEvent=: %s: %.100s", why, value);
}

static void set_max(struct parser *p, const char *value)
{
	uint32_t ms = 0;
	if (!sw_rule_ms_parse(value, &ms) || ms < MS_PER_S || ms > PROFILE_MAX_S * MS_PER_S)
		complain(p, p->line, "MaxSec=: 1 to %d seconds, not %.100s", PROFILE_MAX_S, value);
	p->rule.max_ms = ms;
}

enum {
	ALERT = 1 << SW_RULE_ALERT,
	PULL = 1 << SW_RULE_PULL,
	PROFILE = 1 << SW_RULE_PROFILE,
};

static const struct {
	const char *name;
	void (*set)(struct parser *p, const char *value);
	bool again;     /* adds to what was there */
	unsigned kinds; /* of sections: 1 << enum sw_rule_kind */
} keys[] = {
	{"Source", set_source, false, ALERT},
	{"Match", set_match, true, ALERT},
	{"Host", set_host, false, ALERT},
	{"Target", set_target, true, ALERT | PULL | PROFILE},
	{"RequireExe", set_require_exe, false, ALERT | PULL | PROFILE},
	{"MaxTargets", set_max_targets, false, ALERT | PROFILE},
	{"Count", set_count, false, ALERT},
	{"IntervalSec", set_interval, false, ALERT | PROFILE},
	{"CooldownSec", set_cooldown, false, ALERT},
	{"ProfileSec", set_profile, false, ALERT | PROFILE},
	{"ProfileMode", set_profile_mode, false, ALERT | PROFILE},
	{"RateHz", set_rate, false, PROFILE},
	{"OnEvent", set_on_event, false, ALERT},
	{"MaxSec", set_max, false, PULL},
};

/* The words before the names of sections. A rule is one of an event if it has OnEvent=, which is seen at its end. */
static const char *const titles[SW_RULE_KINDS] = {
	[SW_RULE_ALERT] = "rule",
	[SW_RULE_PULL] = "pull",
	[SW_RULE_EVENT] = "rule",
	[SW_RULE_PROFILE] = "profile",
};

static void set_key(struct parser *p, const char *name, const char *value)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].name, name) != 0)
			continue;
		if ((keys[i].kinds & 1u << p->rule.kind) == 0) {
			complain(p, p->line, "%s= is no key of [%s NAME]", name,
				 titles[p->rule.kind]);
			return;
		}
		size_t before = p->rules->n_problems;
		if (value[0] == '\0')
			complain(p, p->line, "%s= without a value", name);
		else if ((p->seen & 1u << i) != 0 && !keys[i].again)
			complain(p, p->line, "%s= is there twice", name);
		else
			keys[i].set(p, value);
		p->seen |= 1u << i;
		p->rules->n_unsafe +=
			keys[i].set == set_require_exe && p->rules->n_problems > before;
		return;
	}
	complain(p, p->line, "unknown key %.100s=", name);
	if (strncasecmp(name, "require", strlen("require")) == 0 || strcasestr(name, "exe") != NULL)
		p->rules->n_unsafe++; /* probably RequireExe= */
}

static bool is_seen(const struct parser *p, const char *name)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].name, name) == 0)
			return (p->seen & 1u << i) != 0;
	return false;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static const struct sw_rule *find_rule(const struct sw_rule *rules, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	return NULL;
}

static void alert_check(struct parser *p)
{
	const struct sw_rule *rule = &p->rule;
	if (rule->host_label == NULL && !p->bad)
		complain(p, p->rule_line, "rule %s has no Host=", rule->name);
	if (p->n_match == 0 && !p->bad)
		complain(p, p->rule_line, "rule %s has no Match=", rule->name);
	if (is_seen(p, "ProfileSec") && (is_seen(p, "Count") || is_seen(p, "IntervalSec")))
		complain(p, p->rule_line,
			 "rule %s has ProfileSec= and Count= or IntervalSec=: either or",
			 rule->name);
	if (is_seen(p, "ProfileMode") && !is_seen(p, "ProfileSec"))
		complain(p, p->rule_line,
			 "rule %s has ProfileMode= without ProfileSec=", rule->name);
}

/* Only an alert has labels that a word could be made of. */
static void targets_check(struct parser *p)
{
	static const char *const whats[SW_RULE_KINDS] = {
		[SW_RULE_PULL] = "a pull",
		[SW_RULE_EVENT] = "an event",
		[SW_RULE_PROFILE] = "a profile",
	};
	const char *what = whats[p->rule.kind];
	for (size_t i = 0; i < p->n_targets; i++) {
		char *word = p->rule.targets[i], *value = strchr(word, ':');
		bool valid = value != NULL && strchr(value, '%') == NULL;
		if (valid) {
			*value = '\0';
			valid = sw_rule_value_valid(word, value + 1);
			*value = ':';
		}
		if (!valid)
			complain(p, p->rule_line, "Target=: not a process of %s: %.100s", what,
				 word);
	}
}

static void event_check(struct parser *p)
{
	static const char *const others[] = {"Source", "Match", "Host", "ProfileSec",
					     "ProfileMode"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		if (is_seen(p, others[i]))
			complain(p, p->rule_line, "rule %s has OnEvent= and %s=: either or",
				 p->rule.name, others[i]);
	targets_check(p);
}

static void profile_check(struct parser *p)
{
	if (p->rule.profile_ms > p->rule.interval_ms)
		complain(p, p->rule_line,
			 "profile %s lasts longer than its IntervalSec=", p->rule.name);
	targets_check(p);
}

/* Rules of alerts and of events have names of one kind. */
static bool is_there(const struct sw_rules *rules, enum sw_rule_kind kind, const char *name)
{
	if (kind == SW_RULE_PULL)
		return find_rule(rules->pulls, rules->n_pulls, name) != NULL;
	if (kind == SW_RULE_PROFILE)
		return find_rule(rules->profiles, rules->n_profiles, name) != NULL;
	return find_rule(rules->rules, rules->n_rules, name) != NULL ||
	       find_rule(rules->events, rules->n_events, name) != NULL;
}

static void rule_check(struct parser *p, size_t n_rules)
{
	const char *title = titles[p->rule.kind], *name = p->rule.name;
	if (p->rule.kind == SW_RULE_ALERT)
		alert_check(p);
	else if (p->rule.kind == SW_RULE_EVENT)
		event_check(p);
	else if (p->rule.kind == SW_RULE_PROFILE)
		profile_check(p);
	else
		targets_check(p);
	if (p->n_targets == 0 && !p->bad)
		complain(p, p->rule_line, "%s %s has no Target=", title, name);
	if (n_rules == RULES_MAX)
		complain(p, p->rule_line, "more than %d rules", RULES_MAX);
	else if (is_there(p->rules, p->rule.kind, name))
		complain(p, p->rule_line, "there is a %s %s already", title, name);
}

/* The rule that was being read is whole. */
static void rule_end(struct parser *p)
{
	if (!p->has_rule || p->failed)
		return;
	if (is_seen(p, "OnEvent"))
		p->rule.kind = SW_RULE_EVENT;
	const struct list list = list_of(p->rules, p->rule.kind);
	rule_check(p, *list.n);
	if (p->bad) {
		complain(p, p->rule_line, "%s %s is left out", titles[p->rule.kind], p->rule.name);
		rule_deinit(&p->rule);
	} else {
		struct sw_rule *more =
			reallocarray(*list.rules, *list.n + 1, sizeof(struct sw_rule));
		if (more == NULL) {
			p->failed = true;
			return;
		}
		*list.rules = more;
		more[(*list.n)++] = p->rule;
		p->rule = (struct sw_rule){0};
	}
	p->has_rule = false;
}

/* The kind and name of a section's title; NULL: it has none that is valid. */
static const char *title_parse(const char *section, enum sw_rule_kind *ret_kind)
{
	for (int i = 0; i < SW_RULE_KINDS; i++) {
		const char *name = section + strlen(titles[i]) + 1;
		if (strncmp(section, titles[i], strlen(titles[i])) != 0 || name[-1] != ' ' ||
		    !sw_rule_name_valid(name))
			continue;
		*ret_kind = (enum sw_rule_kind) i;
		return name;
	}
	return NULL;
}

/* The title of a section, reported at its first key: false when it is not that of a rule. */
static bool rule_begin(struct parser *p, const char *section)
{
	enum sw_rule_kind kind = SW_RULE_ALERT;
	rule_end(p);
	p->bad = false;
	p->seen = 0;
	p->n_match = p->n_targets = 0;
	p->rule_line = p->title_line;
	const char *name = title_parse(section, &kind);
	if (name == NULL) {
		complain(p, p->line, "not in a section [rule NAME], [pull NAME] or [profile NAME]");
		return false;
	}
	p->rule = (struct sw_rule){
		.kind = kind,
		.max_ms = 60 * MS_PER_S,
		.max_targets = 4,
		.count = 1,
		.interval_ms = 1000,
		.cooldown_ms = 300 * 1000,
		.last_ns = INT64_MIN,
	};
	if (kind == SW_RULE_PROFILE) {
		p->rule.interval_ms = 60 * MS_PER_S;
		p->rule.profile_ms = 10 * MS_PER_S;
		p->rule.profile_mode = SW_RECORD_CPU;
		p->rule.rate_hz = 19;
	}
	string_set(p, &p->rule.name, name);
	p->has_rule = p->rule.name != NULL;
	return p->has_rule;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The problem of a line that inih would misunderstand in silence. */
static const char *line_problem(const char *line, size_t length, size_t size)
{
	size_t blanks = 0;
	const char *title = line[0] == '[' ? memchr(line, ']', length) : NULL;
	size_t behind = title != NULL ? (size_t) (title - line) + 1 : length;
	if (length >= size)
		return "the line is too long: go on in the next, after a blank";
	if (memchr(line, '\0', length) != NULL)
		return "not a text";
	while (blanks < length && (line[blanks] == ' ' || line[blanks] == '\t'))
		blanks++;
	while (behind < length && memchr(" \t\r\n", line[behind], 4) != NULL)
		behind++;
	if (behind < length && line[behind] != ';' && line[behind] != '#')
		return "text behind a title";
	return blanks > 0 && blanks < length && line[blanks] == '[' ? "a blank before a title"
								    : NULL;
}

/* inih's reader: one line a call, so that p->line is the line its handler is called for. A line
 * that does not fit would be taken for two: it is given as one that is no INI. */
static char *read_line(char *to, int size, void *arg)
{
	struct parser *p = arg;
	if (p->at == p->size || p->failed)
		return NULL;
	const char *line = p->text + p->at;
	const char *end = memchr(line, '\n', p->size - p->at);
	size_t length = end != NULL ? (size_t) (end - line) + 1 : p->size - p->at;
	p->at += length;
	p->line++;
	const char *what = line_problem(line, length, (size_t) size);
	if (line[0] == '[' && what == NULL)
		p->title_line = p->line;
	if (what != NULL) {
		complain(p, p->line, "%s", what);
		line = "]\n";
		length = strlen(line);
	}
	memcpy(to, line, length);
	to[length] = '\0';
	return to;
}

/* inih's handler. Two sections of the same title are two: told apart by their lines. */
static int handle(void *arg, const char *section, const char *name, const char *value)
{
	struct parser *p = arg;
	if (p->failed)
		return 0;
	if (p->rule_line != p->title_line || p->title_line == 0) {
		if (!rule_begin(p, section))
			return 1;
	} else if (!p->has_rule) {
		return 1; /* reported at its first key */
	}
	set_key(p, name, value != NULL ? value : "");
	return 1;
}

static void rules_truncate(struct sw_rules *rules, const struct parser *p)
{
	for (int kind = 0; kind < SW_RULE_KINDS; kind++) {
		const struct list list = list_of(rules, (enum sw_rule_kind) kind);
		while (*list.n > p->first[kind])
			rule_deinit(&(*list.rules)[--*list.n]);
	}
}

int sw_rules_parse(const char *file_name, const char *text, size_t size, sw_config_say_fn *say,
		   void *arg, struct sw_rules *rules, struct sw_error *err)
{
	struct parser p = {
		.file_name = file_name,
		.text = text,
		.size = size,
		.rules = rules,
		.first = {[SW_RULE_ALERT] = rules->n_rules,
			  [SW_RULE_PULL] = rules->n_pulls,
			  [SW_RULE_EVENT] = rules->n_events,
			  [SW_RULE_PROFILE] = rules->n_profiles},
		.say = say,
		.arg = arg,
	};
	int line = ini_parse_stream(read_line, &p, handle, &p);
	rule_end(&p);
	rule_deinit(&p.rule); /* empty unless memory ran out */
	if (p.failed || line == -2) {
		rules_truncate(rules, &p);
		return sw_fail_nomem(err);
	}
	if (line != 0) {
		complain(&p, line, "neither a section nor KEY=VALUE: the file is left out");
		rules_truncate(rules, &p);
	}
	return 0;
}
