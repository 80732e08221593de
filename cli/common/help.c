/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The help, made from the tables, so that it cannot forget an option. */
#include "common/help.h"
#include "common/option_table.h"
#include "cleanup.h"
#include "parts.h"

#include <string.h>

enum { HELP_COLUMN = 26, HELP_WIDTH = 80, TEXT_COLUMN = HELP_COLUMN + 2, TEXT_MAX = 512 };

/* Text from its column on, continued below itself where the line would be too long for a terminal.
 * A word that does not fit into any line is printed as it is. */
static void print_text(FILE *to, const char *text)
{
	size_t space = HELP_WIDTH - TEXT_COLUMN;
	while (strlen(text) > space) {
		size_t n = space;
		while (n > 0 && text[n] != ' ')
			n--;
		if (n == 0)
			break;
		fprintf(to, "%.*s\n%*s", (int) n, text, TEXT_COLUMN, "");
		text += n + 1;
	}
	fprintf(to, "%s\n", text);
}

static void print_row(FILE *to, const char *left, const char *right)
{
	if (strlen(left) + 2 > HELP_COLUMN)
		fprintf(to, "  %s\n  %*s", left, HELP_COLUMN, "");
	else
		fprintf(to, "  %-*s", HELP_COLUMN, left);
	print_text(to, right);
}

/* Where the first part of a text ends, and for which command the next one is; NULL: there is none. */
static const struct sw_command *part_end(const char *text, const struct sw_command *commands,
					 const char **ret_end)
{
	for (const char *at = text; (at = strstr(at, "; ")) != NULL; at++)
		for (const struct sw_command *c = commands; c->name != NULL; c++) {
			const char *name = at + strlen("; ");
			if (!sw_begins_with(name, c->name) ||
			    !sw_begins_with(name + strlen(c->name), ": "))
				continue;
			*ret_end = at;
			return c;
		}
	*ret_end = text + strlen(text);
	return NULL;
}

/*
 * The words that say what an option does with one command. Its text is "for most; top: for top; hook: for hook": the first part is for those
 * commands that have none of their own.
 */
static const char *part_of(const char *text, const struct sw_command *commands,
			   const struct sw_command *command, size_t *ret_size)
{
	const char *part = text, *end;
	const struct sw_command *of = part_end(part, commands, &end);
	*ret_size = (size_t) (end - text);
	while (of != NULL && of != command) {
		part = end + strlen("; ") + strlen(of->name) + strlen(": ");
		of = part_end(part, commands, &end);
	}
	if (of == NULL)
		return text;
	part = end + strlen("; ") + strlen(of->name) + strlen(": ");
	(void) part_end(part, commands, &end);
	*ret_size = (size_t) (end - part);
	return part;
}

/* command: whose help it is; NULL: that of all. */
static void print_option(FILE *to, const struct sw_option *o, const struct sw_command *commands,
			 const struct sw_command *command)
{
	char left[80], letter[8] = "", text[TEXT_MAX];
	size_t size = strlen(o->help);
	const char *part = command != NULL ? part_of(o->help, commands, command, &size) : o->help;
	if (o->letter != 0)
		(void) snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	(void) snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name,
			o->argument != NULL && o->argument[0] != '[' ? " " : "",
			o->argument != NULL ? o->argument : "");
	(void) snprintf(text, sizeof(text), "%.*s", (int) size, part);
	print_row(to, left, text);
}

/* Options by what they are about, in the order in which they are looked for. The last group has what no other one names. */
enum { IN_GROUP = 20 };
static const struct group {
	const char *title;
	const char *names[IN_GROUP]; /* NULL: no more */
	const char *of_leaks; /* in this group for leaks, in another one for other commands */
} groups[] = {
	{"What is followed",
	 {"of", "errno", "larger", "return", "slower", "each", "then", "max-overhead"},
	 "limit"},
	{"What is shown",
	 {"all", "threads", "state", "states", "function", "thread", "filter", "since", "follow",
	  "goroutines", "tasks", "args", "kernel", "lock", "by-process", "sort", "limit",
	  "no-group", "verbose"},
	 NULL},
	{"How often, and for how long",
	 {"duration", "rate", "interval", "count", "burst", "mode", "diff", "max-load"},
	 NULL},
	{"Where to, and in which form",
	 {"json", "format", "output", "keep", "modules-store", "merge", "label", "color", "time",
	  "reason"},
	 NULL},
	{"What it may cost the process",
	 {"stop", "max-stop", "restart", "priority", "stack-bytes", "timeout", "soft"},
	 NULL},
	{"How stacks are walked and named",
	 {"depth", "walk", "walks", "scan-below", "scan-range", "scan-all", "trim-unknown",
	  "symbols", "no-inlines", "from", "debuginfod", "cache"},
	 NULL},
	{"Other options", {NULL}, NULL},
};

static bool is_in(const struct group *group, const struct sw_option *o)
{
	for (size_t i = 0; i < IN_GROUP && group->names[i] != NULL; i++)
		if (strcmp(group->names[i], o->name) == 0)
			return true;
	return group->of_leaks != NULL && o->commands == SW_FOR_LEAKS &&
	       strcmp(group->of_leaks, o->name) == 0;
}

static const struct group *group_of(const struct sw_option *o)
{
	const struct group *group = groups;
	while (group + 1 < groups + SW_ARRAY_SIZE(groups) && !is_in(group, o))
		group++;
	return group;
}

/* Rows of one name are those of several commands. */
static bool is_first(size_t row, unsigned commands)
{
	for (size_t i = 0; i < row; i++)
		if ((sw_option_table[i].commands & commands) &&
		    strcmp(sw_option_table[i].name, sw_option_table[row].name) == 0)
			return false;
	return true;
}

/* Targets: group is NULL. The title comes before the first one. */
static void print_options(FILE *to, const struct sw_command *all, const struct sw_command *command,
			  const struct group *group)
{
	unsigned commands = command != NULL ? (unsigned) command->bit : ~0U;
	bool any = group == NULL;
	for (size_t i = 0; i < sw_n_options; i++) {
		const struct sw_option *o = &sw_option_table[i];
		if (!(o->commands & commands) || !is_first(i, commands) ||
		    o->is_target != (group == NULL) || (group != NULL && group_of(o) != group))
			continue;
		if (!any)
			fprintf(to, "\n%s:\n", group->title);
		any = true;
		print_option(to, o, all, command);
	}
}

static void print_status(FILE *to)
{
	fputs("\nExit status: 0 complete; 1 nothing captured; 2 usage; 3 captured, but something\n"
	      "is missing (said on standard error); 77 not permitted.\n",
	      to);
}

/* The commands, and how to know more: it fits into one screen of a terminal. */
static void print_screen(FILE *to, const struct sw_command *commands)
{
	fputs("Usage: snapwalk PID..., or snapwalk COMMAND TARGET [OPTION...]\n"
	      "Commands:\n",
	      to);
	for (const struct sw_command *c = commands; c->name != NULL; c++) {
		char left[80];
		if (c->bit & (SW_FOR_HELP | SW_FOR_VERSION)) /* the last line says it */
			continue;
		(void) snprintf(left, sizeof(left), "%s %s", c->name, c->arguments);
		print_row(to, left, c->summary);
	}
	fputs("Targets: PID, -p PID, --comm NAME, --unit U, --container ID, --core FILE...\n"
	      "Options: --json, -o FILE, --all, -v; more: 'snapwalk help COMMAND', 'help --all'\n",
	      to);
}

void sw_options_usage(FILE *to)
{
	fputs("Usage: snapwalk PID                what every thread is doing, now\n"
	      "       snapwalk sample PID -d 10   where its time goes, in ten seconds\n"
	      "       snapwalk top PID            its threads, live\n"
	      "       snapwalk --comm NAME        all processes of a name; --unit, --container\n"
	      "       snapwalk core.1234          the threads of a core file\n"
	      "       snapwalk doctor PID         why a capture is refused\n"
	      "       snapwalk show latest        the newest dump that the daemon keeps\n"
	      "\n"
	      "'snapwalk help' lists the commands, 'snapwalk help COMMAND' has its options.\n",
	      to);
}

static void print_events(FILE *to)
{
	fputs("\nEvents:\n", to);
	print_row(to, "syscall:NAME", "each call of it: syscall:openat, 'syscall:write fd=2'");
	print_row(to, "func:[LIB:]SYMBOL",
		  "each call of a function of the program, or of a library; the kernel changes the "
		  "code of the process meanwhile: it has a breakpoint there");
	print_row(to, "usdt:[LIB:]PROBE",
		  "each time at a probe that the program declares, likewise; 'usdt:' lists them");
}

void sw_options_help(FILE *to, const struct sw_command *commands, const struct sw_command *command,
		     bool all)
{
	if (command == NULL && !all) {
		print_screen(to, commands);
		return;
	}
	unsigned bits = command != NULL ? (unsigned) command->bit : ~0U;
	if (command != NULL) {
		fprintf(to, "Usage: snapwalk %s %s%s[OPTION...]\n\n%s.\n", command->name,
			command->arguments, command->arguments[0] != '\0' ? " " : "",
			command->summary);
	} else {
		fputs("Usage: snapwalk PID\n"
		      "       snapwalk COMMAND TARGET [OPTION...]\n\n"
		      "Shows what every thread of a running process is doing. As root, those that\n"
		      "wait are not stopped; one that is on a CPU is, for a moment.\n\n"
		      "Commands:\n",
		      to);
		for (const struct sw_command *c = commands; c->name != NULL; c++) {
			char left[80];
			(void) snprintf(left, sizeof(left), "%s %s", c->name, c->arguments);
			print_row(to, left, c->summary);
		}
	}
	if (command != NULL && (bits & (SW_FOR_SHOW | SW_FOR_SYMBOLIZE | SW_FOR_DELETE |
					SW_FOR_PIN | SW_FOR_DIFF | SW_FOR_MERGE)))
		fprintf(to,
			"A DUMP is latest, a process id, an id or a part of one that no other "
			"has%s.\n",
			bits & (SW_FOR_SHOW | SW_FOR_SYMBOLIZE | SW_FOR_DIFF | SW_FOR_MERGE)
				? ",\nor a file"
				: "");
	if (command != NULL && (bits & SW_FOR_ON))
		print_events(to);
	if (bits & ~(unsigned) (SW_FOR_SHOW | SW_FOR_SYMBOLIZE | SW_FOR_WATCH | SW_FOR_DELETE |
				SW_FOR_PIN | SW_FOR_DIFF | SW_FOR_MERGE | SW_FOR_HELP |
				SW_FOR_VERSION | SW_FOR_MCP)) {
		fputs("\nTargets:\n", to);
		if (bits & ~(unsigned) SW_FOR_HOOK)
			print_row(to, "PID", "a process, or one of its threads");
		print_options(to, commands, command, NULL);
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(groups); i++)
		print_options(to, commands, command, &groups[i]);
	print_status(to);
}
