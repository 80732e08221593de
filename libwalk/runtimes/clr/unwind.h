/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_UNWIND_H
#define SW_CLR_UNWIND_H

#include "runtimes/clr/code/clr.h"
#include "unwind/unwinder.h"

/* Out of the frame at the cursor, when it is managed code or the runtime's way into the GC. */
enum sw_step sw_clr_step(struct sw_clr *clr, struct sw_cursor *cursor, struct sw_stepped *ret);

/*
 * Code that the runtime has made and that is in not its ranges: copies of the write barrier, thunks
 * of delegates that shuffle arguments. They call nothing and push nothing. They lie in the runtime's
 * own executable memory, which has a name; with DOTNET_EnableWriteXorExecute=0, in memory like any
 * other.
 * Source: dotnet/runtime v10.0.0, src/coreclr/vm/threads.cpp, s_barrierCopy, vm/comdelegate.cpp,
 * SetupShuffleThunk(), and minipal/Unix/doublemapping.cpp, which names the mapping.
 */
bool sw_clr_is_helper(struct sw_clr *clr, const struct sw_cursor *cursor);

/* Why code at place is not stepped out of, when it is, or may be, that of a runtime that could not be
 * read: static; NULL: it is not. */
const char *sw_clr_unread_why(const struct sw_clr *clr, const struct sw_place *place);

/* True when executable memory of a runtime has that name. */
bool sw_clr_is_double_mapped(const struct sw_snapshot *snap);

/* True when the code at place is a runtime's own. */
static inline bool sw_clr_is_runtime(const struct sw_clr *clr, const struct sw_place *place)
{
	for (size_t i = 0; i < clr->n_runtimes; i++)
		if (place != NULL && place == clr->runtimes[i].place)
			return true;
	return false;
}

/* True when native code at place cannot be managed: an ELF image, as the linker laid it out. Parts of
 * a single-file program that are not are ReadyToRun images of its bundle. */
static inline bool sw_clr_is_native(const struct sw_place *place)
{
	if (place == NULL)
		return false;
	enum sw_module_kind kind = sw_module_kind(place->module);
	return (kind == SW_MODULE_ELF || kind == SW_MODULE_VDSO) && place->resolved == 1;
}

#endif
