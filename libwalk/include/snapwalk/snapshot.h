/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_SNAPSHOT_H
#define SNAPWALK_SNAPSHOT_H

/*
 * The copy of a process that a capture has made: its threads with their registers and stacks,
 * memory, and which files are mapped where. capture.h makes snapshots, walk.h unwinds them.
 */

#include <snapwalk/error.h>
#include <snapwalk/local.h>

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
};

/* ---- context: what outlives one snapshot -------------------------------------------------- */

struct sw_context; /* modules by device:inode + build-id, compiled rules */

/** @return 0; -SW_E_NOMEM. Free with sw_context_destroy(), after every snapshot made with it. */
SW_PUBLIC int sw_context_create(struct sw_context **ret, struct sw_error *err);
/** How many modules a context knows, which stay until its end, and how large their images are together. */
SW_PUBLIC void sw_context_size(const struct sw_context *ctx, size_t *ret_modules,
			       uint64_t *ret_bytes);
SW_PUBLIC void sw_context_destroy(struct sw_context *ctx);
/** The mounts as they were when it was created: <snapwalk/local.h>. Borrowed. */
SW_PUBLIC struct sw_local *sw_context_local(const struct sw_context *ctx);

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
/** Build-id bytes, borrowed; NULL and 0 when it has none. Opens the image on first use. For PE:
 * GUID and age of its PDB, 20 bytes; without one TimeDateStamp, SizeOfImage and CheckSum, 12
 * bytes. */
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

/** A line of /proc/PID/maps. */
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
struct sw_asked;
struct sw_regs {
	uint32_t known; /* bit N: val[N] is valid; pc and sp are always valid */
	uint64_t val[SW_REGS_MAX];
	uint64_t pc_avma;
	uint64_t sp_avma;
	/* In walks that are remembered: which of val are as they were when the walk began, and where it is noted that one of
	 * these was asked for. Else NULL. */
	uint32_t initial;
	struct sw_asked *asked; /* borrowed, for the walk */
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

enum {
	SW_WAIT_BYTES = 48,      /* copied around the word of a futex on which a thread waits */
	SW_CONTEXT_BYTES = 1024, /* copied of what a thread publishes of its request */
};

/** The object that a thread waits for in a system call that is not futex(), as the kernel tells
 * it. */
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

enum { SW_INSTANT_OF_RUNTIMES = 1 /* sw_thread.instant */ };

struct sw_copy;

struct sw_thread {
	pid_t tid;
	pid_t own_tid; /* in the target's own pid namespace; 0: it is ours, or unknown */
	char comm[SW_COMM_MAX];
	char state;    /* as in /proc/PID/stat before the stop: R S D T t Z X I; '?' unknown */
	bool captured; /* registers and stack are here */
	int reason;    /* SW_E_* why not captured; 0 when captured */
	bool stayed;   /* it was proven not to run from before the first thread was read until
			     after the last one was: what such threads waited for is of one instant */
	/* Threads with the same one were proven not to run at one instant; SW_INSTANT_OF_RUNTIMES: when data of runtimes
	 * were copied, too; 0: unknown. */
	uint32_t instant;
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
	uint8_t wait[SW_WAIT_BYTES]; /* copied with the registers: the lock it waits for */
	size_t wait_bytes;           /* 0: none was copied */
	const uint8_t *
		context; /* the snapshot's: copied with the registers, what it publishes of its request */
	size_t context_bytes;                 /* at most SW_CONTEXT_BYTES; 0: none was copied */
	const struct sw_wait_for *wait_for;   /* the snapshot's; NULL: unknown, or not asked for */
	const struct sw_kernel_stack *kernel; /* the snapshot's, of all threads with the same; NULL:
						 unknown, or not asked for */
	/* The library's own: what was copied of the thread by a recipe, at one instant; NULL. Borrowed. */
	const struct sw_copy *copy;
};

/** Memory copied while the target was stopped that is not a stack. */
struct sw_range {
	uint64_t start_avma;
	size_t bytes;
	const uint8_t *data; /* the snapshot's */
};

/** The use of resources by the process for which a limit is set. 0: not known, no limit, or
 * none. */
struct sw_process_limits {
	int64_t descriptors, descriptors_limit; /* that are open; RLIMIT_NOFILE */
	int64_t maps, maps_limit;               /* mappings; vm.max_map_count */
	/* Threads of the tightest control group, and how many it has refused. */
	int64_t tasks, tasks_limit, tasks_refused;
	/* Memory of the tightest control group; of memory_bytes, the cache is given back before
	 * anything is killed. Processes that were killed for memory are those of the process's own
	 * group, since that was made. */
	int64_t memory_bytes, memory_cache_bytes, memory_limit_bytes, memory_kills;
	/* CPU time of the tightest control group: what it may use of each period; periods, those
	 * cut short, since the group was made. */
	int64_t cpu_quota_us, cpu_period_us, cpu_periods, cpu_throttled, cpu_throttled_us;
};

struct sw_process {
	pid_t pid, ppid; /* ppid: -1 when unknown, as of a minidump */
	uid_t uid;       /* the real one, as gid; (uid_t) -1 likewise */
	gid_t gid;
	uint64_t starttime; /* clock ticks since boot, field 22 of /proc/PID/stat */
	int64_t uptime_ms;  /* age of the process, -1 when unknown */
	int elf_class;      /* 64; 32: a program for i386 */
	char comm[SW_COMM_MAX];
	const char *exe;    /* path, "" when unknown; the snapshot's */
	const char *cgroup; /* path, "" when unknown; the snapshot's */
	struct sw_process_limits limits;
	bool has_no_host; /* it ran on another machine, of which nothing is known */
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
	SW_WARN_LIMIT, /* something was left out because there is more of it than a limit */
};

struct sw_warning {
	enum sw_warning_code code;
	pid_t tid;           /* 0 when it is about the process */
	int reason;          /* SW_E_*, 0 when none */
	const char *message; /* the snapshot's */
};

/** The access of an instruction to memory. */
enum sw_access_kind { SW_ACCESS_UNKNOWN, SW_ACCESS_READ, SW_ACCESS_WRITE, SW_ACCESS_EXECUTE };

/** The signal that ended the process of a core file. */
struct sw_crash {
	int signal; /* 0: none; it did not crash, or is not of a core file or a minidump of Linux */
	uint32_t exception; /* of a minidump of Windows, as EXCEPTION_RECORD has it; 0: none */
	pid_t tid;          /* the thread that had it */
	int code;           /* si_code (sigaction(2)) */
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
	bool newer_threads;  /* after the capture the process had others: they may own locks */
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
	size_t n_stopped;        /* threads that were stopped, however shortly */
	const char *stopped_why; /* why threads were stopped though it was not asked for, in words;
				    "" otherwise. The snapshot's */
	bool no_kernel_stacks;   /* though they were asked for; a warning says why */
	bool realtime_refused;   /* SCHED_FIFO was: on a busy machine all took longer */
	bool live;               /* taken from a running process (not a core or fixture) */
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
	uint32_t
		lost_owner; /* likewise, where no thread of the process has that id any longer; 0: none */
	pid_t rwlock_owner; /* who writes, if it is a pthread_rwlock_t of glibc */
	pid_t joined;       /* who it waits for, if it is in pthread_join() */
	pid_t stdio_owner;  /* who has the FILE, if it is the lock of one of glibc or musl */
	bool is_stdio;      /* it is one of glibc: its owner is there by the address of a thread */
};

/**
 * The futex that a thread waits for. A futex says by itself neither which kind of lock it belongs
 * to nor whether to any: the caller knows that by the functions on the stack. The memory is the
 * copy that was made together with the registers.
 *
 * @return false: it does not wait in futex().
 */
SW_PUBLIC bool sw_futex_wait(const struct sw_snapshot *snap, const struct sw_thread *thread,
			     struct sw_futex_wait *ret);

/**
 * The thread that runs the function of a pthread_once_t.
 *
 * @param thread     That waits for it, in pthread_once().
 * @param once_avma  The word that it waits on.
 * @return a thread of the process; 0: nobody, more than one, or it cannot be told; -1: nobody, as the word says, and no
 *         stack was searched.
 */
SW_PUBLIC pid_t sw_once_runner(const struct sw_snapshot *snap, const struct sw_thread *thread,
			       uint64_t once_avma);
/** The wire name of a warning ("stop_timeout"); static. */
SW_PUBLIC const char *sw_warning_name(enum sw_warning_code code);
/**
 * The text on what was left out at a limit since the snapshot was taken, by who walks it or gives
 * names.
 *
 * @return static, for the i-th limit; NULL behind the last one.
 */
SW_PUBLIC const char *sw_snapshot_limit(const struct sw_snapshot *snap, size_t i);

#ifdef __cplusplus
}
#endif

#endif
