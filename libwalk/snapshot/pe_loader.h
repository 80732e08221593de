/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_LOADER_H
#define SW_PE_LOADER_H

#include "memory.h"

/*
 * The modules of a Windows process: TEB -> PEB -> the loader's list of modules. Offsets are those
 * of Windows for the memory's words, which Wine keeps (winternl.h of Wine 8.0 and 10.0: TEB, PEB,
 * PEB_LDR_DATA, LDR_DATA_TABLE_ENTRY). A thread's gs base here is that of fs in 32-bit programs, as
 * in struct sw_thread.
 */

enum {
	SW_PE_LOADED_MAX = 4096, /* entries of the list that are followed */
	SW_PE_NAME_BYTES = 1040, /* of a module's name: 260 characters of up to 4 bytes */
};

struct sw_pe_loaded {
	uint64_t base_avma;
	char name[SW_PE_NAME_BYTES]; /* UTF-8, as the process names it ("Z:\\x.exe"); "" unknown */
};

/* Whether a thread's gs base points to a TEB: it says so itself. */
bool sw_pe_is_teb(struct sw_memory memory, uint64_t gs_base);

/* The thread's number as Windows counts, by its TEB. False: there is none. */
bool sw_pe_thread_id(struct sw_memory memory, uint64_t gs_base, uint64_t *ret);

/*
 * A thread's first frame was made by hand, below the end that its TEB tells of its stack: whether
 * the stack pointer behind it is there. A thread that goes from one fiber to another has the
 * other's end there before it is on it. The end that it does not have any more is told by this:
 * memory is reserved in multiples of 64 KiB (Microsoft, "VirtualAlloc"; "Thread stack size").
 */
bool sw_pe_is_stack_top(struct sw_memory memory, uint64_t gs_base, uint64_t sp_avma);

/*
 * Calls each with the modules in the order of loading. Stops when it answers false. False: the list
 * does not come back to its head within SW_PE_LOADED_MAX entries, or could not be read to its end.
 */
bool sw_pe_loaded_each(struct sw_memory memory, uint64_t teb_avma,
		       bool (*each)(void *arg, const struct sw_pe_loaded *loaded), void *arg);

#endif
