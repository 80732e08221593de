/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_METHOD_H
#define SW_HOTSPOT_METHOD_H

#include "runtimes/hotspot/structures/hotspot.h"

enum {
	SW_HOTSPOT_BCI_NONE = INT32_MIN, /* of native methods, and where it is not known */
	/* The entry of a method in compiled code: it waits for the monitor of a synchronized one,
	 * or counts. Its line is that of bytecode 0: SynchronizationEntryBCI in
	 * Method::line_number_from_bci() (jdk-25.0.3). */
	SW_HOTSPOT_BCI_ENTRY = -1,
	SW_HOTSPOT_SYMBOL_MAX = 1024,  /* bytes of one name */
	SW_HOTSPOT_LINES_MAX = 65536,  /* rows of a method's line table */
	SW_HOTSPOT_LINE_BYTES = 65536, /* of such a table */
};

/* The fields of a Method. */
struct sw_hotspot_method {
	uint64_t const_avma; /* its ConstMethod */
	uint64_t code_avma;  /* of its bytecode, which has code_bytes; 0: a native method */
	uint32_t code_bytes;
	bool has_lines;
	char *name;      /* "java.util.HashMap.get"; the arena's */
	char *signature; /* "(Ljava/lang/Object;)Ljava/lang/Object;"; the arena's */
	char *file;      /* "HashMap.java"; "" when unknown; the arena's */
	struct sw_hotspot_proof proof;
};

/* The text of a Symbol. False when it cannot be read or is longer. */
bool sw_hotspot_symbol_read(const struct sw_hotspot *h, uint64_t symbol, char *ret, size_t size);

/* The name of a class, as "java.util.HashMap". */
bool sw_hotspot_class_read(const struct sw_hotspot *h, uint64_t klass, char *ret, size_t size);

/* The text of the Symbol that is an entry of a constant pool. */
bool sw_hotspot_pool_symbol(const struct sw_hotspot *h, uint64_t pool, uint16_t index, char *ret,
			    size_t size);

/* The method of a Method; NULL when there is none. Remembered. By copies it is read anew where nothing proves that it is the one that
 * the copy had. */
const struct sw_hotspot_method *sw_hotspot_method_get(struct sw_hotspot *h, uint64_t method_avma);

/* By copies: the method, which is proven, is on the stack that was copied. */
void sw_hotspot_method_meet(struct sw_hotspot *h, uint64_t method_avma);

/* Line of a bytecode index; 0 when unknown. */
uint32_t sw_hotspot_method_line(struct sw_hotspot *h, const struct sw_hotspot_method *method,
				int32_t bci);

/* A number of HotSpot's compressed streams; false when the bytes end. base is 1 since JDK 20. */
bool sw_hotspot_unsigned5(struct sw_bytes bytes, uint64_t *off, unsigned base, uint32_t *ret);

static inline unsigned sw_hotspot_unsigned5_base(const struct sw_hotspot *h)
{
	return h->version >= 20;
}

#endif
