/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_CAPTURE_H
#define SNAPWALK_CAPTURE_H

/*
 * Making snapshots: of running processes, from core files, and from directories that were recorded.
 */

#include <snapwalk/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

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
/** /proc/PID of the process itself, whoever has its number later: a descriptor of O_PATH, the caller's; -SW_E_IO. */
SW_PUBLIC int sw_target_directory(const struct sw_target *target, struct sw_error *err);
/** The file that the process has mapped at [start, end): a descriptor of O_PATH, the caller's; -SW_E_NOT_PERMITTED;
 * -SW_E_IO: there is no such mapping, or it is of no file. */
SW_PUBLIC int sw_target_map_file(const struct sw_target *target, uint64_t start_avma,
				 uint64_t end_avma, struct sw_error *err);
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
	/* A program of sw_iterator_load_returns(), likewise borrowed: for processes whose returns
	 * tools probe. */
	int returns_fd;
	/* Why there is none, in words. It is not tried then. Borrowed; NULL: it is tried. */
	const char *iterator_refused;
	uint32_t max_stop_ms; /* default 100 */
	/* For files of /proc that say what threads do: what the stacks do not need. Default 1000; UINT32_MAX: no
	 * limit. */
	uint32_t describe_ms;
	/* For the lock of the target's memory, which a thread may hold that waits in the kernel. Default, and at most,
	 * 3000. */
	uint32_t lock_ms;
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
	 * hold file locks, children. After the copy, within 60 ms of CPU time and 500 ms at all, as far as the kernel shows them to us.
	 * Also copy what tasks of asyncio wait for, of a process that has at most 500: for sw_walks.task_waits.
	 */
	bool peers;
	/* Copy the goroutines of a Go program, too: for sw_walk_options.goroutines. */
	bool goroutines;
	/* Copy the tasks of asyncio in a Python program, and of .NET, too: for sw_walk_options.tasks. */
	bool tasks;
	/* Copy of .NET and V8 who awaits the async functions that threads run: for sw_walk_options.awaits. */
	bool awaits;
	/* For a snapshot that is to be saved: what was found before the copy is looked for again when it is walked, in memory
	 * that is saved with it. */
	bool saved;
	/* Copy also what requests are served, which is private: for sw_walk_options.args. */
	bool args;
	/* For somebody who captures on behalf of others: whether another process may be named. proc_fd
	 * is its /proc/PID. NULL: all may. */
	bool (*may_name)(void *arg, int proc_fd);
	void *may_name_arg;
};

/**
 * A snapshot without threads: the process, its maps and modules, whose files are open. No thread is touched.
 *
 * @return As sw_snapshot_take().
 */
SW_PUBLIC int sw_snapshot_maps(struct sw_context *ctx, const struct sw_target *target,
			       struct sw_snapshot **ret, struct sw_error *err);

/**
 * Copy registers and stacks of all threads. Blocked and preempted threads are read by the kernel's
 * task iterator and proven unchanged; the others are stopped and let go: see enum sw_stop_mode.
 *
 * A thread that cannot be captured is in the snapshot with its reason: not an error.
 * A child process may be there until the snapshot is destroyed. It sends no SIGCHLD and is waited for
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

/** How a core file or a minidump is read; zero-initialised: by what it says itself. */
struct sw_core_options {
	const char *
		exe_path; /* the program of a core file, or of a minidump of Linux; NULL: as these say */
	/*
	 * Directories with images, for minidumps. Of Windows: DIR/NAME, or as symbol servers have them. Of Linux: DIR/NAME,
	 * DIR/PATH, or DIR/.build-id/xx/rest.
	 */
	const char *const *images;
	size_t n_images;
};

/**
 * A snapshot from an ELF core file, or from a minidump for x64: of a Windows program, or of a Linux program by Breakpad or Crashpad.
 * @param options  Borrowed for the call.
 * @return As sw_snapshot_from_core().
 */
SW_PUBLIC int sw_snapshot_from_dump(struct sw_context *ctx, const char *path,
				    const struct sw_core_options *options, struct sw_snapshot **ret,
				    struct sw_error *err);

/**
 * Write a snapshot as a directory that walks the same elsewhere: registers, copied memory, maps
 * and the module files. The directory is created by rename: it is whole or not there.
 * @return 0; -SW_E_IO (also: it exists), -SW_E_NOMEM.
 */
SW_PUBLIC int sw_snapshot_save(const struct sw_snapshot *snap, const char *directory,
			       struct sw_error *err);
/**
 * The same with a store for the files of modules, which many such directories share: each file is
 * there once, under its build-id or what its contents amount to, and in a directory by a hard link.
 * Each directory stays whole without the store. A file of the store that no directory has any more
 * has one link.
 * @param store  A directory that exists, on the same file system; NULL: none.
 * @return 0; -SW_E_IO (also: there can be no hard links), -SW_E_NOMEM.
 */
SW_PUBLIC int sw_snapshot_save_shared(const struct sw_snapshot *snap, const char *directory,
				      const char *store, struct sw_error *err);
/**
 * The same in three parts, for programs that give up privileges before they parse: begin and end may need those that
 * make files in other people's directories, and do not look into a snapshot; fill makes files below the two
 * descriptors alone.
 * @param ret_temporary  The caller's, for free(3): what end is told.
 * @param ret_fd         The caller's: the temporary directory, for fill and end.
 * @return 0; -SW_E_IO (also: it exists, or the temporary directory is not this user's alone), -SW_E_NOMEM.
 */
SW_PUBLIC int sw_snapshot_save_begin(const char *directory, char **ret_temporary, int *ret_fd,
				     struct sw_error *err);
/** @param store_fd  < 0: none. @param store  Its name, for messages. @return as above. */
SW_PUBLIC int sw_snapshot_save_fill(const struct sw_snapshot *snap, int fd, int store_fd,
				    const char *store, struct sw_error *err);
/**
 * Gives the directory its name; NULL: removes it. After an error it is removed, too. Files are removed from the directory
 * that the descriptor holds, and the name is used only while it leads there: another user may have put something else
 * in its place.
 * @param fd  The directory, as begin gave it; borrowed.
 * @return 0; -SW_E_IO (also: the temporary directory was moved), -SW_E_NOMEM.
 */
SW_PUBLIC int sw_snapshot_save_end(int fd, const char *temporary, const char *directory,
				   struct sw_error *err);
/** @return 0; -SW_E_IO, -SW_E_FORMAT, -SW_E_LIMIT, -SW_E_NOMEM. */
SW_PUBLIC int sw_snapshot_load(struct sw_context *ctx, const char *directory,
			       struct sw_snapshot **ret, struct sw_error *err);

#ifdef __cplusplus
}
#endif

#endif
