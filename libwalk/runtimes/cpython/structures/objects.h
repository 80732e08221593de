/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_OBJECTS_H
#define SW_CPYTHON_OBJECTS_H

#include "runtimes/cpython/structures/find.h"

/*
 * Dictionaries, and attributes of objects. Only of a process that is read while it runs: what is found
 * may have been freed, so nothing counts that is not found twice.
 */

enum { SW_CPYTHON_DICT_ENTRIES_MAX = 1 << 16 };

/* Calls each for every key that has a value, until it answers false. */
void sw_cpython_dict_each(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			  bool (*each)(void *arg, uint64_t key_avma, uint64_t value_avma),
			  void *arg);

/* The value of a key that is a str. False when there is none. */
bool sw_cpython_dict_get(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			 const char *key, uint64_t *ret_avma);

/* An attribute of the object itself, not of its class. */
enum sw_cpython_found { SW_CPYTHON_UNREADABLE, SW_CPYTHON_ABSENT, SW_CPYTHON_FOUND };
enum sw_cpython_found sw_cpython_attribute_find(const struct sw_cpython_at *at,
						struct sw_memory memory, uint64_t avma,
						const char *name, uint64_t *ret_avma);
/* False: it has none, or that could not be read. */
bool sw_cpython_attribute_get(const struct sw_cpython_at *at, struct sw_memory memory,
			      uint64_t avma, const char *name, uint64_t *ret_avma);

/* A module that is loaded. */
bool sw_cpython_module_get(const struct sw_cpython_at *at, struct sw_memory memory,
			   uint64_t interp_avma, const char *module, uint64_t *ret_avma);

/* A name of a module that is loaded. */
bool sw_cpython_global_get(const struct sw_cpython_at *at, struct sw_memory memory,
			   uint64_t interp_avma, const char *module, const char *name,
			   uint64_t *ret_avma);

/* An int above 0 and below 2^30. */
bool sw_cpython_small_int(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			  uint32_t *ret);

/* An int that is not below 2^30, and below 2^60. */
bool sw_cpython_int(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		    uint64_t *ret);

#endif
