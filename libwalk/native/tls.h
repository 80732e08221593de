/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TLS_H
#define SW_TLS_H

#include "memory.h"
#include "way.h"

/*
 * Where a thread's own copy of an exported variable (STT_TLS) is.
 * Source: psABI 1.0 and "ELF Handling For Thread-Local Storage" 0.21, §3.4.2, §4.1 (variant II) and §4.4.2; "Thread-Local
 * Storage Descriptors" (RFC, 2006), §3.1; glibc 2.36, sysdeps/x86_64/nptl/tls.h (tcbhead_t), sysdeps/generic/dl-dtv.h and
 * sysdeps/x86_64/dl-tlsdesc.S.
 *
 *	a program's	fs + offset
 *	a library's	dtv = [fs + 8], block = [dtv + 16 * module], block + offset; module and offset are in a pair
 *			of words that ld.so fills: in its GOT, or where the second word of a descriptor leads to
 *	in static TLS	fs + a negative number, which a word of its GOT has, or the second word of a descriptor
 */
enum sw_tls_kind {
	SW_TLS_PAIR,       /* module and offset: R_X86_64_DTPMOD64 */
	SW_TLS_PROGRAM,    /* known before it runs */
	SW_TLS_WORD,       /* R_X86_64_TPOFF64 */
	SW_TLS_DESCRIPTOR, /* R_X86_64_TLSDESC */
};

struct sw_tls_variable {
	enum sw_tls_kind kind;
	int64_t offset;    /* of the program's; of others, behind what the GOT says */
	uint64_t got_svma; /* of what the GOT has of it */
};

enum { SW_TLS_MODULES_MAX = 4096 /* a greater number is not believed */ };

/* The way to the variable, of one step or of three. False: the memory says nonsense, or nothing yet. */
bool sw_tls_way(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		struct sw_way *ret);

/* The address of the variable in the thread with that fs base; false when it has none (yet), or the
 * memory says nonsense. */
bool sw_tls_address(const struct sw_tls_variable *variable, struct sw_memory memory, uint64_t bias,
		    uint64_t fs_base, uint64_t *ret_avma);

#endif
