/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_PTHREAD_H
#define SW_ARCH_PTHREAD_H

/*
 * The offsets from a thread pointer in struct pthread of glibc.
 * Source: glibc 2.34 to 2.41, nptl/descr.h (struct pthread: list behind a head of 704 bytes, then tid),
 * sysdeps/x86_64/nptl/tls.h (tcbhead_t); of values glibc 2.36 (specific_1stblock).
 */
enum {
	SW_PTHREAD_SELF = 0x10,
	SW_PTHREAD_LIST = 0x2c0,
	SW_PTHREAD_TID = 0x2d0,
	SW_PTHREAD_VALUES = 0x310, /* of pthread_setspecific(), of the first keys */
};

#endif
