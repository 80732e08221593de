/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_ENTRY_H
#define SW_V8_ENTRY_H

#include "bytes.h"

/* Where the frame of a builtin that calls C++ code is noted, from the isolate's root on, by the code of the builtin. False: it
 * is another one than is known. */
bool sw_v8_entry_off(struct sw_bytes code, uint32_t *ret);

#endif
