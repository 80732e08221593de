/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef LAY_OVER_H
#define LAY_OVER_H

#include <stddef.h>
#include <stdint.h>

/* Lays a fuzzer's input over n bytes that are right, in parts: u16 offset / 4 | u8 length | bytes. */
void lay_over(uint8_t *to, size_t n, const uint8_t *data, size_t size);

#endif
