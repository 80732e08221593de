/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_LAYOUT_H
#define SW_HOTSPOT_LAYOUT_H

#include "memory.h"
#include "runtimes/hotspot/published/tables.h"

/*
 * Where things are in one build of HotSpot, by the tables that it publishes for debuggers: offsets in
 * structures, sizes, constants, and svma of its static variables. SW_HOTSPOT_NONE: it has none.
 */
enum { SW_HOTSPOT_NONE = -1, SW_HOTSPOT_OFFSET_MAX = 1 << 16 };

struct sw_hotspot_layout {
	/* Static variables, as svma. */
	int64_t heaps, only_heap, low_bound, high_bound, call_stub_return, interpreter;
	int64_t thread_list, first_thread; /* an array, or each leads to the next */
	int64_t continuation_return, release, version_major, version_security;
	int64_t oop_base, oop_shift, narrow_base, narrow_shift, zgc, xgc, collected_heap;
	int64_t loaders, counters_start, counters_top;
	/* Offsets. */
	int64_t array_length, array_data;
	int64_t heap_memory, heap_segmap, heap_shift, space_low, space_high;
	int64_t block_used;
	int64_t blob_name, blob_size, blob_frame_size, blob_frame_complete;
	int64_t blob_code_begin, blob_code_end, blob_code_offset, blob_data_offset;
	int64_t blob_mutable_data, blob_relocation_size;
	int64_t nmethod_method, nmethod_level, nmethod_compile_id, nmethod_orig_pc;
	int64_t nmethod_entry_bci, nmethod_deopt_begin, nmethod_deopt_offset;
	int64_t nmethod_deopt_mh_begin, nmethod_deopt_mh_offset;
	int64_t nmethod_pcs, nmethod_dependencies, nmethod_scopes_begin, nmethod_scopes_offset;
	int64_t nmethod_metadata, nmethod_immutable, nmethod_immutable_size;
	int64_t method_const, const_constants, const_code_size, const_name, const_signature;
	int64_t const_flags, pool_holder, pool_source, klass_source, klass_name;
	int64_t symbol_length, symbol_length_and_refcount, symbol_body;
	int64_t list_length, list_threads, thread_next, thread_stack_base, thread_stack_size,
		thread_state;
	int64_t thread_continuation, continuation_bytes, thread_object, thread_virtual;
	int64_t klass_super, klass_constants, klass_fields, klass_field_stream;
	int64_t array_u1_data, array_u2_data, zgc_good, zgc_load_good, xgc_good;
	int64_t queue_buffer, queue_end, codelet_size, codelet_description;
	int64_t thread_pending, thread_waiting, thread_owner_id, thread_lock_stack;
	int64_t lock_stack_top, lock_stack_base, heap_gc_active;
	int64_t loader_object, loader_next, loader_classes, klass_mirror, klass_next, klass_layout;
	int64_t klass_init_state, klass_init_thread;
	int64_t monitor_owner, monitor_object, monitor_stack_locker;
	/* Sizes. */
	int64_t block_bytes, const_bytes, pool_bytes, nmethod_bytes;
	/* Constants. */
	int64_t line_table_flag, state_new, state_native, state_vm, state_java, state_blocked;
	int64_t state_initializing; /* of a class */
};

/* From the tables; statics become svma with the bias. False with *ret_missing, the first that is
 * needed and is not there (static). */
bool sw_hotspot_layout_fill(const struct sw_hotspot_tables *tables, uint64_t bias,
			    struct sw_hotspot_layout *ret, const char **ret_missing);

#endif
