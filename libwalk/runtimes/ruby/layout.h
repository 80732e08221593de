/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_LAYOUT_H
#define SW_RUBY_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where one release series has what tells of its locks, in bytes, with glibc: with another C library a
 * thread has two condition variables.
 */
struct sw_ruby_lock_layout {
	uint16_t thread_bytes; /* rb_thread_t: that are looked at */
	uint16_t thread_ractor;
	uint16_t thread_ec;
	uint16_t thread_id;    /* what the C library calls it */
	uint16_t thread_node;  /* in the list of those that wait for the GVL */
	uint16_t thread_cond;  /* for that, and to sleep */
	uint16_t thread_wakes; /* what wakes it from what it sleeps in */
	uint16_t thread_mutex; /* locking_mutex */
	uint16_t ractor_gvl;   /* rb_ractor_t */
	uint16_t gvl_lock;     /* rb_global_vm_lock_t, which begins with the owner */
	uint16_t gvl_queue;
	uint16_t
		gvl_yield; /* condition variables of those that gave it up: [gvl_yield, gvl_yield_end) */
	uint16_t gvl_yield_end;
};

/* Where things are in one release series of Ruby, in bytes. Offsets that are the same in all of
 * them are in enum sw_ruby_offset. */
struct sw_ruby_layout {
	unsigned major, minor;
	uint16_t frame_bytes; /* rb_control_frame_t */
	uint16_t body_insns;  /* rb_iseq_constant_body: insns_info.body */
	uint16_t body_insns_size;
	uint16_t body_succ;
	uint8_t entry_bytes;  /* iseq_insn_info_entry */
	uint8_t embedded_off; /* text of a String that is in its object */
	uint8_t yjit_bytes;   /* of a frame of YJIT's code with its return address; 0: not known */
	const struct sw_ruby_lock_layout *locks; /* static; NULL: not known */
	bool lists_contexts; /* has a list of all contexts, for JITs that may be used later */
};

enum sw_ruby_offset {
	/* rb_execution_context_t */
	SW_RUBY_EC_STACK = 0,
	SW_RUBY_EC_STACK_SIZE = 8, /* in words */
	SW_RUBY_EC_CFP = 16,
	SW_RUBY_EC_FIBER = 40,
	SW_RUBY_EC_THREAD = 48,
	SW_RUBY_EC_FRAMES_BYTES = 24, /* with what leads to the frames */
	SW_RUBY_EC_BYTES = 56,        /* and with what leads to the thread */
	/* rb_control_frame_t */
	SW_RUBY_FRAME_PC = 0,
	SW_RUBY_FRAME_SP = 8,
	SW_RUBY_FRAME_ISEQ = 16,
	SW_RUBY_FRAME_EP = 32,
	SW_RUBY_FRAME_BYTES = 40, /* that are looked at */
	/* Environment: [ep] flags, [ep - 16] method entry or cref. */
	SW_RUBY_EP_BEFORE = 16,
	SW_RUBY_EP_BYTES = 24,
	/* rb_iseq_t */
	SW_RUBY_ISEQ_BODY = 16,
	SW_RUBY_ISEQ_BYTES = 24,
	/* rb_iseq_constant_body */
	SW_RUBY_BODY_SIZE = 4,
	SW_RUBY_BODY_ENCODED = 8,
	SW_RUBY_BODY_PATH = 64,
	SW_RUBY_BODY_LABEL = 80,
	SW_RUBY_BODY_BYTES = 160, /* that are looked at */
	/* rb_method_entry_t, rb_method_definition_t, imemo svar */
	SW_RUBY_METHOD_DEF = 16,
	SW_RUBY_METHOD_BYTES = 24,
	SW_RUBY_DEF_ID = 32,
	SW_RUBY_DEF_BYTES = 40,
	SW_RUBY_SVAR_METHOD = 8,
	/* RString, RArray */
	SW_RUBY_OBJECT_BYTES = 40,
	SW_RUBY_OBJECT_LENGTH = 16,
	SW_RUBY_STRING_TEXT = 24,
	SW_RUBY_ARRAY_EMBEDDED = 16,
	SW_RUBY_ARRAY_ITEMS = 32,
	/* RTypedData, rb_data_type_t */
	SW_RUBY_DATA_TYPE = 16,
	SW_RUBY_DATA_POINTER = 32,
	SW_RUBY_DATA_BYTES = 40,
	SW_RUBY_TYPE_NAME = 0,
	/* rb_mutex_t */
	SW_RUBY_MUTEX_FIBER = 0,
	/* rb_symbols_t */
	SW_RUBY_SYMBOLS_LAST = 0, /* u32 */
	SW_RUBY_SYMBOLS_IDS = 16,
	/* succ_index_table */
	SW_RUBY_SUCC_BLOCKS = 48,
	SW_RUBY_SUCC_BLOCK_BYTES = 80,
};

enum sw_ruby_flag {
	/* of [ep] */
	SW_RUBY_FINISH = 0x20,
	SW_RUBY_CFRAME = 0x80,
	SW_RUBY_MAGIC_MASK = 0x7fff0001,
	SW_RUBY_MAGIC_CFUNC = 0x55550001,
	SW_RUBY_MAGIC_DUMMY = 0x79990001, /* the outermost of a thread, which runs nothing */
	/* of objects */
	SW_RUBY_TYPE_MASK = 0x1f,
	SW_RUBY_STRING = 0x05,
	SW_RUBY_ARRAY = 0x07,
	SW_RUBY_DATA = 0x0c,
	SW_RUBY_IMEMO = 0x1a,
	SW_RUBY_IMEMO_SHIFT = 12,
	SW_RUBY_IMEMO_MASK = 0xf,
	SW_RUBY_IMEMO_SVAR = 2,
	SW_RUBY_IMEMO_METHOD = 6,
	SW_RUBY_IMEMO_ISEQ = 7,
	SW_RUBY_USER1 = 1 << 13, /* String: not embedded. Array: embedded */
	SW_RUBY_STRING_LENGTH_SHIFT = 14,
	SW_RUBY_STRING_LENGTH_MASK = 0x1f,
	SW_RUBY_ARRAY_LENGTH_SHIFT = 15,
};

/* NULL: the series is not known. Static. */
const struct sw_ruby_layout *sw_ruby_layout_of(unsigned major, unsigned minor);

#endif
