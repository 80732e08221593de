/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a MethodDesc to a name: it says which row of which module's metadata the method is, and the
 * type arguments that the code was made for.
 *
 *	MethodDescChunk | MethodDesc 0 | MethodDesc 1 | ...	one type's methods, some of them
 *
 * A name is written as in "T.dll!Namespace.Outer+Inner`1[int].Method[string](int, T)".
 * Source: dotnet/runtime v10.0.0, docs/design/datacontracts/RuntimeTypeSystem.md and
 * src/coreclr/vm/method.hpp.
 */
#include "runtimes/clr/code/names.h"
#include "runtimes/clr/code/types.h"
#include "runtimes/clr/published/name_layout.h"
#include "runtimes/clr/code/entry_points.h"
#include "cleanup.h"
#include "utf8.h"
#include "runtimes/clr/code/collectible.h"
#include "runtimes/clr/code/lines.h"
#include "runtimes/clr/code/r2r_debug.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/metadata/string.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/signature.h"
#include "snapshot/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROW_BITS = 24,
	CLASS_MASK = 7, /* MethodDesc.Flags: MethodClassification */
	CLASS_ARRAY = 4,
	CLASS_INSTANTIATED = 5,
	CLASS_DYNAMIC = 7,
	DYNAMIC_METHOD = 0x4000, /* StoredSigMethodDesc.ExtendedFlags: IsLCGMethod, IsILStub */
	DYNAMIC_IL_STUB = 0x8000,
	METHODS_MAX = 1 << 20, /* names that are remembered */
};

struct method {
	uint64_t avma, table_avma;
	uint32_t rid;
	uint16_t flags;
};

static bool method_read(struct sw_memory m, const struct sw_clr_name_layout *at,
			uint64_t method_avma, struct method *ret)
{
	uint8_t index;
	uint16_t remainder, range;
	if (!sw_clr_u8(m, method_avma, at->method_chunk_index, &index) ||
	    !sw_clr_u16(m, method_avma, at->method_flags3, &remainder) ||
	    !sw_clr_u16(m, method_avma, at->method_flags, &ret->flags))
		return false;
	uint64_t before = index * at->method_align + at->chunk_bytes;
	if (method_avma <= before)
		return false;
	uint64_t chunk = method_avma - before;
	if (!sw_clr_u16(m, chunk, at->chunk_range, &range) ||
	    !sw_clr_u64(m, chunk, at->chunk_table, &ret->table_avma))
		return false;
	unsigned bits = at->remainder_bits;
	ret->avma = method_avma;
	ret->rid = ((uint32_t) range & ((1u << (ROW_BITS - bits)) - 1)) << bits |
		   (remainder & ((1u << bits) - 1));
	return true;
}

static bool is_well_formed(const char *s, size_t size)
{
	uint32_t c;
	for (size_t off = 0, n; off < size; off += n) {
		n = sw_utf8_decode(s + off, size - off, &c);
		if (c == SW_UTF8_REPLACEMENT && (n != 3 || memcmp(s + off, "\xef\xbf\xbd", n) != 0))
			return false;
	}
	return true;
}

/* Made at run time, by the program or by the runtime: it has a name and nothing else. The runtime makes that of
 * UTF-16 (coreclr/vm/runtimehandles.cpp, ModuleHandle::GetDynamicMethod): other bytes are what malloc() keeps in
 * memory that was freed. */
static void dynamic_name(struct sw_memory m, const struct sw_clr_name_layout *at,
			 const struct method *method, struct sw_text *text)
{
	uint64_t name_avma = 0;
	uint32_t flags = 0;
	if (at->dynamic_name == SW_CLR_ABSENT ||
	    !sw_clr_u64(m, method->avma, at->dynamic_name, &name_avma) ||
	    !sw_clr_utf8_read(m, name_avma, SW_CLR_NAME_MAX, text) || text->size == 0)
		sw_text_append(text, "?", 1);
	text->failed |= !is_well_formed(text->data, text->size);
	if (at->dynamic_flags != SW_CLR_ABSENT)
		(void) sw_clr_u32(m, method->avma, at->dynamic_flags, &flags); /* stays 0 */
	sw_text_printf(text, flags & DYNAMIC_IL_STUB ? " [IL stub]" : " [dynamic method]");
}

/* Methods of arrays follow those they inherit, always in this order: ArrayMethodDesc. */
static void array_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		       const struct method *method, struct sw_text *text)
{
	static const char *const own[] = {".Get", ".Set", ".Address"};
	uint16_t slot = 0, inherited = 0;
	const char *name = ".?";
	if (!sw_clr_array_name(names, at, method->table_avma, text))
		sw_text_append(text, "?[]", 3);
	if (at->method_slot != SW_CLR_ABSENT && at->table_virtuals != SW_CLR_ABSENT &&
	    sw_clr_u16(names->memory, method->avma, at->method_slot, &slot) &&
	    sw_clr_u16(names->memory, method->table_avma, at->table_virtuals, &inherited) &&
	    slot >= inherited)
		name = (size_t) (slot - inherited) < SW_ARRAY_SIZE(own) ? own[slot - inherited]
									: "..ctor";
	sw_text_append(text, name, strlen(name));
}

static void method_arguments(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			     const struct method *method, struct sw_text *text)
{
	uint64_t types;
	uint16_t n;
	if ((method->flags & CLASS_MASK) == CLASS_INSTANTIATED &&
	    at->instance_arguments != SW_CLR_ABSENT && at->instance_n != SW_CLR_ABSENT &&
	    sw_clr_u16(names->memory, method->avma, at->instance_n, &n) && n > 0 &&
	    sw_clr_u64(names->memory, method->avma, at->instance_arguments, &types) && types != 0)
		sw_clr_type_arguments(names, at, types, n, text);
}

bool sw_clr_row_name(const struct sw_clr_metadata *m, uint32_t rid, struct sw_text *text)
{
	uint32_t type = sw_clr_method_owner(m, rid);
	if (type == 0 || !sw_clr_type_def_name(m, type, false, text))
		return false;
	sw_text_append(text, ".", 1);
	if (!sw_clr_method_def_name(m, rid, text))
		return false;
	(void) sw_clr_method_def_parameters(m, rid, text); /* what it could read */
	return true;
}

/* The name of a method as metadata has it, with the type arguments of the code. Returns false if
 * metadata has no name. */
static bool metadata_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			  const struct method *method, const struct sw_clr_metadata *m,
			  struct sw_text *text)
{
	uint32_t type = sw_clr_method_owner(m, method->rid);
	if (type == 0 || !sw_clr_type_def_name(m, type, false, text))
		return false;
	sw_clr_table_arguments(names, at, method->table_avma, text);
	sw_text_append(text, ".", 1);
	if (!sw_clr_method_def_name(m, method->rid, text))
		return false;
	method_arguments(names, at, method, text);
	(void) sw_clr_method_def_parameters(m, method->rid, text); /* what it could read */
	return true;
}

static bool method_module(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			  const struct method *method, uint64_t *ret_module_avma)
{
	return sw_clr_type_module(names, at, method->table_avma, ret_module_avma);
}

bool sw_clr_method_row(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
		       uint64_t method_avma, uint64_t *ret_module_avma, uint32_t *ret_rid)
{
	struct method method;
	if (!at->usable || !method_read(names->memory, at, method_avma, &method))
		return false;
	unsigned class = method.flags & CLASS_MASK;
	if (class == CLASS_DYNAMIC || class == CLASS_ARRAY ||
	    !method_module(names, at, &method, ret_module_avma))
		return false;
	*ret_rid = method.rid;
	return true;
}

bool sw_clr_method_table(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			 uint64_t method_avma, uint64_t *ret_table_avma)
{
	struct method method;
	if (!at->usable || !method_read(names->memory, at, method_avma, &method))
		return false;
	*ret_table_avma = method.table_avma;
	return true;
}

static void method_text(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			const struct method *method, struct sw_text *text)
{
	uint64_t module_avma;
	switch (method->flags & CLASS_MASK) {
	case CLASS_DYNAMIC: dynamic_name(names->memory, at, method, text); return;
	case CLASS_ARRAY: array_name(names, at, method, text); return;
	default: break;
	}
	const struct sw_clr_module *module = NULL;
	if (method_module(names, at, method, &module_avma))
		module = sw_clr_module_get(names, at, module_avma);
	sw_text_printf(text, "%s!", module != NULL && *module->name != '\0' ? module->name : "?");
	size_t before = text->size;
	if (module != NULL && module->has_metadata &&
	    metadata_name(names, at, method, &module->metadata, text))
		return;
	text->size = before;
	sw_text_printf(text, "0x%02x%06" PRIx32, SW_CLR_TABLE_METHOD, method->rid);
}

const char *sw_clr_method_name(struct sw_clr_names *names, const struct sw_clr_name_layout *at,
			       uint64_t method_avma)
{
	uint64_t kept;
	struct method method;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (sw_map64_get(&names->methods, method_avma, &kept))
		return (const char *) (uintptr_t) kept;
	if (!at->usable || !method_read(names->memory, at, method_avma, &method))
		return NULL;
	method_text(names, at, &method, &text);
	if (text.failed)
		return NULL;
	char *name = sw_arena_strndup(names->arena, text.data,
				      text.size < SW_CLR_METHOD_NAME_MAX ? text.size
									 : SW_CLR_METHOD_NAME_MAX);
	if (name != NULL && names->methods.count < METHODS_MAX)
		(void) sw_map64_put(&names->methods, method_avma,
				    (uintptr_t) name); /* lost: it is made again */
	return name;
}

bool sw_clr_dynamic_name_holds(struct sw_memory now, const struct sw_clr_name_layout *at,
			       uint64_t method_avma, const char *name)
{
	struct method method;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (!method_read(now, at, method_avma, &method))
		return false;
	if ((method.flags & CLASS_MASK) != CLASS_DYNAMIC)
		return true;
	dynamic_name(now, at, &method, &text);
	return !text.failed && strncmp(text.data, name, SW_CLR_METHOD_NAME_MAX) == 0;
}

/* ---- of sw_clr ------------------------------------------------------------------------------ */

struct sw_clr_name_layout sw_clr_name_layout_of(const struct sw_clr_runtime *runtime)
{
	struct sw_clr_name_layout at = {0};
	if (runtime->contract.json.values == NULL)
		return runtime->usable ? sw_clr_name_layout_fixed() : at;
	sw_clr_name_layout_resolve(&runtime->contract, &at);
	/* .NET 9 says only where the other one of the two numbers is: struct GenericsDictInfo, v9.0.0. */
	if (runtime->at.fixed_version == 9 && at.dict_n == SW_CLR_ABSENT && at.dict_arguments == 6)
		at.dict_n = 4;
	return at;
}

struct sw_clr_names *sw_clr_names_get(struct sw_clr *clr)
{
	if (clr->names != NULL)
		return clr->names;
	struct sw_clr_names *names = calloc(1, sizeof(*names));
	if (names == NULL)
		return NULL;
	names->memory = clr->memory;
	names->arena = &clr->arena;
	for (size_t i = 0; i < clr->n_runtimes; i++)
		names->at[i] = sw_clr_name_layout_of(&clr->runtimes[i]);
	return clr->names = names;
}

void sw_clr_names_destroy(struct sw_clr_names *names)
{
	if (names == NULL)
		return;
	sw_map64_deinit(&names->modules);
	sw_map64_deinit(&names->methods);
	sw_map64_deinit(&names->pdbs);
	sw_clr_unpacked_free(names->unpacked);
	sw_clr_r2r_debug_free(names->r2r_debug);
	sw_clr_images_deinit(names->images);
	free(names);
}

/* Whether a name that was read since live_before is of this code. The runtime gives what a freed method
 * had (code, MethodDesc, the memory of its name) to the next one. Between two looks at the name the code is there:
 * a name that was freed may stay in memory for a while, but the next method's is another. */
static bool name_remains(struct sw_clr *clr, const struct sw_clr_code *code, size_t live_before,
			 const char *name)
{
	if (!sw_clr_collectible_is_live(clr, code, live_before))
		return true;
	struct sw_memory now = sw_live_memory(clr->snap);
	const struct sw_clr_name_layout *at = &clr->names->at[code->runtime - clr->runtimes];
	return sw_clr_dynamic_name_holds(now, at, code->method_avma, name) &&
	       sw_clr_collectible_remains(clr, code, live_before) &&
	       sw_clr_dynamic_name_holds(now, at, code->method_avma, name);
}

void sw_clr_describe(struct sw_clr *clr, const struct sw_clr_code *code, struct sw_description *ret)
{
	const char *name = NULL;
	struct sw_clr_start start = {.start_avma = code->start_avma, .index = code->index};
	struct sw_clr_names *names = sw_clr_names_get(clr);
	size_t live_before = clr->source.live_reads;
	if (names != NULL && code->method_avma != 0)
		name = sw_clr_method_name(names, &names->at[code->runtime - clr->runtimes],
					  code->method_avma);
	else if (names != NULL && code->kind == SW_CLR_CODE_R2R)
		name = sw_clr_entry_point_name(names, code, &start);
	if (name != NULL && !name_remains(clr, code, live_before, name)) {
		name = NULL; /* of what is there instead */
		(void) sw_map64_put(&names->methods, code->method_avma, 0);
	}
	ret->start_avma = start.start_avma;
	const char *funclet = start.index > 0 ? " (funclet)" : "";
	if (name != NULL)
		(void) snprintf(ret->function, sizeof(ret->function), "%s%s", name, funclet);
	else if (code->method_avma == 0)
		(void) snprintf(ret->function, sizeof(ret->function), "[r2r]");
	else
		(void) snprintf(ret->function, sizeof(ret->function), "[%s 0x%" PRIx64 "]%s",
				code->kind == SW_CLR_CODE_JIT ? "jit" : "r2r", code->method_avma,
				funclet);
}
