/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The function that a fuzzer defines. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A condition that holds whatever the input is. */
static inline void check(bool condition)
{
	if (!condition)
		abort();
}

#endif
