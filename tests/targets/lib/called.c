/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library with a function that tests/targets/functions.cc calls. */
#define KEEP() __asm__ volatile("" ::: "memory")

__attribute__((noinline, noclone)) int library_called(int n)
{
	KEEP();
	return n + 1;
}
