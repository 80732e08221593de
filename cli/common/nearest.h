/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_NEAREST_H
#define SW_CLI_NEAREST_H

#include <stdbool.h>

/* Whether word may be name with one letter missing, added, changed or swapped with its neighbour; two such
 * mistakes in names of six letters and more. */
bool sw_is_near(const char *word, const char *name);

/* How many mistakes that are; SW_NOT_NEAR: too many. */
enum { SW_NOT_NEAR = 99 };
unsigned sw_mistakes(const char *word, const char *name);

#endif
