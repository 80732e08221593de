/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_STRING_H
#define SW_CLR_STRING_H

#include "memory.h"
#include "text.h"

/* Text of the runtime itself, appended as UTF-8. Control characters become '?'. False when it cannot
 * be read or does not end within max units; what was read until then is there. */
bool sw_clr_utf8_read(struct sw_memory memory, uint64_t avma, size_t max, struct sw_text *text);

/* UTF-16 up to a NUL. */
bool sw_clr_utf16_read(struct sw_memory memory, uint64_t avma, size_t max, struct sw_text *text);

/* n units of UTF-16; surrogates without their other half become U+FFFD. */
bool sw_clr_utf16_read_n(struct sw_memory memory, uint64_t avma, size_t n, struct sw_text *text);

#endif
