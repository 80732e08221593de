/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: tools/gen-postmortem-metadata.py of V8 10.2, 11.3, 12.4, 13.6 and 14.6 (node 18, 20, 22,
 * 24 and 26), and the constants that their builds export. Constants that the script has lost on the
 * way are by version: src/objects/code.h, code-kind.h, instruction-stream.h, bytecode-array.h,
 * scope-info.tq, promise.tq; the number of a bytecode as --print-bytecode has it.
 */
#include "runtimes/v8/objects/layout.h"
#include "cleanup.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 4 };

struct row {
	size_t member;
	const char *names[NAMES_MAX]; /* the first one that is there counts; NULL: no more */
};

#define AT(member) offsetof(struct sw_v8_layout, member)

static const struct row rows[] = {
	{AT(function_first), {"FirstJSFunctionType", "type_JSFunction__JS_FUNCTION_TYPE"}},
	{AT(type_shared), {"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}},
	{AT(type_script), {"type_Script__SCRIPT_TYPE"}},
	{AT(type_scope), {"type_ScopeInfo__SCOPE_INFO_TYPE"}},
	{AT(type_bytecode), {"type_BytecodeArray__BYTECODE_ARRAY_TYPE"}},
	{AT(type_code), {"type_Code__CODE_TYPE"}},
	{AT(function_shared), {"class_JSFunction__shared__SharedFunctionInfo"}},
	{AT(shared_name),
	 {"class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
	  "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
	  "class_SharedFunctionInfo__name_or_scope_info__Object"}},
	{AT(shared_script),
	 {"class_SharedFunctionInfo__script__Tagged_HeapObject_",
	  "class_SharedFunctionInfo__script_or_debug_info__HeapObject"}},
	{AT(bytecode_data), {"class_BytecodeArray__data__uintptr_t"}},
	{AT(kind_baseline), {"CodeKindBaseline"}},
	{AT(frame_entry), {"frametype_EntryFrame"}},
	{AT(frame_construct_entry), {"frametype_ConstructEntryFrame"}},
	{AT(frame_wasm), {"frametype_WasmFrame"}},
	{AT(frame_js_to_wasm), {"frametype_JsToWasmFrame"}},
	{AT(frame_types), {"frametype_NativeFrame"}},
	{AT(wasm.type_module), {"type_WasmModuleObject__WASM_MODULE_OBJECT_TYPE"}},
};

/* Awaiters are not told without these. */
static const struct row await_rows[] = {
	{AT(awaits.type_function), {"type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE"}},
	{AT(awaits.type_generator),
	 {"type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE"}},
	{AT(awaits.type_promise), {"type_JSPromise__JS_PROMISE_TYPE"}},
	{AT(awaits.type_reaction), {"type_PromiseReaction__PROMISE_REACTION_TYPE"}},
	{AT(awaits.type_capability), {"type_PromiseCapability__PROMISE_CAPABILITY_TYPE"}},
	{AT(awaits.type_request), {"type_AsyncGeneratorRequest__ASYNC_GENERATOR_REQUEST_TYPE"}},
	{AT(awaits.type_interpreter_data), {"type_InterpreterData__INTERPRETER_DATA_TYPE"}},
	{AT(awaits.type_bound), {"type_JSBoundFunction__JS_BOUND_FUNCTION_TYPE"}},
	{AT(awaits.type_fulfill_job),
	 {"type_PromiseFulfillReactionJobTask__PROMISE_FULFILL_REACTION_JOB_TASK_TYPE"}},
	{AT(awaits.type_reject_job),
	 {"type_PromiseRejectReactionJobTask__PROMISE_REJECT_REACTION_JOB_TASK_TYPE"}},
};

/* Constants that are checked, as all that is read stands on them. */
static const struct {
	const char *name;
	int32_t value;
} fixed[] = {
	{"HeapObjectTag", 1},
	{"HeapObjectTagMask", 3},
	{"SmiTag", 0},
	{"SmiShiftSize", 31},
	{"TaggedSize", 8},
	{"class_Map__instance_type__uint16_t", 12},
	{"class_FixedArray__data__uintptr_t", 16},
	{"class_FixedArrayBase__length__SMI", 8},
	{"class_String__length__int32_t", 12},
	{"class_SeqOneByteString__chars__char", 16},
	{"class_SeqTwoByteString__chars__char", 16},
	{"class_ConsString__first__String", 16},
	{"class_ConsString__second__String", 24},
	{"class_ThinString__actual__String", 16},
	{"class_SlicedString__parent__String", 16},
	{"class_SlicedString__offset__SMI", 24},
	{"class_Script__source__Object", 8},
	{"class_Script__name__Object", 16},
	{"class_Script__line_ends__Object", 56},
	{"off_fp_context_or_frame_type", -8},
	{"off_fp_function", -16},
	{"off_fp_bytecode_array", -32},
	{"off_fp_bytecode_offset", -40},
	{"SeqStringTag", 0},
	{"ConsStringTag", 1},
	{"ExternalStringTag", 2},
	{"SlicedStringTag", 3},
	{"ThinStringTag", 5},
	{"OneByteStringTag", 8},
	{"FirstNonstringType", 128},
	{"CodeKindFieldMask", 15},
};

static const struct sw_v8_layout versions[] = {
	{.major = 10,
	 .minor = 2,
	 .header_code = SW_V8_NONE,
	 .code_start = SW_V8_NONE,
	 .code_size = 40,
	 .code_flags = 48,
	 .kind_regexp = 3,
	 .code_deopt = 16,
	 .code_positions = 24,
	 .bytecode_positions = 32,
	 .jump_loop = 0x89,
	 .scope_locals = 32,
	 .deopt_literals = 2,
	 .deopt_shared = 6,
	 .deopt_positions = 7,
	 .awaits.reaction_next = 8,
	 .wasm = {.state_ranges = 80,
		  .state_wrappers = SW_V8_NONE,
		  .module_codes = 424,
		  .module_module = 288,
		  .module_bytes = 312,
		  .module_functions = 216,
		  .code_meta = 24,
		  .code_sizes = 32,
		  .code_protected = 44,
		  .code_index = 48,
		  .code_flags = 16,
		  .kind_bits = 2,
		  .kind_jumps = 3,
		  .data_instance = SW_V8_NONE,
		  .instance_module = 208,
		  .module_script = 40}},
	{.major = 11,
	 .minor = 3,
	 .header_code = 8,
	 .code_start = 40,
	 .code_size = 56,
	 .code_flags = 48,
	 .kind_regexp = 3,
	 .code_deopt = 16,
	 .code_positions = 24,
	 .bytecode_positions = 32,
	 .jump_loop = 0x89,
	 .scope_locals = 32,
	 .deopt_literals = 2,
	 .deopt_shared = 6,
	 .deopt_positions = 7,
	 .awaits.reaction_next = 8,
	 .wasm = {.state_ranges = 72,
		  .state_wrappers = SW_V8_NONE,
		  .module_codes = 312,
		  .module_module = 184,
		  .module_bytes = 200,
		  .module_functions = 232,
		  .code_meta = 16,
		  .code_sizes = 24,
		  .code_protected = 40,
		  .code_index = 44,
		  .code_flags = 80,
		  .kind_bits = 2,
		  .kind_jumps = 3,
		  .has_inlined = true,
		  .data_instance = SW_V8_NONE,
		  .instance_module = 208,
		  .module_script = 32}},
	{.major = 12,
	 .minor = 4,
	 .header_code = 24,
	 .code_start = 40,
	 .code_size = 52,
	 .code_flags = 48,
	 .kind_regexp = 3,
	 .code_deopt = 8,
	 .code_positions = 16,
	 .bytecode_positions = 24,
	 .jump_loop = 0x8e,
	 .scope_locals = 32,
	 .deopt_literals = 2,
	 .deopt_shared = 6,
	 .deopt_positions = 7,
	 .awaits.reaction_next = 16,
	 .wasm = {.state_ranges = 72,
		  .state_wrappers = SW_V8_NONE,
		  .module_codes = 400,
		  .module_module = 184,
		  .module_bytes = 200,
		  .module_functions = 264,
		  .code_meta = 16,
		  .code_sizes = 24,
		  .code_protected = 40,
		  .code_index = 44,
		  .code_flags = 80,
		  .kind_bits = 2,
		  .kind_jumps = 3,
		  .has_inlined = true,
		  .data_instance = 160,
		  .instance_module = 32,
		  .module_script = 32}},
	{.major = 13,
	 .minor = 6,
	 .header_code = 24,
	 .code_start = 40,
	 .code_size = 56,
	 .code_flags = 52,
	 .kind_regexp = 3,
	 .code_deopt = 8,
	 .code_positions = 16,
	 .bytecode_positions = 24,
	 .jump_loop = 0x92,
	 .scope_locals = 48,
	 .scope_flags_raw = true,
	 .deopt_literals = 3,
	 .deopt_shared = 7,
	 .deopt_positions = 8,
	 .awaits.reaction_next = 16,
	 .wasm = {.state_ranges = 40,
		  .state_wrappers = 168,
		  .module_codes = 320,
		  .module_module = 224,
		  .module_bytes = 240,
		  .module_functions = 208,
		  .code_meta = 24,
		  .code_sizes = 32,
		  .code_protected = 52,
		  .code_index = 56,
		  .code_flags = 96,
		  .kind_bits = 2,
		  .kind_jumps = 3,
		  .has_inlined = true,
		  .data_instance = 152,
		  .instance_module = 32,
		  .module_script = 32}},
	{.major = 14,
	 .minor = 6,
	 .header_code = 24,
	 .code_start = 40,
	 .code_size = 56,
	 .code_flags = 52,
	 .kind_regexp = 4,
	 .code_deopt = 8,
	 .code_positions = 16,
	 .bytecode_positions = 24,
	 .jump_loop = 0x95,
	 .scope_locals = 48,
	 .scope_flags_raw = true,
	 .deopt_literals = 3,
	 .deopt_shared = 7,
	 .deopt_positions = 8,
	 .positions_flagged = true,
	 .awaits.reaction_next = 16,
	 .wasm = {.state_ranges = 40,
		  .state_wrappers = 320,
		  .module_codes = 312,
		  .module_module = 216,
		  .module_bytes = 232,
		  .module_functions = 176,
		  .code_meta = 24,
		  .code_sizes = 32,
		  .code_protected = 52,
		  .code_index = 56,
		  .code_flags = 120,
		  .kind_bits = 3,
		  .kind_jumps = 4,
		  .has_inlined = true,
		  .data_instance = 104,
		  .instance_module = 32,
		  .module_script = 32}},
};

static bool int_read(const struct sw_elf_symbols *symbols, const char *name, int32_t *ret)
{
	struct sw_elf_symbol symbol;
	struct sw_bytes bytes;
	uint32_t value = 0;
	if (!sw_elf_symbols_find(symbols, name, &symbol))
		return false;
	/* A constant that is 0 may lie where the file has nothing. */
	if (sw_elf_loaded(symbols->elf, symbol.svma, &bytes) && !sw_bytes_u32(bytes, 0, &value))
		return false;
	*ret = (int32_t) value;
	return true;
}

bool sw_v8_constant(const struct sw_elf_symbols *symbols, const char *name, int32_t *ret)
{
	char full[128];
	(void) snprintf(full, sizeof(full), "v8dbg_%s", name); /* fits */
	return int_read(symbols, full, ret);
}

static bool version_find(const struct sw_elf_symbols *symbols, struct sw_v8_layout *ret)
{
	int32_t major, minor;
	if (!int_read(symbols, "_ZN2v88internal7Version6major_E", &major) ||
	    !int_read(symbols, "_ZN2v88internal7Version6minor_E", &minor))
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(versions); i++)
		if (versions[i].major == major && versions[i].minor == minor) {
			*ret = versions[i];
			return true;
		}
	return false;
}

static bool row_read(const struct sw_elf_symbols *symbols, const struct row *row,
		     struct sw_v8_layout *layout)
{
	int32_t *member = (int32_t *) ((char *) layout + row->member); /* all of them are int32_t */
	for (size_t i = 0; i < NAMES_MAX && row->names[i] != NULL; i++)
		if (sw_v8_constant(symbols, row->names[i], member))
			return *member >= 0 && *member < 4096;
	return false;
}

bool sw_v8_layout_fill(const struct sw_elf_symbols *symbols, struct sw_v8_layout *ret,
		       const char **ret_missing)
{
	struct sw_v8_layout layout;
	int32_t value;
	*ret_missing = "this version of V8 is not known";
	if (!version_find(symbols, &layout))
		return false;
	*ret_missing = "what it publishes for debuggers is not what this version of V8 has";
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++)
		if (!row_read(symbols, &rows[i], &layout))
			return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(fixed); i++)
		if (!sw_v8_constant(symbols, fixed[i].name, &value) || value != fixed[i].value)
			return false;
	/* The types up to 11.3 are functions, constructors of eleven typed arrays, of arrays,
	 * promises and regular expressions, and of classes. */
	layout.function_last = layout.function_first + 15;
	if (sw_v8_constant(symbols, "LastJSFunctionType", &value) && value >= layout.function_first)
		layout.function_last = value;
	layout.shared_literal = SW_V8_NONE;
	if (sw_v8_constant(symbols, "class_SharedFunctionInfo__flags__int", &value))
		layout.shared_literal =
			value + 4; /* function_literal_id of shared-function-info.tq */
	layout.type_wrapper = SW_V8_NONE;
	if (sw_v8_constant(symbols,
			   "type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE",
			   &value))
		layout.type_wrapper = value;
	layout.type_debug_info = SW_V8_NONE;
	if (sw_v8_constant(symbols, "type_DebugInfo__DEBUG_INFO_TYPE", &value))
		layout.type_debug_info = value;
	layout.wasm.type_instance = SW_V8_NONE;
	if (sw_v8_constant(symbols, "type_WasmInstanceObject__WASM_INSTANCE_OBJECT_TYPE", &value))
		layout.wasm.type_instance = value;
	layout.awaits.has_types = true;
	for (size_t i = 0; i < SW_ARRAY_SIZE(await_rows); i++)
		layout.awaits.has_types &= row_read(symbols, &await_rows[i], &layout);
	*ret = layout;
	return true;
}
