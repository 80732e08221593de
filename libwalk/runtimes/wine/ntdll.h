/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WINE_NTDLL_H
#define SW_WINE_NTDLL_H

#include "memory.h"

#include <snapwalk/walk.h>

/*
 * The exports of a Wine process's ntdll.dll that are used here, read from the process's memory. The
 * functions are those to which code goes when the kernel (Unix code, here) enters Windows code on
 * its own account.
 */
struct sw_wine_ntdll {
	const struct sw_place *place; /* borrowed from the snapshot */
	const char *problem;          /* static: what could not be had; NULL: all is here */
	char version[32];             /* Wine's; "" unknown */
	/* 0 when there is no such export. */
	uint64_t callback_avma, exception_avma, apc_avma; /* KiUser...Dispatcher */
	uint64_t loader_avma;       /* LdrInitializeThunk: a thread's first code */
	uint64_t delete_table_avma; /* RtlDeleteFunctionTable */
	/* Unix code, in ntdll.so, to which system calls and unix calls go. */
	uint64_t syscall_avma, unix_call_avma;
};

/* False: the snapshot is of no Wine process: no thread has a TEB, or there is no ntdll.dll. TEBs that
 * are not laid out as those of runtimes/wine/teb.h are a problem. */
bool sw_wine_ntdll_find(const struct sw_snapshot *snap, struct sw_wine_ntdll *ret);

/* Whether a place is ntdll.so, the part of ntdll.dll that is Unix code. */
bool sw_wine_is_ntdll_so(const struct sw_place *place);

#endif
