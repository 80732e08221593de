/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/options.h"
#include "common/event_word.h"
#include "common/option_values.h"
#include "common/option_output.h"
#include "common/option_table.h"
#include "common/pair_word.h"
#include "common/word_kind.h"
#include "cleanup.h"

#include <snapwalk/nearest.h>
#include <assert.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

enum {
	DEFAULT_TIMEOUT_MS = 2000,
	DEFAULT_SYMBOLIZE_MS = 60000,
	DEFAULT_RATE_HZ = 20,
	DEFAULT_CPU_RATE_HZ = 99, /* such a sample costs next to nothing, and is of one thread */
	DEFAULT_HOST_RATE_HZ = 19,
	DEFAULT_DURATION_S = 5,
	DEFAULT_LEAKS_S = 60,
	DEFAULT_MAX_OVERHEAD_PERCENT = 5,
	DEFAULT_MAX_LOAD_PERCENT = 1,
	DEFAULT_INTERVAL_MS = 1000,
	DEFAULT_HOOK_TIMEOUT_MS = 10000,
	DEFAULT_LIST_LIMIT = 100,
	DAEMON_RATE_MAX_HZ = 100, /* of its profiles */
	DAEMON_MAX_S = 3600,
	/* Commands whose words are dumps. */
	NAMES_DUMPS = SW_FOR_SHOW | SW_FOR_SYMBOLIZE | SW_FOR_DELETE | SW_FOR_PIN | SW_FOR_DIFF |
		      SW_FOR_MERGE,
	A_WORD = 1,      /* of getopt_long(): no option */
	LONG_BASE = 256, /* getopt values of options are LONG_BASE + index: never a letter */
};

static const struct sw_command *find_command(const struct sw_command *commands, const char *name)
{
	for (; commands->name != NULL; commands++)
		if (strcmp(commands->name, name) == 0)
			return commands;
	return NULL;
}

/* The command that a mistyped word may mean; NULL: none. */
static const struct sw_command *near_command(const struct sw_command *commands, const char *word)
{
	for (; commands->name != NULL; commands++)
		if (sw_is_near(word, commands->name))
			return commands;
	return NULL;
}

static void make_tables(struct option *longs, char *shorts)
{
	*shorts++ = '-'; /* words come in their order, as A_WORD; what stands behind -- does not */
	*shorts++ = ':'; /* tells a missing argument from an unknown option */
	for (size_t i = 0; i < sw_n_options; i++) {
		const struct sw_option *o = &sw_option_table[i];
		bool takes = o->argument != NULL;
		/* Rows of one name have one value: what begins so is not ambiguous. */
		bool again = i > 0 && strcmp(o->name, o[-1].name) == 0;
		longs[i] = (struct option){.name = o->name,
					   .has_arg = !takes                  ? no_argument
						      : o->argument[0] == '[' ? optional_argument
									      : required_argument,
					   .val = again ? longs[i - 1].val : LONG_BASE + (int) i};
		if (o->letter == 0 || again)
			continue;
		*shorts++ = o->letter;
		if (takes)
			*shorts++ = ':';
	}
	longs[sw_n_options] = (struct option){0};
	*shorts = '\0';
}

static const struct sw_option *option_of(int value)
{
	if (value >= LONG_BASE)
		return &sw_option_table[value - LONG_BASE];
	for (size_t i = 0; i < sw_n_options; i++)
		if (value != 0 && sw_option_table[i].letter == value)
			return &sw_option_table[i];
	return NULL;
}

/* An option may have a row for each of several commands, one behind the other: that of this
 * command. */
static const struct sw_option *row_of(const struct sw_option *option, enum sw_command_bit command)
{
	const struct sw_option *end = sw_option_table + sw_n_options, *row = option;
	while (row + 1 < end && !(row->commands & command) &&
	       strcmp(row[1].name, option->name) == 0)
		row++;
	return row;
}

/* The word that getopt_long() complained about, without "=value". */
static void about_word(struct sw_usage *usage, const char *word)
{
	(void) snprintf(usage->about, sizeof(usage->about), "%.*s", (int) strcspn(word, "="), word);
}

static bool no_such_option(const struct sw_options *o, struct sw_usage *usage)
{
	char remedy[sizeof(usage->remedy)];
	const char *word = usage->about;
	(void) snprintf(remedy, sizeof(remedy), "see snapwalk %s --help", o->command->name);
	for (size_t i = 0; i < sw_n_options && strncmp(word, "--", 2) == 0; i++)
		if ((sw_option_table[i].commands & o->command->bit) &&
		    sw_is_near(word + 2, sw_option_table[i].name)) {
			(void) snprintf(remedy, sizeof(remedy), "did you mean --%s?",
					sw_option_table[i].name);
			break;
		}
	return sw_usage_fail(usage, remedy, "no such option");
}

static bool take_option(struct sw_options *o, int value, char **argv, struct sw_usage *usage)
{
	const struct sw_option *option = option_of(value == ':' || value == '?' ? optopt : value);
	if (option == NULL || value == '?') {
		if (optopt > 0 && optopt < LONG_BASE)
			(void) snprintf(usage->about, sizeof(usage->about), "-%c", optopt);
		else
			about_word(usage, argv[optind - 1]);
		if (option != NULL)
			return sw_usage_fail(usage, "write it without a value", "takes no value");
		return no_such_option(o, usage);
	}
	option = row_of(option, o->command->bit);
	(void) snprintf(usage->about, sizeof(usage->about), "--%s", option->name);
	char remedy[sizeof(usage->remedy)];
	if (value == ':') {
		(void) snprintf(remedy, sizeof(remedy), "give %s", option->argument);
		return sw_usage_fail(usage, remedy, "a value is missing");
	}
	if (!(option->commands & o->command->bit)) {
		(void) snprintf(remedy, sizeof(remedy), "see snapwalk %s --help", o->command->name);
		return sw_usage_fail(usage, remedy, "is no option of %s", o->command->name);
	}
	return option->set(o, optarg, usage);
}

/* Whether word, which stands where a command would, is a mistyped one; usage says so. */
static bool is_mistyped(const char *word, const struct sw_command *commands, struct sw_usage *usage)
{
	char remedy[sizeof(usage->remedy)];
	const struct sw_command *near = near_command(commands, word);
	if (near == NULL || sw_word_kind(word) != SW_WORD_NO_FILE)
		return false;
	(void) snprintf(usage->about, sizeof(usage->about), "%s", word);
	(void) snprintf(remedy, sizeof(remedy), "did you mean '%s'?", near->name);
	(void) sw_usage_fail(usage, remedy, "neither a command nor a process id");
	return true;
}

/* A word that names no process: a file, or a mistake. */
static bool take_file(struct sw_options *o, const char *word, const struct sw_command *commands,
		      struct sw_usage *usage)
{
	enum { OFFLINE = SW_FOR_DUMP | SW_FOR_EXPLAIN | SW_FOR_VERIFY };
	char remedy[sizeof(usage->remedy)];
	const char *message =
		o->command_given ? "no process id" : "neither a command nor a process id";
	enum sw_word_kind kind = sw_word_kind(word);
	bool saved = kind == SW_WORD_CORE || kind == SW_WORD_MINIDUMP || kind == SW_WORD_SNAPSHOT;
	if (saved && (o->command->bit & OFFLINE)) {
		o->wants[o->n_wants++] =
			(struct sw_want){.kind = kind == SW_WORD_SNAPSHOT ? SW_WANT_FIXTURE
									  : SW_WANT_CORE,
					 .text = word};
		return true;
	}
	if (saved) {
		message = kind == SW_WORD_CORE       ? "it is a core file"
			  : kind == SW_WORD_MINIDUMP ? "it is a minidump"
						     : "it is a snapshot";
		(void) snprintf(remedy, sizeof(remedy), "see it with 'snapwalk dump %.80s'", word);
	} else if (kind == SW_WORD_PROGRAM) {
		message = "it is a program, not a process";
		/* Without a slash it would be looked for in $PATH. */
		(void) snprintf(remedy, sizeof(remedy),
				"start it with 'snapwalk sample -- %s%.80s'",
				strchr(word, '/') == NULL ? "./" : "", word);
	} else if (kind == SW_WORD_JSON) {
		message = "it is a file of JSON";
		(void) snprintf(remedy, sizeof(remedy), "see it with 'snapwalk show %.80s'", word);
	} else if (kind == SW_WORD_OTHER || strchr(word, '/') != NULL ||
		   strncmp(word, "core.", strlen("core.")) == 0) {
		message = kind == SW_WORD_OTHER
				  ? "it is neither a core file, nor a minidump, nor a snapshot"
				  : "there is no such file";
		(void) snprintf(remedy, sizeof(remedy), "give a process id, or a core file");
	} else if (!o->command_given && is_mistyped(word, commands, usage)) {
		return false;
	} else {
		(void) snprintf(remedy, sizeof(remedy),
				"give a number, or --comm %.60s for processes of that name", word);
	}
	return sw_usage_fail(usage, remedy, "%s", message);
}

static bool take_pid(struct sw_options *o, const char *word, const struct sw_command *commands,
		     struct sw_usage *usage)
{
	uint64_t pid;
	(void) snprintf(usage->about, sizeof(usage->about), "%s", word);
	if (find_command(commands, word) != NULL)
		return sw_usage_fail(usage, "put the command first", "a command is misplaced");
	if (word[strspn(word, "0123456789")] != '\0' || word[0] == '\0')
		return take_file(o, word, commands, usage);
	if (!sw_number_parse(word, 1, INT_MAX, &pid, usage))
		return sw_usage_fail(usage, "give the number of a process", "no process id");
	o->wants[o->n_wants++] =
		(struct sw_want){.kind = SW_WANT_PID, .pid = (pid_t) pid, .text = word};
	return true;
}

/* The words that are no options: for explain the last one is the address, for on the first one is the event, all others
 * are pids. */
static bool take_words(struct sw_options *o, char **words, size_t n,
		       const struct sw_command *commands, struct sw_usage *usage)
{
	if (o->command->bit == SW_FOR_EXPLAIN && !o->lock && n > 0 && (n > 1 || o->n_wants > 0)) {
		o->address = words[--n];
		(void) snprintf(usage->about, sizeof(usage->about), "%s", o->address);
		if (!sw_address_parse(o->address, &o->address_avma, usage))
			return false;
	}
	if (o->command->bit == SW_FOR_ON && n > 0) {
		if (!sw_event_parse(o, words[0], usage))
			return false;
		words++;
		n--;
	}
	if (o->command->bit & (SW_FOR_WATCH | SW_FOR_MCP) && n > 0) {
		(void) snprintf(usage->about, sizeof(usage->about), "%s", words[0]);
		return sw_usage_fail(usage, "leave it away", "%s takes no target",
				     o->command->name);
	}
	if (o->command->bit & (NAMES_DUMPS | SW_FOR_HOOK)) {
		for (size_t i = 0; i < n; i++)
			o->words[o->n_words++] = words[i];
		return true;
	}
	for (size_t i = 0; i < n; i++)
		/* A lock may also be looked for in a dump: what is no process. */
		if (o->lock && words[i][strspn(words[i], "0123456789")] != '\0')
			o->words[o->n_words++] = words[i];
		else if (!take_pid(o, words[i], commands, usage))
			return false;
	return true;
}

/* "help dump" is "dump --help". */
static bool take_help(struct sw_options *o, char **words, size_t n,
		      const struct sw_command *commands, struct sw_usage *usage)
{
	const struct sw_command *named = n > 0 ? find_command(commands, words[0]) : NULL;
	const struct sw_command *near = n > 0 ? near_command(commands, words[0]) : NULL;
	char remedy[sizeof(usage->remedy)] = "'snapwalk help' lists them";
	if (n > 0)
		(void) snprintf(usage->about, sizeof(usage->about), "%s", words[0]);
	if (near != NULL)
		(void) snprintf(remedy, sizeof(remedy), "did you mean '%s'?", near->name);
	if (n > 0 && named == NULL)
		return sw_usage_fail(usage, remedy, "there is no such command");
	o->help = true;
	o->command = named;
	return true;
}

static bool wants_have(const struct sw_options *o, enum sw_want_kind kind)
{
	for (size_t i = 0; i < o->n_wants; i++)
		if (o->wants[i].kind == kind)
			return true;
	return false;
}

/* The daemon captures whole processes, in one way. "" when it can do what is asked for. */
static const char *only_direct(const struct sw_options *o)
{
	if (wants_have(o, SW_WANT_CORE))
		return "--core";
	if (wants_have(o, SW_WANT_FIXTURE))
		return "--fixture";
	if (o->snapshot.tids != NULL || o->snapshot.running_only)
		return "--threads";
	if (o->walk.scan_all)
		return "--scan-all";
	if (o->walk.mode != SW_WALK_HYBRID || o->libunwind)
		return "--walk";
	if (o->snapshot.kernel_stacks)
		return "--kernel";
	if (o->walk.memory != SW_WALK_REMEMBER)
		return "--walks";
	if (o->walk.scan_below > 0)
		return "--scan-below";
	if (o->walk.scan_range_bytes > 0)
		return "--scan-range";
	if (o->walk.trim_unknown)
		return "--trim-unknown";
	if (o->walk.goroutines)
		return "--goroutines";
	if (o->walk.tasks)
		return "--tasks";
	if (o->walk.args)
		return "--args";
	if (o->by_process)
		return "--by-process";
	if (o->command->bit == SW_FOR_DUMP && o->keep != NULL)
		return "--keep";
	return o->snapshot.restart != SW_RESTART_INFINITE ? "--restart" : "";
}

/* "": the daemon's profiles can be as long and as dense. */
static const char *daemon_limit(const struct sw_options *o)
{
	if (o->rate_hz > DAEMON_RATE_MAX_HZ)
		return "--rate";
	return o->duration_s == 0 || o->duration_s > DAEMON_MAX_S ? "--duration" : "";
}

static bool check_sample_via(struct sw_options *o, struct sw_usage *usage)
{
	const char *about = daemon_limit(o);
	if (about[0] == '\0')
		return true;
	if (o->via == SW_VIA_AUTO)
		o->via = SW_VIA_DIRECT;
	if (o->via == SW_VIA_DIRECT)
		return true;
	(void) snprintf(usage->about, sizeof(usage->about), "%s", about);
	return sw_usage_fail(usage, "leave --via away",
			     "the daemon samples up to %d times a second, for 1 to %d seconds",
			     DAEMON_RATE_MAX_HZ, DAEMON_MAX_S);
}

static bool check_via(struct sw_options *o, struct sw_usage *usage)
{
	const char *direct = only_direct(o);
	enum sw_command_bit bit = o->command->bit;
	if (o->via == SW_VIA_DAEMON && !(bit & (SW_FOR_DUMP | SW_FOR_HOOK | SW_FOR_SAMPLE))) {
		(void) snprintf(usage->about, sizeof(usage->about), "--via");
		return sw_usage_fail(usage, "use --via direct, or leave it away",
				     "%s does not ask the daemon", o->command->name);
	}
	if (o->via == SW_VIA_DAEMON && direct[0] != '\0') {
		(void) snprintf(usage->about, sizeof(usage->about), "%s", direct);
		return sw_usage_fail(usage, "leave it away, or use --via direct",
				     "the daemon does not do that");
	}
	if (bit == SW_FOR_SAMPLE && !check_sample_via(o, usage))
		return false;
	if (direct[0] != '\0')
		o->via = SW_VIA_DIRECT;
	return true;
}

static bool check_hook(struct sw_options *o, struct sw_usage *usage)
{
	if (o->n_words == 0)
		return sw_usage_fail(usage, "give monit, alertmanager, nagios, collectd or systemd",
				     "no kind is given");
	if (!o->timeout_given)
		o->timeout_ms = DEFAULT_HOOK_TIMEOUT_MS;
	if (o->timeout_ms == 0) {
		(void) snprintf(usage->about, sizeof(usage->about), "--timeout");
		return sw_usage_fail(usage, "give 1 to 86400000",
				     "a monitoring system must not wait for ever");
	}
	return true;
}

/* The commands that look at what the daemon keeps. */
static bool check_kept(struct sw_options *o, struct sw_usage *usage)
{
	enum sw_command_bit bit = o->command->bit;
	if (bit & NAMES_DUMPS && o->n_words == 0)
		return sw_usage_fail(usage,
				     bit == SW_FOR_MERGE ? "give those of several processes: ids "
							   "of 'snapwalk list', or files"
				     : bit & (SW_FOR_DELETE | SW_FOR_PIN)
					     ? "give an id, 'snapwalk list' shows them"
					     : "give a file, or an id: 'snapwalk list' shows them",
				     "no dump is given");
	if ((bit & (SW_FOR_SYMBOLIZE | SW_FOR_SHOW | SW_FOR_DIFF | SW_FOR_MERGE)) &&
	    !o->timeout_given)
		o->timeout_ms = DEFAULT_SYMBOLIZE_MS;
	if (bit == SW_FOR_DIFF && o->n_words != 2)
		return sw_usage_fail(usage, "give two, the earlier one first: ids or files",
				     "it compares two dumps");
	if (bit == SW_FOR_LIST && o->n_wants > 1)
		return sw_usage_fail(usage, "give one target", "several targets are given");
	if (bit & (SW_FOR_LIST | SW_FOR_WATCH | SW_FOR_DIFF) &&
	    (o->format == SW_FORMAT_FOLDED || o->format == SW_FORMAT_HTML))
		return sw_usage_fail(usage,
				     o->format_named ? "give a name with .json or .txt"
						     : "give --json, or nothing",
				     "it has no stacks");
	return true;
}

/* Goroutines and tasks are found once, and walked by what their runtime says. */
static bool check_threadless(struct sw_options *o, struct sw_usage *usage)
{
	if (!o->walk.goroutines && !o->walk.tasks)
		return true;
	(void) snprintf(usage->about, sizeof(usage->about), "%s",
			o->walk.goroutines ? "--goroutines" : "--tasks");
	if (o->burst_count > 0)
		return sw_usage_fail(usage, "leave one of both away",
				     "--burst looks at threads only");
	if (o->libunwind || o->walk.mode == SW_WALK_SCAN)
		return sw_usage_fail(usage, "leave --walk away",
				     o->walk.goroutines
					     ? "goroutines are walked by Go's own tables"
					     : "tasks have frames of their language only");
	return true;
}

/* A kept snapshot is one of one running process. */
static bool check_keep(struct sw_options *o, struct sw_usage *usage)
{
	if (o->command->bit == SW_FOR_RECORD)
		o->keep = o->output;
	if (o->modules_store != NULL && o->keep == NULL) {
		(void) snprintf(usage->about, sizeof(usage->about), "--modules-store");
		return sw_usage_fail(usage, "give --keep DIR too", "belongs to --keep");
	}
	if (o->command->bit != SW_FOR_DUMP || o->keep == NULL)
		return true;
	(void) snprintf(usage->about, sizeof(usage->about), "--keep");
	if (wants_have(o, SW_WANT_CORE) || wants_have(o, SW_WANT_FIXTURE))
		return sw_usage_fail(usage, "give a running process", "it is a file already");
	if (o->n_wants > 1 || o->follow)
		return sw_usage_fail(usage, "give one target, without --follow",
				     "it keeps one process");
	if (o->burst_count > 0)
		return sw_usage_fail(usage, "leave one of both away", "--burst keeps no snapshot");
	return true;
}

/* Many processes become one result. */
static bool check_merge(struct sw_options *o, struct sw_usage *usage)
{
	if (o->command->bit != SW_FOR_DUMP)
		return true;
	(void) snprintf(usage->about, sizeof(usage->about), o->merge ? "--merge" : "--label");
	if (!o->merge && o->label_given)
		return sw_usage_fail(usage, "give --merge too", "belongs to --merge");
	if (o->merge && o->burst_count > 0)
		return sw_usage_fail(usage, "leave one of both away", "--burst is for one process");
	if (o->merge && o->keep != NULL)
		return sw_usage_fail(usage, "leave one of both away", "--keep is for one process");
	return true;
}

/* A program that is to be started: its standard output is its own. */
static bool check_program(struct sw_options *o, struct sw_usage *usage)
{
	if (o->program[0] == NULL)
		return sw_usage_fail(usage, "give a program behind --", "no program is given");
	if (o->n_wants > 0)
		return sw_usage_fail(usage, "give one of both",
				     "a process and a program are given");
	if (o->via == SW_VIA_DAEMON)
		return sw_usage_fail(usage, "leave --via away", "the daemon starts no programs");
	bool for_people = !o->format_given || o->profile_format == SW_PROFILE_TEXT;
	if ((o->command->bit == SW_FOR_ON && o->event.what == SW_EVENT_FUNCTION) ||
	    (o->command->bit == SW_FOR_LEAKS &&
	     (o->of == SW_LEAKS_PAIRS || o->of == SW_LEAKS_MEMORY)))
		return sw_usage_fail(usage, "start it first, and give its process id",
				     "functions are looked up in a process that runs");
	if (o->output == NULL && !for_people)
		return sw_usage_fail(usage, "give -o FILE", "standard output is the program's");
	o->via = SW_VIA_DIRECT;
	if (!o->duration_given)
		o->duration_s = 0; /* until it ends */
	return true;
}

static bool is_number(const char *word)
{
	return word[strspn(word, "0123456789")] == '\0';
}

/* Whether words behind -- are a program and its arguments. word: the first of them, or NULL; n_words: those before. */
static bool is_program(const struct sw_options *o, const char *word, size_t n_words)
{
	switch (o->command->bit) {
	case SW_FOR_SAMPLE: return true;
	case SW_FOR_ON: return n_words > 0 && (word == NULL || !is_number(word));
	case SW_FOR_LEAKS: return word == NULL || !is_number(word);
	default: return false;
	}
}

/* A word behind -- that is no process: with other commands it would be a program. */
static bool check_no_program(const struct sw_options *o, const char *word, struct sw_usage *usage)
{
	enum sw_command_bit bit = o->command->bit;
	bool may_be_meant = bit == SW_FOR_TOP || bit == SW_FOR_RECORD;
	if (!may_be_meant || is_number(word))
		return true;
	(void) snprintf(usage->about, sizeof(usage->about), "%s", word);
	return sw_usage_fail(usage, "start it first, and give its process id",
			     "%s starts no program, sample, on and leaks do", o->command->name);
}

/* Each sample is of a thread that runs where the whole machine, or no fixed set of processes, is sampled. */
static bool check_host(struct sw_options *o, struct sw_usage *usage)
{
	if (o->command->bit != SW_FOR_SAMPLE || !o->all || o->program != NULL || o->n_wants > 0)
		return true;
	(void) snprintf(usage->about, sizeof(usage->about), "--all");
	if (o->mode_given && o->mode != SW_RECORD_CPU)
		return sw_usage_fail(usage, "leave --mode away",
				     "all processes are sampled by CPU time");
	if (o->stop_given && o->snapshot.stop != SW_STOP_NEVER)
		return sw_usage_fail(usage, "leave --stop away", "no process is stopped");
	if (o->via == SW_VIA_DAEMON)
		return sw_usage_fail(usage, "leave --via away",
				     "the daemon does not sample all processes");
	o->mode = SW_RECORD_CPU;
	o->whole_host = true;
	o->all = false; /* of text: what is small */
	o->via = SW_VIA_DIRECT;
	if (!o->rate_given)
		o->rate_hz = DEFAULT_HOST_RATE_HZ;
	return true;
}

static bool check_leaks(struct sw_options *o, struct sw_usage *usage)
{
	if (!o->of_given)
		return sw_usage_fail(usage, "give --of fds, or another kind",
				     "nothing to follow is given");
	if (o->limit_given && o->of != SW_LEAKS_PAIRS && o->of != SW_LEAKS_MEMORY)
		return sw_usage_fail(usage, "leave --limit away",
				     "--limit is for functions and memory");
	if (o->max_overhead_given && o->of != SW_LEAKS_PAIRS && o->of != SW_LEAKS_MEMORY)
		return sw_usage_fail(usage, "leave --max-overhead away",
				     "--max-overhead is for functions and memory");
	if (!o->duration_given && o->program == NULL)
		o->duration_s = DEFAULT_LEAKS_S;
	return true;
}

static bool check_on(struct sw_options *o, struct sw_usage *usage)
{
	enum { DUMPS_MAX = 100 };
	bool is_call = o->event.what == SW_EVENT_CALL;
	bool is_function = o->event.what == SW_EVENT_FUNCTION;
	bool is_blocked = o->event.what == SW_EVENT_BLOCKED;
	if (is_blocked && o->slower_ns == 0)
		return sw_usage_fail(usage, "give --slower 100ms", "how long is not given");
	if (o->larger_bytes > 0 && (!is_call || strcmp(o->event_name, "mmap") != 0))
		return sw_usage_fail(usage, "leave --larger away", "--larger is for mmap");
	if (o->every > 0 && o->event.what != SW_EVENT_FAULTS)
		return sw_usage_fail(usage, "leave --every away", "--every is for fault");
	if (!is_function && (o->event_return || (o->slower_ns > 0 && !is_blocked) || o->event_args))
		return sw_usage_fail(usage, "give func:SYMBOL",
				     "--args, --return and --slower are for functions, --slower "
				     "for blocked, too");
	if (!is_function && o->max_overhead_given)
		return sw_usage_fail(usage, "leave --max-overhead away",
				     "--max-overhead is for functions");
	if (!is_call && o->errno_given)
		return sw_usage_fail(usage, "leave --errno away", "--errno is for system calls");
	if (o->event.what == SW_EVENT_DEATH && (o->each || o->count > 0))
		return sw_usage_fail(usage, "leave --each and --count away", "a process dies once");
	if (o->event_declared && (o->event_return || o->slower_ns > 0))
		return sw_usage_fail(usage, "leave --return and --slower away",
				     "a probe that is declared does not return");
	bool adds_up = o->event.what != SW_EVENT_DEATH && !o->each && !o->then_dump && !o->list;
	if (!adds_up && o->profile_format != SW_PROFILE_TEXT &&
	    o->profile_format != SW_PROFILE_JSON)
		return sw_usage_fail(usage,
				     o->format_named ? "give a name with .json or .txt"
						     : "give --format text or json",
				     "a profile is made where events are added up by stack");
	if (o->then_dump && o->event.what == SW_EVENT_DEATH)
		return sw_usage_fail(usage, "leave --then away",
				     "a process that dies cannot be dumped");
	if (o->then_dump && o->count > DUMPS_MAX)
		return sw_usage_fail(usage, "give --count 1 to 100", "too many dumps");
	if (o->then_dump && o->count == 0)
		o->count = 1;
	if (!o->duration_given)
		o->duration_s = 0; /* until Control-C */
	sw_event_finish(o);
	return true;
}

/* Checks that only the whole command line permits. */
static bool check_whole(struct sw_options *o, struct sw_usage *usage)
{
	enum sw_command_bit bit = o->command->bit;
	o->rate_given = o->rate_hz != 0;
	if (o->rate_hz == 0)
		o->rate_hz = o->mode == SW_RECORD_CPU ? DEFAULT_CPU_RATE_HZ : DEFAULT_RATE_HZ;
	(void) snprintf(usage->about, sizeof(usage->about), "%s", o->command->name);
	if (!sw_format_by_name(o, usage))
		return false;
	if (bit == SW_FOR_MCP)
		return true;
	if (bit & (SW_FOR_LIST | NAMES_DUMPS | SW_FOR_WATCH))
		return check_kept(o, usage);
	if (bit == SW_FOR_HOOK)
		return check_hook(o, usage) && check_via(o, usage);
	if (o->program != NULL && !check_program(o, usage))
		return false;
	if (!check_host(o, usage))
		return false;
	if (bit == SW_FOR_ON && o->event_name == NULL)
		return sw_usage_fail(
			usage,
			"give snapwalk on EVENT TARGET, as in snapwalk on syscall:openat 4242",
			"no event is given");
	if (o->program == NULL && o->n_wants + o->n_words == 0 && bit != SW_FOR_DOCTOR &&
	    !o->whole_host)
		return sw_usage_fail(usage, "give a process id, or see snapwalk --help",
				     "no target is given");
	if (!check_merge(o, usage))
		return false;
	(void) snprintf(usage->about, sizeof(usage->about), "%s", o->command->name);
	if (o->format == SW_FORMAT_HTML && bit != SW_FOR_HOOK && o->n_wants > 1 && !o->merge)
		return sw_usage_fail(usage, "give one target", "a page has one process");
	if (o->burst_count > 0 && o->format != SW_FORMAT_TEXT)
		return sw_usage_fail(usage,
				     o->format_named ? "give a name with .txt"
						     : "leave --format away",
				     "--burst gives text only");
	for (size_t i = 0; o->burst_count > 0 && i < o->n_wants; i++)
		if (o->wants[i].kind == SW_WANT_CORE || o->wants[i].kind == SW_WANT_FIXTURE)
			return sw_usage_fail(usage, "give a running process",
					     "--burst looks at what runs");
	if (o->burst_count > 0 && o->via == SW_VIA_DAEMON)
		return sw_usage_fail(usage, "leave --via away", "the daemon has no --burst");
	if (o->n_wants + o->n_words > 1 && bit != SW_FOR_DUMP && bit != SW_FOR_SAMPLE)
		return sw_usage_fail(usage, "give one target", "several targets are given");
	if (bit == SW_FOR_EXPLAIN && o->address == NULL)
		return sw_usage_fail(usage, "give snapwalk explain TARGET ADDRESS",
				     "no address is given");
	if (bit == SW_FOR_RECORD && (o->output == NULL || strcmp(o->output, "-") == 0))
		return sw_usage_fail(usage, "give -o DIRECTORY, a new one",
				     "no directory is given");
	if (o->diff != NULL && o->format_given && o->profile_format != SW_PROFILE_TEXT &&
	    o->profile_format != SW_PROFILE_HTML) {
		(void) snprintf(usage->about, sizeof(usage->about), "--diff");
		return sw_usage_fail(usage,
				     o->format_named ? "give a name with .txt or .html"
						     : "give --format text or html",
				     "this format has no differences");
	}
	if (o->n_images > 0 && !wants_have(o, SW_WANT_CORE)) {
		(void) snprintf(usage->about, sizeof(usage->about), "--images");
		return sw_usage_fail(usage, "give --core FILE too", "belongs to --core");
	}
	if (o->command->bit == SW_FOR_DUMP && (o->n_from > 0 || o->debuginfod) &&
	    !wants_have(o, SW_WANT_CORE) && !wants_have(o, SW_WANT_FIXTURE)) {
		(void) snprintf(usage->about, sizeof(usage->about),
				o->n_from > 0 ? "--from" : "--debuginfod");
		return sw_usage_fail(usage, "save the dump, and use snapwalk symbolize",
				     "belongs to --core");
	}
	if (o->exe != NULL && !wants_have(o, SW_WANT_CORE)) {
		(void) snprintf(usage->about, sizeof(usage->about), "--exe");
		return sw_usage_fail(usage, "give --core FILE too", "belongs to --core");
	}
	if (bit == SW_FOR_LEAKS && !check_leaks(o, usage))
		return false;
	if (bit == SW_FOR_ON && !check_on(o, usage))
		return false;
	return check_keep(o, usage) && check_threadless(o, usage) && check_via(o, usage);
}

/* Options may stand before the command, as in git: the first word that is not an option's value. Makes it the first
 * word of all. */
static void command_move(int argc, char **argv, const struct option *longs, const char *shorts,
			 const struct sw_command *commands)
{
	int value;
	optind = 0; /* glibc: start afresh */
	do
		value = getopt_long(argc, argv, shorts, longs, NULL);
	while (value != -1 && value != A_WORD);
	if (value != A_WORD || find_command(commands, optarg) == NULL)
		return;
	char *word = argv[optind - 1];
	memmove(argv + 2, argv + 1, (size_t) (optind - 2) * sizeof(*argv));
	argv[1] = word;
}

bool sw_options_parse(int argc, char **argv, const struct sw_command *commands,
		      struct sw_options *ret, struct sw_usage *usage)
{
	static_assert(SW_SYMBOLS_LINES == 0 && SW_WALK_HYBRID == 0, "zero means the defaults");
	*usage = (struct sw_usage){0};
	*ret = (struct sw_options){
		.command = &commands[0],
		.timeout_ms = DEFAULT_TIMEOUT_MS,
		.duration_s = DEFAULT_DURATION_S,
		.max_load_percent = DEFAULT_MAX_LOAD_PERCENT,
		.limit = DEFAULT_LIST_LIMIT,
		.max_overhead_percent = DEFAULT_MAX_OVERHEAD_PERCENT,
		.interval_ms = DEFAULT_INTERVAL_MS,
	};
	(void) snprintf(usage->about, sizeof(usage->about), "command line");
	ret->wants = calloc((size_t) argc, sizeof(*ret->wants));
	ret->words = calloc((size_t) argc, sizeof(*ret->words));
	if (ret->wants == NULL || ret->words == NULL)
		return sw_usage_fail_nomem(usage);
	struct option longs[SW_OPTIONS_MAX + 1];
	char shorts[2 * SW_OPTIONS_MAX + 3];
	make_tables(longs, shorts);
	opterr = 0;
	command_move(argc, argv, longs, shorts, commands);
	const struct sw_command *named = find_command(commands, argv[1]);
	if (named != NULL) {
		ret->command = named;
		ret->command_given = true;
		argc--;
		argv++;
	}
	size_t n_words = 0;
	sw_cleanup(sw_free_p) char **words = calloc((size_t) argc, sizeof(*words));
	if (words == NULL)
		return sw_usage_fail_nomem(usage);
	optind = 0; /* glibc: start afresh */
	int before = 1;
	for (int value; (value = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
		before = optind;
		if (value == A_WORD)
			words[n_words++] = optarg;
		else if (!take_option(ret, value, argv, usage)) {
			/* An option of the command that was meant. */
			if (named == NULL && n_words > 0)
				(void) is_mistyped(words[0], commands, usage);
			return false;
		}
	}
	bool dashes = optind > before;
	if (ret->help || ret->version) {
		if (named == NULL)
			ret->command = NULL;
		return true;
	}
	if (dashes && optind < argc && !check_no_program(ret, argv[optind], usage))
		return false;
	if (dashes && is_program(ret, argv[optind], n_words))
		ret->program = argv + optind;
	else
		for (int i = optind; i < argc; i++)
			words[n_words++] = argv[i];
	if (ret->command->bit == SW_FOR_VERSION) {
		ret->version = true;
		return true;
	}
	if (ret->command->bit == SW_FOR_HELP)
		return take_help(ret, words, n_words, commands, usage);
	return take_words(ret, words, n_words, commands, usage) && check_whole(ret, usage);
}

void sw_options_deinit(struct sw_options *options)
{
	free(options->wants);
	free(options->words);
	free(options->from);
	free(options->images);
	free(options->tids);
	free(options->event_module);
	sw_pair_list_destroy(options->pairs);
	free(options->noun);
	*options = (struct sw_options){0};
}
