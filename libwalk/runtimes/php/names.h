/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_NAMES_H
#define SW_PHP_NAMES_H

#include "runtimes/php/php.h"

enum { SW_PHP_OUTERMOST = 1 /* in the cookie of the outermost call, beside its function */ };

/* sw_runtime_ops.names. */
int sw_php_names(struct sw_php *php, const struct sw_frame *frame, struct sw_description *ret);

#endif
