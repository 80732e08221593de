/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_VM_H
#define SW_RUBY_VM_H

#include "memory.h"
#include "runtimes/ruby/fiber_pool.h"
#include "runtimes/ruby/find.h"

/* The structures of Ruby's VM, read through a memory that gives what was copied, or the process's own (touch.c). */
struct sw_ruby_vm {
	struct sw_memory memory;
	const struct sw_ruby_found *found; /* with a layout */
	struct sw_ruby_pool pool;          /* of the stacks of fibers */
};

enum {
	SW_RUBY_FRAMES_MAX = 8192, /* of one thread that are followed; frames.c says the number */
	SW_RUBY_NAME_MAX = 512,    /* bytes of a name or path; longer ones are not read */
};

/* The frames of a thread, which grow down: [first, end). */
struct sw_ruby_stack {
	uint64_t ec_avma;
	uint64_t values_avma; /* where its values begin, which grow up */
	uint64_t first_avma;  /* the innermost frame */
	uint64_t end_avma;
};

enum sw_ruby_frame_kind {
	SW_RUBY_FRAME_OTHER, /* nothing that Ruby's own traces show */
	SW_RUBY_FRAME_RUBY,
	SW_RUBY_FRAME_C, /* a method that C code implements */
};

struct sw_ruby_frame {
	uint64_t avma;
	uint64_t pc_avma, sp_avma, iseq_avma, ep_avma;
	uint64_t method_avma; /* [ep - 16] */
	uint64_t flags;       /* [ep] */
	enum sw_ruby_frame_kind kind;
};

/* The execution context of a thread, and its first n bytes. False: the thread has no Ruby. */
bool sw_ruby_ec_read(const struct sw_ruby_vm *vm, uint64_t fs_base, uint64_t *ret_avma,
		     uint8_t *ret, size_t n);
/* The execution context of the first thread that has one. */
bool sw_ruby_any_ec(const struct sw_ruby_vm *vm, const struct sw_snapshot *snap,
		    uint64_t *ret_avma);
/* False: the thread has no Ruby. */
bool sw_ruby_stack_read(const struct sw_ruby_vm *vm, uint64_t fs_base, struct sw_ruby_stack *ret);
/* The same by the execution context. */
bool sw_ruby_stack_of(const struct sw_ruby_vm *vm, uint64_t ec_avma, struct sw_ruby_stack *ret);
bool sw_ruby_frame_read(const struct sw_ruby_vm *vm, uint64_t avma, struct sw_ruby_frame *ret);

/* The function that a frame of Ruby executes: label ("block in run"), file and the line of the
 * instruction before pc_avma. If pc_avma is 0, the line is not known. */
struct sw_ruby_name {
	char label[SW_RUBY_NAME_MAX];
	char path[SW_RUBY_NAME_MAX]; /* "" */
	uint32_t line;               /* 0 */
};

/* The part of an iseq that stays as long as it lives. No padding. */
struct sw_ruby_iseq {
	uint64_t body_avma, path_avma, label_avma;
	uint64_t encoded_avma, insns_avma, succ_avma;
	uint64_t n_words, n_insns;
};

bool sw_ruby_iseq_read(const struct sw_ruby_vm *vm, uint64_t iseq_avma, struct sw_ruby_iseq *ret);

bool sw_ruby_iseq_name(const struct sw_ruby_vm *vm, uint64_t iseq_avma, uint64_t pc_avma,
		       struct sw_ruby_name *ret);
/* The number of the name of a method that C code implements, and the name of it: SW_RUBY_NAME_MAX bytes. */
bool sw_ruby_method_id(const struct sw_ruby_vm *vm, uint64_t method_avma, uint64_t *ret);
bool sw_ruby_id_name(const struct sw_ruby_vm *vm, uint64_t id, char *ret);
/* The name of a method that C code implements. */
bool sw_ruby_method_name(const struct sw_ruby_vm *vm, uint64_t method_avma,
			 struct sw_ruby_name *ret);

#endif
