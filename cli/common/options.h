/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OPTIONS_H
#define SW_CLI_OPTIONS_H

#include <snapwalk/event.h>
#include <snapwalk/merge.h>
#include <snapwalk/recorder.h>

#include <stdio.h>

/* Commands, as bits: an option says which of them take it. */
enum sw_command_bit {
	SW_FOR_DUMP = 1,
	SW_FOR_SAMPLE = 2,
	SW_FOR_EXPLAIN = 4,
	SW_FOR_VERIFY = 8,
	SW_FOR_RECORD = 16,
	SW_FOR_DOCTOR = 32,
	SW_FOR_LIST = 64,
	SW_FOR_SHOW = 128,
	SW_FOR_WATCH = 256,
	SW_FOR_HOOK = 512,
	SW_FOR_DELETE = 1024,
	SW_FOR_PIN = 2048,
	SW_FOR_DIFF = 4096,
	SW_FOR_TOP = 8192,
	SW_FOR_HELP = 16384,
	SW_FOR_VERSION = 32768,
	SW_FOR_ON = 65536,
	SW_FOR_LEAKS = 131072,
	SW_FOR_SYMBOLIZE = 262144,
	SW_FOR_MERGE = 524288,
	SW_FOR_MCP = 1048576,
};

struct sw_options;
struct sw_inherited;

struct sw_command {
	const char *name;
	enum sw_command_bit bit;
	const char *arguments; /* as shown in the usage line */
	const char *summary;
	int (*run)(const struct sw_options
			   *options); /* returns the exit status; NULL: main.c does it */
};

/* The kind of a TARGET word. */
enum sw_want_kind {
	SW_WANT_PID,
	SW_WANT_COMM,
	SW_WANT_UNIT,
	SW_WANT_CGROUP,
	SW_WANT_CONTAINER,
	SW_WANT_CORE,
	SW_WANT_FIXTURE,
};

struct sw_want {
	enum sw_want_kind kind;
	pid_t pid;        /* SW_WANT_PID */
	const char *text; /* borrowed from argv */
};

enum sw_format { SW_FORMAT_TEXT, SW_FORMAT_JSON, SW_FORMAT_FOLDED, SW_FORMAT_HTML };
enum sw_via { SW_VIA_AUTO, SW_VIA_DIRECT, SW_VIA_DAEMON };
enum sw_top_sort { SW_TOP_BY_CPU, SW_TOP_BY_STATE, SW_TOP_BY_SINCE, SW_TOP_BY_NAME };
enum sw_leaks_of {
	SW_LEAKS_FDS,
	SW_LEAKS_THREADS,
	SW_LEAKS_MAPS,
	SW_LEAKS_MEMORY,
	SW_LEAKS_TIMERS,
	SW_LEAKS_SHM,
	SW_LEAKS_EPOLL,
	SW_LEAKS_PAIRS
};
enum sw_color { SW_COLOR_AUTO, SW_COLOR_ALWAYS, SW_COLOR_NEVER };

/* The size of a system call's name, with its end. */
enum { SW_CALL_NAME_SIZE = 40 };

/* The limits of --stack-bytes. */
enum { SW_STACK_BYTES_LEAST = 4096, SW_STACK_BYTES_MOST = 1 << 30 };

/* The largest values of --rate, --limit and --max-overhead. */
enum { SW_RATE_HZ_MOST = 1000, SW_LIMIT_MOST = 1000000, SW_OVERHEAD_PERCENT_MOST = 10000 };

struct sw_keeper;
struct sw_pair_list;

/* A parsed command line. Strings are borrowed from argv. */
struct sw_options {
	const struct sw_command *command; /* static; NULL with --version and a bare --help */
	bool command_given;               /* else it is the default */
	int64_t begin_ns;                 /* CLOCK_MONOTONIC when the program began */
	struct sw_want *wants;            /* owned */
	size_t n_wants;
	pid_t *tids; /* owned; snapshot.tids points to it */
	char *const *
		program; /* borrowed from argv: what stands behind --, with its arguments; NULL: nothing */
	const struct sw_inherited *inherited; /* borrowed: for a program that is started */
	const char *exe;                      /* --exe, NULL: not given */
	const char **images;                  /* --images; owned array */
	size_t n_images;
	const char *output; /* NULL: standard output */
	const char *keep;   /* dump, record: the directory for the snapshot; NULL: it is not kept */
	const char *modules_store; /* with keep; NULL: not given */
	struct sw_keeper *keeper;  /* borrowed; of a command with keep */
	const char *address;       /* explain: the last word */
	const char **
		words; /* owned array; show, delete, pin, diff, merge, explain: dumps; hook: its kind
				and what follows */
	size_t n_words;
	uint64_t address_avma;
	bool lock; /* explain: address is that of a lock */
	enum sw_format format;
	bool format_given;
	bool format_named; /* with format_given: by the name of -o */
	struct sw_snapshot_options snapshot;
	struct sw_walk_options walk;
	bool libunwind; /* who walks */
	struct sw_symbolize_options symbolize;
	uint32_t timeout_ms; /* 0: no limit */
	uint32_t whole_ms;   /* of a hook: when walking and naming have to be over; 0: no limit */
	bool timeout_given, stop_given;
	bool merge;                /* dump: all targets as one tree */
	enum sw_merge_label label; /* merge, dump with merge */
	char *noun;                /* owned; likewise; NULL: not given */
	bool label_given;
	bool not_stored; /* the daemon does not keep the dump */
	enum sw_via via;
	bool priority_normal;
	const char *socket_path; /* --socket, NULL: not given */
	bool no_group, verbose, all, follow;
	enum sw_text_time time;
	struct sw_thread_filter filter; /* strings borrowed from argv */
	bool no_sandbox;
	const char *cache; /* a directory, or "none"; NULL: not given */
	enum sw_color color;
	const char *reason;
	uint32_t burst_count, burst_ms; /* dump: captures, and what is between; 0: one dump */
	uint32_t rate_hz, duration_s, max_load_percent; /* sample */
	bool by_process;                                /* sample */
	bool whole_host;                                /* sample: all processes */
	bool mode_given, rate_given;                    /* sample */
	enum sw_profile_format profile_format;          /* sample, with format_given; show */
	enum sw_record_mode mode;                       /* sample */
	const char *diff;                               /* sample; NULL: not given */
	uint32_t interval_ms, count;                    /* top; count 0: no end */
	enum sw_top_sort top_sort;                      /* top */
	const char *text;                               /* top: --filter; NULL: not given */
	const char *since;                              /* list; NULL: not given */
	uint32_t limit;                                 /* list, top */
	bool limit_given;
	bool unpin;                         /* pin: no longer */
	const char *states;                 /* hook; NULL: its default */
	bool soft;                          /* hook: SOFT states, too */
	bool duration_given;                /* sample */
	struct sw_event_options event;      /* on */
	char event_call[SW_CALL_NAME_SIZE]; /* on: the name of the system call; "": another event */
	const char *event_name;             /* on: that, or the function as it was given */
	char *event_module;                 /* owned; on: of a function; NULL: the program */
	int64_t slower_ns;                  /* on; 0: not given */
	uint32_t every;                     /* on fault; 0: not given */
	uint64_t larger_bytes;              /* on mmap; 0: not given */
	bool event_args, event_return;      /* on: --args, --return */
	bool errno_given;                   /* on: only calls that fail */
	int errno_number;                   /* with it: with this one; 0: any */
	enum sw_leaks_of of;                /* leaks */
	bool of_given;
	uint32_t max_overhead_percent; /* leaks */
	bool max_overhead_given;
	struct sw_pair_list *pairs; /* owned; leaks: functions, with SW_LEAKS_PAIRS */
	const char *of_text;        /* with it: as it was given */
	bool each;                  /* on: a line for each event */
	const char **from;          /* owned array; symbolize: directories */
	size_t n_from;
	bool debuginfod;            /* symbolize: servers are asked */
	const char *debuginfod_url; /* with it; NULL: those of DEBUGINFOD_URLS */
	bool then_dump;             /* on: the whole process at an event */
	bool event_declared;        /* on usdt: a probe that the program declares */
	bool list;                  /* on usdt: which probes there are */
	bool help, version;
};

/* The mistake in a command line: "snapwalk: ABOUT: MESSAGE (usage): REMEDY". */
struct sw_usage {
	char about[64];
	char message[160];
	char remedy[160];
};

/*
 * Parse a command line. A first word that names no command means dump.
 *
 * @param argc      At least 2.
 * @param commands  The table, ends with a NULL name; its first entry is the default.
 * @return false with usage filled. *ret is valid either way: free with sw_options_deinit().
 */
bool sw_options_parse(int argc, char **argv, const struct sw_command *commands,
		      struct sw_options *ret, struct sw_usage *usage);
void sw_options_deinit(struct sw_options *options);

#endif
