/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_INSTANCES_H
#define SW_CLR_INSTANCES_H

#include "runtimes/clr/metadata/tables.h"
#include "map.h"

/*
 * Instances of generic methods that were compiled ahead of time.
 *
 *	InstanceMethodEntryPoints: a hash table, of which only the entries are wanted here
 *		u8	buckets as a power of two << 2 | log2 of the bytes of an index
 *		index	where each bucket begins, from here; and the end of the last one
 *		bucket	{u8 hash, number: how far behind itself the entry is}...
 *		entry	signature, and the function as in MethodDefEntryPoints
 *
 * Source: dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md ("Method Signatures") and
 * src/coreclr/vm/nativeformatreader.h (NativeHashtable); so they are in all images of .NET 8.0.31 and
 * 9.0.20.
 */

/* Which function each instance begins with: its index -> where its entry lies in the section. False:
 * there are more than could be understood or kept. */
bool sw_clr_instances_index(struct sw_bytes section, uint64_t n_functions, struct sw_map64 *ret);

/* "Namespace.Type`1[int].Method[string](T, U)" of the entry at entry_off. False: nothing to say. */
bool sw_clr_instance_name(const struct sw_clr_metadata *m, struct sw_bytes section,
			  uint64_t entry_off, struct sw_text *text);

/* The index of a function, as entries of both tables have it. */
static inline uint32_t sw_clr_entry_function(uint32_t id)
{
	return id & 1 ? id >> 2 : id >> 1; /* with and without fixups */
}

#endif
