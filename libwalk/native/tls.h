/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TLS_H
#define SW_TLS_H

#include "memory.h"

/*
 * Where a thread's own copy of an exported variable (STT_TLS) is.
 * Source: psABI 1.0 and "ELF Handling For Thread-Local Storage" 0.21, §3.4.2 and §4.1 (variant II);
 * glibc 2.36, sysdeps/x86_64/nptl/tls.h (tcbhead_t) and sysdeps/generic/dl-dtv.h.
 *
 *	a program's	fs + offset
 *	a library's	dtv = [fs + 8], block = [dtv + 16 * module], block + offset; module and offset
 *			are in a pair of words of its GOT, which ld.so fills
 */
struct sw_tls_variable {
	bool program;
	int64_t offset;    /* of the program's; of a library's, behind what its pair says */
	uint64_t got_svma; /* of the library's pair */
};

enum { SW_TLS_MODULES_MAX = 4096 /* a greater number is not believed */ };

/* The address of the variable in the thread with that fs base; false when it has none (yet), or the
 * memory says nonsense. */
bool sw_tls_address(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		    uint64_t fs_base, uint64_t *ret_avma);

#endif
