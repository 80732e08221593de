/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_NEAREST_H
#define SNAPWALK_NEAREST_H

/* Names that somebody may have meant by a word. */

#include <snapwalk/error.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whether word may be name with one letter missing, added, changed or swapped with its neighbour; two such
 * mistakes in names of six letters and more. */
SW_PUBLIC bool sw_is_near(const char *word, const char *name);

/** How many mistakes that are; SW_NOT_NEAR: too many. */
enum { SW_NOT_NEAR = 99 };
SW_PUBLIC unsigned sw_mistakes(const char *word, const char *name);

#ifdef __cplusplus
}
#endif

#endif
