/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLR_MAKE_H
#define CLR_MAKE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The metadata of a small program, byte by byte as ECMA-335 II.24 has it:
 *
 *	TypeDef				MethodDef
 *	1 <Module>
 *	2 N.Outer			1 Main(string[])	2 .ctor()
 *	3 System.Int32
 *	4 N.Outer+Inner`1<T>		3 Call<U>(T, ref U, List<int>)
 *					4 Shapes(int[,], byte*, in long, delegate*<int>, Outer)
 *	5 Last				5 <Start>b__0()
 *
 *	TypeRef: 1 System.Collections.Generic.List`1	2 Enumerator, in 1
 */
enum {
	CLR_MAKE_WIDE = 1, /* indices into heaps have four bytes */
	CLR_MAKE_EDITED =
		2, /* "#-": methods are in the order 5 4 3 2 1, and a table says so; nothing
				is sorted */
	CLR_MAKE_SOCKET = 4, /* Outer is System.Net.Sockets.SocketAsyncContext */
	CLR_MAKE_ENGINE = 8, /* Last is System.Net.Sockets.SocketAsyncEngine */
	CLR_MAKE_BYTES = 4096,
};

/* Writes at most CLR_MAKE_BYTES; how many. */
size_t clr_make_metadata(uint8_t *to, unsigned options);

/* The same in a PE file, mapped as loaded or flat; at most CLR_MAKE_IMAGE_BYTES. */
enum { CLR_MAKE_IMAGE_BYTES = 0x2000 };
size_t clr_make_image(uint8_t *to, int mapped, int plus);

#endif
