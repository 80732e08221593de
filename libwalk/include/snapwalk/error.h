/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_ERROR_H
#define SNAPWALK_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_PUBLIC __attribute__((visibility("default")))

enum {
#define SW_ERROR(name, number, wire, text) SW_E_##name = (number),
#include <snapwalk/error_codes.def>
#undef SW_ERROR
};

enum { SW_ERROR_MESSAGE_MAX = 256 };

/**
 * The reason of a failure: a value on the caller's stack, nothing to free.
 *
 * Functions that can fail return 0 or -SW_E_* and fill this when it is not NULL. The message says
 * what happened and to what; it is one line without a final period or newline.
 */
struct sw_error {
	int code;         /* SW_E_*, 0 when unset */
	int sys_errno;    /* errno of the failing system call, 0 when there was none */
	uint64_t address; /* address in the target it is about, 0 when there is none */
	char message[SW_ERROR_MESSAGE_MAX];
};

/** The sentence for SW_E_* (sign ignored); static. Unknown codes give "unknown error". */
SW_PUBLIC const char *sw_error_text(int code);

/** The wire name ("not_permitted") for SW_E_* (sign ignored); static. */
SW_PUBLIC const char *sw_error_wire(int code);

#ifdef __cplusplus
}
#endif

#endif
