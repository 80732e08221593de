/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_FIELDS_H
#define SW_HOTSPOT_FIELDS_H

#include "runtimes/hotspot/structures/hotspot.h"

enum { SW_HOTSPOT_FIELDS_MAX = 512, SW_HOTSPOT_SUPERS_MAX = 64 };

/* A field of instances that is looked for. */
struct sw_hotspot_field {
	const char *name, *signature;
	int64_t offset; /* SW_HOTSPOT_NONE: the class has not its own with this name */
};

/* Fills in the offsets of fields that a class declares itself. */
void sw_hotspot_fields_find(const struct sw_hotspot *h, uint64_t klass,
			    struct sw_hotspot_field *fields, size_t n);

/* The class itself or the one above it that has this name, as "java/lang/Thread"; 0: none. */
uint64_t sw_hotspot_class_named(const struct sw_hotspot *h, uint64_t klass, const char *name);

#endif
