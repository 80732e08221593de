/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef REFUSE_MALLOC_H
#define REFUSE_MALLOC_H

/*
 * A malloc() that refuses when it is told to, for one file of a program. It replaces the C library's,
 * which glibc 2.36 allows (manual, "Replacing malloc"); the address sanitizer does not.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

static struct {
	bool armed;
	size_t left; /* allocations that succeed while armed */
	bool once;   /* one is refused, the others after it succeed again */
	bool hit;    /* out: one was refused */
	bool noisy;  /* errno is set also when there is memory, as after a brk() that was refused */
} refuse;

static bool refuses(void)
{
	if (refuse.noisy)
		errno = ENOMEM;
	if (!refuse.armed)
		return false;
	if (refuse.left == 0) {
		refuse.armed = !refuse.once;
		refuse.hit = true;
		errno = ENOMEM;
		return true;
	}
	refuse.left--;
	return false;
}

void *malloc(size_t size)
{
	return refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return refuses() ? NULL : __libc_realloc(p, size);
}

/* The C library's calls its own realloc(). */
void *reallocarray(void *p, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

#endif
