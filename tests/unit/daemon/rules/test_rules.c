/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rules/load.h"
#include "rules/match.h"
#include "rules/parse.h"
#include "cleanup.h"
#include "text.h"
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <snapwalk/recorder.h>

static const int64_t S = 1000000000;

static void say(void *arg, const char *message)
{
	sw_text_printf(arg, "%s\n", message);
}

/* All that is said, in one text. */
static struct sw_rules parse(const char *text, const char *expect_said)
{
	struct sw_rules rules = {0};
	struct sw_error err = {0};
	sw_cleanup(sw_text_deinit) struct sw_text said = {0};
	assert_int_equal(sw_rules_parse("r.conf", text, strlen(text), say, &said, &rules, &err), 0);
	assert_string_equal(said.data != NULL ? said.data : "", expect_said);
	return rules;
}

/* "name=value" strings, NULL-terminated. */
static const char *label(void *arg, const char *name)
{
	size_t length = strlen(name);
	for (const char **l = arg; *l != NULL; l++)
		if (strncmp(*l, name, length) == 0 && (*l)[length] == '=')
			return *l + length + 1;
	return NULL;
}

static const char full[] = "# comment\n"
			   "[rule stuck]\n"
			   "Source=alertmanager\n"
			   "Match=alertname=ProcessStuck  severity~=p*e ; the page\n"
			   "Match=team=web\n"
			   "Host=instance\n"
			   "Target=pid:%{pid} unit:%{systemd_unit}\n"
			   "  cgroup:/system.slice/%{name}.service\n"
			   "RequireExe=/usr/bin/my*\n"
			   "MaxTargets=2\n"
			   "Count=3\n"
			   "IntervalSec=0.25\n"
			   "CooldownSec=90\n"
			   "[rule other]\r\n"
			   "Match=a=b\r\n"
			   "Host=host\r\n"
			   "Target=comm:100%%\r\n"
			   "ProfileSec=10.5\r\n"
			   "ProfileMode=off\r\n";

TEST(fields)
{
	struct sw_rules rules = parse(full, "");
	assert_int_equal(rules.n_rules, 2);
	const struct sw_rule *r = &rules.rules[0];
	assert_string_equal(r->name, "stuck");
	assert_string_equal(r->source, "alertmanager");
	assert_string_equal(r->host_label, "instance");
	assert_string_equal(r->require_exe, "/usr/bin/my*");
	assert_string_equal(r->match[0], "alertname=ProcessStuck");
	assert_string_equal(r->match[1], "severity~=p*e");
	assert_string_equal(r->match[2], "team=web");
	assert_null(r->match[3]);
	assert_string_equal(r->targets[0], "pid:%{pid}");
	assert_string_equal(r->targets[1], "unit:%{systemd_unit}");
	assert_string_equal(r->targets[2], "cgroup:/system.slice/%{name}.service");
	assert_null(r->targets[3]);
	assert_int_equal(r->max_targets, 2);
	assert_int_equal(r->count, 3);
	assert_int_equal(r->interval_ms, 250);
	assert_int_equal(r->cooldown_ms, 90000);
	assert_true(r->last_ns == INT64_MIN);
	r = &rules.rules[1];
	assert_string_equal(r->name, "other");
	assert_null(r->source);
	assert_null(r->require_exe);
	assert_int_equal(r->max_targets, 4);
	assert_int_equal(r->count, 1);
	assert_int_equal(r->interval_ms, 1000);
	assert_int_equal(r->cooldown_ms, 300000);
	assert_int_equal(r->profile_ms, 10500);
	assert_int_equal(r->profile_mode, SW_RECORD_OFF);
	assert_int_equal(rules.rules[0].profile_ms, 0);
	assert_int_equal(rules.rules[0].profile_mode, SW_RECORD_WALL);
	sw_rules_deinit(&rules);
	assert_int_equal(rules.n_rules, 0);
}

#define GOOD "[rule good]\nMatch=a=b\nHost=h\nTarget=pid:%{pid}\n"

/* Each mistake takes its rule away and no other. */
TEST(mistakes)
{
	static const struct {
		const char *lines, *said;
	} cases[] = {
		{"RequireExec=/bin/x\n", "r.conf:9: unknown key RequireExec=\n"},
		{"Host=\n", "r.conf:9: Host= without a value\n"},
		{"Host=i\n", "r.conf:9: Host= is there twice\n"},
		{"Match=justaname\n", "r.conf:9: Match=: not understood: justaname\n"},
		{"Match==x\n", "r.conf:9: Match=: not understood: =x\n"},
		{"Match=a~=*b*c*d*\n", "r.conf:9: Match=: not understood: a~=*b*c*d*\n"},
		{"Target=pod:x\n", "r.conf:9: Target=: not understood: pod:x\n"},
		{"Target=pid:\n", "r.conf:9: Target=: not understood: pid:\n"},
		{"Target=pid:%{pid\n", "r.conf:9: Target=: not understood: pid:%{pid\n"},
		{"Target=pid:%pid\n", "r.conf:9: Target=: not understood: pid:%pid\n"},
		{"Target=pid:%{}\n", "r.conf:9: Target=: not understood: pid:%{}\n"},
		{"RequireExe=myapp\n",
		 "r.conf:9: RequireExe=: not an absolute path, or more than 3 '*': myapp\n"},
		{"RequireExe=/usr//bin/x\n", "r.conf:9: RequireExe=: not as the kernel writes it: "
					     "write /usr/bin/x, not /usr//bin/x\n"},
		{"RequireExe=/usr/bin/../x*\n",
		 "r.conf:9: RequireExe=: not as the kernel writes it: "
		 "write /usr/x*, not /usr/bin/../x*\n"},
		{"RequireExe=/usr/bin/x/\n", "r.conf:9: RequireExe=: not as the kernel writes it: "
					     "write /usr/bin/x, not /usr/bin/x/\n"},
		{"RequireExe=/usr/bin/x,\n",
		 "r.conf:9: RequireExe=: one path, without ',' and ';': /usr/bin/x,\n"},
		{"RequireExe=/usr/bin/x /usr/bin/y\n",
		 "r.conf:9: RequireExe=: one path, without ',' and ';': /usr/bin/x /usr/bin/y\n"},
		{"RequireExe=/usr/bin/x,/usr/bin/y\n",
		 "r.conf:9: RequireExe=: one path, without ',' and ';': /usr/bin/x,/usr/bin/y\n"},
		{"RequireExe=/usr/bin\n",
		 "r.conf:9: RequireExe=: /usr/bin: a directory: write each program in it\n"},
		{"MaxTargets=0\n", "r.conf:9: MaxTargets=: 1 to 64, not 0\n"},
		{"MaxTargets=65\n", "r.conf:9: MaxTargets=: 1 to 64, not 65\n"},
		{"Count=99999999999999999999\n",
		 "r.conf:9: Count=: 1 to 1000, not 99999999999999999999\n"},
		{"IntervalSec=1.0005\n", "r.conf:9: IntervalSec=: not seconds: 1.0005\n"},
		{"CooldownSec=-1\n", "r.conf:9: CooldownSec=: not seconds: -1\n"},
		{"CooldownSec=604801\n", "r.conf:9: CooldownSec=: not seconds: 604801\n"},
		{"ProfileSec=0.5\n", "r.conf:9: ProfileSec=: 1 to 3600 seconds, not 0.5\n"},
		{"ProfileSec=3601\n", "r.conf:9: ProfileSec=: 1 to 3600 seconds, not 3601\n"},
		{"ProfileSec=10s\n", "r.conf:9: ProfileSec=: 1 to 3600 seconds, not 10s\n"},
		{"ProfileSec=10\nCount=2\n",
		 "r.conf:5: rule bad has ProfileSec= and Count= or IntervalSec=: either or\n"},
		{"IntervalSec=2\nProfileSec=10\n",
		 "r.conf:5: rule bad has ProfileSec= and Count= or IntervalSec=: either or\n"},
		{"ProfileSec=10\nProfileMode=all\n",
		 "r.conf:10: ProfileMode=: wall, cpu or off, not all\n"},
		{"ProfileMode=cpu\n", "r.conf:5: rule bad has ProfileMode= without ProfileSec=\n"},
		{"Source=a b\n", "r.conf:9: Source=: not a name: a b\n"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char text[512], said[512];
		snprintf(text, sizeof(text), "%s[rule bad]\nMatch=a=b\nHost=h\nTarget=pid:1\n%s",
			 GOOD, cases[i].lines);
		snprintf(said, sizeof(said), "%sr.conf:5: rule bad is left out\n", cases[i].said);
		struct sw_rules rules = parse(text, said);
		assert_int_equal(rules.n_unsafe, strncmp(cases[i].lines, "RequireExe", 10) == 0);
		assert_int_equal(rules.n_rules, 1);
		assert_string_equal(rules.rules[0].name, "good");
		sw_rules_deinit(&rules);
	}
}

TEST(missing)
{
	struct sw_rules rules = parse("[rule a]\nMatch=a=b\nTarget=pid:1\n"
				      "[rule b]\nHost=h\nTarget=pid:1\n"
				      "[rule c]\nHost=h\nMatch=a=b\n",
				      "r.conf:1: rule a has no Host=\n"
				      "r.conf:1: rule a is left out\n"
				      "r.conf:4: rule b has no Match=\n"
				      "r.conf:4: rule b is left out\n"
				      "r.conf:7: rule c has no Target=\n"
				      "r.conf:7: rule c is left out\n");
	assert_int_equal(rules.n_rules, 0);
	sw_rules_deinit(&rules);
}

/* Titles: others than [rule NAME], the same twice, and keys before any. */
TEST(titles)
{
	struct sw_rules rules =
		parse("Host=h\n" GOOD "[rule good]\nMatch=c=d\nHost=h\n"
		      "Target=pid:2\n[watch x]\nHost=h\nMatch=a=b\n[rule a/b]\n"
		      "Host=h\n",
		      "r.conf:1: not in a section [rule NAME], [pull NAME] or [profile NAME]\n"
		      "r.conf:6: there is a rule good already\n"
		      "r.conf:6: rule good is left out\n"
		      "r.conf:11: not in a section [rule NAME], [pull NAME] or [profile NAME]\n"
		      "r.conf:14: not in a section [rule NAME], [pull NAME] or [profile NAME]\n");
	assert_int_equal(rules.n_rules, 1);
	assert_string_equal(rules.rules[0].match[0], "a=b");
	sw_rules_deinit(&rules);
}

/* Sections [pull NAME]: what they have, and each mistake. */
TEST(pulls)
{
	struct sw_rules rules =
		parse("[pull web]\nTarget=unit:web.service comm:web 1\n"
		      "[pull good]\nTarget=unit:web.service\n  comm:nginx\n"
		      "RequireExe=/usr/sbin/nginx\nMaxSec=90\n" GOOD "[pull plain]\nTarget=pid:1\n",
		      "r.conf:2: Target=: not understood: 1\n"
		      "r.conf:1: pull web is left out\n");
	assert_int_equal(rules.n_rules, 1);
	assert_int_equal(rules.n_pulls, 2);
	const struct sw_rule *pull = &rules.pulls[0];
	assert_string_equal(pull->name, "good");
	assert_string_equal(pull->targets[0], "unit:web.service");
	assert_string_equal(pull->targets[1], "comm:nginx");
	assert_null(pull->targets[2]);
	assert_string_equal(pull->require_exe, "/usr/sbin/nginx");
	assert_int_equal(pull->max_ms, 90000);
	assert_string_equal(rules.pulls[1].name, "plain");
	assert_int_equal(rules.pulls[1].max_ms, 60000);
	sw_rules_deinit(&rules);
	static const struct {
		const char *lines, *said;
	} cases[] = {
		{"", "r.conf:1: pull bad has no Target=\n"},
		{"Target=pid:%{pid}\n", "r.conf:1: Target=: not a process of a pull: pid:%{pid}\n"},
		{"Target=pid:0\n", "r.conf:1: Target=: not a process of a pull: pid:0\n"},
		{"Target=cgroup:x\n", "r.conf:1: Target=: not a process of a pull: cgroup:x\n"},
		{"Target=pid:1\nMatch=a=b\n", "r.conf:3: Match= is no key of [pull NAME]\n"},
		{"Target=pid:1\nMaxSec=0\n", "r.conf:3: MaxSec=: 1 to 3600 seconds, not 0\n"},
		{"Target=pid:1\nRequireExe=x\n",
		 "r.conf:3: RequireExe=: not an absolute path, or more than 3 '*': x\n"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char text[256], said[256];
		snprintf(text, sizeof(text), "[pull bad]\n%s%s", cases[i].lines,
			 cases[i].lines[0] == '\0' ? "MaxSec=1\n" : "");
		snprintf(said, sizeof(said), "%sr.conf:1: pull bad is left out\n", cases[i].said);
		rules = parse(text, said);
		assert_int_equal(rules.n_pulls, 0);
		assert_int_equal(rules.n_unsafe, i == SW_ARRAY_SIZE(cases) - 1);
		sw_rules_deinit(&rules);
	}
	rules = parse(
		GOOD "MaxSec=5\n",
		"r.conf:5: MaxSec= is no key of [rule NAME]\nr.conf:1: rule good is left out\n");
	sw_rules_deinit(&rules);
}

/* Sections [profile NAME]: what they have, and each mistake. */
TEST(profiles)
{
	struct sw_rules rules =
		parse(GOOD "[profile plain]\nTarget=comm:web unit:web.service\n"
			   "[profile all]\nTarget=pid:1\nRequireExe=/usr/bin/my*\n"
			   "MaxTargets=7\nProfileSec=2.5\nProfileMode=off\n"
			   "IntervalSec=2.5\nRateHz=99\n[pull plain]\nTarget=pid:1\n",
		      "");
	assert_int_equal(rules.n_rules, 1);
	assert_int_equal(rules.n_pulls, 1);
	assert_int_equal(rules.n_profiles, 2);
	const struct sw_rule *plain = &rules.profiles[0], *all = &rules.profiles[1];
	assert_string_equal(plain->name, "plain");
	assert_string_equal(plain->targets[1], "unit:web.service");
	assert_int_equal(plain->profile_ms, 10000);
	assert_int_equal(plain->interval_ms, 60000);
	assert_int_equal(plain->profile_mode, SW_RECORD_CPU);
	assert_int_equal(plain->rate_hz, 19);
	assert_int_equal(plain->max_targets, 4);
	assert_int_equal(all->profile_ms, 2500);
	assert_int_equal(all->interval_ms, 2500);
	assert_int_equal(all->profile_mode, SW_RECORD_OFF);
	assert_int_equal(all->rate_hz, 99);
	assert_int_equal(all->max_targets, 7);
	assert_string_equal(all->require_exe, "/usr/bin/my*");
	sw_rules_deinit(&rules);
	static const struct {
		const char *lines, *said;
	} cases[] = {
		{"RateHz=5\n", "r.conf:1: profile bad has no Target=\n"},
		{"Target=pid:%{pid}\n",
		 "r.conf:1: Target=: not a process of a profile: pid:%{pid}\n"},
		{"Target=pid:1\nCount=2\n", "r.conf:3: Count= is no key of [profile NAME]\n"},
		{"Target=pid:1\nRateHz=101\n", "r.conf:3: RateHz=: 1 to 100, not 101\n"},
		{"Target=pid:1\nRateHz=0\n", "r.conf:3: RateHz=: 1 to 100, not 0\n"},
		{"Target=pid:1\nIntervalSec=9\n",
		 "r.conf:1: profile bad lasts longer than its IntervalSec=\n"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char text[256], said[256];
		snprintf(text, sizeof(text), "[profile bad]\n%s", cases[i].lines);
		snprintf(said, sizeof(said), "%sr.conf:1: profile bad is left out\n",
			 cases[i].said);
		rules = parse(text, said);
		assert_int_equal(rules.n_profiles, 0);
		sw_rules_deinit(&rules);
	}
	rules = parse("[profile x]\nTarget=pid:1\n[profile x]\nTarget=pid:2\n",
		      "r.conf:3: there is a profile x already\nr.conf:3: profile x is left out\n");
	assert_int_equal(rules.n_profiles, 1);
	sw_rules_deinit(&rules);
	rules = parse(GOOD "RateHz=5\n", "r.conf:5: RateHz= is no key of [rule NAME]\n"
					 "r.conf:1: rule good is left out\n");
	sw_rules_deinit(&rules);
}

/* OnEvent=: the event and its conditions, and each mistake. */
TEST(events)
{
	struct sw_rules rules =
		parse(GOOD
		      "[rule files]\nOnEvent=syscall:openat errno=EMFILE arg2=0x10\n"
		      "Target=unit:web.service\nCount=2\n"
		      "[rule slow]\nOnEvent=blocked slower=1.5\nTarget=comm:web\n"
		      "[rule end]\nOnEvent=death\nTarget=pid:1 ; its end\n"
		      "[rule calls]\nOnEvent=func:libssl:SSL_read slower=0.5\nTarget=comm:web\n"
		      "[rule probes]\nOnEvent=usdt:order__begin\nTarget=comm:web\n",
		      "");
	assert_int_equal(rules.n_rules, 1);
	assert_int_equal(rules.n_events, 5);
	const struct sw_rule *rule = &rules.events[0];
	assert_string_equal(rule->name, "files");
	assert_string_equal(rule->event.name, "openat");
	assert_int_equal(rule->event.options.what, SW_EVENT_CALL);
	assert_true(rule->event.options.failed);
	assert_int_equal(rule->event.options.error, EMFILE);
	assert_int_equal(rule->event.options.n_tests, 1);
	assert_int_equal(rule->event.options.tests[0].argument, 2);
	assert_int_equal(rule->event.options.tests[0].value, 16);
	assert_int_equal(rule->count, 2);
	assert_int_equal(rules.events[1].event.options.what, SW_EVENT_BLOCKED);
	assert_int_equal(rules.events[1].event.options.slower_ns, 3 * S / 2);
	assert_int_equal(rules.events[2].event.options.what, SW_EVENT_DEATH);
	rule = &rules.events[3];
	assert_int_equal(rule->event.options.what, SW_EVENT_FUNCTION);
	assert_string_equal(rule->event.function, "libssl:SSL_read");
	assert_string_equal(rule->event.name, "SSL_read");
	assert_false(rule->event.is_declared);
	assert_true(rule->event.options.at_return);
	assert_int_equal(rule->event.options.slower_ns, S / 2);
	rule = &rules.events[4];
	assert_string_equal(rule->event.function, "order__begin");
	assert_true(rule->event.is_declared);
	assert_false(rule->event.options.at_return);
	sw_rules_deinit(&rules);
	static const struct {
		const char *value, *why;
	} cases[] = {
		{"openat", "no such event: syscall:NAME, func:SYMBOL, usdt:PROBE, death, thread, "
			   "process or blocked"},
		{"func:", "no function: func:SYMBOL of the program, func:LIB:SYMBOL, or "
			  "usdt:LIB:PROBE"},
		{"func:main errno=EIO", "func has two conditions: return, slower=SECONDS"},
		{"func:main slower=0", "func has two conditions: return, slower=SECONDS"},
		{"usdt:p return", "this event has no conditions"},
		{"syscall:opennat", "no such system call"},
		{"syscall:openat errno=EFOO", "no such error"},
		{"syscall:exit_group failed", "this call does not return"},
		{"syscall:write fd=x", "a condition without a number"},
		{"syscall:write arg6=1",
		 "no such condition: errno=NAME, failed, fd=N, arg0=N to arg5=N"},
		{"syscall:write fd=4294967297", "no descriptor has that number"},
		{"syscall:openat errno=EMFILE errno=ENFILE", "two errors, of which a call has one"},
		{"syscall:write fd=1 fd=1 fd=1 fd=1 fd=1 fd=1 fd=1", "too many conditions"},
		{"death failed", "this event has no conditions"},
		{"blocked", "blocked has one condition: slower=SECONDS"},
		{"blocked slower=0", "blocked has one condition: slower=SECONDS"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		char text[256], said[256];
		snprintf(text, sizeof(text), "[rule bad]\nOnEvent=%s\nTarget=pid:1\n",
			 cases[i].value);
		snprintf(said, sizeof(said),
			 "r.conf:2: OnEvent=: %s: %s\nr.conf:1: rule bad is left out\n",
			 cases[i].why, cases[i].value);
		rules = parse(text, said);
		assert_int_equal(rules.n_events, 0);
		sw_rules_deinit(&rules);
	}
	rules = parse(GOOD "[rule good]\nOnEvent=death\nTarget=pid:%{pid}\nMatch=a=b\n",
		      "r.conf:5: rule good has OnEvent= and Match=: either or\n"
		      "r.conf:5: Target=: not a process of an event: pid:%{pid}\n"
		      "r.conf:5: there is a rule good already\n"
		      "r.conf:5: rule good is left out\n");
	sw_rules_deinit(&rules);
}

/* A file that is no INI could be anything: it does not count. */
TEST(no_ini)
{
	char text[512];
	struct sw_rules rules = parse(GOOD "Host\n", "r.conf:5: neither a section nor KEY=VALUE: "
						     "the file is left out\n");
	assert_int_equal(rules.n_rules, 0);
	sw_rules_deinit(&rules);
#define LEFT_OUT                            \
	"r.conf:1: rule good is left out\n" \
	"r.conf:5: neither a section nor KEY=VALUE: the file is left out\n"
	rules = parse(GOOD " [rule b]\nMatch=c=d\n", "r.conf:5: a blank before a title\n" LEFT_OUT);
	assert_int_equal(rules.n_rules, 0);
	sw_rules_deinit(&rules);
	rules = parse(GOOD "[rule b] RequireExe=/x\nMatch=c=d\n",
		      "r.conf:5: text behind a title\n" LEFT_OUT);
	assert_int_equal(rules.n_rules, 0);
	sw_rules_deinit(&rules);
	snprintf(text, sizeof(text), "%sMatch=a=%0300d\n", GOOD, 1);
	rules = parse(
		text,
		"r.conf:5: the line is too long: go on in the next, after a blank\n" LEFT_OUT);
	assert_int_equal(rules.n_rules, 0);
	sw_rules_deinit(&rules);
	/* Rules of earlier files stay. */
	struct sw_error err;
	rules = parse(GOOD, "");
	assert_int_equal(sw_rules_parse("s.conf", "[rule x]\nx\n", 11, NULL, NULL, &rules, &err),
			 0);
	assert_int_equal(sw_rules_parse("t.conf", "[rule x]\nHost=\0h\n", 17, NULL, NULL, &rules,
					&err),
			 0);
	assert_int_equal(rules.n_rules, 1);
	sw_rules_deinit(&rules);
}

TEST(match)
{
	const char *labels[] = {"alertname=ProcessStuck", "severity=page", "team=web",
				"instance=web1:9256",     "pid=1234",      NULL};
	struct sw_rules rules = parse(full, "");
	struct sw_rule *r = &rules.rules[0];
	struct sw_rule_target target = {0};
	const char *reason = NULL;
	assert_int_equal(sw_rule_match(r, "alertmanager", label, labels, "web1", 7 * S, &target,
				       &reason),
			 1);
	assert_string_equal(target.kind, "pid");
	assert_string_equal(target.value, "1234");
	sw_rule_target_deinit(&target);
	assert_null(target.kind);

#define REFUSED(expect)                                                                         \
	do {                                                                                    \
		assert_int_equal(sw_rule_match(r, "alertmanager", label, labels, "web1", 7 * S, \
					       &target, &reason),                               \
				 0);                                                            \
		assert_string_equal(reason, expect);                                            \
	} while (0)

	assert_int_equal(sw_rule_match(r, "nagios", label, labels, "web1", 7 * S, &target, &reason),
			 0);
	assert_string_equal(reason, "source");
	labels[1] = "severity=pages";
	REFUSED("labels");
	labels[1] = "severity=pe";
	labels[2] = "teams=web";
	REFUSED("labels");
	labels[2] = "team=web";
	labels[3] = "instance=web11:9256";
	REFUSED("host");
	labels[3] = "instances=web1";
	REFUSED("host");
	labels[3] = "instance=web1";
	r->last_ns = 7 * S - 90 * S + 1;
	REFUSED("cooldown");
	r->last_ns = 7 * S - 90 * S;
	/* A pid that is none: the next target whose labels are there. */
	labels[4] = "pid=1 2";
	REFUSED("no target");
	labels[4] = "name=nginx";
	assert_int_equal(sw_rule_match(r, "alertmanager", label, labels, "web1", 7 * S, &target,
				       &reason),
			 1);
	assert_string_equal(target.kind, "cgroup");
	assert_string_equal(target.value, "/system.slice/nginx.service");
	sw_rule_target_deinit(&target);
	labels[4] = "name=../../user.slice/x";
	REFUSED("no target");
	labels[4] = "systemd_unit=my app.service";
	REFUSED("no target");
	labels[4] = "systemd_unit=my-app@1.service";
	assert_int_equal(sw_rule_match(r, "alertmanager", label, labels, "web1", 7 * S, &target,
				       &reason),
			 1);
	assert_string_equal(target.kind, "unit");
	assert_string_equal(target.value, "my-app@1.service");
	sw_rule_target_deinit(&target);
	sw_rules_deinit(&rules);
}

TEST(literal_percent)
{
	const char *labels[] = {"a=b", "host=h", NULL};
	struct sw_rules rules = parse(full, "");
	struct sw_rule_target target = {0};
	const char *reason = NULL;
	assert_int_equal(sw_rule_match(&rules.rules[1], "x", label, labels, "h", 0, &target,
				       &reason),
			 1);
	assert_string_equal(target.kind, "comm");
	assert_string_equal(target.value, "100%");
	sw_rule_target_deinit(&target);
	sw_rules_deinit(&rules);
}

TEST(values)
{
	static const char hex64[] = "0123456789abcdef0123456789abcdef0123456789abcdef"
				    "0123456789abcdef";
	char long_value[1100];
	memset(long_value, 'a', sizeof(long_value));
	long_value[0] = '/';
	long_value[1024] = '\0';
	assert_true(sw_rule_value_valid("cgroup", long_value));
	long_value[1024] = 'a';
	long_value[1025] = '\0';
	assert_false(sw_rule_value_valid("cgroup", long_value));
	long_value[256] = '\0';
	assert_true(sw_rule_value_valid("unit", long_value + 1));
	long_value[256] = 'a';
	long_value[257] = '\0';
	assert_false(sw_rule_value_valid("unit", long_value + 1));
	static const struct {
		const char *kind, *value;
		bool valid;
	} cases[] = {
		{"pid", "1", true},
		{"pid", "4194304", true},
		{"pid", "4194305", false},
		{"pid", "0", false},
		{"pid", "01", false},
		{"pid", "", false},
		{"pid", "-1", false},
		{"pid", "1\n", false},
		{"pid", "99999999999999999999", false},
		{"unit", "nginx.service", true},
		{"unit", "a\\x2db@c:1.scope", true},
		{"unit", "a/b", false},
		{"unit", "..", false},
		{"unit", "", false},
		{"cgroup", "/system.slice/x.service", true},
		{"cgroup", "/docker/0123", true},
		{"cgroup", "/", false},
		{"cgroup", "system.slice", false},
		{"cgroup", "/a/../b", false},
		{"cgroup", "/a/./b", false},
		{"cgroup", "/a//b", false},
		{"cgroup", "/a/", false},
		{"cgroup", "/..a/b", true},
		{"comm", "kworker/0:1", true},
		{"comm", "Web Content", true},
		{"comm", "123456789012345", true},
		{"comm", "1234567890123456", false},
		{"comm", "a\x1b[m", false},
		{"comm", "\xc3\xa4", false},
		{"comm", "", false},
		{"container", "0123456789ab", true},
		{"container", hex64, true},
		{"container", "0123456789a", false},
		{"container", "0123456789AB", false},
		{"container", "0123456789a.", false},
		{"pod", "x", false},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		if (sw_rule_value_valid(cases[i].kind, cases[i].value) != cases[i].valid)
			fail_msg("%s:%s", cases[i].kind, cases[i].value);
}

TEST(hosts)
{
	static const struct {
		const char *value, *host;
		bool matches;
	} cases[] = {
		{"web1", "web1", true},
		{"WEB1:9100", "web1", true},
		{"web1:", "web1", true},
		{"web1.:9100", "web1", true},
		{"web1", "web1.example.org", true},
		{"web1.example.org:9100", "web1.example.org", true},
		{"web1.example.net", "web1.example.org", false},
		{"web1.example.org", "web1", false}, /* which domain is ours is not known */
		{"web", "web1", false},
		{"web11", "web1", false},
		{"web1:http", "web1", false},
		{"web1.example", "web1.example.org", false},
		{"", "web1", false},
		{":9100", "web1", false},
		{".", "web1", false},
		{"", "", false},
		{"[::1]:9100", "web1", false},
		{"localhost:9100", "web1", false},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		if (sw_rule_host_matches(cases[i].value, cases[i].host) != cases[i].matches)
			fail_msg("%s on %s", cases[i].value, cases[i].host);
}

TEST(exes)
{
	static char pattern[] = "/usr/*/my[ab]";
	struct sw_rule rule = {.require_exe = pattern}, any = {0};
	assert_true(sw_rule_exe_allowed(&any, ""));
	assert_true(sw_rule_exe_allowed(&rule, "/usr/bin/mya"));
	assert_true(sw_rule_exe_allowed(&rule, "/usr/bin/myb (deleted)"));
	assert_false(sw_rule_exe_allowed(&rule, "/usr/bin/myc"));
	assert_false(sw_rule_exe_allowed(&rule, "/usr/local/bin/mya")); /* '*' stops at '/' */
	assert_false(sw_rule_exe_allowed(&rule, "/home/x/usr/bin/mya"));
	assert_false(sw_rule_exe_allowed(&rule, " (deleted)"));
	assert_false(sw_rule_exe_allowed(&rule, ""));
}

/* The path whose file is compared: as it is written, and none of a pattern. */
TEST(exe_paths)
{
	static const struct {
		const char *require_exe, *path;
	} cases[] = {
		{NULL, NULL},
		{"/usr/bin/my", "/usr/bin/my"},
		{"/bin/my\n/usr/bin/my", "/bin/my"},
		{"/bin/my*", NULL},
		{"/bin/m?\n/usr/bin/m?", NULL},
		{"/bin/[m]y", NULL},
		{"/bin/\\my", NULL},
		{"/bin/my-too-long", NULL},
	};
	char path[12];
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		const struct sw_rule rule = {.require_exe = (char *) cases[i].require_exe};
		bool found = sw_rule_exe_path(&rule, path, sizeof(path));
		assert_int_equal(found, cases[i].path != NULL);
		assert_string_equal(path, cases[i].path != NULL ? cases[i].path : "");
	}
}

/* A directory that is a link, as /bin is on many systems: the program is that of both paths. */
TEST(exe_links)
{
	char directory[] = "/tmp/snapwalk-rules-XXXXXX", link[64], text[256], exe[PATH_MAX + 64];
	char real[PATH_MAX];
	static const char *const patterns[] = {"my", "m*"};
	assert_non_null(mkdtemp(directory));
	assert_non_null(realpath(directory, real));
	snprintf(link, sizeof(link), "%s/bin", directory);
	assert_int_equal(symlink(".", link), 0);
	for (size_t i = 0; i < SW_ARRAY_SIZE(patterns); i++) {
		snprintf(text, sizeof(text), "%sRequireExe=%s/%s\n", GOOD, link, patterns[i]);
		struct sw_rules rules = parse(text, "");
		snprintf(exe, sizeof(exe), "%s/my", real);
		assert_true(sw_rule_exe_allowed(&rules.rules[0], exe));
		snprintf(exe, sizeof(exe), "%s/bin/my (deleted)", real);
		assert_true(sw_rule_exe_allowed(&rules.rules[0], exe));
		snprintf(exe, sizeof(exe), "%s/you", real);
		assert_false(sw_rule_exe_allowed(&rules.rules[0], exe));
		sw_rules_deinit(&rules);
	}
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(directory), 0);
}

/* Many stars against a long value: an answer at once. */
TEST(slow_globs)
{
	char value[4000] = "a=";
	const char *labels[] = {value, "h=h", NULL};
	struct sw_rules rules = parse("[rule r]\nHost=h\nMatch=a~=*a*a*b\nTarget=pid:1\n", "");
	struct sw_rule_target target = {0};
	const char *reason = NULL;
	memset(value + 2, 'a', sizeof(value) - 3);
	value[sizeof(value) - 1] = '\0';
	for (size_t length = 256; length <= 257; length++) {
		value[2 + length] = '\0';
		value[2 + length - 1] = 'b';
		/* The longest that is looked at, and one more. */
		assert_int_equal(sw_rule_match(&rules.rules[0], "x", label, labels, "h", 0, &target,
					       &reason),
				 length == 256);
		sw_rule_target_deinit(&target);
		value[2 + length - 1] = value[2 + length] = 'a';
	}
	sw_rules_deinit(&rules);
}

static void put_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) >= 0, 1);
	assert_int_equal(fclose(f), 0);
}

TEST(directory)
{
	char dir[] = "/tmp/snapwalk-rules-XXXXXX", path[256], expect[600];
	struct sw_rules rules = {0};
	struct sw_error err = {0};
	sw_cleanup(sw_text_deinit) struct sw_text said = {0};
	static const char *const names[] = {"20-b.conf", "10-a.conf", "x.conf~", ".y.conf"};
	assert_non_null(mkdtemp(dir));
	put_file(dir, names[0], "[rule b]\nMatch=a=b\nHost=h\nTarget=pid:1\n");
	put_file(dir, names[1], GOOD "Nonsense=1\n[rule a]\nMatch=a=b\nHost=h\nTarget=pid:1\n");
	put_file(dir, names[2], "[rule x]\nMatch=a=b\nHost=h\nTarget=pid:1\n");
	put_file(dir, names[3], "[rule y]\nMatch=a=b\nHost=h\nTarget=pid:1\n");
	snprintf(path, sizeof(path), "%s/30-dir.conf", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(sw_rules_load(dir, say, &said, &rules, &err), 0);
	assert_int_equal(rules.n_rules, 2);
	assert_string_equal(rules.rules[0].name, "a");
	assert_string_equal(rules.rules[1].name, "b");
	snprintf(expect, sizeof(expect),
		 "%s/10-a.conf:5: unknown key Nonsense=\n%s/10-a.conf:1: rule good is left out\n"
		 "%s/30-dir.conf: Is a directory\n",
		 dir, dir, dir);
	assert_string_equal(said.data, expect);
	sw_rules_deinit(&rules);
	assert_int_equal(rmdir(path), 0);
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(dir), 0);
	/* Not there: no rules. Not a directory: an error. */
	assert_int_equal(sw_rules_load(dir, NULL, NULL, &rules, &err), 0);
	assert_int_equal(rules.n_rules, 0);
	assert_int_equal(sw_rules_load("/dev/null", NULL, NULL, &rules, &err), -SW_E_IO);
	assert_string_equal(err.message, "/dev/null: Not a directory");
}
