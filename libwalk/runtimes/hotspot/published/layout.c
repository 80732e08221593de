/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: the tables themselves, src/hotspot/share/runtime/vmStructs.cpp of jdk-17.0.15 and
 * jdk-25.0.3; names that only other versions have are of jdk8u504, jdk-11.0.33, jdk-21.0.13 and
 * jdk-26.0.2.
 */
#include "runtimes/hotspot/published/layout.h"
#include "cleanup.h"

#include <string.h>

#define AT(member) offsetof(struct sw_hotspot_layout, member)

/* A row of the VM's tables that is read; of several with the same member the first one that is
 * there counts. */
struct row {
	const char *type, *name;
	size_t member;
	bool needed; /* without it, nothing can be read */
};

static const struct row statics[] = {
	{"CodeCache", "_heaps", AT(heaps), false},
	{"CodeCache", "_heap", AT(only_heap), false}, /* 8 */
	{"CodeCache", "_low_bound", AT(low_bound), false},
	{"CodeCache", "_high_bound", AT(high_bound), false},
	{"StubRoutines", "_call_stub_return_address", AT(call_stub_return), true},
	{"ThreadsSMRSupport", "_java_thread_list", AT(thread_list), false},
	{"Threads", "_thread_list", AT(first_thread), false}, /* 8 and 11 */
	{"AbstractInterpreter", "_code", AT(interpreter), false},
	{"ContinuationEntry", "_return_pc", AT(continuation_return), false},
	{"CompressedOops", "_base", AT(oop_base), false},
	{"CompressedOops", "_narrow_oop._base", AT(oop_base), false},
	{"Universe", "_narrow_oop._base", AT(oop_base), false},
	{"CompressedOops", "_shift", AT(oop_shift), false},
	{"CompressedOops", "_narrow_oop._shift", AT(oop_shift), false},
	{"Universe", "_narrow_oop._shift", AT(oop_shift), false},
	{"CompressedKlassPointers", "_base", AT(narrow_base), false},
	{"CompressedKlassPointers", "_narrow_klass._base", AT(narrow_base), false},
	{"Universe", "_narrow_klass._base", AT(narrow_base), false},
	{"CompressedKlassPointers", "_shift", AT(narrow_shift), false},
	{"CompressedKlassPointers", "_narrow_klass._shift", AT(narrow_shift), false},
	{"Universe", "_narrow_klass._shift", AT(narrow_shift), false},
	{"ZGlobalsForVMStructs", "_instance_p", AT(zgc), false},
	{"XGlobalsForVMStructs", "_instance_p", AT(xgc), false}, /* 21 to 23: without generations */
	{"Universe", "_collectedHeap", AT(collected_heap), false},
	{"PerfMemory", "_start", AT(counters_start), false},
	{"PerfMemory", "_top", AT(counters_top), false},
	{"ClassLoaderDataGraph", "_head", AT(loaders), false},
	{"Abstract_VM_Version", "_s_vm_release", AT(release), false},
	{"Abstract_VM_Version", "_vm_major_version", AT(version_major), true},
	{"Abstract_VM_Version", "_vm_security_version", AT(version_security), false},
};

static const struct row fields[] = {
	{"GrowableArrayBase", "_len", AT(array_length), false},
	{"GenericGrowableArray", "_len", AT(array_length), true},
	{"GrowableArray<int>", "_data", AT(array_data), true},
	{"CodeHeap", "_memory", AT(heap_memory), true},
	{"CodeHeap", "_segmap", AT(heap_segmap), true},
	{"CodeHeap", "_log2_segment_size", AT(heap_shift), true},
	{"VirtualSpace", "_low_boundary", AT(space_low), true},
	{"VirtualSpace", "_high_boundary", AT(space_high), true},
	{"HeapBlock::Header", "_used", AT(block_used), true},
	{"CodeBlob", "_name", AT(blob_name), true},
	{"CodeBlob", "_size", AT(blob_size), true},
	{"CodeBlob", "_frame_size", AT(blob_frame_size), true},
	{"CodeBlob", "_frame_complete_offset", AT(blob_frame_complete), true},
	{"CodeBlob", "_code_begin", AT(blob_code_begin), false},
	{"CodeBlob", "_code_end", AT(blob_code_end), false},
	{"CodeBlob", "_code_offset", AT(blob_code_offset), false},
	{"CodeBlob", "_data_offset", AT(blob_data_offset), false},
	{"CodeBlob", "_mutable_data", AT(blob_mutable_data), false},
	{"CodeBlob", "_relocation_size", AT(blob_relocation_size), false},
	{"nmethod", "_method", AT(nmethod_method), false},
	{"CompiledMethod", "_method", AT(nmethod_method), true},
	{"nmethod", "_comp_level", AT(nmethod_level), true},
	{"nmethod", "_compile_id", AT(nmethod_compile_id), true},
	{"nmethod", "_orig_pc_offset", AT(nmethod_orig_pc), true},
	{"nmethod", "_entry_bci", AT(nmethod_entry_bci), false},
	{"CompiledMethod", "_deopt_handler_begin", AT(nmethod_deopt_begin), false},
	{"nmethod", "_deopt_handler_begin", AT(nmethod_deopt_begin), false},
	{"nmethod", "_deopt_handler_offset", AT(nmethod_deopt_offset), false},
	{"nmethod", "_deopt_handler_entry_offset", AT(nmethod_deopt_offset), false},
	{"nmethod", "_deoptimize_offset", AT(nmethod_deopt_offset), false},
	{"CompiledMethod", "_deopt_mh_handler_begin", AT(nmethod_deopt_mh_begin), false},
	{"nmethod", "_deopt_mh_handler_begin", AT(nmethod_deopt_mh_begin), false},
	{"nmethod", "_deopt_mh_handler_offset", AT(nmethod_deopt_mh_offset), false},
	{"nmethod", "_deoptimize_mh_offset", AT(nmethod_deopt_mh_offset), false},
	{"nmethod", "_scopes_pcs_offset", AT(nmethod_pcs), true},
	{"nmethod", "_dependencies_offset", AT(nmethod_dependencies), false},
	{"CompiledMethod", "_scopes_data_begin", AT(nmethod_scopes_begin), false},
	{"nmethod", "_scopes_data_begin", AT(nmethod_scopes_begin), false},
	{"nmethod", "_scopes_data_offset", AT(nmethod_scopes_offset), false},
	{"nmethod", "_metadata_offset", AT(nmethod_metadata), false},
	{"nmethod", "_immutable_data", AT(nmethod_immutable), false},
	{"nmethod", "_immutable_data_size", AT(nmethod_immutable_size), false},
	{"Method", "_constMethod", AT(method_const), true},
	{"ConstMethod", "_constants", AT(const_constants), true},
	{"ConstMethod", "_code_size", AT(const_code_size), true},
	{"ConstMethod", "_name_index", AT(const_name), true},
	{"ConstMethod", "_signature_index", AT(const_signature), true},
	{"ConstMethod", "_flags", AT(const_flags), false},
	{"ConstMethod", "_flags._flags", AT(const_flags), true},
	{"ConstantPool", "_pool_holder", AT(pool_holder), true},
	{"ConstantPool", "_source_file_name_index", AT(pool_source), false},
	{"InstanceKlass", "_source_file_name_index", AT(klass_source), false},
	{"Klass", "_name", AT(klass_name), true},
	{"Klass", "_super", AT(klass_super), false},
	{"InstanceKlass", "_constants", AT(klass_constants), false},
	{"InstanceKlass", "_fields", AT(klass_fields), false},
	{"InstanceKlass", "_fieldinfo_stream", AT(klass_field_stream), false},
	{"Array<u2>", "_data", AT(array_u2_data), false},
	{"Array<u1>", "_data", AT(array_u1_data), false},
	{"ZGlobalsForVMStructs", "_ZAddressGoodMask", AT(zgc_good), false},
	{"ZGlobalsForVMStructs", "_ZPointerLoadGoodMask", AT(zgc_load_good), false},
	{"XGlobalsForVMStructs", "_XAddressGoodMask", AT(xgc_good), false},
	{"Symbol", "_length", AT(symbol_length), false},
	{"Symbol", "_length_and_refcount", AT(symbol_length_and_refcount), false},
	{"Symbol", "_body", AT(symbol_body), false},
	{"Symbol", "_body[0]", AT(symbol_body), true},
	{"ThreadsList", "_length", AT(list_length), false},
	{"ThreadsList", "_threads", AT(list_threads), false},
	{"JavaThread", "_next", AT(thread_next), false},
	{"JavaThread", "_stack_base", AT(thread_stack_base), false},
	{"Thread", "_stack_base", AT(thread_stack_base), false},
	{"JavaThread", "_stack_size", AT(thread_stack_size), false},
	{"Thread", "_stack_size", AT(thread_stack_size), false},
	{"JavaThread", "_thread_state", AT(thread_state), false},
	{"JavaThread", "_cont_entry", AT(thread_continuation), false},
	{"JavaThread", "_threadObj", AT(thread_object), false},
	{"JavaThread", "_vthread", AT(thread_virtual), false},
	{"StubQueue", "_stub_buffer", AT(queue_buffer), false},
	{"StubQueue", "_queue_end", AT(queue_end), false},
	{"InterpreterCodelet", "_size", AT(codelet_size), false},
	{"InterpreterCodelet", "_description", AT(codelet_description), false},
	{"JavaThread", "_current_pending_monitor", AT(thread_pending), false},
	{"Thread", "_current_pending_monitor", AT(thread_pending), false},
	{"JavaThread", "_current_waiting_monitor", AT(thread_waiting), false},
	{"Thread", "_current_waiting_monitor", AT(thread_waiting), false},
	{"JavaThread", "_monitor_owner_id", AT(thread_owner_id), false},
	{"JavaThread", "_lock_id", AT(thread_owner_id), false},
	{"JavaThread", "_lock_stack", AT(thread_lock_stack), false},
	{"LockStack", "_top", AT(lock_stack_top), false},
	{"LockStack", "_base[0]", AT(lock_stack_base), false},
	{"CollectedHeap", "_is_gc_active", AT(heap_gc_active), false},
	{"CollectedHeap", "_is_stw_gc_active", AT(heap_gc_active), false},
	{"ClassLoaderData", "_class_loader", AT(loader_object), false},
	{"ClassLoaderData", "_next", AT(loader_next), false},
	{"ClassLoaderData", "_klasses", AT(loader_classes), false},
	{"Klass", "_java_mirror", AT(klass_mirror), false},
	{"Klass", "_next_link", AT(klass_next), false},
	{"Klass", "_layout_helper", AT(klass_layout), false},
	{"InstanceKlass", "_init_state", AT(klass_init_state), false},
	{"InstanceKlass", "_init_thread", AT(klass_init_thread), false},
	{"ObjectMonitor", "_owner", AT(monitor_owner), false},
	{"ObjectMonitor", "_object", AT(monitor_object), false},
	{"ObjectMonitor", "_stack_locker", AT(monitor_stack_locker), false},
};

static const struct row sizes[] = {
	{"HeapBlock", "", AT(block_bytes), true},
	{"ConstMethod", "", AT(const_bytes), true},
	{"ConstantPool", "", AT(pool_bytes), true},
	{"nmethod", "", AT(nmethod_bytes), true},
	{"ContinuationEntry", "", AT(continuation_bytes), false},
};

static const struct row constants[] = {
	{"", "ConstMethodFlags::_misc_has_linenumber_table", AT(line_table_flag), false},
	{"", "ConstMethod::_has_linenumber_table", AT(line_table_flag), false},
	{"", "_thread_new", AT(state_new), false},
	{"", "_thread_in_native", AT(state_native), false},
	{"", "_thread_in_vm", AT(state_vm), false},
	{"", "_thread_in_Java", AT(state_java), false},
	{"", "_thread_blocked", AT(state_blocked), false},
	{"", "InstanceKlass::being_initialized", AT(state_initializing), false},
};

static int64_t *member_of(struct sw_hotspot_layout *layout, const struct row *row)
{
	return (int64_t *) ((char *) layout + row->member); /* all of them are int64_t */
}

static void take(const struct row *rows, size_t n, const char *type, const char *name,
		 int64_t value, struct sw_hotspot_layout *layout)
{
	for (size_t i = 0; i < n; i++) {
		int64_t *member = member_of(layout, &rows[i]);
		if (*member == SW_HOTSPOT_NONE && strcmp(rows[i].name, name) == 0 &&
		    strcmp(rows[i].type, type) == 0)
			*member = value;
	}
}

struct filling {
	struct sw_hotspot_layout *layout;
	uint64_t bias;
};

static void row_take(void *arg, const struct sw_hotspot_row *row)
{
	const struct filling *f = arg;
	bool small = row->value <= SW_HOTSPOT_OFFSET_MAX;
	switch (row->kind) {
	case SW_HOTSPOT_STATIC:
		take(statics, SW_ARRAY_SIZE(statics), row->type, row->name,
		     (int64_t) (row->value - f->bias), f->layout);
		break;
	case SW_HOTSPOT_FIELD:
		if (small)
			take(fields, SW_ARRAY_SIZE(fields), row->type, row->name,
			     (int64_t) row->value, f->layout);
		break;
	case SW_HOTSPOT_TYPE:
		if (small)
			take(sizes, SW_ARRAY_SIZE(sizes), row->type, "", (int64_t) row->value,
			     f->layout);
		break;
	case SW_HOTSPOT_CONSTANT:
		take(constants, SW_ARRAY_SIZE(constants), "", row->name,
		     (int32_t) (uint32_t) row->value, f->layout);
		break;
	}
}

/* The name of a needed row that is missing, or NULL. A member with several rows needs one of them:
 * only the last one is marked as needed. */
static const char *missing_of(const struct row *rows, size_t n, struct sw_hotspot_layout *layout)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].needed && *member_of(layout, &rows[i]) == SW_HOTSPOT_NONE)
			return rows[i].name[0] != '\0' ? rows[i].name : rows[i].type;
	return NULL;
}

bool sw_hotspot_layout_fill(const struct sw_hotspot_tables *tables, uint64_t bias,
			    struct sw_hotspot_layout *ret, const char **ret_missing)
{
	struct sw_hotspot_layout layout;
	memset(&layout, 0xff, sizeof(layout)); /* SW_HOTSPOT_NONE in each */
	struct filling filling = {&layout, bias};
	*ret_missing = "its tables for debuggers";
	if (!sw_hotspot_tables_each(tables, row_take, &filling))
		return false;
	*ret_missing = missing_of(statics, SW_ARRAY_SIZE(statics), &layout);
	if (*ret_missing == NULL)
		*ret_missing = missing_of(fields, SW_ARRAY_SIZE(fields), &layout);
	if (*ret_missing == NULL)
		*ret_missing = missing_of(sizes, SW_ARRAY_SIZE(sizes), &layout);
	if (*ret_missing == NULL && layout.only_heap == SW_HOTSPOT_NONE &&
	    (layout.heaps == SW_HOTSPOT_NONE || layout.low_bound == SW_HOTSPOT_NONE ||
	     layout.high_bound == SW_HOTSPOT_NONE))
		*ret_missing = "_heaps";
	if (*ret_missing == NULL && layout.blob_code_begin == SW_HOTSPOT_NONE &&
	    layout.blob_code_offset == SW_HOTSPOT_NONE)
		*ret_missing = "_code_begin";
	if (layout.line_table_flag == SW_HOTSPOT_NONE)
		layout.line_table_flag = 1; /* ConstMethod::_has_linenumber_table of 8 to 20 */
	if (*ret_missing == NULL)
		*ret = layout;
	return *ret_missing == NULL;
}
