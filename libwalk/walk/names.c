/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Wire names of the public enumerations. They are the values of the JSON schema: never rename. */
#include "walk/names.h"
#include "cleanup.h"

static const char *name_at(const char *const *names, size_t count, unsigned index)
{
	return index < count && names[index] != NULL ? names[index] : "unknown";
}

const char *sw_trust_name(unsigned trust)
{
	static const char *const names[] = {
		[SW_TRUST_CONTEXT] = "context",
		[SW_TRUST_CFI] = "cfi",
		[SW_TRUST_UNWIND_INFO] = "unwind_info",
		[SW_TRUST_RUNTIME] = "runtime",
		[SW_TRUST_JIT] = "jit",
		[SW_TRUST_INSTRUCTIONS] = "instructions",
		[SW_TRUST_FRAME_POINTER] = "frame_pointer",
		[SW_TRUST_SCAN_VERIFIED] = "scan_verified",
		[SW_TRUST_SCAN] = "scan",
	};
	return name_at(names, SW_ARRAY_SIZE(names), trust);
}

const char *sw_end_name(unsigned end)
{
	static const char *const names[] = {
		[SW_END_COMPLETE] = "complete",
		[SW_END_FRAME_LIMIT] = "frame_limit",
		[SW_END_STACK_LIMIT] = "stack_limit",
		[SW_END_MEMORY] = "memory",
		[SW_END_NO_UNWIND_INFO] = "no_unwind_info",
		[SW_END_BAD_UNWIND_INFO] = "bad_unwind_info",
		[SW_END_NO_PROGRESS] = "no_progress",
		[SW_END_SCAN_LIMIT] = "scan_limit",
		[SW_END_TIMEOUT] = "timeout",
		[SW_END_NATIVE_ONLY] = "native_only",
		[SW_END_RUNTIME_DATA] = "runtime_data",
		[SW_END_INTERNAL] = "internal",
	};
	return name_at(names, SW_ARRAY_SIZE(names), end);
}

const char *sw_module_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[SW_MODULE_ELF] = "elf", [SW_MODULE_VDSO] = "vdso", [SW_MODULE_PE] = "pe",
		[SW_MODULE_JIT] = "jit", [SW_MODULE_ANON] = "anon",
	};
	return name_at(names, SW_ARRAY_SIZE(names), kind);
}

const char *sw_place_code_name(const struct sw_place *place)
{
	if (place == NULL)
		return "unknown";
	switch (sw_module_kind(place->module)) {
	case SW_MODULE_ELF:
	case SW_MODULE_VDSO: return "native";
	case SW_MODULE_PE: return "pe";
	case SW_MODULE_JIT: return "jit";
	case SW_MODULE_ANON: break;
	}
	return "unknown";
}
