/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands/commands.h"
#include "cache/unpacker.h"
#include "common/complain.h"
#include "common/help.h"
#include "errors.h"
#include "run/obtain.h"
#include "run/started.h"
#include "urgent.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

/* The first is what "snapwalk PID" means. A new command is one line here and one file. */
static const struct sw_command commands[] = {
	{"dump", SW_FOR_DUMP, "TARGET...", "All threads, once; 'snapwalk PID' is short for it",
	 sw_cmd_dump},
	{"sample", SW_FOR_SAMPLE, "TARGET...", "Where time goes; '-- PROGRAM ARG...' starts one",
	 sw_cmd_sample},
	{"top", SW_FOR_TOP, "TARGET", "A live view of its threads: state, CPU, where", sw_cmd_top},
	{"on", SW_FOR_ON, "EVENT TARGET", "A stack at each event; '-- PROGRAM' starts one",
	 sw_cmd_on},
	{"leaks", SW_FOR_LEAKS, "TARGET --of KIND",
	 "Descriptors, threads, memory or objects that stay", sw_cmd_leaks},
	{"explain", SW_FOR_EXPLAIN, "TARGET ADDRESS", "Say what is known of an address",
	 sw_cmd_explain},
	{"verify", SW_FOR_VERIFY, "TARGET", "Compare with libunwind, frame by frame",
	 sw_cmd_verify},
	{"record", SW_FOR_RECORD, "TARGET -o DIR", "Keep a snapshot, to walk it elsewhere",
	 sw_cmd_record},
	{"doctor", SW_FOR_DOCTOR, "[TARGET]", "Say what stands in the way of a capture",
	 sw_cmd_doctor},
	{"list", SW_FOR_LIST, "[PID]", "The dumps that the daemon keeps", sw_cmd_list},
	{"show", SW_FOR_SHOW, "DUMP...", "Print dumps that the daemon keeps, or files of JSON",
	 sw_cmd_show},
	{"symbolize", SW_FOR_SYMBOLIZE, "DUMP...", "Add names to dumps and profiles from elsewhere",
	 sw_cmd_symbolize},
	{"delete", SW_FOR_DELETE, "DUMP...", "Remove dumps that the daemon keeps", sw_cmd_delete},
	{"pin", SW_FOR_PIN, "DUMP...", "Keep dumps beyond the limits of the daemon's store",
	 sw_cmd_pin},
	{"diff", SW_FOR_DIFF, "DUMP DUMP", "What changed between two dumps", sw_cmd_diff},
	{"merge", SW_FOR_MERGE, "DUMP...", "Many processes as one tree: who is where, who is not",
	 sw_cmd_merge},
	{"watch", SW_FOR_WATCH, "", "A line for each new dump of the daemon", sw_cmd_watch},
	{"hook", SW_FOR_HOOK, "KIND [WORD...]", "Capture when a monitoring system calls",
	 sw_cmd_hook},
	{"mcp", SW_FOR_MCP, "", "Tools for agents, by the Model Context Protocol", sw_cmd_mcp},
	{"help", SW_FOR_HELP, "[COMMAND]", "Its options; with --all those of all commands", NULL},
	{"version", SW_FOR_VERSION, "", "Print the version", NULL},
	{0},
};

/* A file that is mapped while its names are read may be cut short by an upgrade or a full disk.
 * The target runs long since; only async-signal-safe functions here. */
static void on_sigbus(int signal_number)
{
	static const char line[] = "snapwalk: a file changed its size while it was read (io): "
				   "try again\n";
	static const char object[] =
		"{\"about\":\"snapwalk\",\"code\":\"io\",\"message\":\"a file changed "
		"its size while it was read\",\"remedy\":\"try again\"}\n";
	bool json = sw_complains_as_json();
	(void) signal_number;
	(void) !write(STDERR_FILENO, json ? object : line,
		      (json ? sizeof(object) : sizeof(line)) - 1); /* nowhere left to complain */
	_exit(SW_STATUS_NOTHING);
}

/* A descriptor that our caller closed would be given to the next file that is opened, as a dump,
 * and what is said on standard error would be written into it. This one refuses reads and writes. */
static void standard_files_fill(struct sw_inherited *before)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		before->filled[fd] = fcntl(fd, F_GETFD) < 0;
		if (before->filled[fd])
			(void) open("/", O_PATH); /* the lowest that is free: fd */
	}
}

/* Each file that the target has mapped is kept open; many shells and service managers allow 1024 at
 * first, for the sake of select(). */
static void files_limit_raise(struct sw_inherited *before)
{
	(void) getrlimit(RLIMIT_NOFILE, &before->files); /* fails only for bad numbers */
	struct rlimit limit = before->files;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void) setrlimit(RLIMIT_NOFILE, &limit); /* then there are fewer */
	}
}

static void prepare_process(struct sw_inherited *before)
{
	standard_files_fill(before);
	files_limit_raise(before);
	const char *urls = getenv("DEBUGINFOD_URLS");
	before->debuginfod_urls = urls != NULL ? strdup(urls) : NULL;
	/* libdw would ask servers for debug files by itself: the answer must not wait for that. */
	(void) unsetenv("DEBUGINFOD_URLS"); /* fails only for bad names */
	struct sigaction bus = {.sa_handler = on_sigbus};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	(void) sigaction(SIGBUS, &bus, &before->bus); /* fail only for bad numbers */
	/* A reader that went away and a limit on file sizes are errors of write(). */
	(void) sigaction(SIGPIPE, &ignore, &before->pipe);
	(void) sigaction(SIGXFSZ, &ignore, &before->file_size);
}

/* A dump of what happens now, on a machine that may have no CPU to spare. */
static bool is_urgent(const struct sw_options *options)
{
	return options->command->bit == SW_FOR_DUMP && options->burst_count == 0 &&
	       !options->priority_normal;
}

static int run(struct sw_options *options)
{
	struct sw_error err = {0};
	struct sw_unpacker unpacker;
	int status = SW_STATUS_COMPLETE;
	if (options->help)
		sw_options_help(stdout, commands, options->command, options->all);
	else if (options->version)
		puts("snapwalk " SW_VERSION);
	else {
		/* First of all: each turn that is waited for with ordinary priority may be 30 ms away. */
		if (is_urgent(options))
			sw_urgent_begin();
		sw_unpacker_begin(&unpacker, options);
		status = options->command->run(options);
		sw_unpacker_end(&unpacker);
	}
	/* A reader that closed the pipe has read enough; a full disk is an error. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE) {
		(void) sw_fail_errno(&err, SW_E_IO, "writing failed");
		status = sw_status_worse(status, sw_complain_error("standard output", &err));
	}
	return status;
}

int main(int argc, char **argv)
{
	struct sw_options options;
	struct sw_usage usage;
	int64_t begin_ns = sw_clock_ns();
	struct sw_inherited inherited = {0};
	prepare_process(&inherited);
	int status = SW_STATUS_USAGE;
	if (argc < 2) {
		sw_options_usage(stderr);
		free(inherited.debuginfod_urls);
		return status;
	}
	sw_complain_begin(argc, argv);
	if (sw_options_parse(argc, argv, commands, &options, &usage)) {
		options.begin_ns = begin_ns;
		options.inherited = &inherited;
		status = run(&options);
	} else
		sw_complain(usage.about, usage.message, "usage", usage.remedy);
	sw_options_deinit(&options);
	free(inherited.debuginfod_urls);
	return status;
}
