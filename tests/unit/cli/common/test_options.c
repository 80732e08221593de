/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/options.h"
#include "common/option_values.h"
#include "common/option_table.h"
#include "cleanup.h"
#include "test.h"

static const struct sw_command commands[] = {
	{.name = "dump", .bit = SW_FOR_DUMP},       {.name = "sample", .bit = SW_FOR_SAMPLE},
	{.name = "explain", .bit = SW_FOR_EXPLAIN}, {.name = "verify", .bit = SW_FOR_VERIFY},
	{.name = "record", .bit = SW_FOR_RECORD},   {.name = "doctor", .bit = SW_FOR_DOCTOR},
	{.name = "list", .bit = SW_FOR_LIST},       {.name = "show", .bit = SW_FOR_SHOW},
	{.name = "watch", .bit = SW_FOR_WATCH},     {.name = "diff", .bit = SW_FOR_DIFF},
	{.name = "hook", .bit = SW_FOR_HOOK},       {0},
};

enum { WORDS_MAX = 16 };

/* Parses "snapwalk LINE", words separated by one blank; ' stands for an empty word. */
static bool parse(const char *line, struct sw_options *o, struct sw_usage *usage)
{
	static char buffer[512];
	char *argv[WORDS_MAX + 1] = {(char *) "snapwalk"};
	int argc = 1;
	(void) snprintf(buffer, sizeof(buffer), "%s", line);
	char *rest = buffer;
	for (char *word; line[0] != '\0' && (word = strsep(&rest, " ")) != NULL;) {
		assert_true(argc < WORDS_MAX);
		argv[argc++] = strcmp(word, "'") == 0 ? (char *) "" : word;
	}
	return sw_options_parse(argc, argv, commands, o, usage);
}

static void good(const char *line, struct sw_options *o)
{
	struct sw_usage usage;
	if (!parse(line, o, &usage))
		fail_msg("%s: %s: %s", line, usage.about, usage.message);
}

/* Written as the user sees it. */
static void bad(const char *line, const char *wanted)
{
	struct sw_options o;
	struct sw_usage usage;
	char got[512];
	assert_false(parse(line, &o, &usage));
	sw_options_deinit(&o);
	(void) snprintf(got, sizeof(got), "%s: %s: %s", usage.about, usage.message, usage.remedy);
	assert_string_equal(got, wanted);
}

TEST(test_pid_alone_is_a_dump)
{
	struct sw_options o;
	good("1234", &o);
	assert_string_equal(o.command->name, "dump");
	assert_int_equal(o.n_wants, 1);
	assert_int_equal(o.wants[0].kind, SW_WANT_PID);
	assert_int_equal(o.wants[0].pid, 1234);
	assert_int_equal(o.timeout_ms, 2000);
	assert_int_equal(o.format, SW_FORMAT_TEXT);
	assert_int_equal(o.symbolize.level, SW_SYMBOLS_LINES);
	assert_int_equal(o.walk.mode, SW_WALK_HYBRID);
	assert_int_equal(o.snapshot.restart, SW_RESTART_INFINITE);
	assert_null(o.output);
	sw_options_deinit(&o);
}

TEST(test_all_options_of_dump)
{
	struct sw_options o;
	good("dump 7 --json -o out --depth 12 --max-stop 9 --timeout 0 --stack-bytes 64K", &o);
	assert_int_equal(o.format, SW_FORMAT_JSON);
	assert_string_equal(o.output, "out");
	assert_int_equal(o.walk.max_frames, 12);
	assert_int_equal(o.snapshot.max_stop_ms, 9);
	assert_int_equal(o.timeout_ms, 0);
	assert_int_equal(o.snapshot.stack_bytes, 65536);
	sw_options_deinit(&o);
	good("--walk=scan --symbols names --no-inlines --no-group -v --restart none 7 --via direct",
	     &o);
	assert_int_equal(o.walk.mode, SW_WALK_SCAN);
	assert_int_equal(o.symbolize.level, SW_SYMBOLS_NAMES);
	assert_true(o.symbolize.no_inlines);
	assert_true(o.no_group);
	assert_true(o.verbose);
	assert_int_equal(o.snapshot.restart, SW_RESTART_NONE);
	assert_int_equal(o.n_wants, 1);
	sw_options_deinit(&o);
	good("7 --scan-below 9 --scan-range 4K --trim-unknown --time local", &o);
	assert_int_equal(o.walk.scan_below, 9);
	assert_int_equal(o.walk.scan_range_bytes, 4096);
	assert_true(o.walk.trim_unknown);
	assert_int_equal(o.walk.mode, SW_WALK_HYBRID);
	assert_int_equal(o.time, SW_TEXT_TIME_LOCAL);
	assert_int_equal(o.via, SW_VIA_DIRECT);
	sw_options_deinit(&o);
	good("7 --scan-all --time start", &o);
	assert_true(o.walk.scan_all);
	assert_int_equal(o.walk.mode, SW_WALK_SCAN);
	assert_int_equal(o.time, SW_TEXT_TIME_START);
	sw_options_deinit(&o);
	good("7 --color never --reason slow --format folded --walk libunwind --restart all", &o);
	assert_int_equal(o.color, SW_COLOR_NEVER);
	assert_string_equal(o.reason, "slow");
	assert_int_equal(o.format, SW_FORMAT_FOLDED);
	assert_true(o.libunwind);
	assert_int_equal(o.snapshot.restart, SW_RESTART_ALL);
	sw_options_deinit(&o);
}

TEST(test_threads)
{
	struct sw_options o;
	good("7 --threads 8,9,10", &o);
	assert_int_equal(o.snapshot.n_tids, 3);
	assert_int_equal(o.snapshot.tids[0], 8);
	assert_int_equal(o.snapshot.tids[2], 10);
	sw_options_deinit(&o);
	good("7 --threads 8 --threads running", &o);
	assert_true(o.snapshot.running_only);
	assert_int_equal(o.snapshot.n_tids, 0);
	assert_null(o.snapshot.tids);
	sw_options_deinit(&o);
	bad("7 --threads 8,,9", "--threads: '' is not a thread id: "
				"give all, running or thread ids with commas");
	bad("7 --threads 8,x", "--threads: 'x' is not a thread id: "
			       "give all, running or thread ids with commas");
}

TEST(test_targets)
{
	struct sw_options o;
	good("12 13 --comm nginx --unit cron --cgroup /a --container 0123ab --core c --exe e", &o);
	assert_int_equal(o.n_wants, 7);
	/* Selectors come in the order of getopt, pids behind them. */
	assert_int_equal(o.wants[0].kind, SW_WANT_COMM);
	assert_string_equal(o.wants[0].text, "nginx");
	assert_int_equal(o.wants[1].kind, SW_WANT_UNIT);
	assert_int_equal(o.wants[2].kind, SW_WANT_CGROUP);
	assert_int_equal(o.wants[3].kind, SW_WANT_CONTAINER);
	assert_int_equal(o.wants[4].kind, SW_WANT_CORE);
	assert_int_equal(o.wants[5].pid, 12);
	assert_int_equal(o.wants[6].pid, 13);
	assert_string_equal(o.exe, "e");
	sw_options_deinit(&o);
	good("--fixture dir", &o);
	assert_int_equal(o.wants[0].kind, SW_WANT_FIXTURE);
	sw_options_deinit(&o);
	bad("--container 12345", "--container: '12345' is not a container id: "
				 "give 6 to 64 lower-case hexadecimal digits of its id");
	bad("--container 12345g7", "--container: '12345g7' is not a container id: "
				   "give 6 to 64 lower-case hexadecimal digits of its id");
	bad("--comm '", "--comm: the value is empty: give what to look for");
	bad("7 --exe x", "--exe: belongs to --core: give --core FILE too");
}

TEST(test_explain)
{
	struct sw_options o;
	good("explain 7 0x7F00", &o);
	assert_int_equal(o.address_avma, 0x7f00);
	assert_int_equal(o.wants[0].pid, 7);
	sw_options_deinit(&o);
	good("explain --comm x 401000", &o);
	assert_int_equal(o.address_avma, 0x401000);
	assert_int_equal(o.n_wants, 1);
	sw_options_deinit(&o);
	bad("explain 7 zz", "zz: 'zz' is not an address: "
			    "give it in hexadecimal, as in 0x7f12345678");
	bad("explain 7", "explain: no address is given: give snapwalk explain TARGET ADDRESS");
	bad("explain 7 12345678901234567",
	    "12345678901234567: '12345678901234567' is not an address: "
	    "give it in hexadecimal, as in 0x7f12345678");
}

TEST(test_bad_lines)
{
	bad("dump", "dump: no target is given: give a process id, or see snapwalk --help");
	bad("--json", "dump: no target is given: give a process id, or see snapwalk --help");
	bad("diff a b -f html", "--format: is no option of diff: see snapwalk diff --help");
	bad("diff a b -o x.html", "diff: it has no stacks: give a name with .json or .txt");
	bad("diff a b -o x.svg", "x.svg: diff cannot write svg: give a name with .json or .txt");
	bad("7 --burst 2,9 -o x.json", "dump: --burst gives text only: give a name with .txt");
	bad("7 --burst 2,9 --json", "dump: --burst gives text only: leave --format away");
	bad("sample 7 --diff a -o x.svg",
	    "--diff: this format has no differences: give a name with .txt or .html");
	bad("sample 7 --diff a -f svg",
	    "--diff: this format has no differences: give --format text or html");
	bad("7 --depth abc", "--depth: 'abc' is not a number: give 1 to 65536");
	bad("7 --depth '", "--depth: '' is not a number: give 1 to 65536");
	bad("7 --depth 0", "--depth: '0' is out of range: give 1 to 65536");
	bad("7 --depth -1", "--depth: '-1' is not a number: give 1 to 65536");
	bad("7 --depth 1x", "--depth: '1x' is not a number: give 1 to 65536");
	bad("7 --depth 99999999999999999999999",
	    "--depth: '99999999999999999999999' is out of range: give 1 to 65536");
	bad("7 --stack-bytes 1T", "--stack-bytes: '1T' is not a size: "
				  "give bytes, or a number with K, M or G");
	bad("7 --stack-bytes 4KB", "--stack-bytes: '4KB' is not a size: "
				   "give bytes, or a number with K, M or G");
	bad("7 --stack-bytes 1", "--stack-bytes: '1' is out of range: give 4096 to 1073741824");
	bad("7 --stack-bytes 99999999999999999G",
	    "--stack-bytes: '99999999999999999G' is out of range: give 4096 to 1073741824");
	bad("7 --format xml", "--format: 'xml' is unknown: give text|json|folded|html");
	bad("7 --format tex", "--format: 'tex' is unknown: give text|json|folded|html");
	bad("7 --via sideways", "--via: 'sideways' is unknown: give auto|direct|daemon");
	bad("7 --bogus", "--bogus: no such option: see snapwalk dump --help");
	bad("7 --bogus=3", "--bogus: no such option: see snapwalk dump --help");
	bad("7 --dpeth 3", "--dpeth: no such option: did you mean --depth?");
	bad("7 -x", "-x: no such option: see snapwalk dump --help");
	bad("7 --json=1", "--json: takes no value: write it without a value");
	bad("7 --depth", "--depth: a value is missing: give N");
	bad("7 -o", "--output: a value is missing: give FILE");
	bad("dump 7 --modules-store y", "--modules-store: belongs to --keep: give --keep DIR too");
	bad("dump 7 8 --keep x", "--keep: it keeps one process: give one target, without --follow");
	bad("dump 7 --keep x --follow",
	    "--keep: it keeps one process: give one target, without --follow");
	bad("dump --fixture y --keep x", "--keep: it is a file already: give a running process");
	bad("dump --core y --keep x", "--keep: it is a file already: give a running process");
	bad("dump 7 --keep x --burst 2,5",
	    "--keep: --burst keeps no snapshot: leave one of both away");
	bad("dump 7 --keep x --via daemon",
	    "--keep: the daemon does not do that: leave it away, or use --via direct");
	bad("dump 7 --keep '", "--keep: the value is empty: give a directory");
	bad("sample 7 --keep x", "--keep: is no option of sample: see snapwalk sample --help");
	bad("7 -o '", "--output: the value is empty: give a file name, or - for standard output");
	bad("doctor foo",
	    "foo: no process id: give a number, or --comm foo for processes of that name");
	bad("dmup 7 --bogus", "dmup: neither a command nor a process id: did you mean 'dump'?");
	bad("smaple 7 --rate 3",
	    "smaple: neither a command nor a process id: did you mean 'sample'?");
	bad("7 smaple --rate 3", "--rate: is no option of dump: see snapwalk dump --help");
	bad("foo --rate 3", "--rate: is no option of dump: see snapwalk dump --help");
	bad("foo", "foo: neither a command nor a process id: "
		   "give a number, or --comm foo for processes of that name");
	bad("0", "0: no process id: give the number of a process");
	bad("99999999999", "99999999999: no process id: give the number of a process");
	bad("7 dump", "dump: a command is misplaced: put the command first");
	bad("explain 7 0x1 --all", "--all: is no option of explain: see snapwalk explain --help");
	bad("verify 7 8", "verify: several targets are given: give one target");
	bad("record 7", "record: no directory is given: give -o DIRECTORY, a new one");
	bad("sample 7 --format xml", "--format: 'xml' is unknown: give "
				     "text|folded|json|pprof|speedscope|firefox|html|otlp|svg");
	bad("dump 7 --format pprof", "--format: 'pprof' is unknown: give text|json|folded|html");
	bad("show 1-2 --format xml", "--format: 'xml' is unknown: give "
				     "text|folded|json|pprof|speedscope|firefox|html|otlp|svg");
	bad("sample 7 --format pprof --diff old.json",
	    "--diff: this format has no differences: give --format text or html");
	bad("dump 7 --diff old.json", "--diff: is no option of dump: see snapwalk dump --help");
	bad("sample 7 --rate 0", "--rate: '0' is out of range: give 1 to 1000");
}

TEST(test_help_needs_no_target)
{
	struct sw_options o;
	good("--help", &o);
	assert_true(o.help);
	assert_null(o.command);
	sw_options_deinit(&o);
	good("verify -h", &o);
	assert_true(o.help);
	assert_string_equal(o.command->name, "verify");
	sw_options_deinit(&o);
	good("-V", &o);
	assert_true(o.version);
	sw_options_deinit(&o);
	good("doctor", &o);
	assert_int_equal(o.n_wants, 0);
	sw_options_deinit(&o);
}

TEST(test_sample_defaults)
{
	struct sw_options o;
	good("sample 7", &o);
	assert_int_equal(o.rate_hz, 20);
	assert_int_equal(o.duration_s, 5);
	assert_int_equal(o.max_load_percent, 1);
	sw_options_deinit(&o);
	good("sample 7 --form=otlp", &o);
	assert_int_equal(o.profile_format, SW_PROFILE_OTLP);
	assert_true(o.format_given);
	sw_options_deinit(&o);
	good("sample 7 --rate 99 --duration 2 --max-load 5", &o);
	assert_int_equal(o.rate_hz, 99);
	assert_int_equal(o.duration_s, 2);
	assert_int_equal(o.max_load_percent, 5);
	sw_options_deinit(&o);
}

TEST(test_via)
{
	struct sw_options o;
	good("7", &o);
	assert_int_equal(o.via, SW_VIA_AUTO);
	assert_null(o.socket_path);
	sw_options_deinit(&o);
	good("7 --via daemon --socket /s --depth 3 --symbols none --max-stop 9", &o);
	assert_int_equal(o.via, SW_VIA_DAEMON);
	assert_string_equal(o.socket_path, "/s");
	sw_options_deinit(&o);
	good("7 --via daemon --stop never", &o);
	assert_int_equal(o.via, SW_VIA_DAEMON);
	assert_int_equal(o.snapshot.stop, SW_STOP_NEVER);
	assert_true(o.stop_given);
	sw_options_deinit(&o);
	/* Work that only the command itself can do is not asked of the daemon. */
	good("7 --args", &o);
	assert_true(o.walk.args && o.snapshot.args);
	assert_int_equal(o.via, SW_VIA_DIRECT);
	sw_options_deinit(&o);
	good("7", &o);
	assert_false(o.walk.args || o.snapshot.args);
	sw_options_deinit(&o);
	good("7 --walk scan", &o);
	assert_int_equal(o.via, SW_VIA_DIRECT);
	sw_options_deinit(&o);
	static const char *const words[][2] = {{"--core", "c"},          {"--fixture", "f"},
					       {"--threads", "running"}, {"--threads", "8"},
					       {"--walk", "tables"},     {"--restart", "all"}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(words); i++) {
		char line[64], wanted[128];
		(void) snprintf(line, sizeof(line), "7 --via daemon %s %s", words[i][0],
				words[i][1]);
		(void) snprintf(wanted, sizeof(wanted),
				"%s: the daemon does not do that: leave it away, or use --via "
				"direct",
				words[i][0]);
		bad(line, wanted);
	}
	bad("explain 7 0x1 --via daemon",
	    "--via: explain does not ask the daemon: use --via direct, or leave it away");
	good("sample 7 --via daemon --socket /s", &o);
	assert_int_equal(o.via, SW_VIA_DAEMON);
	sw_options_deinit(&o);
	good("sample 7 --via daemon --mode cpu", &o);
	assert_int_equal(o.mode, SW_RECORD_CPU);
	sw_options_deinit(&o);
	static const char *const samples[] = {"--rate 101", "--duration 0", "--duration 3601"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(samples); i++) {
		char line[128], said[256];
		(void) snprintf(line, sizeof(line), "sample 7 --via daemon %s", samples[i]);
		(void) snprintf(said, sizeof(said),
				"%.*s: the daemon samples up to 100 times a second, for 1 to 3600 "
				"seconds: leave --via away",
				(int) strcspn(samples[i], " "), samples[i]);
		bad(line, said);
		/* Without --via the command does what the daemon does not. */
		(void) snprintf(line, sizeof(line), "sample 7 %s", samples[i]);
		good(line, &o);
		assert_int_equal(o.via, SW_VIA_DIRECT);
		sw_options_deinit(&o);
	}
	good("sample 7 --rate 100", &o);
	assert_int_equal(o.via, SW_VIA_AUTO);
	sw_options_deinit(&o);
	bad("7 --socket '", "--socket: the value is empty: give the path of a socket");
	bad("doctor --socket /s", "--socket: is no option of doctor: see snapwalk doctor --help");
}

TEST(test_list)
{
	struct sw_options o;
	good("list", &o);
	assert_int_equal(o.limit, 100);
	assert_null(o.since);
	assert_int_equal(o.n_wants, 0);
	sw_options_deinit(&o);
	good("list 7 --since 2h --limit 3 --json", &o);
	assert_int_equal(o.wants[0].pid, 7);
	assert_string_equal(o.since, "2h");
	assert_int_equal(o.limit, 3);
	sw_options_deinit(&o);
	bad("list 7 --comm x", "list: several targets are given: give one target");
	bad("list --unit x", "--unit: is no option of list: see snapwalk list --help");
	bad("list --since soon", "--since: 'soon' is not a time: "
				 "give 30m, 2h, 1d, 2026-11-20 or 2026-11-20T10:35:50Z");
	bad("list --format folded", "--format: is no option of list: see snapwalk list --help");
}

TEST(test_since)
{
	static const struct {
		const char *text, *wanted;
	} times[] = {
		{"90s", "2026-11-20T10:34:20Z"},
		{"30m", "2026-11-20T10:05:50Z"},
		{"2h", "2026-11-20T08:35:50Z"},
		{"1d", "2026-11-19T10:35:50Z"},
		{"1w", "2026-11-13T10:35:50Z"},
		{"2026-01-02", "2026-01-02T00:00:00Z"},
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
	};
	static const char *const wrong[] = {"",
					    "2",
					    "h",
					    "2hh",
					    "-2h",
					    "2 h",
					    "0s",
					    "soon",
					    "9999999d",
					    "2026-13-01",
					    "2026-01-02T03:04:05+01:00"};
	enum { NOW_S = 1795170950 }; /* 2026-11-20T10:35:50Z */
	char text[SW_SINCE_SIZE];
	struct sw_usage usage;
	for (size_t i = 0; i < SW_ARRAY_SIZE(times); i++) {
		assert_true(sw_since_parse(times[i].text, NOW_S, text, &usage));
		assert_string_equal(text, times[i].wanted);
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(wrong); i++)
		if (sw_since_parse(wrong[i], NOW_S, text, &usage))
			fail_msg("'%s' was taken as %s", wrong[i], text);
}

TEST(test_show_and_watch)
{
	struct sw_options o;
	good("show 20261120T103550Z-7-1 other -v --no-group", &o);
	assert_int_equal(o.n_wants, 0);
	assert_int_equal(o.n_words, 2);
	assert_string_equal(o.words[0], "20261120T103550Z-7-1");
	assert_string_equal(o.words[1], "other");
	sw_options_deinit(&o);
	good("show 1-2 --format pprof", &o);
	assert_int_equal(o.profile_format, SW_PROFILE_PPROF);
	sw_options_deinit(&o);
	good("show 1-2 --format folded", &o);
	assert_int_equal(o.profile_format, SW_PROFILE_FOLDED);
	assert_int_equal(o.format, SW_FORMAT_FOLDED);
	sw_options_deinit(&o);
	good("show 1-2 --json", &o);
	assert_int_equal(o.profile_format, SW_PROFILE_JSON);
	assert_int_equal(o.format, SW_FORMAT_JSON);
	sw_options_deinit(&o);
	good("watch --json", &o);
	assert_int_equal(o.format, SW_FORMAT_JSON);
	sw_options_deinit(&o);
	bad("show", "show: no dump is given: give a file, or an id: 'snapwalk list' shows them");
	bad("watch 7", "7: watch takes no target: leave it away");
	bad("show x --depth 3", "--depth: is no option of show: see snapwalk show --help");
}

TEST(test_hook)
{
	struct sw_options o;
	good("hook nagios CRITICAL HARD 3 --pid 7 --states CRITICAL,UNKNOWN --soft -o /d", &o);
	assert_int_equal(o.n_words, 4);
	assert_string_equal(o.words[0], "nagios");
	assert_string_equal(o.words[3], "3");
	assert_int_equal(o.n_wants, 1);
	assert_int_equal(o.wants[0].kind, SW_WANT_PID);
	assert_int_equal(o.wants[0].pid, 7);
	assert_string_equal(o.states, "CRITICAL,UNKNOWN");
	assert_true(o.soft);
	assert_int_equal(o.timeout_ms, 10000);
	sw_options_deinit(&o);
	good("hook monit --timeout 500", &o);
	assert_int_equal(o.timeout_ms, 500);
	sw_options_deinit(&o);
	bad("hook", "hook: no kind is given: "
		    "give monit, alertmanager, nagios, collectd or systemd");
	bad("hook monit --timeout 0", "--timeout: a monitoring system must not wait for ever: "
				      "give 1 to 86400000");
	bad("show --pid 7", "--pid: is no option of show: see snapwalk show --help");
	bad("7 --via daemon --args",
	    "--args: the daemon does not do that: leave it away, or use --via direct");
	bad("7 --via daemon --scan-all",
	    "--scan-all: the daemon does not do that: leave it away, or use --via direct");
	bad("7 --via daemon --scan-below 3",
	    "--scan-below: the daemon does not do that: leave it away, or use --via direct");
	bad("7 --via daemon --scan-range 1K",
	    "--scan-range: the daemon does not do that: leave it away, or use --via direct");
	bad("7 --via daemon --trim-unknown",
	    "--trim-unknown: the daemon does not do that: leave it away, or use --via direct");
	bad("7 --scan-range 0", "--scan-range: '0' is out of range: give 1 to 1073741824");
	bad("7 --time now", "--time: 'now' is unknown: give local|utc|start");
	bad("hook monit --walk scan", "--walk: is no option of hook: see snapwalk hook --help");
}

/* Names must be unique for each command, letters for all: getopt_long() would silently take the first. Rows
 * of one name stand together. */
TEST(test_table_is_unambiguous)
{
	for (size_t i = 0; i < sw_n_options; i++) {
		assert_non_null(sw_option_table[i].set);
		assert_true(sw_option_table[i].commands != 0);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(sw_option_table[i].name, sw_option_table[j].name) == 0) {
				assert_int_equal(sw_option_table[i].commands &
							 sw_option_table[j].commands,
						 0);
				assert_string_equal(sw_option_table[i - 1].name,
						    sw_option_table[i].name);
			}
			bool same = strcmp(sw_option_table[i].name, sw_option_table[j].name) == 0;
			if (sw_option_table[i].letter != 0)
				assert_int_equal(sw_option_table[i].letter ==
							 sw_option_table[j].letter,
						 same);
		}
	}
}
