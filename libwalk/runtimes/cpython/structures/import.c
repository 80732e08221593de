/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: Lib/importlib/_bootstrap.py (_ModuleLock) of 3.8.18 to 3.13.0: an object with a dictionary, as it has no slots. */
#include "runtimes/cpython/structures/import.h"
#include "runtimes/cpython/structures/objects.h"
#include "runtimes/cpython/structures/self.h"

bool sw_cpython_import_read(const struct sw_cpython_at *at, struct sw_memory memory,
			    const struct sw_cpython_frame *frame, struct sw_cpython_import *ret)
{
	uint64_t owner;
	if (!sw_cpython_self_read(at, memory, frame, &ret->avma) ||
	    !sw_cpython_is_class(at, memory, ret->avma, "_ModuleLock") ||
	    !sw_cpython_attribute_get(at, memory, ret->avma, "wakeup", &ret->wakeup_avma) ||
	    !sw_cpython_attribute_get(at, memory, ret->avma, "name", &ret->name_avma) ||
	    !sw_cpython_attribute_get(at, memory, ret->avma, "owner", &owner))
		return false;
	if (!sw_cpython_int(at, memory, owner, &ret->owner))
		ret->owner = 0; /* None */
	return true;
}
