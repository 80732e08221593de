/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_MAP_H
#define SW_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash map from uint64_t to uint64_t (an index, or a pointer by way of uintptr_t): open
 * addressing, linear probing, no deletion. Zero-initialised is a valid empty map.
 * Keys are mixed first, so that hostile or regular keys (page-aligned addresses) do not pile up.
 */
struct sw_map64 {
	struct sw_map64_slot *slots; /* owned */
	size_t capacity;             /* power of two, 0 when empty */
	size_t count;
};

void sw_map64_deinit(struct sw_map64 *map);

bool sw_map64_get(const struct sw_map64 *map, uint64_t key, uint64_t *ret_value);

/* Adds or replaces. 0, or -SW_E_NOMEM with the map unchanged. */
int sw_map64_put(struct sw_map64 *map, uint64_t key, uint64_t value);

/* The mixing function, also for combining several values: h = sw_mix64(h ^ v). */
static inline uint64_t sw_mix64(uint64_t x)
{
	/* The finaliser of splitmix64 (Steele, Lea, Flood 2014), a bijection. */
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The same of each byte of a text. */
static inline uint64_t sw_mix_text(uint64_t h, const char *text)
{
	for (; *text != '\0'; text++)
		h = sw_mix64(h ^ (unsigned char) *text);
	return h;
}

#endif
