/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_PROTOCOL_H
#define SNAPWALK_PROTOCOL_H

/*
 * The part that others see: the report, and its writers. The JSON shape is described by
 * snapwalk-dump.schema.json and snapwalk-dump(5).
 */

#include <snapwalk/symbolize.h>
#include <snapwalk/walk.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_DUMP_SCHEMA    "snapwalk.dump/1"
#define SW_EXPLAIN_SCHEMA "snapwalk.explain/1"

/** A frame as reported: an inlined call, or a real frame. */
struct sw_report_frame {
	uint64_t pc_avma;
	int32_t module;       /* index into modules[], -1 for none */
	bool has_offset;      /* the module's load address is known */
	uint64_t offset;      /* pc - bias of the module (svma); valid with has_offset */
	const char *function; /* NULL: unknown */
	uint64_t
		function_offset; /* pc minus the function's start; inlined: as the function around it */
	const char *file;        /* NULL: unknown */
	const char *signature; /* of a Java method: "(I)V"; NULL: unknown */
	const char *tier;      /* "interpreted", "c1", "c2" ...; NULL: unknown */
	uint32_t line;         /* 0: unknown */
	int32_t line_offset;   /* -1: unknown */
	const char *kind;      /* "native", "jit", ... static */
	const char *by;        /* static */
	const char *trust;     /* static */
	bool inlined;
	bool signal; /* a signal trampoline */
	bool live_read;
	bool may_miss;
	bool after_guess;
	bool internal; /* an interpreter's own code, which says nothing of the program */
	/* 1: pc is the next instruction, -1: a return address, where its place says the other; sw_frame_is_exact(). */
	signed char exact_pc;
};

#define SW_FRAME_KIND_KERNEL "kernel"

/** A goroutine of Go. */
struct sw_report_goroutine {
	uint64_t id;
	const char *state;        /* "waiting", "runnable", "running", "syscall" ... */
	bool scanned;             /* the collector reads its stack */
	const char *wait_reason;  /* in the runtime's words; NULL: it does not wait, or unknown */
	int64_t since_ms;         /* for how long at least it has waited; -1: unknown */
	const char *created_by;   /* function; NULL: unknown */
	const char *created_file; /* NULL: unknown */
	uint32_t created_line;    /* 0: unknown */
	uint64_t created_by_id;   /* the goroutine that did; 0: unknown */
	pid_t tid;                /* of the thread of this stack that runs it; 0: none does */
};

/** A task of asyncio or .NET, a fiber of Ruby, a process of Erlang. */
struct sw_report_task {
	uint64_t address_avma; /* of the object */
	const char *name;
	const char *state;          /* "created", "waiting", "runnable", "running" */
	uint64_t waits_for_avma;    /* a future, which may be a task; 0: nothing */
	const char *waits_for_name; /* of the task; NULL: not a task */
	pid_t tid;                  /* of the thread of this stack that runs it; 0: none does */
	/* Fields of a process of Erlang. */
	const char *registered;   /* the name that it is registered by; NULL: none */
	const char *initial_call; /* NULL: unknown */
	bool has_messages;        /* it has a queue of messages */
	uint64_t messages;        /* in it, at most INT64_MAX */
};

/** A distinct stack. */
struct sw_report_stack {
	uint64_t id;           /* XXH3-64, see snapwalk-dump(5) */
	const size_t *threads; /* indices into threads[]; none: no thread runs it */
	size_t n_threads;
	const struct sw_report_goroutine *goroutines; /* those that were asked for */
	size_t n_goroutines;
	const struct sw_report_task *tasks; /* likewise */
	size_t n_tasks;
	const char *end; /* static */
	const char *why; /* NULL when complete */
	const struct sw_report_frame *frames;
	size_t n_frames;
	/* The call that the innermost of them makes, in the kernel: kind "kernel"; 0: unknown, or not
	 * asked for. In JSON they are the first of frames. */
	const struct sw_report_frame *kernel_frames;
	size_t n_kernel_frames;
	size_t n_trimmed; /* frames of no module that were left out before the first one */
	/* Frames that are left out, of a stack that has more than a walk may have, and before which one they were. */
	size_t n_left_out, left_out_before;
};

/** A thread as its runtime knows it. */
struct sw_report_managed {
	const char *runtime;
	int64_t id;       /* the runtime's own number, -1: none */
	const char *name; /* NULL: none */
	const char *mode; /* "cooperative" ...; NULL: unknown */
	const char *role; /* "finalizer" ...; NULL: none */
};

/** As struct sw_worker_pool. */
struct sw_report_pool {
	uint64_t address_avma;
	const char *name;
	int64_t threads, most, queued;
};

/** The object that a thread waits for, as far as it can be told. */
struct sw_report_wait {
	const char *kind; /* static: "mutex", "rwlock", "condition", "futex", "timer" ... */
	bool has_address;
	uint64_t address_avma; /* of the word it waits on, or of a runtime's object */
	int64_t fd;            /* -1: none */
	const char *target;    /* NULL: unknown */
	pid_t owner_tid;       /* who holds it; 0: nobody, or unknown */
	pid_t owner_pid;       /* its process, or the child waited for; 0: nobody, or unknown */
	const char *
		owner_name; /* of a virtual thread that no thread runs, who holds it; NULL: nobody, or unknown */
	const char
		*trust; /* static: "memory": the owner stood in the lock; "runtime": the runtime's
				   structures; "syscall": the call's arguments alone ... */
};

/**
 * The facts that the memory of a futex has for each kind of lock that it may belong to: which kind it is, functions on the stack
 * decide, and not all of these have their names. Owners: 0: nobody, or unknown.
 */
struct sw_report_futex {
	uint64_t word_avma;
	pid_t mutex_owner, rwlock_owner, joined, stdio_owner, once_owner;
	uint32_t lost_owner; /* of a mutex: a thread that has ended */
	bool is_stdio;       /* of glibc, by its words */
	bool once_unknown;   /* who runs the function was not searched for */
};

/** Facts about a thread's wait, whatever kind names will make it. */
struct sw_report_undecided {
	bool is_futex;
	struct sw_report_futex futex;   /* of which only what blocked_on does not say is in JSON */
	bool has_proof, proven, stayed; /* when the owner was read: see sw_wait_proof */
	uint32_t instant;
};

/** The request that a thread serves. */
struct sw_report_request {
	const char *runtime;
	const char *method; /* NULL: unknown, as the others */
	const char *uri;    /* with its query */
	const char *script; /* path */
};

/** The request that a thread works on, as its program publishes it for OpenTelemetry. */
struct sw_report_trace {
	const char *trace_id; /* 32 hex digits; NULL: it publishes attributes alone */
	const char *span_id;  /* 16; likewise */
	bool sampled;
	const struct sw_attribute *attributes; /* each key once */
	size_t n_attributes;
};

/** Another process, for which a thread waits: at the other end of a pipe, say. */
struct sw_report_peer {
	pid_t pid;
	pid_t tid; /* its only thread; 0: it has more, or unknown */
	const char *comm;
	char state;
	const char *syscall; /* NULL: unknown */
	pid_t owner_pid;     /* whom it waits for itself; 0: unknown */
	pid_t owner_tid;
	bool proven; /* it did so while all processes were looked at */
};

/** Threads of which each waits for the next, and the last for the first. */
struct sw_report_deadlock {
	const pid_t *tids;
	size_t n;
};

/** A task that waits for something that tasks share, or for another task. Strings are UTF-8. */
struct sw_report_task_wait {
	const char *runtime;   /* "cpython" */
	uint64_t address_avma; /* of the task */
	const char *name;
	const char *kind; /* "asyncio_lock" ..., or "task" */
	uint64_t object_avma;
	uint64_t owner_avma;    /* the task that has it, or that is to end; 0: unknown, or nobody */
	const char *owner_name; /* NULL: likewise */
	bool limited;           /* it gives up after some time */
};

/** Tasks of which each waits for the next, and the last for the first, without a time limit. */
struct sw_report_task_deadlock {
	size_t *waits; /* numbers of task_waits */
	size_t n;
};

/** A thread that others wait for, and that waits for none of them: for nobody, or in a deadlock. */
struct sw_report_holder {
	pid_t tid, pid;
	size_t waiting; /* directly, or for others who wait for it */
	/* The other processes that it waits for itself, each for the next, as far as that is known. */
	const pid_t *waits_for;
	size_t n_waits_for;
};

struct sw_report_thread {
	pid_t tid;
	const char *comm;
	char state;
	bool captured;
	const char *reason; /* wire name, NULL when captured */
	const char *reason_text;
	const char *wchan;   /* NULL: none */
	const char *syscall; /* name or number; NULL: none */
	bool interrupted;
	int64_t cpu_ns;          /* -1: unknown */
	int64_t stop_us;         /* -1: never held */
	const char *captured_by; /* "iterator" ...; NULL: not captured, or not said */
	int64_t since_ms;        /* for how long it had been off the CPU, -1: unknown */
	int32_t stack;           /* index into stacks[], -1 when not captured */
	const struct sw_report_managed *managed; /* NULL: no runtime knows it */
	const struct sw_report_wait *blocked_on; /* NULL: it does not wait, or nothing is known */
	const struct sw_report_request *request; /* NULL: none, or nobody asked */
	const struct sw_report_trace *trace;     /* NULL: it publishes none */
	const struct sw_report_pool *pool;       /* NULL: no worker of a pool that is known */
	/* NULL: names that are added later change nothing of its wait. */
	const struct sw_report_undecided *undecided;
};

/** The name of a thread: from its runtime, which knows more than the 15 bytes of comm; else
 * comm. */
static inline const char *sw_report_thread_name(const struct sw_report_thread *thread)
{
	return thread->managed != NULL && thread->managed->name != NULL &&
			       thread->managed->name[0] != '\0'
		       ? thread->managed->name
		       : thread->comm;
}

/** The wait of a thread in a word: the kind of wait, or the system call where it is all that is
 * known of a file descriptor, which may as well be a pipe. */
static inline const char *sw_report_wait_name(const struct sw_report_wait *wait,
					      const char *syscall)
{
	return syscall != NULL && wait->trust != NULL && strcmp(wait->kind, "file") == 0 &&
			       strcmp(wait->trust, "syscall") == 0
		       ? syscall
		       : wait->kind;
}

struct sw_report_module {
	const char *path;
	const char *build_id; /* hex; NULL: none */
	uint64_t start_avma, end_avma;
	const char *format;  /* static: "elf", "vdso" ... */
	const char *symbols; /* static: "dwarf" ... */
	const char
		*symbols_why; /* why it has no lines, or not all; NULL: it has, or nobody asked */
	const char *problem;  /* why its image could not be used; NULL: it could */
	const char *debug_package; /* that would have its symbols, which are missing; NULL */
	bool deleted;
};

struct sw_report_warning {
	const char *code; /* static */
	pid_t tid;        /* 0: the process */
	const char *message;
};

/** A hint at what would show more than is here. */
struct sw_report_hint {
	const char *code; /* static in a report that was built */
	const char *message;
};

/** Threads of Java that have a thread of the process only while they run. */
struct sw_report_virtual_threads {
	int64_t count;   /* started and not ended */
	int64_t mounted; /* of these, those that a thread runs */
	bool at_least;   /* there may be more */
};

/** As struct sw_collecting. */
struct sw_report_collecting {
	bool now;
	const char *name, *cause; /* NULL: unknown */
	int64_t number;
	int64_t stopped_permille; /* -1: unknown */
};

/** As struct sw_event_loop. */
struct sw_report_event_loop {
	int64_t late_ms, requests;
};

/** As struct sw_thread_pool. */
struct sw_report_thread_pool {
	int64_t working, threads, most, taken_ms;
	bool waits;
	const char *name; /* NULL: it has none */
	int64_t queued;   /* -1: unknown */
};

/** A runtime that was recognised in the process. */
struct sw_report_runtime {
	const char *name;
	const char *version; /* NULL: unknown */
	const char *where;   /* module or file it was found in; NULL: no single one */
	const struct sw_report_virtual_threads
		*virtual_threads;                        /* NULL: it has none, or not known */
	const struct sw_report_collecting *collecting;   /* NULL: not known */
	const struct sw_report_event_loop *event_loop;   /* likewise */
	const struct sw_report_thread_pool *thread_pool; /* likewise */
};

/** Where runtimes publish the code that they make. */
struct sw_report_registry {
	const char *name;
	const char *where; /* NULL: no single module or file */
	int64_t entries;
};

/** The signal that ended the process of a core file, or the exception that a minidump was written of. */
struct sw_report_crash {
	const char *signal; /* "SIGSEGV" ...; "EXCEPTION_ACCESS_VIOLATION" ... */
	int64_t number;
	pid_t tid;        /* the thread that had it */
	const char *code; /* "SEGV_MAPERR" ...; NULL: unknown, or without a name */
	const char *text; /* the code in words; NULL likewise */
	bool has_address;
	uint64_t address_avma; /* of the fault */
	const char *access;    /* static: "read", "write", "execute": what it wanted there; NULL */
	pid_t sender_pid;      /* 0: nobody sent it, or not known */
	int64_t sender_uid;    /* -1 likewise */
	bool stack_overflow;   /* it touched what lies below its stack, which was used up */
	int64_t stack_bytes;   /* the size of that stack; -1: not known */
};

/** The report has one arena, copies its strings, and outlives snapshot, walks and symbols. */
struct sw_report {
	const char *id; /* unique: time, pid, random */
	uint64_t seq;
	int64_t time_ns;                     /* CLOCK_REALTIME */
	const char *reason;                  /* NULL: none given */
	const char *host_name, *host_kernel; /* NULL: not known, as of a minidump */
	const char *host_machine;
	struct {
		pid_t pid, ppid; /* ppid: -1 likewise */
		uid_t uid;       /* (uid_t) -1 likewise */
		uint64_t starttime;
		int64_t uptime_ms;
		int elf_class;
		const char *comm, *exe, *cgroup;
		const char *unit, *container; /* NULL: none */
		const struct sw_report_runtime *runtimes;
		size_t n_runtimes;
		const struct sw_report_registry *registries;
		size_t n_registries;
		const struct sw_report_crash *crash; /* NULL: it did not crash, or not known */
		struct sw_process_limits limits;
		const struct sw_attribute
			*resource; /* what it publishes of itself; keys are unique */
		size_t n_resource;
	} process;
	struct {
		int64_t stopped_us, longest_thread_stop_us, attach_us, copy_us, unwind_us;
		int64_t symbolize_us, total_us;
		size_t interrupted_calls;
		const char *stopped_why; /* why threads were, though not asked for; NULL */
		int64_t n_stopped;       /* threads; -1: an older dump, which does not say */
		bool realtime_refused;   /* to the capture: on a busy machine it took longer */
	} timings;
	struct sw_report_thread *threads;
	size_t n_threads;
	struct sw_report_stack *stacks; /* most threads first */
	size_t n_stacks;
	struct sw_report_module *modules; /* only those that frames are in */
	size_t n_modules;
	struct sw_report_warning *warnings;
	size_t n_warnings;
	bool complete; /* nothing is missing: exit status 0 rather than 3 */
	struct sw_report_deadlock *deadlocks;
	size_t n_deadlocks;
	struct sw_report_task_wait *task_waits;
	size_t n_task_waits;
	struct sw_report_task_deadlock *task_deadlocks;
	size_t n_task_deadlocks;
	struct sw_report_holder *root_holders; /* most waiting first */
	size_t n_root_holders;
	struct sw_report_peer *peers;
	size_t n_peers;
	struct sw_report_hint *hints; /* one of a kind for all threads */
	size_t n_hints;
	size_t n_all_threads; /* of which threads[] are some: sw_report_select(); 0: all are here */
	struct sw_report_priv *priv;
};

/**
 * Whether people see a frame only when they ask for all: it is an interpreter's own. Guesses, frames of signal handlers
 * and frames below which others may be missing are never hidden.
 */
SW_PUBLIC bool sw_frame_is_hidden(const struct sw_report_frame *frame);

/**
 * Whether the pc of a frame is the next instruction, and no return address: as a rule that of the innermost frame, and
 * of one that a signal has interrupted.
 */
SW_PUBLIC bool sw_frame_is_exact(const struct sw_report_frame *frames, size_t number);

struct sw_report_options {
	const char *reason;
	uint64_t seq;
	int64_t begin_ns; /* CLOCK_MONOTONIC when the command began, for total_us; 0: unknown */
};

/**
 * @param symbols  NULL when names were not asked for.
 * @return 0; -SW_E_NOMEM. Free with sw_report_destroy().
 */
SW_PUBLIC int sw_report_build(const struct sw_walks *walks, const struct sw_symbols *symbols,
			      const struct sw_report_options *options, struct sw_report **ret,
			      struct sw_error *err);
SW_PUBLIC void sw_report_destroy(struct sw_report *report);

/** The dump as JSON text of one line. *ret_text is the caller's; free(). -SW_E_NOMEM. */
SW_PUBLIC int sw_report_json(const struct sw_report *report, char **ret_text, size_t *ret_size,
			     struct sw_error *err);

/** Write one stack of a report as JSON, an element of the member "stacks" of a dump. As
 * sw_report_json(). */
SW_PUBLIC int sw_report_stack_json(const struct sw_report *report,
				   const struct sw_report_stack *stack, char **ret_text,
				   size_t *ret_size, struct sw_error *err);

/** "SIGSEGV"; static. NULL: a real-time signal, or none. */
SW_PUBLIC const char *sw_signal_name(int signal);
/** The meaning of a signal's si_code, in words; static, as its name ("SEGV_MAPERR"). NULL: not
 * known. */
SW_PUBLIC const char *sw_signal_code_text(int signal, int code, const char **ret_name);

/** The number of a system call of x86-64 or, without SW_SYSCALL_I386, of i386; -1: none has that name. */
SW_PUBLIC int64_t sw_call_number(const char *name, bool is_32bit);
/** The name of the system call of that number; static. NULL: there is none, or it is not known. */
SW_PUBLIC const char *sw_call_name(int64_t number, bool is_32bit);

/**
 * The report of a dump in JSON, whoever wrote it: the writers give for it what they gave for the
 * first one, names apart that were not valid UTF-8 and time below a microsecond.
 *
 * @return 0; -SW_E_FORMAT: not a dump of this schema; -SW_E_NOMEM. Free with sw_report_destroy().
 */
SW_PUBLIC int sw_report_parse(const char *json, size_t size, struct sw_report **ret,
			      struct sw_error *err);

/** Which threads; what is NULL lets all pass. */
struct sw_thread_filter {
	const char *states;   /* letters as in sw_report_thread.state */
	const char *function; /* POSIX extended regular expression, for a function of the stack */
	const char *name;     /* pattern as of the shell, for comm or the runtime's name */
};

/**
 * A report of those threads and their stacks.
 *
 * @param report  Borrowed; must outlive *ret.
 * @return 0; -SW_E_INVALID: not a regular expression; -SW_E_NOMEM. Free with sw_report_destroy().
 */
SW_PUBLIC int sw_report_select(const struct sw_report *report,
			       const struct sw_thread_filter *filter, struct sw_report **ret,
			       struct sw_error *err);

/** Zero-initialised means the defaults. */
/** In which time a text tells when something was. */
enum sw_text_time {
	SW_TEXT_TIME_UTC,
	SW_TEXT_TIME_LOCAL, /* of the reader: localtime_r(3) */
	SW_TEXT_TIME_START, /* seconds since the process began, where that is known */
};

struct sw_text_options {
	bool color;
	bool no_group; /* one stack per thread, in tid order */
	bool verbose;  /* addresses, offsets, trust and unwinder of every frame, modules, timings */
	bool all; /* also what is collapsed otherwise: idle pools, stacks behind the first ones */
	size_t columns; /* of the terminal: longer names are shortened; 0: nothing is */
	enum sw_text_time time;
	bool no_hints; /* they were given before */
	bool kept;     /* the dump is read later: what its process needs now is not known */
};

/** The dump for people. */
SW_PUBLIC int sw_report_text(const struct sw_report *report, const struct sw_text_options *options,
			     char **ret_text, size_t *ret_size, struct sw_error *err);

/**
 * Write one lock of a dump for people: its kind and how that was decided, who holds it, who waits.
 *
 * @param address_avma  Of the word that threads wait at, or of the lock that it is in.
 * @return 0; -SW_E_NOT_FOUND: no thread waits for it; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_report_lock(const struct sw_report *report, uint64_t address_avma,
			     const struct sw_text_options *options, char **ret_text,
			     size_t *ret_size, struct sw_error *err);
/** The same as JSON, with all threads that wait: an object of the schema SW_EXPLAIN_SCHEMA, and a newline. */
SW_PUBLIC int sw_report_lock_json(const struct sw_report *report, uint64_t address_avma,
				  char **ret_text, size_t *ret_size, struct sw_error *err);

/**
 * Whether nothing is to be seen in a process: it is complete, all threads sleep and wait for nobody, and what they
 * wait for is work, time or input. Two of the same program that are alike have the same id.
 *
 * @param ret_call  What its threads are in: "epoll_wait"; NULL: not all in the same. The report's.
 * @return 0: something is to be seen.
 */
SW_PUBLIC uint64_t sw_report_idle_id(const struct sw_report *report, const char **ret_call);

/** Write a page that any browser shows without network: the verdict, who waits for whom, all stacks
 * and threads. */
SW_PUBLIC int sw_report_html(const struct sw_report *report, char **ret_text, size_t *ret_size,
			     struct sw_error *err);

/** Folded stacks for flame graphs: "comm;outermost;...;innermost COUNT". */
SW_PUBLIC int sw_report_folded(const struct sw_report *report, char **ret_text, size_t *ret_size,
			       struct sw_error *err);

/** The same with a line for each thread: "comm-TID;outermost;...;innermost 1". */
SW_PUBLIC int sw_report_folded_threads(const struct sw_report *report, char **ret_text,
				       size_t *ret_size, struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
