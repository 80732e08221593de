/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef V8_HEAP_H
#define V8_HEAP_H

#include "fake.h"
#include "runtimes/v8/objects/object.h"

/* Objects of V8 in one array, each behind a map of its own. Addresses of them are V8's: with the lowest bit set. */
enum { V8_HEAP = 0x10000, V8_HEAP_BYTES = 0x40000 };

extern uint8_t v8_heap_bytes[V8_HEAP_BYTES];
extern struct fake_memory v8_heap_fake; /* counts what is read */

void v8_heap_reset(void);
struct sw_v8_heap v8_heap(const struct sw_v8_layout *at);
/* An object of that type. */
uint64_t v8_make(uint16_t type, uint64_t bytes);
void v8_put(uint64_t object, uint64_t offset, uint64_t value);
uint64_t v8_smi(int32_t value);

#endif
