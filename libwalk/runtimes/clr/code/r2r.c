/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code that was compiled ahead of time: a PE image with a sorted table of functions. Which method a
 * function belongs to stands in a hash map that the runtime fills when it hands out an entry point.
 * Source: dotnet/runtime v10.0.0, docs/design/datacontracts/ExecutionManager.md,
 * src/coreclr/vm/readytoruninfo.cpp and vm/hash.cpp.
 */
#include "runtimes/clr/code/r2r.h"
#include "runtimes/clr/metadata/remote.h"

#include <string.h>

enum {
	HASH_PROBES_MAX = 256, /* after eight the runtime makes the map larger */
	HOT_COLD_BYTES = 8,    /* u32 cold, hot */
	R2R_SECTIONS_MAX = 256,
	SECTION_FUNCTIONS = 102,
	SECTION_THUNKS = 106,
	/* PE32+ and ECMA-335 II.25.3.3 */
	PE_LFANEW = 0x3c,
	PE_OPTIONAL = 24,
	PE_MAGIC_PLUS = 0x20b,
	PE_DIRECTORIES = 112,
	PE_DIRECTORY_CLI = 14,
	CLI_MANAGED_NATIVE = 64,
	R2R_MAJOR = 4,
	R2R_N_SECTIONS = 12,
	R2R_SECTIONS = 16,
	R2R_SECTION_BYTES = 12,
};

/* Where an image keeps what finding its functions needs. */
struct image {
	uint64_t table_avma;
	uint64_t n;
	uint32_t thunks_rva, thunks_bytes;
};

bool sw_clr_function_read(const struct sw_clr_layout *at, struct sw_memory memory,
			  uint64_t table_avma, uint64_t i, struct sw_pe_function *ret)
{
	uint64_t offset = i * at->function_bytes;
	return sw_clr_u32(memory, table_avma, offset + at->function_begin, &ret->begin_rva) &&
	       sw_clr_u32(memory, table_avma, offset + at->function_end, &ret->end_rva) &&
	       sw_clr_u32(memory, table_avma, offset + at->function_unwind, &ret->unwind_rva);
}

bool sw_clr_function_search(const struct sw_clr_layout *at, struct sw_memory memory,
			    uint64_t table_avma, uint64_t n, uint32_t rva, uint64_t *ret_index,
			    struct sw_pe_function *ret)
{
	uint64_t low = 0, high = n;
	if (n > SW_CLR_FUNCTIONS_MAX)
		return false;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		uint32_t begin;
		if (!sw_clr_u32(memory, table_avma,
				middle * at->function_bytes + at->function_begin, &begin))
			return false;
		if (begin <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_index = low - 1;
	return low > 0 && sw_clr_function_read(at, memory, table_avma, low - 1, ret);
}

/* The value of a key, which is a MethodDesc; 0 when there is none. */
static uint64_t hash_get(const struct sw_clr_layout *at, struct sw_memory m, uint64_t map_avma,
			 uint64_t key)
{
	uint64_t buckets;
	uint32_t size;
	if (!sw_clr_u64(m, map_avma, at->hash_buckets, &buckets) ||
	    !sw_clr_u32(m, buckets, 0, &size) || size < 2)
		return 0;
	uint32_t seed = (uint32_t) (key >> 2), step = 1 + ((uint32_t) (key >> 5) + 1) % (size - 1);
	for (uint32_t n = 0; n < size && n < HASH_PROBES_MAX; n++, seed += step) {
		/* The bucket before the first one holds the size. */
		uint64_t bucket = (UINT64_C(1) + seed % size) * at->bucket_bytes, first, value;
		uint64_t keys[SW_CLR_BUCKET_SLOTS_MAX];
		if (!sw_clr_read(m, buckets, bucket + at->bucket_keys, keys,
				 at->bucket_slots * sizeof(*keys)))
			return 0;
		for (uint32_t i = 0; i < at->bucket_slots; i++) {
			if (keys[i] != key)
				continue;
			return sw_clr_u64(m, buckets, bucket + at->bucket_values + 8 * i, &value)
				       ? (value & at->hash_value_mask) << 1
				       : 0;
		}
		if (!sw_clr_u64(m, buckets, bucket + at->bucket_values, &first) ||
		    !(first & ~at->hash_value_mask))
			return 0; /* no key of this bucket had to go elsewhere */
	}
	return 0;
}

/*
 * Parts of methods that seldom run may lie behind all others: pairs {cold, hot} of indices, sorted.
 * The hot part's index, or i.
 */
static uint64_t hot_index(const struct sw_clr_layout *at, struct sw_memory m, uint64_t info_avma,
			  uint64_t i)
{
	uint64_t pairs;
	uint32_t n, value;
	if (!sw_clr_u32(m, info_avma, at->r2r_n_hot_cold, &n) || n < 2 ||
	    !sw_clr_u64(m, info_avma, at->r2r_hot_cold, &pairs) ||
	    !sw_clr_u32(m, pairs, 0, &value) || i < value)
		return i;
	uint64_t low = 0, high = n / 2;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (!sw_clr_u32(m, pairs, middle * HOT_COLD_BYTES, &value))
			return i;
		if (value <= i)
			low = middle + 1;
		else
			high = middle;
	}
	return sw_clr_u32(m, pairs, (low - 1) * HOT_COLD_BYTES + 4, &value) ? value : i;
}

/* Only a method's body is in the map: its funclets follow it in the table. */
static void method_find(const struct sw_clr_runtime *runtime, struct sw_memory m,
			const struct image *image, uint64_t i, struct sw_clr_code *ret)
{
	const struct sw_clr_layout *at = &runtime->at;
	uint64_t composite, hot = hot_index(at, m, ret->info_avma, i);
	if (hot >= image->n || !sw_clr_u64(m, ret->info_avma, at->r2r_composite, &composite))
		return;
	for (unsigned back = 0; back <= SW_CLR_FUNCLETS_MAX && back <= hot; back++) {
		struct sw_pe_function f;
		if (!sw_clr_function_read(at, m, image->table_avma, hot - back, &f))
			return;
		uint64_t start = ret->base_avma + f.begin_rva;
		ret->method_avma = hash_get(at, m, composite + at->r2r_methods, start);
		if (ret->method_avma != 0) {
			ret->start_avma = start;
			ret->index = back;
			return;
		}
	}
}

/* The RVA of the ReadyToRun header. */
static bool header_find(struct sw_memory m, uint64_t base_avma, uint32_t *ret_rva)
{
	uint32_t lfanew, cli, native;
	uint16_t optional;
	char name[4];
	uint64_t at = PE_DIRECTORIES + 8 * PE_DIRECTORY_CLI;
	if (!sw_clr_u32(m, base_avma, PE_LFANEW, &lfanew) ||
	    !sw_clr_u16(m, base_avma, (uint64_t) lfanew + PE_OPTIONAL, &optional) ||
	    optional != PE_MAGIC_PLUS ||
	    !sw_clr_u32(m, base_avma, (uint64_t) lfanew + PE_OPTIONAL + at, &cli) || cli == 0 ||
	    !sw_clr_u32(m, base_avma, (uint64_t) cli + CLI_MANAGED_NATIVE, &native) ||
	    native == 0 || !sw_clr_read(m, base_avma, native, name, sizeof(name)) ||
	    memcmp(name, "RTR", sizeof(name)) != 0)
		return false;
	*ret_rva = native;
	return true;
}

bool sw_clr_r2r_major(struct sw_memory m, uint64_t base_avma, uint16_t *ret)
{
	uint32_t native;
	return header_find(m, base_avma, &native) &&
	       sw_clr_u16(m, base_avma, (uint64_t) native + R2R_MAJOR, ret);
}

bool sw_clr_r2r_section(struct sw_memory m, uint64_t base_avma, uint32_t type, uint32_t *ret_rva,
			uint32_t *ret_bytes)
{
	uint32_t native, n;
	if (!header_find(m, base_avma, &native) ||
	    !sw_clr_u32(m, base_avma, (uint64_t) native + R2R_N_SECTIONS, &n))
		return false;
	for (uint32_t i = 0; i < n && i < R2R_SECTIONS_MAX; i++) {
		uint64_t entry = (uint64_t) native + R2R_SECTIONS + i * R2R_SECTION_BYTES;
		uint32_t found;
		if (!sw_clr_u32(m, base_avma, entry, &found))
			return false;
		if (found == type)
			return sw_clr_u32(m, base_avma, entry + 4, ret_rva) &&
			       sw_clr_u32(m, base_avma, entry + 8, ret_bytes);
	}
	return false;
}

/* As the runtime says. */
static bool image_described(const struct sw_clr_runtime *runtime, struct sw_memory m,
			    struct sw_clr_code *code, struct image *ret)
{
	const struct sw_clr_layout *at = &runtime->at;
	uint64_t thunks;
	uint32_t n;
	if (!sw_clr_u64(m, code->module_avma, at->module_r2r, &code->info_avma) ||
	    !sw_clr_u64(m, code->info_avma, at->r2r_functions, &ret->table_avma) ||
	    !sw_clr_u32(m, code->info_avma, at->r2r_n_functions, &n))
		return false;
	ret->n = n;
	if (!sw_clr_u64(m, code->info_avma, at->r2r_thunks, &thunks) ||
	    !sw_clr_u32(m, thunks, at->directory_rva, &ret->thunks_rva) ||
	    !sw_clr_u32(m, thunks, at->directory_size, &ret->thunks_bytes))
		ret->thunks_bytes = 0; /* an image need not have them */
	return true;
}

/* As the image says. */
static bool image_asked(const struct sw_clr_runtime *runtime, struct sw_memory m,
			struct sw_clr_code *code, struct image *ret)
{
	uint32_t rva, bytes;
	if (!sw_clr_r2r_section(m, code->base_avma, SECTION_FUNCTIONS, &rva, &bytes))
		return false;
	ret->table_avma = code->base_avma + rva;
	ret->n = bytes / runtime->at.function_bytes;
	if (!sw_clr_r2r_section(m, code->base_avma, SECTION_THUNKS, &ret->thunks_rva,
				&ret->thunks_bytes))
		ret->thunks_bytes = 0;
	return true;
}

bool sw_clr_r2r_find(const struct sw_clr_runtime *runtime, struct sw_memory memory,
		     uint64_t base_avma, uint64_t pc_avma, struct sw_clr_code *ret)
{
	struct image image = {0};
	uint64_t i;
	if (pc_avma - base_avma > UINT32_MAX)
		return false;
	uint32_t rva = (uint32_t) (pc_avma - base_avma);
	ret->base_avma = base_avma;
	if (!(runtime->at.has_r2r_info ? image_described(runtime, memory, ret, &image)
				       : image_asked(runtime, memory, ret, &image)))
		return false;
	if (rva >= image.thunks_rva && rva - image.thunks_rva < image.thunks_bytes) {
		ret->kind = SW_CLR_CODE_STUB;
		ret->stub = "delay-load thunk";
		return true;
	}
	if (!sw_clr_function_search(&runtime->at, memory, image.table_avma, image.n, rva, &i,
				    &ret->function) ||
	    !sw_clr_function_covers(&ret->function, rva))
		return false;
	ret->kind = SW_CLR_CODE_R2R;
	if (runtime->at.has_r2r_info)
		method_find(runtime, memory, &image, i, ret);
	else /* which may be a funclet's */
		ret->start_avma = base_avma + ret->function.begin_rva;
	return true;
}
