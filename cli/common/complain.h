/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_COMPLAIN_H
#define SW_CLI_COMPLAIN_H

#include <snapwalk/protocol.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sw_text;

/* Exit statuses: an interface that scripts rely on. */
enum sw_status {
	SW_STATUS_COMPLETE = 0,
	SW_STATUS_NOTHING = 1,
	SW_STATUS_USAGE = 2,
	SW_STATUS_MISSING = 3,
	SW_STATUS_DENIED = 77,
};

/* The worst status counts for several targets: usage, denied, nothing, missing, complete. */
int sw_status_worse(int a, int b);
/* The status that an error means for its target. */
int sw_status_of(const struct sw_error *err);

/* Whether the command line asks for JSON, also one that is wrong: then each complaint is an object. To be called first. */
void sw_complain_begin(int argc, char *const argv[]);
bool sw_complains_as_json(void);
/* "snapwalk: ABOUT: MESSAGE (CODE): REMEDY" on standard error; control characters are made visible,
 * because names and paths come from outside. remedy may be "". As JSON: {"about":,"code":,"message":,"remedy":} in a
 * line, without remedy where it is "". */
void sw_complain(const char *about, const char *message, const char *code, const char *remedy);
/* The same with the advice that the table has for the code and its causes, SW_SAID_*. */
void sw_complain_for(const char *about, const char *message, const char *code, uint64_t causes);
/* Appends that line. ret->failed: there is no memory for it. */
void sw_complain_line(struct sw_text *ret, const char *about, const char *message, const char *code,
		      const char *remedy);
/* Writes it as the terminal can show it: see common/ascii.h. False: there is no memory for it. */
bool sw_print(FILE *to, const char *text, size_t size);
/* Names come from outside: nothing in them may reach a terminal as a command. Newlines stay. */
void sw_print_visible(FILE *to, const char *text);

/* A line about what was done, which is no complaint: as it is, or as JSON of the same members. */
__attribute__((format(printf, 3, 4))) void sw_say(const char *about, const char *code,
						  const char *format, ...);

/* The same as sw_complain() for an error, with its remedy; returns its exit status. */
int sw_complain_error(const char *about, const struct sw_error *err);
/* The warnings of a dump, the first few; all of them when asked to. causes: SW_SAID_*. */
void sw_complain_warnings(const char *about, const struct sw_report *report, uint64_t causes,
			  bool all);
/* Prints only the warning that the sandbox has ended the process that reads the data of runtimes, for commands which have no
 * place for others. False: there is none. */
bool sw_complain_of_reader(const char *about, const struct sw_report *report);

/* The circumstances that decide which advice can be followed. */
enum {
	SW_SAID_OF_FILE =
		1 << 0, /* a core file, a fixture, a dump that was kept: nothing is copied again */
	SW_SAID_TO_ROOT = 1 << 1,     /* the user is root already */
	SW_SAID_OF_UNREAD = 1 << 2,   /* no limit of ours ended the copies of stacks */
	SW_SAID_AT_MOST = 1 << 3,     /* the option that would help is as large as it can be */
	SW_SAID_AT_DEEPEST = 1 << 4,  /* --depth likewise */
	SW_SAID_OF_SCAN = 1 << 5,     /* --walk scan was given */
	SW_SAID_OF_FOLLOWED = 1 << 6, /* a runtime has more frames than are followed */
	SW_SAID_OF_RESOURCE = 1 << 7, /* it is what the process publishes of itself, no frames */
	SW_SAID_OF_FILTER = 1 << 8,   /* a filter of system calls killed a process of ours */
	/* Complaints of one code are told apart by the causes below. */
	SW_SAID_OF_DAEMON = 1 << 9,         /* the connection to the daemon, or what came over it */
	SW_SAID_OF_TERMINAL = 1 << 10,      /* bytes that a terminal cannot show */
	SW_SAID_OF_PROFILE = 1 << 11,       /* a profile, where a dump is wanted */
	SW_SAID_OF_SEVERAL = 1 << 12,       /* several, where one is wanted */
	SW_SAID_OF_FORMAT = 1 << 13,        /* a format of --format that does not fit */
	SW_SAID_OF_NAME = 1 << 14,          /* likewise one that the name of -o says */
	SW_SAID_OF_SELECTION = 1 << 15,     /* --state, --function and --thread */
	SW_SAID_OF_KEPT = 1 << 16,          /* dumps that the daemon keeps */
	SW_SAID_OF_NEWEST = 1 << 17,        /* the newest one of them */
	SW_SAID_OF_SERVER = 1 << 18,        /* servers of debug files */
	SW_SAID_OF_CACHE = 1 << 19,         /* the directory for their files */
	SW_SAID_OF_CLIENT = 1 << 20,        /* the program that asks them */
	SW_SAID_OF_OVERHEAD = 1 << 21,      /* more than --max-overhead */
	SW_SAID_OF_ENDLESS = 1 << 22,       /* too many breakpoints for a command without an end */
	SW_SAID_OF_BLOCKS = 1 << 23,        /* the blocks of an allocator */
	SW_SAID_OF_PAIRS = 1 << 24,         /* pairs of functions */
	SW_SAID_OF_OTHERS = 1 << 25,        /* the result has the others */
	SW_SAID_IN_RESULT = 1 << 26,        /* the result says the reasons */
	SW_SAID_OF_SPACE = 1 << 27,         /* no space for more things at once */
	SW_SAID_OF_CONDITIONS = 1 << 28,    /* an event that may have conditions */
	SW_SAID_OF_DIRECTORY = 1 << 29,     /* what is no directory, where one is wanted */
	SW_SAID_OF_CODE = 1 << 30,          /* code that cannot be probed, or has no events */
	SW_SAID_OF_HOOK = INT64_C(1) << 31, /* what a hook is given */
	SW_SAID_OF_ADDRESS = INT64_C(1) << 32,   /* an address of code */
	SW_SAID_OF_LOCK = INT64_C(1) << 33,      /* that of a lock */
	SW_SAID_OF_SAMPLES = INT64_C(1) << 34,   /* samples for which threads are stopped */
	SW_SAID_OF_CPU = INT64_C(1) << 35,       /* those of threads on a CPU */
	SW_SAID_OF_BLOCKED = INT64_C(1) << 36,   /* those of blocked time */
	SW_SAID_OF_BURST = INT64_C(1) << 37,     /* dumps of --burst */
	SW_SAID_OF_SIGNAL = INT64_C(1) << 38,    /* a signal ended the command */
	SW_SAID_OF_MACHINE = INT64_C(1) << 39,   /* all processes of the machine */
	SW_SAID_OF_PROCESSES = INT64_C(1) << 40, /* several processes of a name */
	SW_SAID_OF_TRAP = INT64_C(1) << 41,      /* a process that a filter ends says it itself, */
	SW_SAID_OF_SANDBOX = INT64_C(1) << 42,   /* and its command has --no-sandbox */
	SW_SAID_OF_SILENT = INT64_C(1) << 43,    /* a daemon that gives no answer */
	/* Answers of the daemon: */
	SW_SAID_OF_ANSWER = INT64_C(1) << 44, /* an error of its interface */
	SW_SAID_OF_VERSION = INT64_C(1)
			     << 45,          /* one of a daemon that does not know what was asked */
	SW_SAID_OF_OWNER = INT64_C(1) << 46, /* the process is another user's, */
	SW_SAID_OF_GROUP = INT64_C(1) << 47, /* or only root and a group may have that, */
	SW_SAID_OF_DENIED = INT64_C(1) << 48,    /* or Deny= says so, */
	SW_SAID_OF_KERNEL = INT64_C(1) << 49,    /* or the kernel, */
	SW_SAID_OF_NAMESPACE = INT64_C(1) << 50, /* or it is another user namespace */
	/* Files and their symbols: */
	SW_SAID_OF_SYMBOLS = INT64_C(1) << 51,  /* names that only debug files have */
	SW_SAID_OF_DECLARED = INT64_C(1) << 52, /* probes that a file declares */
	SW_SAID_OF_ABSENT = INT64_C(1) << 53,   /* a path that leads to nothing */
	SW_SAID_OF_CLOSED = INT64_C(1) << 54,   /* one that is not permitted */
	SW_SAID_OF_FULL = INT64_C(1) << 55,     /* a file system without space */
	SW_SAID_OF_THERE = INT64_C(1) << 56,    /* a file that is there already */
	SW_SAID_OF_PACKAGES = INT64_C(1) << 57, /* packages that debug files are taken out of */
	SW_SAID_LAST = SW_SAID_OF_PACKAGES,
};

/* The advice for an error or warning, by its wire name and causes; "" when there is none.
 * Static. */
const char *sw_remedy(const char *wire, uint64_t causes);

#endif
