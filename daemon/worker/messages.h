/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_MESSAGES_H
#define SW_DAEMON_WORKER_MESSAGES_H

#include "policy/authorize.h"
#include "rules/rule.h"

#include <snapwalk/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 *	broker    no capability; JSON, policy, queue, store
 *	  | SOCK_SEQPACKET, fixed-size structs
 *	spawner   forked before the broker gives its capabilities up; does nothing but fork workers
 *	  | fork
 *	worker    one capture: CAP_SYS_PTRACE + CAP_DAC_READ_SEARCH until the snapshot is taken, then
 *	          none, seccomp and Landlock, and only then ELF, DWARF, names, JSON
 *	  | fork, for a series of samples or of dumps: pipes
 *	parser    what the worker is else after its snapshot; the worker keeps its capabilities, parses
 *	          nothing, and hands samples on
 *
 * The broker asks the same worker for one dump of a series (dumps.h) after the other, by a struct
 * sw_worker_next on the stream; closing it is the end.
 *
 * The worker of a profile of CPU time opens events of the kernel before it gives its capabilities
 * up, and needs no parser: nobody is stopped. The worker of events does likewise with the kernel's programs: it loads
 * them before that, and reads their ring after it.
 */

enum {
	SW_WORKER_REASON_MAX = 512,
	SW_WORKER_ID_MAX = 64,
	SW_WORKER_GROUPS_MAX = 64,
	SW_WORKER_DENY_MAX = 32768, /* SW_CONFIG_DENY_BYTES of config/value.h */
	SW_WORKER_PATH_MAX = 4096,
	SW_WORKER_EVENT_NAME_MAX = 32,
	SW_WORKER_FUNCTION_MAX = SW_RULE_FUNCTION_MAX,
	SW_WORKER_EVENTS_BYTES = 4 << 20, /* of one SW_WORKER_EVENTS */
};

/* Samples of a profile: what the series knows of those before them. The first profile is begun by its worker, with
 * one sample; each following one is given the profile so far, and all answer with the new one. */
struct sw_worker_profile {
	uint32_t rate_hz; /* 0: no profile, a dump */
	uint32_t mode;    /* enum sw_record_mode */
	uint32_t size;    /* of the profile so far, as JSON: worker/names.h; 0: this is the first */
	bool alone;       /* one sample, and no more */
	bool by_clock;    /* of SW_RECORD_CPU: the kernel's events cannot be had for this process */
	bool continuous;  /* of a section [profile NAME]: its CPU time is added up */
	int64_t begin_ns; /* CLOCK_MONOTONIC, when it began */
	int64_t end_ns;   /* when it is to end */
	int64_t begin_real_ns;         /* CLOCK_REALTIME, the same instant */
	char id[SW_WORKER_ID_MAX + 1]; /* of the profile so far */
	uint64_t n_lost; /* samples since then, of workers that ended without a profile */
	/* Timings of the samples so far, added up. */
	int64_t attach_us, copy_us, unwind_us, symbolize_us, interrupted_calls;
};

/* Events of a process, each with its stack. */
struct sw_worker_events {
	bool wanted;
	/* The first event ends it: its thread and its stack are a dump, SW_WORKER_DUMP, and there is no
	 * SW_WORKER_EVENTS. An event without a stack has none, and ends it by SW_WORKER_ENDED. */
	bool kept;
	struct sw_event_options options;     /* without places */
	char name[SW_WORKER_EVENT_NAME_MAX]; /* of the event, or of the system call */
	/* The function of SW_EVENT_FUNCTION, as "LIB:SYMBOL" or "SYMBOL", and whether it is a probe which the program
	 * declares. */
	char function[SW_WORKER_FUNCTION_MAX];
	bool is_declared;
	uint64_t count; /* so many; 0: no end by their number */
	int64_t end_ns; /* CLOCK_MONOTONIC, when they are to end */
};

/* The order to a worker. No pointers that are followed: crosses a socket. */
struct sw_worker_request {
	uint64_t seq;
	pid_t pid;          /* target, in our pid namespace; a pidfd may come with the request */
	uint64_t starttime; /* 0: not given */
	bool privileged;    /* the caller may capture everything: no check of owner */
	uid_t caller_uid;
	gid_t caller_gid;
	bool caller_same_user_ns; /* or it does not matter */
	uint32_t n_groups;        /* caller's supplementary groups */
	gid_t groups[SW_WORKER_GROUPS_MAX];
	uint32_t max_stop_ms, names_timeout_ms, depth, memory_mib;
	uint64_t stack_bytes;
	uint32_t stop;    /* enum sw_stop_mode */
	uint32_t symbols; /* enum sw_symbol_level */
	bool no_inlines;
	bool repeats;                      /* a dump, and more of them may be asked for: dumps.h */
	char reason[SW_WORKER_REASON_MAX]; /* "" for none */
	char required[SW_WORKER_PATH_MAX]; /* a path of RequireExe=; "": none, or a pattern */
	struct sw_worker_profile profile;
	struct sw_worker_events events; /* wanted: neither a dump nor a profile */
};

/* Whether the worker puts probes into code of the process. */
static inline bool sw_worker_probes(const struct sw_worker_request *request)
{
	return request->events.wanted && request->events.options.what == SW_EVENT_FUNCTION;
}

/* The messages on the worker's stream: headers, each followed by its payload. */
enum sw_worker_event_type {
	SW_WORKER_RESUMED =
		1,        /* nothing is held any more; struct sw_worker_resumed. With it comes the
				* descriptor of sw_program_fd() */
	SW_WORKER_DUMP,   /* the dump as JSON text, or the profile */
	SW_WORKER_FAILED, /* struct sw_worker_failed; nothing follows */
	SW_WORKER_SAMPLED, /* struct sw_worker_sampled, between RESUMED and DUMP; as often as it likes */
	SW_WORKER_EVENTS, /* events as JSON text, after RESUMED; as often as it likes */
	SW_WORKER_ENDED,  /* struct sw_worker_ended: of events; nothing follows */
	/* Between a worker and its parser: worker/parser.h. */
	SW_PARSER_SAMPLE,
	SW_PARSER_END,
	SW_PARSER_DONE,
	SW_PARSER_NEXT,   /* worker/dumps.c */
	SW_PARSER_PLACES, /* worker/functions.c */
};

/* The progress of a profile, since the message before. */
struct sw_worker_sampled {
	int64_t stopped_us, longest_us; /* of all; of one */
	uint64_t n_samples, n_threads;  /* of all samples */
	bool by_clock;                  /* see struct sw_worker_profile */
};

struct sw_worker_event {
	uint32_t type;
	uint32_t size; /* of the payload */
};

struct sw_worker_resumed {
	int64_t stopped_us;            /* how long it was stopped: counts against its stop budget */
	struct sw_target_creds target; /* as it was when captured: who may see its dump */
	bool stays;                    /* after its dump it waits for a struct sw_worker_next */
	bool runs_required;            /* target.exe is the file that the request's path leads to */
};

/* To a worker that stays: one dump more. */
struct sw_worker_next {
	uint64_t seq;
};

/* Why there are no events any more. */
enum sw_worker_end {
	SW_WORKER_END_TIME,     /* or who asked has said so */
	SW_WORKER_END_COUNT,    /* so many as were asked for */
	SW_WORKER_END_EXITED,   /* the process has ended */
	SW_WORKER_END_CHANGED,  /* it has other code or other users: another worker may go on */
	SW_WORKER_END_OVERHEAD, /* breakpoints took more of the process than is allowed */
	SW_WORKER_ENDS,
};

struct sw_worker_ended {
	uint32_t end;        /* enum sw_worker_end */
	uint64_t n;          /* events that were sent */
	uint64_t n_lost;     /* that were not: they came faster than they were read, */
	uint64_t n_no_stack; /* or sent without a stack */
	uint64_t n_a_second; /* of SW_WORKER_END_OVERHEAD: so often it came to breakpoints */
};

struct sw_worker_failed {
	int32_t code;  /* SW_E_* */
	uint32_t rule; /* enum sw_deny_rule when code is SW_E_NOT_PERMITTED, policy/authorize.h */
	pid_t tracer;  /* when code is SW_E_TRACED, 0 unknown */
	char message[256];
};

#endif
