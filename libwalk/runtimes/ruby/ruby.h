/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_H
#define SW_RUBY_H

#include "runtimes/ruby/copied.h"
#include "runtimes/ruby/vm.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

/*
 * The frames of one thread, innermost first, and how many of them were handed out. They are in runs:
 * rb_vm_exec() executes one, which ends with a frame that has SW_RUBY_FINISH.
 */
struct sw_ruby_chain {
	pid_t tid; /* 0: none yet */
	uint64_t ec_avma;
	struct sw_ruby_frame *frames; /* owned */
	size_t n, capacity;
	size_t next;
	size_t top;     /* the first one that counts */
	bool cut;       /* frames are missing, or what is known of one */
	bool limited;   /* those behind SW_RUBY_FRAMES_MAX are; that alone does not count as cut */
	bool jit_seen;  /* code of YJIT, since the last rb_vm_exec() */
	bool cfp_known; /* what the frame before had in the register for the frame it executes */
	uint64_t cfp_avma;
};

struct sw_ruby_known;
struct sw_ruby_all_fibers;

/* The Ruby of one snapshot. */
struct sw_ruby {
	const struct sw_snapshot *snap; /* borrowed */
	struct sw_snapshot_memory
		source; /* what was copied; never the running process, whose objects
					     may be others by now */
	struct sw_ruby_found found;
	struct sw_ruby_exec exec; /* exec_known: it was looked for */
	bool exec_known;
	struct sw_ruby_vm vm;
	bool by_copies; /* of sw_snapshot_priv */
	struct sw_snapshot_memory later_source;
	struct sw_ruby_vm later, now; /* by_copies: with the running process; by that alone */
	/* by_copies: the stack of the thread that is walked, and whether it has one. */
	const struct sw_thread *stack_of; /* borrowed; NULL: none yet */
	struct sw_ruby_stack stack;
	bool has_stack;
	struct sw_ruby_copied copied;      /* by_copies: what frames execute */
	struct sw_ruby_chain chain;        /* of the thread that is being walked */
	struct sw_ruby_all_fibers *fibers; /* owned; NULL: they were not asked for */
	struct sw_ruby_known *known;       /* owned; waits.c: its threads, by their address */
	size_t n_known;
	bool known_read;
	bool cut; /* frames of a thread could not be read, or lie on no native frame */
};

#endif
