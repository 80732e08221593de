/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_WALK_H
#define SNAPWALK_WALK_H

/*
 * libwalk: capture the stacks of all threads of a process and unwind them.
 *
 *	sw_context_create -> sw_target_open -> sw_snapshot_take -> sw_walk_all
 *
 * Only sw_snapshot_take() may stop threads, for milliseconds; when it returns the process runs and is not needed any more (unless a stack was deeper than what was copied).
 * The library prints nothing, never exits, has no global state and leaves signals alone. Objects of
 * one context belong to one thread at a time.
 */

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SW_COMM_MAX = 64,     /* bytes of a thread's name with NUL; kernel threads have long ones */
	SW_BUILD_ID_MAX = 64, /* bytes; sha1 has 20 */
	SW_MAX_FRAMES = 65536,    /* hard limit of frames in one stack */
	SW_DEFAULT_FRAMES = 1024, /* frames in one stack when the caller does not say */
};

/* ---- context: what outlives one snapshot -------------------------------------------------- */

struct sw_context; /* modules by device:inode + build-id, compiled rules */

/** @return 0; -SW_E_NOMEM. Free with sw_context_destroy(), after every snapshot made with it. */
SW_PUBLIC int sw_context_create(struct sw_context **ret, struct sw_error *err);
SW_PUBLIC void sw_context_destroy(struct sw_context *ctx);

/* ---- modules ------------------------------------------------------------------------------ */

enum sw_module_kind {
	SW_MODULE_ELF,  /* an ELF file, or an ELF image in memory whose file is gone */
	SW_MODULE_VDSO, /* the kernel's image */
	SW_MODULE_PE,
	SW_MODULE_JIT,
	SW_MODULE_ANON, /* executable memory that nothing is known of */
};

struct sw_module; /* the context's; shared by snapshots */

/** Path as the target names it, without " (deleted)"; "[vdso]"; "" for ANON. Static lifetime of
 * the context. */
SW_PUBLIC const char *sw_module_path(const struct sw_module *module);
SW_PUBLIC enum sw_module_kind sw_module_kind(const struct sw_module *module);
/** True when the file was deleted or replaced since it was mapped. */
SW_PUBLIC bool sw_module_deleted(const struct sw_module *module);
/** Build-id bytes, borrowed; NULL and 0 when it has none. Opens the image on first use. Of PE: GUID
 * and age of its PDB, 20 bytes; without one TimeDateStamp, SizeOfImage and CheckSum, 12 bytes. */
SW_PUBLIC const uint8_t *sw_module_build_id(struct sw_module *module, size_t *ret_length);
/** The image: the mapped file, or the bytes copied from the target's memory. Borrowed; NULL with
 * *ret_size 0 when neither could be had. File layout, as in ELF's p_offset and PE's
 * PointerToRawData. Hostile bytes. */
SW_PUBLIC const void *sw_module_image(struct sw_module *module, size_t *ret_size);
/** The file the image is mapped from, borrowed; negative when there is none. */
SW_PUBLIC int sw_module_fd(const struct sw_module *module);
/** Why there is no image, in words, or NULL. Static lifetime of the context. */
SW_PUBLIC const char *sw_module_problem(struct sw_module *module);

/* ---- snapshot ----------------------------------------------------------------------------- */

enum { SW_MAP_READ = 1, SW_MAP_WRITE = 2, SW_MAP_EXEC = 4, SW_MAP_SHARED = 8 };

/** One line of /proc/PID/maps. */
struct sw_map {
	uint64_t start_avma, end_avma; /* [start, end) */
	uint64_t file_off;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t prot;    /* SW_MAP_* */
	int32_t place;    /* index into places[], -1 when it belongs to no module */
	const char *path; /* "" when anonymous; the snapshot's */
};

/** Where a module is mapped. */
struct sw_place {
	struct sw_module *module;      /* borrowed from the context */
	uint64_t start_avma, end_avma; /* [start, end) over all its mappings */
	uint64_t bias;                 /* avma = svma + bias; valid for the places of frames */
	signed char resolved;          /* 0 bias not asked for yet, 1 valid, -1 unknown */
};

enum { SW_REGS_MAX = 17 };

/** Registers in DWARF numbering of x86-64 (7 is rsp, 16 the return address). 32-bit programs have the
 * lower halves of the first eight, and 16. */
struct sw_regs {
	uint32_t known; /* bit N: val[N] is valid; pc and sp are always valid */
	uint64_t val[SW_REGS_MAX];
	uint64_t pc_avma;
	uint64_t sp_avma;
};

/** Where registers and stack of a thread come from. */
enum sw_captured_by {
	SW_CAPTURED_NOT,
	SW_CAPTURED_ITERATOR, /* read while it was off the CPU, and proven unchanged: not touched */
	SW_CAPTURED_PTRACE,   /* it was stopped */
	SW_CAPTURED_CORE,
	SW_CAPTURED_FIXTURE,
	SW_CAPTURED_EVENT, /* copied by the kernel, where it ran: in samples of CPU time */
};
/** Wire name ("iterator"); static. NULL for SW_CAPTURED_NOT. */
SW_PUBLIC const char *sw_captured_by_name(enum sw_captured_by by);

enum { SW_WAIT_BYTES = 48 /* copied around the word of a futex on which a thread waits */ };

/** What a thread waits for in a system call that is not futex(), as the kernel tells it. */
struct sw_wait_for {
	/** Static: "pipe", "fifo", "unix_socket", "tcp", "file_lock", "child", "timer", "message_queue",
	 * "semaphore_set"; NULL. */
	const char *kind;
	const char *target; /* an address, a path; NULL. The snapshot's */
	int64_t fd;         /* -1: none */
	pid_t owner_pid;    /* the process at the other end, the owner, the child; 0: unknown */
	pid_t owner_tid;    /* its thread, when it has only one; 0: unknown */
	bool others;        /* who has it may be another: not all processes could be looked at */
	bool proven; /* all processes were looked at, and the thread did not move meanwhile */
};

/** Another process, at the other end of what a thread waits for. */
struct sw_peer {
	pid_t pid;
	pid_t tid; /* its only thread; 0: it has more */
	char comm[SW_COMM_MAX];
	char state;                  /* of its first thread, as in sw_thread */
	int64_t syscall;             /* that its only thread is in, -1 when in none or unknown */
	struct sw_wait_for wait_for; /* of its only thread */
};

/** A call in the kernel. */
struct sw_kernel_frame {
	const char *function; /* with its module, if it is of one: "nfs_wait_bit_killable [nfs]" */
	uint64_t offset;      /* of the return address in it */
};

/** Innermost first, at least one. */
struct sw_kernel_stack {
	const struct sw_kernel_frame *frames;
	size_t n_frames;
};

enum { SW_SYSCALL_I386 = 1 << 16 /* numbers of 32-bit programs' calls begin here */ };

struct sw_thread {
	pid_t tid;
	pid_t own_tid; /* in the target's own pid namespace; 0: it is ours, or unknown */
	char comm[SW_COMM_MAX];
	char state;        /* as in /proc/PID/stat before the stop: R S D T t Z X I; '?' unknown */
	bool captured;     /* registers and stack are here */
	int reason;        /* SW_E_* why not captured; 0 when captured */
	bool stayed;       /* it was proven not to run from before the first thread was read until
			     after the last one was: what such threads waited for is of one instant */
	uint64_t switches; /* how often it had left a CPU when it was captured, + 1; 0: unknown.
			      As long as it waits with as many it has not run since */
	uint32_t flags;    /* PF_* word of /proc/PID/stat */
	char wchan[64];    /* kernel function it waits in, before the stop; "" when none */
	int64_t syscall;   /* number of the system call it is in, of i386's with SW_SYSCALL_I386
			      added; -1 when in none or unknown */
	bool interrupted;  /* its system call returns EINTR because of us */
	int64_t cpu_ns;    /* CPU time used, -1 when unknown */
	int64_t stop_ns;   /* time it was held, -1 when never */
	int64_t since_ns;  /* for how long it had been off the CPU; 0: it was on one; -1: unknown */
	enum sw_captured_by captured_by;
	struct sw_regs regs;
	uint64_t fs_base,
		gs_base; /* of 32-bit programs the other way round: fs_base, the thread pointer, is gs' */
	uint64_t stack_avma;     /* first byte of the copied stack */
	uint64_t stack_end_avma; /* end of the mapping that holds sp; 0 when sp is in no mapping */
	size_t stack_bytes;      /* how much was copied */
	const uint8_t *stack;    /* the snapshot's */
	bool pages_missing;      /* of its stack some pages did not come */
	uint8_t wait[SW_WAIT_BYTES];          /* copied with the registers: the lock it waits for */
	size_t wait_bytes;                    /* 0: none was copied */
	const struct sw_wait_for *wait_for;   /* the snapshot's; NULL: unknown, or not asked for */
	const struct sw_kernel_stack *kernel; /* the snapshot's, of all threads with the same; NULL:
						 unknown, or not asked for */
};

/** Memory copied while the target was stopped that is not a stack. */
struct sw_range {
	uint64_t start_avma;
	size_t bytes;
	const uint8_t *data; /* the snapshot's */
};

struct sw_process {
	pid_t pid, ppid;
	uid_t uid;
	uint64_t starttime; /* clock ticks since boot, field 22 of /proc/PID/stat */
	int64_t uptime_ms;  /* age of the process, -1 when unknown */
	int elf_class;      /* 64; 32: a program for i386 */
	char comm[SW_COMM_MAX];
	const char *exe;    /* path, "" when unknown; the snapshot's */
	const char *cgroup; /* path, "" when unknown; the snapshot's */
};

/** All times are CLOCK_MONOTONIC differences in ns; 0 for core files. */
struct sw_times {
	int64_t attach_ns;  /* SEIZE of all threads (they run on meanwhile) */
	int64_t stopped_ns; /* first thread interrupted until last one released; 0: none was */
	int64_t longest_thread_ns; /* longest time one thread was held */
	int64_t copy_ns; /* registers and memory; part of stopped_ns when all are stopped */
	int64_t take_ns; /* all of sw_snapshot_take() */
};

enum sw_warning_code {
	SW_WARN_STOP_TIMEOUT,   /* --max-stop was reached, some threads or memory are missing */
	SW_WARN_THREAD_MISSING, /* one thread could not be captured; tid and reason say which, why */
	SW_WARN_INTERRUPTED,    /* a system call in the target returns EINTR because of the stop */
	SW_WARN_STACK_LIMIT,    /* a stack was longer than what may be copied */
	SW_WARN_MEMORY,         /* something could not be read */
	SW_WARN_MODULE,         /* a module's file could not be used */
	SW_WARN_PARTIAL,        /* a core file or fixture is incomplete */
	SW_WARN_CAPTURE,        /* an unwinder's capture hook failed */
	SW_WARN_TIMEOUT,        /* names or walks were cut by the time limit */
	SW_WARN_RUNTIME,        /* a runtime was recognised, but cannot be read, or not in whole */
	SW_WARN_PROGRAM,        /* the program has nothing of what was asked for */
};

struct sw_warning {
	enum sw_warning_code code;
	pid_t tid;           /* 0 when it is about the process */
	int reason;          /* SW_E_*, 0 when none */
	const char *message; /* the snapshot's */
};

/** What an instruction does with memory. */
enum sw_access_kind { SW_ACCESS_UNKNOWN, SW_ACCESS_READ, SW_ACCESS_WRITE, SW_ACCESS_EXECUTE };

/** The signal that ended the process of a core file. */
struct sw_crash {
	int signal; /* 0: none; it did not crash, or is not of a core file */
	pid_t tid;  /* the thread that had it */
	int code;   /* si_code (sigaction(2)) */
	bool has_code, has_address;
	uint64_t address_avma;      /* of the fault */
	enum sw_access_kind access; /* what the thread wanted there */
	pid_t sender_pid;           /* 0: nobody sent it, or somebody who is not known */
	uid_t sender_uid;
	bool stack_overflow;  /* at the end of its stack, below which nothing may be written */
	uint64_t stack_bytes; /* of that stack; 0: not known */
};

/** Immutable once taken. Everything in it but the modules is its own. */
struct sw_snapshot {
	struct sw_context *ctx; /* borrowed; must outlive the snapshot */
	struct sw_process process;
	int64_t time_ns; /* CLOCK_REALTIME of the stop; of the core file's modification for cores */
	struct sw_thread *threads; /* by tid */
	size_t n_threads;
	struct sw_map *maps; /* by address */
	size_t n_maps;
	struct sw_place *places; /* by start */
	size_t n_places;
	struct sw_range *ranges; /* by start */
	size_t n_ranges;
	struct sw_warning *warnings;
	size_t n_warnings;
	struct sw_times times;
	size_t interrupted_calls;
	size_t n_stopped; /* threads that were stopped, however shortly */
	const char
		*iterator_refused; /* why all threads were stopped though it was not asked for, in
					 words; "" otherwise. The snapshot's */
	bool no_kernel_stacks;     /* though they were asked for; a warning says why */
	bool realtime_refused;     /* SCHED_FIFO was: on a busy machine all took longer */
	bool live;                 /* taken from a running process (not a core or fixture) */
	struct sw_crash crash;
	struct sw_peer *peers; /* only with sw_snapshot_options.peers */
	size_t n_peers;
	struct sw_snapshot_priv *priv;
};

SW_PUBLIC void sw_snapshot_destroy(struct sw_snapshot *snap);

/** The map that holds address, or NULL. */
SW_PUBLIC const struct sw_map *sw_snapshot_map(const struct sw_snapshot *snap, uint64_t avma);
/** The module that holds address, or NULL. */
SW_PUBLIC const struct sw_place *sw_snapshot_place(const struct sw_snapshot *snap, uint64_t avma);
/** The thread, or NULL. */
SW_PUBLIC const struct sw_thread *sw_snapshot_thread(const struct sw_snapshot *snap, pid_t tid);
/** A thread that waits in futex(2). Owners are threads of the process; 0: unknown, or nobody. */
struct sw_futex_wait {
	uint64_t word_avma; /* the one it waits on */
	pid_t mutex_owner;  /* who holds it, if it is a pthread_mutex_t of glibc or musl */
	pid_t rwlock_owner; /* who writes, if it is a pthread_rwlock_t of glibc */
	pid_t joined;       /* who it waits for, if it is in pthread_join() */
	pid_t stdio_owner;  /* who has the FILE, if it is the lock of one of glibc or musl */
	bool is_stdio;      /* it is one of glibc: its owner is there by the address of a thread */
};

/**
 * What a thread waits for. A futex says by itself neither which kind of lock it belongs to nor whether
 * to any: the caller knows that by the functions on the stack. The memory is that which was copied
 * together with the registers.
 *
 * @return false: it does not wait in futex().
 */
SW_PUBLIC bool sw_futex_wait(const struct sw_snapshot *snap, const struct sw_thread *thread,
			     struct sw_futex_wait *ret);
/** The wire name of a warning ("stop_timeout"); static. */
SW_PUBLIC const char *sw_warning_name(enum sw_warning_code code);

/* ---- target ------------------------------------------------------------------------------- */

struct sw_target; /* pid, pidfd, /proc/PID directory, start time */

/**
 * Hold on to a running process, without touching it.
 *
 * @param pid  A process id in our own pid namespace. A thread id gives that thread's process.
 * @return 0; -SW_E_NO_PROCESS, -SW_E_ZOMBIE, -SW_E_KERNEL_THREAD, -SW_E_SELF, -SW_E_NOT_PERMITTED,
 *         -SW_E_ARCH (a program for another machine), -SW_E_NOMEM. Free with sw_target_close().
 */
SW_PUBLIC int sw_target_open(pid_t pid, struct sw_target **ret, struct sw_error *err);
SW_PUBLIC void sw_target_close(struct sw_target *target);
SW_PUBLIC pid_t sw_target_pid(const struct sw_target *target);
/** Clock ticks since boot, field 22 of /proc/PID/stat: tells it from another with the same pid. */
SW_PUBLIC uint64_t sw_target_starttime(const struct sw_target *target);

enum sw_restart {
	SW_RESTART_INFINITE, /* hide the stop from blocked calls that have no time limit */
	SW_RESTART_NONE,     /* touch no register */
	SW_RESTART_ALL,      /* also calls with a limit: each stop begins the limit anew */
};

/** Which threads may be stopped. */
enum sw_stop_mode {
	SW_STOP_AUTO,   /* those that are on a CPU; all where the task iterator is refused */
	SW_STOP_NEVER,  /* none: a thread that stays on a CPU is listed without stack */
	SW_STOP_ALWAYS, /* all */
};

/** Zero-initialised means the defaults. */
struct sw_snapshot_options {
	enum sw_stop_mode stop;
	/*
	 * For somebody without the capabilities for it: of sw_iterator_limit() for the target,
	 * made in our pid namespace. Borrowed. 0: it is made here.
	 */
	int iterator_fd;
	/* Likewise, of sw_iterator_load_returns(): for processes whose returns tools probe. */
	int returns_fd;
	/* Why there is none, in words. It is not tried then. Borrowed; NULL: it is tried. */
	const char *iterator_refused;
	uint32_t max_stop_ms; /* default 100 */
	/* For files of /proc that say what threads do: what the stacks do not need. Default 1000; UINT32_MAX: no
	 * limit. */
	uint32_t describe_ms;
	size_t stack_bytes; /* per thread, default 256 KiB */
	size_t total_bytes; /* all copied memory, default 512 MiB */
	size_t max_threads; /* default 32768 */
	enum sw_restart restart;
	bool no_realtime;  /* do not use SCHED_FIFO during the stop */
	const pid_t *tids; /* only these threads are stopped; NULL means all */
	size_t n_tids;
	bool running_only; /* only threads in state R are stopped */
	bool blocked_only; /* with SW_STOP_NEVER: threads on a CPU are not waited for */
	/* Kernel stacks of all blocked threads; else of those in state D. Needs CAP_SYS_ADMIN, and the
	 * task iterator. */
	bool kernel_stacks;
	/*
	 * For somebody who captures on behalf of others. Called while threads are stopped, so that
	 * the process can neither change its ids nor become another program, and before any of its
	 * memory is copied; where nothing is stopped, before and after the copy, which is thrown
	 * away if the process became another program in between. False: everything is let go, and
	 * the answer is -SW_E_NOT_PERMITTED. task_fd is the /proc/PID/task/TID directory of a
	 * thread; it may be read ("status"). The process waits meanwhile: be quick. This runs in a
	 * process that shares our memory, on a stack of 256 KiB, and that is killed when it takes
	 * too long: what it has locked or allocated then stays so. NULL: everybody may.
	 */
	bool (*permit)(void *arg, int task_fd);
	void *permit_arg;
	/*
	 * Find the processes that threads wait for: at the other end of pipes and sockets, those that
	 * hold file locks, children. After the copy, within 40 ms of CPU time and 400 ms at all, as far as the kernel shows them to us.
	 */
	bool peers;
	/* Copy the goroutines of a Go program, too: for sw_walk_options.goroutines. */
	bool goroutines;
	/* Copy the tasks of asyncio in a Python program, and of .NET, too: for sw_walk_options.tasks. */
	bool tasks;
	/* Copy of .NET and V8 who awaits the async functions that threads run: for sw_walk_options.awaits. */
	bool awaits;
	/* Copy also what requests are served, which is private: for sw_walk_options.args. */
	bool args;
	/* For somebody who captures on behalf of others: whether another process may be named. proc_fd
	 * is its /proc/PID. NULL: all may. */
	bool (*may_name)(void *arg, int proc_fd);
	void *may_name_arg;
};

/**
 * Copy registers and stacks of all threads. Blocked and preempted threads are read by the kernel's
 * task iterator and proven unchanged; the others are stopped and let go: see enum sw_stop_mode.
 *
 * A thread that cannot be captured is in the snapshot with its reason: not an error.
 * Until the snapshot is destroyed there may be a child process, which sends no SIGCHLD and is waited for
 * with __WALL alone: it read memory, and has been told to end.
 * @return 0; -SW_E_NOT_PERMITTED, -SW_E_TRACED (no thread could be captured), -SW_E_EXITED,
 *         -SW_E_CHANGED, -SW_E_STOP_TIMEOUT (nothing stopped), -SW_E_RUNNING, -SW_E_NOMEM, -SW_E_IO;
 *         with SW_STOP_NEVER also -SW_E_UNSUPPORTED: there is no task iterator.
 */
SW_PUBLIC int sw_snapshot_take(struct sw_context *ctx, struct sw_target *target,
			       const struct sw_snapshot_options *options, struct sw_snapshot **ret,
			       struct sw_error *err);

/**
 * A snapshot from an ELF core file.
 * @param exe_path  The program, NULL to find it by the core's own notes.
 * @return 0; -SW_E_IO, -SW_E_FORMAT, -SW_E_ARCH, -SW_E_NOMEM. A core cut short is no error:
 *         the snapshot has a warning.
 */
SW_PUBLIC int sw_snapshot_from_core(struct sw_context *ctx, const char *core_path,
				    const char *exe_path, struct sw_snapshot **ret,
				    struct sw_error *err);

/**
 * Write a snapshot as a directory that walks the same elsewhere: registers, copied memory, maps
 * and the module files. The directory is created by rename: it is whole or not there.
 * @return 0; -SW_E_IO (also: it exists), -SW_E_NOMEM.
 */
SW_PUBLIC int sw_snapshot_save(const struct sw_snapshot *snap, const char *directory,
			       struct sw_error *err);
/** @return 0; -SW_E_IO, -SW_E_FORMAT, -SW_E_LIMIT, -SW_E_NOMEM. */
SW_PUBLIC int sw_snapshot_load(struct sw_context *ctx, const char *directory,
			       struct sw_snapshot **ret, struct sw_error *err);

/* ---- walking ------------------------------------------------------------------------------ */

/** How a frame's pc was found, best first. */
enum sw_trust {
	SW_TRUST_CONTEXT,       /* the thread's own registers */
	SW_TRUST_CFI,           /* DWARF call frame information */
	SW_TRUST_UNWIND_INFO,   /* PE unwind information */
	SW_TRUST_RUNTIME,       /* a runtime's own tables */
	SW_TRUST_JIT,           /* a JIT's published tables */
	SW_TRUST_INSTRUCTIONS,  /* the code's instructions, followed to its return */
	SW_TRUST_FRAME_POINTER, /* a chain of saved frame pointers */
	SW_TRUST_SCAN_VERIFIED, /* found on the stack; the call before it leads to its callee, or nothing
				   else is left before the thread's first frame */
	SW_TRUST_SCAN,          /* found on the stack, a call comes before it: a guess */
};

enum sw_end {
	SW_END_COMPLETE, /* the thread's first frame was reached, and that is proven */
	SW_END_FRAME_LIMIT,
	SW_END_STACK_LIMIT, /* the copy ended and the rest could not be read */
	SW_END_MEMORY,      /* memory that is needed could not be read */
	SW_END_NO_UNWIND_INFO,
	SW_END_BAD_UNWIND_INFO,
	SW_END_NO_PROGRESS, /* the same frame again, or a stack that grows the wrong way */
	SW_END_SCAN_LIMIT,
	SW_END_TIMEOUT,
	SW_END_INTERNAL,
};

enum {
	SW_FRAME_EXACT_PC = 1,  /* pc is the next instruction, not a return address */
	SW_FRAME_SIGNAL = 2,    /* a signal trampoline; the next frame was interrupted */
	SW_FRAME_LIVE_READ = 4, /* found with memory read after the target ran again */
	SW_FRAME_MAY_MISS = 8,  /* frames between this one and its callee may be missing */
	SW_FRAME_LANGUAGE = 16, /* of an interpreted function, run by the native frame that follows
				   it, or by the first one behind others of the same native frame */
	SW_FRAME_INTERNAL = 32, /* the own code of an interpreter or a virtual machine */
	SW_FRAME_AFTER_GUESS = 64, /* no guess by its trust, but its callee or one before it is,
				      and nothing has proven a frame in between */
};

struct sw_frame {
	uint64_t pc_avma;
	uint64_t sp_avma;
	const struct sw_place *place; /* borrowed from the snapshot; NULL when in no module */
	uint64_t cookie;              /* the owner's own, for sw_walk_describe() */
	const char *by;   /* static wire name: the unwinder, or the table of it, that found the
			     frame; "context" for the first one */
	const char *kind; /* static wire name of the kind of code: "native", "pe", "jit", "clr" ...;
			     "unknown" */
	uint8_t owner;    /* who knows the code, for sw_walk_describe(); 0: nobody */
	uint8_t trust;    /* enum sw_trust */
	uint16_t flags;   /* SW_FRAME_* */
};

/** What a runtime knows of one of its threads. */
struct sw_thread_info {
	const char *runtime; /* static: "clr" */
	int64_t id;          /* the runtime's own number; -1: none */
	char name[128];      /* UTF-8, "" when it has none */
	const char *mode;    /* static; may the runtime stop it ("cooperative")? NULL: unknown */
	const char *role;    /* static: "finalizer", "gc" ...; NULL: none */
};

/** The request of a client that a thread serves. Strings are UTF-8 if the client's were; what is too long
 * is cut and ends with "…". */
struct sw_served {
	const char *runtime; /* static: "php" */
	char method[16];     /* "GET"; "" when unknown, as the others */
	char uri[1024];      /* with its query */
	char script[1024];   /* path */
};

/** What Go's runtime says of a goroutine. Strings are the walks' or static. */
struct sw_goroutine {
	uint64_t id;
	const char *state;       /* "waiting", "runnable", "running", "syscall" ... */
	bool scanned;            /* the collector reads its stack */
	const char *wait_reason; /* in the runtime's words; NULL: it does not wait, or unknown */
	/* For how long at least it has waited: since the collector saw that first. -1: unknown */
	int64_t since_ns;
	const char *created_by;   /* function; NULL: unknown */
	const char *created_file; /* NULL: unknown */
	uint32_t created_line;    /* 0: unknown */
	uint64_t created_by_id;   /* the goroutine that did; 0: unknown */
	pid_t tid;                /* of the thread that runs it; 0: none does */
};

/** What CPython's asyncio, .NET, Ruby or Erlang says of a task. Strings are the walks' or static. */
struct sw_task {
	uint64_t address_avma; /* of the object, which tells it from others of its name */
	const char *name;      /* UTF-8 */
	const char *state;     /* "created", "waiting", "runnable", "running", "unknown" */
	/* What it waits for: a future, which may be a task. 0: nothing */
	uint64_t waits_for_avma;
	const char *waits_for_name; /* of the task; NULL: not a task */
	pid_t tid;                  /* of the thread that runs it; 0: none does */
	/* Of a process of Erlang. */
	const char *registered;   /* the name that it is registered by; NULL: none */
	const char *initial_call; /* "module:function/arity"; NULL: unknown */
	bool has_messages;        /* it has a queue of messages */
	uint64_t messages;        /* in it */
};

/** What a thread waits for, as a runtime knows it. */
struct sw_runtime_wait {
	const char *kind;      /* static: "java_monitor" ... */
	uint64_t address_avma; /* of the object; 0: unknown */
	char target[128];      /* what it is: the object's class; "" when unknown */
	pid_t owner_tid;       /* who has it, a thread of the process; 0: nobody, or unknown */
	/* static: how that is known, where the lock does not say it: "with", it is in the body of a with
	 * statement of Python. NULL: the runtime's structures say it */
	const char *trust;
};

struct sw_walk {
	const struct sw_thread *thread; /* borrowed from the snapshot; NULL: no thread runs it */
	struct sw_frame *frames;        /* innermost first */
	size_t n_frames;
	enum sw_end end;
	const char
		*why; /* detail in words; NULL when complete. Owned by the walk's arena or static */
	const struct sw_thread_info *info; /* the walks'; NULL when no runtime knows the thread */
	size_t n_trimmed;                  /* frames left out before the first one */
	const struct sw_goroutine
		*goroutine;              /* the walks'; NULL: none, or they were not asked for */
	const struct sw_task *task;      /* likewise */
	const struct sw_served *request; /* the walks'; NULL: none, or not asked for */
	const struct sw_runtime_wait
		*wait; /* the walks'; NULL when no runtime knows what it waits for */
};

/** Threads of Java that have a thread of the process only while they run: how many there were at the
 * instant of the copy. */
struct sw_virtual_threads {
	bool known;
	bool at_least;    /* there may be more: some are where they cannot be counted */
	uint64_t count;   /* started and not ended */
	uint64_t mounted; /* of these, those that a thread runs */
};

/** A runtime that was recognised, or a registry in which it publishes its code. */
struct sw_runtime {
	const char *name;  /* static: "clr", "wine", "gdb-jit" ... */
	char version[64];  /* "" when unknown */
	char where[256];   /* module or file it was found in; "" when there is no single one */
	int64_t entries;   /* of a registry; -1: a runtime */
	char problem[256]; /* why it is not used, or not in whole; "" when it is */
	bool map_useless;  /* a perf map of its code would not mend the problem */
	char untold[256];  /* what of its threads is not told though it is used; "" */
	struct sw_virtual_threads virtual_threads; /* of Java 21 and later */
};

/** Walks of one snapshot: one for each captured thread, in the snapshot's order; then one for each
 * goroutine and each task that no thread runs, or that runs within another one. */
struct sw_walks {
	const struct sw_snapshot *snap; /* borrowed */
	struct sw_walk *walks;
	size_t n_walks;
	struct sw_runtime *runtimes; /* what was recognised in the process */
	size_t n_runtimes;
	int64_t walk_ns;
	size_t live_reads;
	const char *goroutines_why; /* why not all are here that were asked for, in words; NULL */
	const char *tasks_why;      /* likewise */
	const char *awaits_why;     /* likewise */
	/* Asked for, and no runtime of the process has such; then there is a reason above, too. */
	bool no_goroutines, no_tasks, no_requests;
	struct sw_walks_priv *priv;
};

enum sw_walk_mode {
	SW_WALK_HYBRID, /* tables, then frame pointer, then scan */
	SW_WALK_TABLES, /* only what tables say */
	SW_WALK_SCAN,   /* only the scan: shows every return address there may be */
};

/** Zero-initialised means the defaults. */
struct sw_walk_options {
	enum sw_walk_mode mode;
	size_t max_frames;   /* default SW_DEFAULT_FRAMES, at most SW_MAX_FRAMES */
	int64_t deadline_ns; /* CLOCK_MONOTONIC; 0 means none. Later walks end with SW_END_TIMEOUT */
	/* For programs that no table covers. */
	size_t scan_below; /* a walk that ends before so many frames goes on by the scan */
	uint64_t
		scan_range_bytes; /* a direct CALL counts only when it leads to an address that lies at
				      most so far before the pc of the callee; 0: no limit */
	bool scan_all;            /* with SW_WALK_SCAN: every word that may be a return address */
	bool trim_unknown; /* frames of no module at the innermost end are left out: sw_walk.n_trimmed */
	bool goroutines; /* also of those that no thread runs */
	bool tasks;      /* of asyncio and of .NET, likewise */
	bool awaits; /* of the async functions of .NET and V8 that threads run, with who awaits them; tasks has them, too */
	bool args;   /* the requests that threads serve: sw_walk.request */
};

/**
 * Unwind every captured thread of a snapshot. Broken and cut stacks are no error: see sw_walk.end.
 *
 * @param snap  Borrowed; must outlive *ret.
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_walk_all(const struct sw_snapshot *snap, const struct sw_walk_options *options,
			  struct sw_walks **ret, struct sw_error *err);
/**
 * The second opinion: the same by libunwind, over the same snapshot. options->mode does not count.
 *
 * @return As sw_walk_all(); -SW_E_UNSUPPORTED: libunwind is not installed.
 */
SW_PUBLIC int sw_walk_libunwind(const struct sw_snapshot *snap,
				const struct sw_walk_options *options, struct sw_walks **ret,
				struct sw_error *err);
/**
 * Load libunwind now, for a process that may not open and map files any more when it is to walk.
 *
 * @return 0; -SW_E_UNSUPPORTED: libunwind is not installed.
 */
SW_PUBLIC int sw_walk_libunwind_load(struct sw_error *err);
SW_PUBLIC void sw_walks_destroy(struct sw_walks *walks);

/** The pc to look names and lines up with: pc - 1 for return addresses, else pc. */
static inline uint64_t sw_frame_lookup_avma(const struct sw_frame *frame)
{
	return frame->pc_avma - !(frame->flags & SW_FRAME_EXACT_PC);
}

/** Wire names; static. Unknown values give "unknown". */
SW_PUBLIC const char *sw_trust_name(unsigned trust);
SW_PUBLIC const char *sw_end_name(unsigned end);
SW_PUBLIC const char *sw_module_kind_name(unsigned kind);

/** What the owner of a frame's code says of it. UTF-8 is not promised. */
struct sw_description {
	char function[4096];  /* cut to fit */
	char signature[1024]; /* of a Java method: "(I)V"; "" when unknown. Cut to fit */
	const char *tier;     /* static: how the runtime executes it; NULL when unknown */
	char file[1024];      /* "" when unknown */
	uint32_t line;        /* 0 when unknown */
	uint64_t start_avma;  /* of the function; 0 when unknown */
};

/**
 * The name that a runtime or a JIT gives to the code of a frame, whoever found the frame.
 * @return 1; 0 when nobody knows it.
 */
SW_PUBLIC int sw_walk_describe(const struct sw_walks *walks, const struct sw_frame *frame,
			       struct sw_description *ret);

/**
 * The same of code into which other functions were compiled: level 0 is the innermost of those that the
 * frame executes, the last level the function itself, of which sw_walk_describe() speaks.
 * @return 1; 0 when there is no such level.
 */
SW_PUBLIC int sw_walk_describe_inlined(const struct sw_walks *walks, const struct sw_frame *frame,
				       size_t level, struct sw_description *ret);

/**
 * Everything the unwinders know of an address, in words, several lines.
 * @param ret_text  Owned by the caller; free().
 * @return 0; -SW_E_NOT_FOUND (the address is not mapped); -SW_E_NOMEM.
 */
SW_PUBLIC int sw_explain(const struct sw_snapshot *snap, uint64_t avma, char **ret_text,
			 struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
