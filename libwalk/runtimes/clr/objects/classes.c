/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/objects/classes.h"
#include "map.h"
#include "runtimes/clr/metadata/remote.h"

#include <string.h>

enum {
	/* MethodTable.MTFlags and EEClassOrCanonMT, src/coreclr/vm/methodtable.h */
	FLAGS_COMPONENT_SIZE = (int) 0x80000000, /* the lower half is a size */
	FLAGS_GENERIC = 0x30,
	CLASS_IS_TABLE = 1,
	/* .NET 8: MethodTable.m_wFlags2 */
	FLAGS2_HAS_ARGUMENTS = 1,
	FLAGS2_HAS_INTERFACES = 2,
	FLAGS2_BEFORE_MODULE = 0x0c, /* words before it, one for each bit */
	FLAGS2_HAS_MODULE = 0x10,
	TABLE_VIRTUALS = 12,
	TABLE_BYTES = 64,
	VIRTUALS_OF_CHUNK = 8,
	/* .NET 8: EEClass, src/coreclr/vm/class.h */
	CLASS_PACKED = 49,
	CLASS_BYTES = 50,
	DICT_INFO_BYTES = 8,
	DICTS_MAX = 1024,
	OBJECT_BYTES_MAX = 1 << 20, /* of one without its elements */
	/* FieldDesc, src/coreclr/vm/field.h */
	FIELD_TABLE = 0,
	FIELD_TOKEN = 8,
	FIELD_OFFSET = 12,
	FIELD_BYTES = 16,
	FIELD_RID = 0xffffff,
	FIELD_STATIC = 0x1000000,
	FIELD_OFFSET_MASK = 0x7ffffff,
};

static uint64_t canon_of(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table,
			 uint64_t *ret_class)
{
	uint64_t word, own;
	if (!sw_clr_u64(m, table, at->table_class, &word))
		return 0;
	if (word & CLASS_IS_TABLE) {
		table = word & ~(uint64_t) CLASS_IS_TABLE;
		if (table % 8 != 0 || !sw_clr_u64(m, table, at->table_class, &word))
			return 0;
	}
	*ret_class = word;
	/* An EEClass has the MethodTable that has it: what leads back is one. */
	return word % 8 == 0 && sw_clr_u64(m, word, at->class_table, &own) && own == table ? table
											   : 0;
}

/*
 * The module of a MethodTable in .NET 8. A MethodTable has the module that loaded it; one with type
 * arguments of other modules has its own module behind the words for its virtual methods, after
 * what else it has there. Source: dotnet/runtime v8.0.0, src/coreclr/vm/methodtable.h,
 * enum_flag_HasModuleOverride.
 */
static uint64_t module_behind(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table)
{
	uint64_t class, module;
	uint16_t virtuals;
	uint32_t flags2, both = FLAGS2_HAS_ARGUMENTS | FLAGS2_HAS_INTERFACES;
	table = canon_of(at, m, table, &class);
	if (table == 0 || !sw_clr_u32(m, table, at->table_flags2, &flags2))
		return 0;
	if (!(flags2 & FLAGS2_HAS_MODULE))
		return sw_clr_u64(m, table, at->table_module, &module) ? module : 0;
	/* Generic types with interfaces alone: others have it elsewhere. */
	if ((flags2 & both) != both || !sw_clr_u16(m, table, TABLE_VIRTUALS, &virtuals))
		return 0;
	uint64_t words = ((uint64_t) virtuals + VIRTUALS_OF_CHUNK - 1) / VIRTUALS_OF_CHUNK +
			 (uint64_t) __builtin_popcount(flags2 & FLAGS2_BEFORE_MODULE);
	return sw_clr_u64(m, table, TABLE_BYTES + 8 * words, &module) ? module : 0;
}

uint64_t sw_clr_table_module(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table)
{
	uint64_t module;
	uint32_t flags;
	if (at->module_may_differ && sw_clr_u32(m, table, at->table_flags, &flags) &&
	    !(flags & (uint32_t) FLAGS_COMPONENT_SIZE) && flags & FLAGS_GENERIC)
		return module_behind(at, m, table);
	return sw_clr_u64(m, table, at->table_module, &module) ? module : 0;
}

/* False: of none of the modules that are known. */
static bool is_of_known(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table,
			uint32_t *ret_rid, unsigned *ret_part)
{
	uint32_t flags2;
	uint64_t module = sw_clr_table_module(at, m, table);
	unsigned part = SW_CLR_PARTS - 1;
	while (part > SW_CLR_CORE && (module == 0 || module != at->parts[part].avma))
		part--;
	*ret_part = part;
	if ((module != at->library_avma && part == SW_CLR_CORE) ||
	    !sw_clr_u32(m, table, at->table_flags2, &flags2))
		return false;
	*ret_rid = flags2 >> at->row_shift;
	return true;
}

static bool is_of_library(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table,
			  uint32_t *ret_rid)
{
	unsigned part;
	return is_of_known(at, m, table, ret_rid, &part) && part == SW_CLR_CORE;
}

/* The kind of a class, or that of the nearest of its parents that has one. */
static enum sw_clr_kind kind_of(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table)
{
	uint32_t rid;
	unsigned part;
	for (unsigned i = 0; i < SW_CLR_PARENTS_MAX && table != 0 && table % 8 == 0; i++) {
		if (is_of_known(at, m, table, &rid, &part))
			for (size_t k = 0; k < at->n_known; k++)
				if (at->known[k].rid == rid && at->known[k].part == part)
					return at->known[k].kind;
		if (!sw_clr_u64(m, table, at->table_parent, &table))
			break;
	}
	return SW_CLR_OTHER;
}

static bool class_read(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table,
		       struct sw_clr_class *ret)
{
	uint32_t flags;
	uint64_t class;
	*ret = (struct sw_clr_class){.table_avma = table};
	if (!sw_clr_u32(m, table, at->table_flags, &flags) ||
	    !sw_clr_u32(m, table, at->table_base, &ret->base_bytes) || ret->base_bytes % 8 != 0 ||
	    ret->base_bytes < 2 * SW_CLR_OBJECT_HEAD || ret->base_bytes > OBJECT_BYTES_MAX)
		return false;
	ret->canon_avma = canon_of(at, m, table, &class);
	if (ret->canon_avma == 0)
		return false;
	if (flags & (uint32_t) FLAGS_COMPONENT_SIZE) {
		ret->component_bytes = (uint16_t) flags;
		ret->kind = ret->component_bytes >= 8 ? SW_CLR_ARRAY : SW_CLR_OTHER;
		return true;
	}
	ret->kind = (uint8_t) kind_of(at, m, table);
	return true;
}

void sw_clr_class_cache_reset(struct sw_clr_class_cache *cache)
{
	memset(cache->slots, 0, sizeof(cache->slots));
	cache->n = 0;
}

const struct sw_clr_class *sw_clr_class_get(const struct sw_clr_classes *at,
					    struct sw_clr_class_cache *cache, uint64_t table_avma)
{
	if (table_avma == 0 || table_avma % 8 != 0)
		return NULL;
	size_t i = (size_t) sw_mix64(table_avma) % SW_CLR_CLASS_CACHE;
	while (cache->slots[i].table_avma != 0 && cache->slots[i].table_avma != table_avma)
		i = (i + 1) % SW_CLR_CLASS_CACHE;
	struct sw_clr_class *c = &cache->slots[i];
	if (c->table_avma == 0) {
		struct sw_clr_class read;
		read.ok = class_read(at, cache->memory, table_avma, &read);
		/* Words that are no class are many: half of the cache is enough for those that are. */
		if (cache->n == SW_CLR_CLASS_CACHE / 2) {
			sw_clr_class_cache_reset(cache);
			c = &cache->slots[(size_t) sw_mix64(table_avma) % SW_CLR_CLASS_CACHE];
		}
		cache->n++;
		*c = read;
		c->table_avma = table_avma;
	}
	return c->ok ? c : NULL;
}

const struct sw_clr_class *sw_clr_class_of(const struct sw_clr_classes *at,
					   struct sw_clr_class_cache *cache,
					   struct sw_memory memory, uint64_t object_avma)
{
	uint64_t word;
	if (object_avma == 0 || object_avma % 8 != 0 || !sw_memory_u64(memory, object_avma, &word))
		return NULL;
	return sw_clr_class_get(at, cache, word & ~(uint64_t) SW_CLR_TABLE_UNMASK);
}

/* How many fields an EEClass has: its parents', too, and static ones. */
static bool counts_read(const struct sw_clr_classes *at, struct sw_memory m, uint64_t class,
			uint16_t *ret_n, uint16_t *ret_statics)
{
	uint8_t packed, bytes;
	if (!at->class_counts_behind)
		return sw_clr_u16(m, class, at->class_n_fields, ret_n) &&
		       sw_clr_u16(m, class, at->class_n_statics, ret_statics);
	/* Only images of another kind, which .NET has no more, had them packed. */
	return sw_clr_u8(m, class, CLASS_PACKED, &packed) && packed == 0 &&
	       sw_clr_u8(m, class, CLASS_BYTES, &bytes) &&
	       sw_clr_u16(m, class, bytes + at->class_n_fields, ret_n) &&
	       sw_clr_u16(m, class, bytes + at->class_n_statics, ret_statics);
}

/* How many FieldDescs of its own a class has. */
static bool fields_count(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table,
			 uint64_t *ret_list, uint32_t *ret_n)
{
	uint64_t class, parent, parent_class;
	uint16_t n, statics, inherited = 0, others;
	uint64_t canon = canon_of(at, m, table, &class);
	if (canon == 0 || !sw_clr_u64(m, canon, at->table_parent, &parent) ||
	    !counts_read(at, m, class, &n, &statics) ||
	    (parent != 0 && (canon_of(at, m, parent, &parent_class) == 0 ||
			     !counts_read(at, m, parent_class, &inherited, &others))) ||
	    n < inherited || !sw_clr_u64(m, class, at->class_fields, ret_list))
		return false;
	*ret_n = (uint32_t) (n - inherited) + statics;
	return *ret_n <= SW_CLR_FIELDS_MAX;
}

bool sw_clr_field_find(const struct sw_clr_classes *at, struct sw_memory m, uint64_t table,
		       uint32_t field_rid, bool is_static, uint32_t *ret)
{
	uint64_t list, owner, class;
	uint32_t n, token, offset;
	if (!fields_count(at, m, table, &list, &n))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t field = list + i * FIELD_BYTES;
		if (!sw_clr_u64(m, field, FIELD_TABLE, &owner) ||
		    !sw_clr_u32(m, field, FIELD_TOKEN, &token))
			return false;
		if ((token & FIELD_RID) != field_rid || !!(token & FIELD_STATIC) != is_static)
			continue;
		if (owner != canon_of(at, m, table, &class) ||
		    !sw_clr_u32(m, field, FIELD_OFFSET, &offset))
			return false;
		*ret = offset & FIELD_OFFSET_MASK;
		return true;
	}
	return false;
}

uint64_t sw_clr_box_table(const struct sw_clr_classes *at, struct sw_memory memory,
			  uint64_t table_avma)
{
	uint32_t rid;
	for (unsigned i = 0; i < 2 && table_avma != 0 && table_avma % 8 == 0; i++) {
		if (is_of_library(at, memory, table_avma, &rid) &&
		    (rid == at->box_rid || (rid == at->pooled_rid && rid != 0)))
			return table_avma;
		if (!sw_clr_u64(memory, table_avma, at->table_parent, &table_avma))
			return 0;
	}
	return 0;
}

bool sw_clr_pooled_source(const struct sw_clr_classes *at, struct sw_memory memory,
			  uint64_t table_avma, uint32_t *ret)
{
	uint64_t base;
	uint32_t rid;
	if (at->pooled_source_rid == 0 ||
	    !sw_clr_u64(memory, sw_clr_box_table(at, memory, table_avma), at->table_parent,
			&base) ||
	    base % 8 != 0 || !is_of_library(at, memory, base, &rid) || rid != at->pooled_base_rid ||
	    !sw_clr_field_find(at, memory, base, at->pooled_source_rid, false, ret))
		return false;
	*ret += SW_CLR_OBJECT_HEAD;
	return true;
}

bool sw_clr_argument(const struct sw_clr_classes *at, struct sw_memory memory, uint64_t table_avma,
		     unsigned n, uint64_t *ret)
{
	uint64_t dicts, own;
	uint32_t flags;
	uint16_t n_dicts, count;
	return sw_clr_u32(memory, table_avma, at->table_flags, &flags) &&
	       !(flags & (uint32_t) FLAGS_COMPONENT_SIZE) && flags & FLAGS_GENERIC &&
	       sw_clr_u64(memory, table_avma, at->table_arguments, &dicts) &&
	       dicts > DICT_INFO_BYTES &&
	       sw_clr_u16(memory, dicts - DICT_INFO_BYTES, at->dict_n, &n_dicts) &&
	       sw_clr_u16(memory, dicts - DICT_INFO_BYTES, at->dict_arguments, &count) &&
	       n_dicts > 0 && n_dicts <= DICTS_MAX && n < count &&
	       sw_clr_u64(memory, dicts, 8 * ((uint64_t) n_dicts - 1), &own) &&
	       sw_clr_u64(memory, own, 8 * (uint64_t) n, ret);
}
