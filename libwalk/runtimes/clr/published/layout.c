/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/published/layout.h"
#include "cleanup.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#define ROW(type, field, member)                                    \
	{                                                           \
		type, field, offsetof(struct sw_clr_layout, member) \
	}

static const struct sw_clr_row rows[] = {
	ROW("RangeSectionMap", "TopLevelData", map_top),
	ROW("RangeSectionFragment", "Next", fragment_next),
	ROW("RangeSectionFragment", "RangeBegin", fragment_begin),
	ROW("RangeSectionFragment", "RangeEndOpen", fragment_end),
	ROW("RangeSectionFragment", "RangeSection", fragment_section),
	ROW("RangeSection", "RangeBegin", section_begin),
	ROW("RangeSection", "RangeEndOpen", section_end),
	ROW("RangeSection", "Flags", section_flags),
	ROW("RangeSection", "R2RModule", section_module),
	ROW("RangeSection", "HeapList", section_heap),
	ROW("RangeSection", "NextForDelete", section_deleted),
	ROW("CodeHeapListNode", "StartAddress", heap_start),
	ROW("CodeHeapListNode", "EndAddress", heap_end),
	ROW("CodeHeapListNode", "MapBase", heap_base),
	ROW("CodeHeapListNode", "HeaderMap", heap_map),
	ROW("RealCodeHeader", "MethodDesc", header_method),
	ROW("RealCodeHeader", "NumUnwindInfos", header_n_unwind),
	ROW("RealCodeHeader", "UnwindInfos", header_unwind),
	ROW("RuntimeFunction", NULL, function_bytes),
	ROW("RuntimeFunction", "BeginAddress", function_begin),
	ROW("RuntimeFunction", "EndAddress", function_end),
	ROW("RuntimeFunction", "UnwindData", function_unwind),
	ROW("Module", "ReadyToRunInfo", module_r2r),
	ROW("ReadyToRunInfo", "CompositeInfo", r2r_composite),
	ROW("ReadyToRunInfo", "RuntimeFunctions", r2r_functions),
	ROW("ReadyToRunInfo", "NumRuntimeFunctions", r2r_n_functions),
	ROW("ReadyToRunInfo", "HotColdMap", r2r_hot_cold),
	ROW("ReadyToRunInfo", "NumHotColdMap", r2r_n_hot_cold),
	ROW("ReadyToRunInfo", "DelayLoadMethodCallThunks", r2r_thunks),
	ROW("ReadyToRunInfo", "EntryPointToMethodDescMap", r2r_methods),
	ROW("ImageDataDirectory", "VirtualAddress", directory_rva),
	ROW("ImageDataDirectory", "Size", directory_size),
	ROW("HashMap", "Buckets", hash_buckets),
	ROW("Bucket", NULL, bucket_bytes),
	ROW("Bucket", "Keys", bucket_keys),
	ROW("Bucket", "Values", bucket_values),
};

/* The rows that only hijacked return addresses and threads need; without them the rest still
 * holds. */
static const struct sw_clr_row thread_rows[] = {
	ROW("ThreadStore", "FirstThreadLink", store_first),
	ROW("Thread", "LinkNext", thread_next),
	ROW("Thread", "OSId", thread_osid),
	ROW("Thread", "State", thread_state),
};

enum {
	FUNCTION_BYTES_MAX = 64,
	/* Contracts that are known. Version 2 of ExecutionManager is version 1 with another nibble map:
	 * ExecutionManager.md, v10.0.0. */
	CODE_VERSION_FIRST = 1,
	CODE_VERSION_LAST = 2,
	THREAD_VERSION = 1, /* Thread.md */
};

static bool globals_resolve(const struct sw_clr_contract *c, struct sw_clr_layout *l,
			    const char **ret_missing)
{
	uint64_t slots;
	if (!sw_clr_global(c, *ret_missing = "ExecutionManagerCodeRangeMapAddress", &l->map_avma) ||
	    !sw_clr_global(c, *ret_missing = "StubCodeBlockLast", &l->stub_last) ||
	    !sw_clr_global(c, *ret_missing = "HashMapValueMask", &l->hash_value_mask) ||
	    !sw_clr_global(c, *ret_missing = "HashMapSlotsPerBucket", &slots))
		return false;
	l->bucket_slots = slots <= SW_CLR_BUCKET_SLOTS_MAX ? (uint32_t) slots : 0;
	return true;
}

/*
 * Up to .NET 10 nothing is said of debug information: it is looked for where these versions have it,
 * in the code header's first word, and believed method by method (runtimes/clr/published/debug_info.h). A runtime that
 * has a contract for it may write it in another way.
 */
static void debug_resolve(const struct sw_clr_contract *c, struct sw_clr_layout *l)
{
	uint64_t version;
	if (!sw_clr_version(c, "DebugInfo", &version))
		l->debug_format = SW_CLR_DEBUG_PACKED;
}

void sw_clr_layout_threads(const struct sw_clr_contract *contract, struct sw_clr_layout *layout)
{
	uint64_t version;
	bool found = sw_clr_version(contract, "Thread", &version) && version == THREAD_VERSION &&
		     sw_clr_global(contract, "ThreadStore", &layout->store_avma);
	for (size_t i = 0; found && i < SW_ARRAY_SIZE(thread_rows); i++)
		found = sw_clr_row_resolve(contract, &thread_rows[i], layout);
	if (!found)
		layout->store_avma = 0;
	if (!found || !sw_clr_global(contract, "SyncTableEntries", &layout->sync_table_avma))
		layout->sync_table_avma = 0;
}

bool sw_clr_layout_resolve(const struct sw_clr_contract *contract, struct sw_clr_layout *ret,
			   char *ret_why, size_t why_bytes)
{
	struct sw_clr_layout l = {.has_r2r_info = true};
	uint64_t version;
	const char *missing;
	if (!sw_clr_version(contract, "ExecutionManager", &version)) {
		(void) snprintf(ret_why, why_bytes, "it does not describe how its code is found");
		return false;
	}
	if (version < CODE_VERSION_FIRST || version > CODE_VERSION_LAST) {
		(void) snprintf(ret_why, why_bytes,
				"version %" PRIu64
				" of its contract ExecutionManager is not known: "
				"it is newer than this snapwalk",
				version);
		return false;
	}
	l.nibble_version = (unsigned) version;
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++)
		if (!sw_clr_row_resolve(contract, &rows[i], &l)) {
			(void) snprintf(ret_why, why_bytes, "its descriptor lacks %s.%s",
					rows[i].type,
					rows[i].field != NULL ? rows[i].field : "size");
			return false;
		}
	if (!globals_resolve(contract, &l, &missing)) {
		(void) snprintf(ret_why, why_bytes, "its descriptor lacks %s", missing);
		return false;
	}
	if (l.function_bytes < 12 || l.function_bytes > FUNCTION_BYTES_MAX || l.bucket_bytes == 0) {
		(void) snprintf(ret_why, why_bytes, "its descriptor has sizes that cannot be");
		return false;
	}
	sw_clr_layout_threads(contract, &l);
	debug_resolve(contract, &l);
	*ret = l;
	return true;
}

struct sw_clr_layout sw_clr_layout_fixed(uint64_t map_avma, uint64_t store_avma)
{
	return (struct sw_clr_layout){
		.fragment_begin = 8,
		.fragment_end = 16,
		.fragment_section = 24,
		.section_end = 8,
		.section_flags = 16,
		.section_module = 32,
		.section_heap = 40,
		.section_deleted = 64,
		.heap_start = 16,
		.heap_end = 24,
		.heap_base = 32,
		.heap_map = 40,
		.header_method = 24,
		.header_n_unwind = 32,
		.header_unwind = 36,
		.function_bytes = 12,
		.function_end = 4,
		.function_unwind = 8,
		.directory_size = 4,
		.store_first = 160,
		.thread_next = 232,
		.thread_osid = 424,
		.thread_state = 8,
		.store_avma = store_avma,
		.stub_last = 15,
		.map_avma = map_avma,
		.nibble_version = 1,
		.debug_format = SW_CLR_DEBUG_NIBBLES,
	};
}
