/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause OR GPL-2.0-only */
#ifndef SW_ITERATE_CALLED_H
#define SW_ITERATE_CALLED_H

/*
 * Setup of the programs at system calls (iterate/bpf/calls.bpf.c), and what they add to the copy of a thread
 * (iterate/sampled.h). Compiled for the kernel's programs and for the library, so it knows only the compiler's own
 * headers. No padding.
 */
#include "iterate/record.h"

enum {
	SW_CALLED_ARGUMENTS = 6, /* of a system call */
	SW_CALLED_TESTS_MAX = 6,
	SW_CALLED_TEXT_MAX = 256,      /* bytes of a string that an argument points to */
	SW_CALLED_BYTES_MAX = 128,     /* of other memory */
	SW_CALLED_HANDLES_MAX = 256,   /* of one event */
	SW_CALLED_TABLE_BYTES = 32760, /* of the bits: below a power of two for the verifier */
	SW_CALLED_PLACES_MAX = 128,
	SW_CALLED_HELD_DEFAULT = 65536, /* handles that are outstanding at once */
};

/*
 * The cookie of a place of iterate/bpf/pairs.bpf.c, from the lowest bit on: number of the place; the number of its pair; which value
 * is the handle, and which the size of what is got; and whether a result other than 0 is an error.
 */
enum {
	SW_CALLED_PLACE_MASK = 0xffff,
	SW_CALLED_PAIR_AT = 16,
	SW_CALLED_HANDLE_AT = 32, /* eight bits, as of the size */
	SW_CALLED_SIZE_AT = 40,   /* 0: each is one thing */
	SW_CALLED_ONLY_ZERO_AT = 48,
	SW_CALLED_TIMES_AT =
		49, /* three bits: the argument by which the size is multiplied; 0: by none */
	SW_CALLED_NESTS_AT =
		52, /* what is taken back: it may call another function of the pair with it */
	SW_CALLED_MOVES_AT =
		53, /* with a result of 0 it has not taken argument 0 back, unless the size is 0 */
	SW_CALLED_FIRST_AT =
		54, /* of a return: the result is the first argument of the function that it ends by a jump to */
	SW_CALLED_STEPPED_AT = 55, /* the kernel steps the instruction */
	SW_CALLED_SHARED_AT =
		56, /* another probe is at the same instruction, and counts the breakpoint */
	/* Parts of a value. */
	SW_CALLED_VALUE_ARGUMENT = 7, /* from 1 on; 0: the result */
	SW_CALLED_VALUE_POINTED = 8,  /* the word that this points to */
};

/* The key of an outstanding thing. */
struct sw_called_handle {
	uint64_t handle;
	uint64_t pair;
};
struct sw_called_held {
	uint64_t number; /* of the event that acquired it last */
	/* The lower half says how often it was acquired more than released; 0: it is about to be taken out of the table.
	 * The upper half is the number of the entry. */
	uint64_t count;
	uint64_t time_ns; /* of that event */
	uint64_t thread;  /* of it, as the kernel has it */
};
struct sw_called_outstanding {
	struct sw_called_handle key;
	struct sw_called_held held;
};

/* An argument has this value. */
struct sw_called_test {
	uint64_t value;
	uint64_t mask; /* of the bits that count */
	uint32_t argument;
	uint32_t unused;
};

struct sw_called_setup {
	uint64_t n_events; /* so far: the number of the next one */
	uint64_t number; /* of the system call, for this kind of code; of faults: one of so many */
	uint64_t n_entries; /* of pairs: entries that were put into the table so far */
	uint32_t tgid;      /* the process in the kernel's own numbers; 0: not found yet */
	uint32_t is_32bit;  /* the code that calls */
	uint32_t error;     /* only calls that failed with it; SW_CALLED_ANY_ERROR; 0: all */
	uint32_t n_tests;
	/* Numbers of arguments, from 1 on; 0: none. That of a string; that of bytes, and that which has their number. */
	uint32_t text, bytes, n_bytes;
	uint32_t
		ended; /* of functions: what happens from now on is no event, though probes are there still */
	uint64_t files;     /* of descriptors: the table of the process, found as tgid is */
	uint64_t mm;        /* of mappings: its memory, likewise */
	uint64_t told;      /* of deaths: it is told already */
	uint64_t slower_ns; /* of functions and of waiting: only those that lasted as long */
	uint64_t least;     /* of system calls: the argument least_of is at least this */
	uint64_t least_of;  /* its number from 1 on; 0: none */
	uint64_t n_seen;    /* faults so far, also those that are no event */
	uint64_t start_ns;  /* when the process began, likewise: its number may be used again */
	uint32_t pid;       /* of the process in the reader's namespace, likewise */
	uint32_t recipe;    /* its number, likewise */
	struct sw_called_test tests[SW_CALLED_TESTS_MAX];
	/* Callers of pairs, by the number of the place: calls from [start, end) do not count. */
	struct sw_called_range {
		uint64_t start, end;
	} inside[SW_CALLED_PLACES_MAX];
};

#define SW_CALLED_ANY_ERROR UINT32_MAX

/* Kinds of parts, above those that a recipe can have. */
enum {
	SW_CALLED_EVENT = 1 << 16, /* struct sw_called_event; each record has one */
	SW_CALLED_TEXT,            /* what the argument points to; not always terminated */
	SW_CALLED_BYTES,
	SW_CALLED_TABLE, /* a bit for each descriptor: it is open */
	SW_CALLED_WORDS, /* the arguments of a function: SW_CALLED_ARGUMENTS words */
	SW_CALLED_DEATH, /* struct sw_called_death */
	SW_CALLED_RETURNS, /* struct sw_called_replaced[]: where uprobes have replaced words of the stack */
};

/* A return address that the kernel has replaced. */
struct sw_called_replaced {
	uint64_t at_avma, is_avma; /* where it stood, and what it was */
};

/* A flag of a head, above enum sw_sampled_flags: the record is of the event alone, without registers and stack. */
enum { SW_CALLED_ALONE = 1 << 16 };

enum sw_called_what {
	SW_CALLED_ENTER, /* a call begins */
	SW_CALLED_EXIT,  /* it returns value[0] */
	/* Sets of epoll: value[0] is the descriptor, and that of the set above 32 bits; value[1] is the file of the set, value[2] the
	 * file. Released without a file of the set: a descriptor of the file is about to be closed; the number of the set is 0 if that
	 * is the last one.
	 * Shared memory: value[2] is enum sw_called_shm, value[0] the number of the segment; value[1] says whether the segment is
	 * surely new, where it is attached, or is the inode of an object, whose path is part SW_CALLED_TEXT.
	 * Timers: value[0] is the number. Descriptors: a record may have several of the first. Threads: value[0] is the thread; in the first value[1]
	 * is its thread pointer, value[2] that of the thread that made it. */
	SW_CALLED_ACQUIRED, /* value[0], of inode value[1], file value[2]; no file: it is closed again */
	SW_CALLED_RELEASED, /* likewise: it is about to be closed */
	SW_CALLED_RANGE,    /* all from value[0] to value[1] are about to be closed */
	SW_CALLED_TABLE_IS, /* part SW_CALLED_TABLE has all that are open; no other call has them open */
	/* The process is another program. Threads: value[0] is the only one. Mappings: it has others. */
	SW_CALLED_PROGRAM,
	/* Mappings: system call value[0] begins, and is about to change all from value[1] to value[2]; it has
	 * returned value[1], and mapped value[2] bytes if that is no error. */
	SW_CALLED_MAPS_BEGIN,
	SW_CALLED_MAPS_END,
	/* Functions: value[2] is the number of the place. */
	SW_CALLED_FUNCTION_BEGINS = 32,
	SW_CALLED_FUNCTION_RETURNS, /* value[0], after value[1] ns */
	SW_CALLED_DIES,             /* the process: part SW_CALLED_DEATH */
	SW_CALLED_MAKES,            /* a thread or a process, value[0] in the reader's namespace */
	SW_CALLED_WAITS,            /* for value[1] ns */
	SW_CALLED_PAIR_ACQUIRED,    /* handle value[0], of size value[1], at place value[2] */
	SW_CALLED_PAIR_RELEASED,    /* likewise, without a size */
	SW_CALLED_FAULTS,           /* at address value[0]; value[1] is enum sw_called_access */
	SW_CALLED_PAIR_KEPT, /* the thread's last release of value[0] was none: it is still there */
};

/* The access of an instruction that faults. */
enum sw_called_access { SW_CALLED_READS, SW_CALLED_WRITES, SW_CALLED_EXECUTES };

/* Kinds of shared memory. */
enum sw_called_shm { SW_CALLED_SHM_SEGMENT, SW_CALLED_SHM_ATTACHMENT, SW_CALLED_SHM_OBJECT };

/* The things that SW_CALLED_MAKES can tell: number of the setup. */
enum { SW_CALLED_THREADS, SW_CALLED_PROCESSES };

enum sw_called_death_flags {
	SW_CALLED_HAS_ADDRESS = 1 << 0, /* of a fault */
	SW_CALLED_HAS_SENDER = 1 << 1,
	SW_CALLED_BY_KERNEL = 1 << 2,
	SW_CALLED_NO_MEMORY = 1 << 3,
};

struct sw_called_death {
	uint32_t signal; /* 0: it exits */
	int32_t code;    /* si_code of the signal */
	uint32_t status; /* of exit */
	uint32_t flags;  /* enum sw_called_death_flags */
	uint64_t address;
	uint32_t sender_pid, sender_uid; /* the pid in the reader's namespace; 0: not there */
	char sender_comm[SW_ITERATE_COMM];
};

struct sw_called_event {
	uint64_t number; /* from 0 on: a gap is an event that was lost */
	uint64_t what;   /* enum sw_called_what */
	uint64_t value[3];
};

#endif
