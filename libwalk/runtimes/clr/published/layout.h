/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_LAYOUT_H
#define SW_CLR_LAYOUT_H

#include "runtimes/clr/published/contract.h"
#include "runtimes/clr/published/debug_info.h"

enum { SW_CLR_BUCKET_SLOTS_MAX = 16 }; /* of a hash map's bucket */

/*
 * The numbers that finding code needs, resolved once. Offsets of fields unless the name says
 * otherwise.
 */
struct sw_clr_layout {
	/* RangeSectionMap, RangeSectionFragment, RangeSection */
	uint32_t map_top, fragment_next, fragment_begin, fragment_end, fragment_section;
	uint32_t section_begin, section_end, section_flags, section_module, section_heap,
		section_deleted;
	/* CodeHeapListNode, RealCodeHeader, RuntimeFunction */
	uint32_t heap_start, heap_end, heap_base, heap_map;
	uint32_t header_method, header_n_unwind, header_unwind, header_debug;
	uint32_t function_bytes, function_begin, function_end, function_unwind;
	/* Module, ReadyToRunInfo, ImageDataDirectory; HashMap, Bucket */
	uint32_t module_r2r;
	uint32_t r2r_composite, r2r_functions, r2r_n_functions, r2r_hot_cold, r2r_n_hot_cold,
		r2r_thunks, r2r_methods;
	uint32_t directory_rva, directory_size;
	uint32_t hash_buckets, bucket_bytes, bucket_keys, bucket_values;
	uint32_t bucket_slots; /* at most SW_CLR_BUCKET_SLOTS_MAX */
	/* ThreadStore, Thread */
	uint32_t store_first, thread_next, thread_osid, thread_state;

	uint64_t hash_value_mask;
	uint64_t stub_last;  /* a code header up to this is the kind of a stub */
	uint64_t map_avma;   /* the range section map */
	uint64_t store_avma; /* of the variable that points to the thread store; 0: not known */
	uint64_t
		sync_table_avma; /* of the variable that points to the table of SyncBlocks; 0: not known */
	/* Variables of .NET 8 alone: System.Object's MethodTable, and the thread that has stopped
	 * the others; 0: not known */
	uint64_t object_table_avma, suspender_avma;
	unsigned fixed_version; /* 8 or 9: the rest is as that has it; 0: it describes all */
	unsigned nibble_version;
	enum sw_clr_debug_format debug_format; /* of what header_debug points to */
	bool has_r2r_info; /* of ReadyToRun code the runtime says all; else the image is asked */
};

/* From the runtime's descriptor. False and *ret_why (buffer) when it says too little, or follows
 * contracts that are not known. */
bool sw_clr_layout_resolve(const struct sw_clr_contract *contract, struct sw_clr_layout *ret,
			   char *ret_why, size_t why_bytes);

/* Where threads are, if the descriptor says so; store_avma stays 0 otherwise. */
void sw_clr_layout_threads(const struct sw_clr_contract *contract, struct sw_clr_layout *layout);

/*
 * The layout of .NET 8 and 9, which do not describe how they find code; map_avma is their range
 * section map, store_avma .NET 8's variable for threads (offsets as seen in 8.0.31), 0 when not
 * known. Source: dotnet/runtime v8.0.0 and v9.0.0, src/coreclr/vm/codeman.h and
 * inc/nibblemapmacros.h.
 */
struct sw_clr_layout sw_clr_layout_fixed(uint64_t map_avma, uint64_t store_avma);

#endif
