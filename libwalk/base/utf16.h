/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_UTF16_H
#define SW_BASE_UTF16_H

#include "bytes.h"

enum { SW_UTF16_UNIT_BYTES = 4 /* of UTF-8, at most, for each unit of two bytes */ };

/*
 * UTF-16 to UTF-8; what is no pair of surrogates becomes U+FFFD, control characters too. ret has space for
 * SW_UTF16_UNIT_BYTES for each unit, and for a NUL behind them.
 */
void sw_utf16_convert(struct sw_bytes units, char *ret);

#endif
