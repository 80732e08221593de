/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_EVENT_H
#define SNAPWALK_EVENT_H

/*
 * Threads of one process at events: each time that one of them makes a system call, the kernel copies its registers and
 * its stack. Nothing is stopped, and no code of the process is changed, except for SW_EVENT_FUNCTION. The samples of such a sampler
 * (sw_cpu_sampler_next()) are those threads, one in each; sw_cpu_sampler_event() says what happened.
 */

#include <snapwalk/sampler.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	SW_EVENT_ARGUMENTS = 6,
	SW_EVENT_TESTS_MAX = 6,
	SW_EVENT_ERROR_MAX = 4095,
	SW_EVENT_PLACES_MAX = 128,
	SW_EVENT_RETURNS_MAX = 64, /* of one function */
};

/** An argument of the call has this value. */
struct sw_event_test {
	unsigned argument; /* from 0 on */
	uint64_t value;
	bool is_int; /* only 32 bits of it count */
};

enum sw_event_what {
	SW_EVENT_CALL,         /* one system call */
	SW_EVENT_DESCRIPTORS,  /* each descriptor that the process gets or gives up */
	SW_EVENT_THREAD_LIVES, /* each thread that is made or ends */
	SW_EVENT_MAPPINGS,     /* memory that the process maps or unmaps */
	SW_EVENT_TIMERS,       /* each timer of timer_create(2) that it creates or deletes */
	SW_EVENT_EPOLLS,       /* each file that it has a set of epoll(7) watch, or no more */
	SW_EVENT_SHM,          /* shared memory that it creates, attaches, detaches or removes */
	/* Each call of a function. The kernel puts a breakpoint into the code of the process, and takes it out in the
	 * end. */
	SW_EVENT_FUNCTION,
	SW_EVENT_DEATH, /* how the process ends, once: the thread that ends it, or is ended first */
	SW_EVENT_NEW_THREADS,   /* each thread that the process makes: who makes it */
	SW_EVENT_NEW_PROCESSES, /* each child that it makes: likewise */
	SW_EVENT_FAULTS,        /* one of so many page faults in user mode */
	SW_EVENT_BLOCKED, /* each time that a thread has waited for slower_ns: where it waited */
	/* Things that some functions hand out and others take back: at the return of the first, at the beginning of the others.
	 * Breakpoints as of SW_EVENT_FUNCTION. The kernel keeps what is outstanding. */
	SW_EVENT_PAIRS,
	/* The calls of those functions are counted (struct sw_event_cost), and there are no events: breakpoints at their
	 * beginnings alone. */
	SW_EVENT_PAIR_CALLS,
};

/** A value of a call. */
struct sw_event_value {
	unsigned argument; /* from 1 on; 0: the result */
	bool pointed;      /* the word that this points to, when the function returns */
};

enum sw_event_operand_kind {
	SW_EVENT_OPERAND_UNKNOWN, /* it is written in a way that is not understood */
	SW_EVENT_OPERAND_CONSTANT,
	SW_EVENT_OPERAND_REGISTER,
	SW_EVENT_OPERAND_MEMORY, /* known where it is on the stack that was copied */
};

/** Where a probe that a program declares (USDT) has an argument. */
struct sw_event_operand {
	enum sw_event_operand_kind kind;
	uint8_t bytes; /* 1, 2, 4 or 8 */
	bool is_signed;
	uint8_t shift; /* of a register: bits below it */
	/* Numbers of words of struct user_regs_struct, SW_EVENT_NO_REGISTER: none. Memory is at base + index * scale + value. */
	uint8_t base, index, scale;
	int64_t value;
};

enum { SW_EVENT_NO_REGISTER = 0xff };

/** Where code of the process is probed. */
struct sw_event_place {
	int file_fd;       /* the file that is mapped; the caller's */
	const char *name;  /* of the function, for errors; borrowed; NULL: not known */
	uint64_t file_off; /* of an instruction */
	bool emulated;  /* the kernel executes that instruction by itself: a fraction of the time */
	bool reentered; /* a loop of the function comes back to it: its turns look like calls */
	size_t n_returns; /* of the function: where its RET instructions are in the file; with at_return */
	uint64_t returns_off[SW_EVENT_RETURNS_MAX];
	/* A bit for each of them that is no RET, but a jump to memset(3) or one like it, whose result is its first argument. */
	uint64_t returns_first;
	/* The part of the function in pair number pair, of SW_EVENT_PAIRS. */
	bool releases; /* it takes one back: it has no returns; else it hands one out */
	unsigned pair;
	struct sw_event_value handle; /* 0: nothing is handed out, or taken back */
	struct sw_event_value size;   /* of what is handed out; an argument, or none */
	unsigned size_times; /* the argument, from 1 on, by which that is multiplied; 0: none */
	bool only_zero;      /* a result of 32 bits other than 0 is an error */
	bool nests; /* it takes back, and may do so by another function of the pair: that is once */
	/* The function hands out, and takes argument 0 back, unless its result is 0 and the size is not: realloc(3). */
	bool moves;
	/* Calls that come from [start, end) do not count, as those of a library by itself; end 0: all do. */
	uint64_t inside_start_avma, inside_end_avma;
	/* A probe that the program declares: the arguments are its operands, not registers. */
	bool is_declared;
	/* Where its semaphore is in the file: the kernel counts it up meanwhile, as the program does the work for the probe
	 * only then. 0: none. */
	uint64_t semaphore_off;
	size_t n_operands;
	struct sw_event_operand operands[SW_EVENT_ARGUMENTS];
};

/** A probe that a program declares, at one place of its code. */
struct sw_event_probe {
	const char *provider, *name, *operands; /* borrowed from the image */
	struct sw_event_place place;            /* without a file */
};

/** Which events are wanted. Zero-initialised means the defaults. */
struct sw_event_options {
	enum sw_event_what
		what; /* of all that follows only stack_bytes is for all; places, at_return and slower_ns are for SW_EVENT_FUNCTION,
			    the others for SW_EVENT_CALL */
	int64_t call; /* the number of the system call in 64-bit code; -1: it has none */
	int64_t call_32; /* in 32-bit code, without SW_SYSCALL_I386; -1: it has none */
	/* When it begins: calls that do not return, or that return as another program. */
	bool at_begin;
	bool failed; /* only those that fail */
	int error;   /* with this one; 0: any */
	struct sw_event_test tests[SW_EVENT_TESTS_MAX];
	size_t n_tests;
	/* Numbers of arguments from 1 on, 0: none. Memory that is copied, too: of a string; of so many bytes as another
	 * argument says. */
	unsigned text, bytes, n_bytes;
	size_t stack_bytes;                  /* of each copy; 0: 8 KiB; at most 32 KiB */
	const struct sw_event_place *places; /* borrowed until the sampler is created */
	size_t n_places;                     /* 1..SW_EVENT_PLACES_MAX */
	/* When the function returns, by one of the RETs of its place: the stack is that of its caller. */
	bool at_return;
	int64_t slower_ns; /* at_return, and of SW_EVENT_BLOCKED: only what lasts at least as long */
	/* The argument of a system call, from 1 on, that must be at least so large; 0: any call. */
	unsigned least_of;
	uint64_t least;
	uint32_t every;  /* of SW_EVENT_FAULTS: each so many-th is an event; 0: each */
	uint32_t n_held; /* of SW_EVENT_PAIRS: things that are outstanding at once; 0: 65536 */
	/* Nothing of the process is read after the sampler was created, as the caller gives its privileges up then: only for
	 * native code, and events end with -SW_E_CHANGED when there is new code. */
	bool fixed;
	/* Opens the event of a probe for a caller whom the kernel refuses it (CAP_SYS_ADMIN). NULL: nobody does, and links are
	 * used where sw_event_probes_linked(). tid is a thread of the process. A descriptor, or a negative errno. */
	int (*probe_open)(void *arg, pid_t tid, int file_fd, uint64_t file_off,
			  uint64_t semaphore_off);
	void *probe_arg;
};

/**
 * A thing that was got or given up. Its number is no identity, as it is used again.
 *
 * Shared memory: file is enum sw_event_shm, number that of the segment; inode is not 0 if the segment is surely new, or is the
 * address of an attachment, or the inode of an object.
 * Sets of epoll: set is the descriptor of the set, and inode its file. Without inode, a descriptor of file is about to be closed;
 * set is 0 if that is the last one.
 */
struct sw_event_handle {
	uint32_t number, set;
	uint64_t inode;
	uint64_t file; /* tells open files apart while they are open; 0: it is closed again */
	/* A thread that is made has its thread pointer, and that of who made it. */
	uint64_t pointer_avma, maker_avma;
};

enum sw_event_kind {
	SW_EVENT_CALLED,   /* of SW_EVENT_CALL */
	SW_EVENT_ACQUIRED, /* handles[] */
	SW_EVENT_RELEASED, /* likewise */
	SW_EVENT_RANGE,    /* released: all numbers from handles[0] to handles[1] */
	SW_EVENT_TABLE,    /* bytes has a bit for each that is open: others were released */
	SW_EVENT_PROGRAM, /* the process is another program; of threads: handles[0] is its only thread */
	/* Mappings: a call begins, and is about to change what is from arguments[0] to arguments[1] (of brk: from the
	 * old end of the heap to the new one); or has returned result, and mapped so many bytes there as arguments[0]
	 * says, if that is no error. */
	SW_EVENT_MAPS_BEGIN,
	SW_EVENT_MAPS_END,
	SW_EVENT_ENTERED, /* a function: arguments are the registers that have its first six */
	SW_EVENT_LEFT, /* a function: result, lasted_ns, and the arguments that it was called with */
	SW_EVENT_DIED, /* death */
	SW_EVENT_MADE, /* result: the new thread, or process, in our pid namespace; 0: not there */
	SW_EVENT_WAITED,  /* lasted_ns */
	SW_EVENT_FAULTED, /* address_avma, access */
	SW_EVENT_HANDED, /* of a pair: a function hands out arguments[0], whose size is arguments[1] */
	SW_EVENT_TAKEN, /* of a pair: a function is about to take arguments[0] back, which was handed out */
	SW_EVENT_KEPT, /* of a pair: it has not, and what the thread's last SW_EVENT_TAKEN is of is still there */
};

enum { SW_EVENT_HANDLES_MAX = 256 };

/** A kind of shared memory. */
enum sw_event_shm {
	SW_EVENT_SHM_SEGMENT,    /* of shmget(2) */
	SW_EVENT_SHM_ATTACHMENT, /* of shmat(2) */
	SW_EVENT_SHM_OBJECT,     /* of shm_open(3): the text of the event is its path */
};

/** The access of an instruction that faults. */
enum sw_event_access { SW_EVENT_READS, SW_EVENT_WRITES, SW_EVENT_EXECUTES };

/** How a process ends. */
struct sw_event_death {
	int signal; /* that kills it; 0: it exits */
	int code;   /* si_code of the signal (sigaction(2)) */
	int status; /* with which it exits */
	bool has_address, has_sender;
	bool by_kernel;        /* the kernel has sent the signal, */
	bool no_memory;        /* as there was no memory */
	uint64_t address_avma; /* of a fault */
	pid_t sender_pid;      /* 0: not in our pid namespace */
	uid_t sender_uid;
	char sender_comm[SW_COMM_MAX];
};

/** An event. */
struct sw_event {
	enum sw_event_kind kind;
	struct sw_event_handle handles[SW_EVENT_HANDLES_MAX];
	size_t n_handles;
	uint64_t number; /* from 0 on; a gap: events were lost */
	int64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t tid;
	bool returned; /* the call has a result */
	bool of_first; /* the process was the program still that it was when the sampler was created */
	int64_t call;   /* its number, as of sw_thread.syscall */
	int64_t result; /* below 0: an error */
	uint64_t arguments[SW_EVENT_ARGUMENTS];
	size_t n_arguments;         /* those that there are */
	unsigned arguments_unknown; /* a bit for each whose value is not known */
	/* The memory that was asked for. Borrowed until the next call with the sampler; NULL: it was not there. */
	const void *text, *bytes;
	size_t text_size, bytes_size;
	int64_t lasted_ns; /* of SW_EVENT_LEFT and SW_EVENT_WAITED */
	struct sw_event_death death;
	uint64_t address_avma;       /* of a page fault */
	enum sw_event_access access; /* likewise */
	size_t place;                /* of a function, also of a pair: its index in places[] */
	bool cut; /* SW_EVENT_TABLE: of larger numbers than bytes has nothing is known; else they are not open */
};

/**
 * Where a function is probed: at an instruction near its beginning that the kernel executes by itself, if there is one that
 * each call comes to once; else at the first one. Parses: not for a process with privileges.
 *
 * @param image  The bytes of the ELF file, as sw_module_image(); hostile.
 * @param size   Of the function; 0: not known.
 * @param ret    Without a file. Set only on success.
 * @return 0; -SW_E_UNSUPPORTED: code of another machine; -SW_E_INVALID: the function is not in the file.
 */
SW_PUBLIC int sw_event_place_of(const void *image, size_t image_size, uint64_t svma, uint64_t size,
				struct sw_event_place *ret, struct sw_error *err);
/**
 * Where that function returns: each RET that its code comes to. Parses, as sw_event_place_of().
 *
 * @param place  Of sw_event_place_of(). Gets n_returns and returns_off, only on success.
 * @return 0; -SW_E_UNSUPPORTED with the reason: the end of the function is not known, its code is not understood to its end,
 *         it has no RET, or too many of them.
 */
SW_PUBLIC int sw_event_returns_of(const void *image, size_t image_size, uint64_t svma,
				  uint64_t size, struct sw_event_place *place,
				  struct sw_error *err);

/**
 * Whether the code of a function calls another one of the same file, or jumps to it: directly, by the PLT, or through a word
 * that the linker fills. Parses, as sw_event_place_of().
 *
 * @param size         Of the function that calls.
 * @param callee_svma  The address of the other one.
 */
SW_PUBLIC bool sw_event_calls(const void *image, size_t image_size, uint64_t svma, uint64_t size,
			      uint64_t callee_svma);

/**
 * The probes that a program declares in its notes (USDT, sys/sdt.h). Parses, as sw_event_place_of().
 *
 * @param each  Told of each place of each probe.
 * @return 0; -SW_E_LIMIT: there are more than can be looked at.
 */
SW_PUBLIC int sw_event_probes(const void *image, size_t image_size,
			      void (*each)(void *arg, const struct sw_event_probe *probe),
			      void *arg, struct sw_error *err);

/**
 * Begin. Needs CAP_BPF and CAP_PERFMON.
 *
 * @param ctx      Borrowed, as target, until the end.
 * @param options  Copied.
 * @return As sw_cpu_sampler_create(); -SW_E_INVALID also: code of this kind has no such call.
 */
SW_PUBLIC int sw_event_sampler_create(struct sw_context *ctx, struct sw_target *target,
				      const struct sw_event_options *options,
				      struct sw_cpu_sampler **ret, struct sw_error *err);
/** The event that the last sample with a thread is of; borrowed until the next one. */
SW_PUBLIC const struct sw_event *sw_cpu_sampler_event(const struct sw_cpu_sampler *sampler);

/** Why events have no stack since some time, as the process cannot be looked at any more; "": each that has one was
 * walked. Of a sampler of sw_event_sampler_create(). */
SW_PUBLIC const char *sw_event_sampler_no_stacks(const struct sw_cpu_sampler *sampler);

/** Whether there are no events any more though the process lives: of SW_EVENT_FUNCTION, when the thread has ended by whose
 * memory the kernel knows the process, which is the first one where that lived in the beginning. */
SW_PUBLIC bool sw_event_sampler_is_over(const struct sw_cpu_sampler *sampler);

/** The cost of copying threads at events, for them, by the kernel's clock; entering the kernel's program is not in it. */
struct sw_event_cost {
	uint64_t
		n_probed; /* breakpoints that threads of the process came to, of functions and pairs */
	uint64_t n_copied; /* also those that were lost afterwards */
	uint64_t ns;       /* of all together */
	/* Calls of SW_EVENT_FUNCTION with at_return that ended by no RET of the function (exceptions, longjmp(3), a jump
	 * to another function, a stack that moved), as far as another call showed it. */
	uint64_t n_left_out;
	/* Counts of SW_EVENT_PAIRS. */
	uint64_t n_not_held; /* handed out when n_held were outstanding: these have no event */
	/* Handed out or taken back while other threads did so with the same one without a pause: these are not followed. */
	uint64_t n_unsure;
	uint64_t n_unknown; /* taken back, and not handed out since the beginning */
	uint64_t n_none;    /* calls that handed out nothing: failures */
	/* Calls of places that hand out, and that take back: of those with an instruction that the kernel executes by itself,
	 * and of others. */
	uint64_t n_handing, n_handing_stepped, n_taking, n_taking_stepped;
};
/** So far. Of a sampler of sw_event_sampler_create(). */
SW_PUBLIC struct sw_event_cost sw_event_sampler_cost(const struct sw_cpu_sampler *sampler);

/**
 * Whether this process probes code by links of BPF, without an event of a probe: it lacks CAP_SYS_ADMIN, has CAP_PERFMON and
 * CAP_BPF, and the kernel has such links (Linux 6.10, and 6.6 with what was taken from it). A process that the target forks
 * has its breakpoints until they are taken out, where by an event it loses each when it comes there first.
 */
SW_PUBLIC bool sw_event_probes_linked(void);
/** The number of the kernel's source of probes. False: it has none. */
SW_PUBLIC bool sw_event_probe_type(uint32_t *ret);
/**
 * Open the event of a probe in the process of a thread, at an instruction of a file that it has mapped. Needs CAP_PERFMON, or
 * CAP_SYS_ADMIN where the kernel asks for that.
 *
 * @param type           Of sw_event_probe_type().
 * @param semaphore_off  As of struct sw_event_place.
 * @return a descriptor, or a negative errno.
 */
SW_PUBLIC int sw_event_probe_open(uint32_t type, pid_t tid, int file_fd, uint64_t file_off,
				  uint64_t semaphore_off);

/** CPU time that a breakpoint takes a thread each time that it comes there, without the copy. */
struct sw_event_probe_cost {
	int64_t emulated_ns; /* of an instruction that the kernel executes by itself */
	int64_t stepped_ns;  /* of another one, as RET */
};
/** Being measured. Zero-initialised it has not begun. */
struct sw_event_measuring {
	pid_t pid;
	int fd, pidfd; /* owned by it */
};
/**
 * Begin to measure it: a child of this process, which ends by itself, puts breakpoints into code of its own. No code of any
 * other process is changed. Needs CAP_PERFMON.
 *
 * @return 0; -SW_E_IO.
 */
SW_PUBLIC int sw_event_probe_cost_begin(struct sw_event_measuring *ret, struct sw_error *err);
/**
 * Waits for the figures and for the end of the child, at most a second for each. A child that the kernel keeps longer
 * is not waited for: it is killed, and ends when the kernel lets it. Twice is allowed.
 *
 * @param ret  NULL: they are not wanted. Set only if true is returned.
 * @return false: they are not known.
 */
SW_PUBLIC bool sw_event_probe_cost_end(struct sw_event_measuring *measuring,
				       struct sw_event_probe_cost *ret);

/** An outstanding thing of SW_EVENT_PAIRS, as the kernel has it. Of SW_EVENT_EPOLLS: a descriptor that may be of a set, or that a
 * set watches; handle is its file, pair its number, and number its inode. */
struct sw_event_held {
	uint64_t handle;
	unsigned pair;
	uint64_t number; /* of the event that handed it out last */
	uint64_t n;      /* how often it was handed out and not taken back */
};
/**
 * Tell of each, best when there are no events any more. Of a sampler of sw_event_sampler_create().
 *
 * @param tell  Returns 0, or an error that ends the pass.
 * @return 0; what tell() has returned; -SW_E_IO; -SW_E_NOMEM; -SW_E_NOT_PERMITTED.
 */
SW_PUBLIC int sw_event_sampler_held(const struct sw_cpu_sampler *sampler,
				    int (*tell)(void *arg, const struct sw_event_held *held),
				    void *arg, struct sw_error *err);

/** Whether an event has happened that was not returned yet; makes no system call, so that it may be asked often. Of a sampler
 * of sw_event_sampler_create(). */
SW_PUBLIC bool sw_event_sampler_has_more(const struct sw_cpu_sampler *sampler);

/** No events any more, at once; those that happened are still returned. Probes of functions stay in the code. Of a sampler of
 * sw_event_sampler_create(). */
SW_PUBLIC void sw_event_sampler_stop(struct sw_cpu_sampler *sampler);

/** Drop the events that were not returned yet, after sw_event_sampler_stop(): sw_cpu_sampler_lost() counts them. */
SW_PUBLIC void sw_event_sampler_drop(struct sw_cpu_sampler *sampler);

/**
 * Take one probe out of the code of the process, after sw_event_sampler_stop(). The kernel needs 10 to 100s of ms for each:
 * meanwhile the caller can read events of other samplers.
 *
 * @return false: none is left.
 */
SW_PUBLIC bool sw_event_sampler_take_out(struct sw_cpu_sampler *sampler);

#ifdef __cplusplus
}
#endif

#endif
