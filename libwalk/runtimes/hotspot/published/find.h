/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_FIND_H
#define SW_HOTSPOT_FIND_H

#include "runtimes/hotspot/published/layout.h"
#include "snapshot/snapshot.h"

/* The VM that was found in a module. */
struct sw_hotspot_vm {
	struct sw_place *place;      /* borrowed from the snapshot; resolved when usable */
	struct sw_hotspot_layout at; /* when usable */
	bool usable;
	const char *missing; /* static: what of its tables, when it is not */
	const char *name;    /* static: wire name */
};

/* Whether a Java VM is mapped: by names of files. */
bool sw_hotspot_probe(const struct sw_snapshot *snap);

/* Looks into its tables; the layout is kept with the module, so that they are read once for each
 * build. False when there is no Java VM. */
bool sw_hotspot_find(const struct sw_snapshot *snap, struct sw_memory memory,
		     struct sw_hotspot_vm *ret);

/* The version of Java; 0 when unknown. */
int sw_hotspot_version(const struct sw_hotspot_layout *at, uint64_t bias, struct sw_memory memory);

#endif
