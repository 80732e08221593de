/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_NATIVE_ARRAY_H
#define SW_CLR_NATIVE_ARRAY_H

#include "bytes.h"

/*
 * Sparse arrays of ReadyToRun images. Source: dotnet/runtime v10.0.0,
 * docs/design/coreclr/botr/readytorun-format.md and src/coreclr/vm/nativeformatreader.h (NativeArray);
 * the same in v8.0.0.
 */
struct sw_clr_native_array {
	struct sw_bytes bytes; /* borrowed: the section that begins with it */
	uint64_t base;
	unsigned index_bytes;
	uint32_t n;
};

/* A number of one to five bytes at *at, which is moved behind it. */
bool sw_clr_native_number(struct sw_bytes b, uint64_t *at, uint32_t *ret);

bool sw_clr_native_array_open(struct sw_bytes bytes, struct sw_clr_native_array *ret);

/* Where element i lies in the section; false when there is none. */
bool sw_clr_native_array_find(const struct sw_clr_native_array *array, uint32_t i,
			      uint64_t *ret_at);

#endif
